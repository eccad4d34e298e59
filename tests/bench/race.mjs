// A race: contenders interleaved over datasets and places. Each run is checked for having delivered
// everything.
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { say } from "../setup/process.mjs";
import { estimate, make } from "./datasets.mjs";
import { cacheOf, clear, open, tooLarge, unavailable } from "./places.mjs";
import { contents, difference } from "./trees.mjs";

/**
 * What is wrong with a run's result, or null: everything must be there, with the attributes that
 * the contender claims to keep.
 */
function shortcoming(contender, { source, destination, wanted }) {
  if (contender.delivers === false) return null;
  const copy = join(destination, readdirSync(destination)[0] ?? ".");
  const delivered = contents(copy);
  const short = Object.keys(wanted).filter((key) => delivered[key] !== wanted[key]);
  if (short.length) return short.map((key) => `${delivered[key]} of ${wanted[key]} ${key}`).join(", ");
  return contender.keeps ? difference(source, copy, contender.keeps) : null;
}

/** One run. The destination is emptied before and checked after, both outside the measured time. */
async function once(contender, { source, wanted, place, scratch }) {
  const destination = join(place.destination, "destination");
  clear(destination);
  mkdirSync(destination);
  place.settle();
  const done = await contender.run({ source, destination, scratch, bytes: wanted.bytes });
  const ends = done.ends.map((end) => end.usage());
  const wrong = shortcoming(contender, { source, destination, wanted });
  return {
    wall_s: done.wall_s,
    cpu_s: ends.reduce((sum, end) => sum + end.user_s + end.system_s, 0),
    ends,
    files: wanted.files,
    path: done.path,
    reasons: done.reasons,
    complete: wrong === null,
    ...(wrong && { wrong }),
  };
}

/** All rounds of all contenders on one dataset in one new place. */
async function measure(what, contenders, { where, scratch, rounds, scale }) {
  const size = estimate(what.dataset, scale);
  const cannot = tooLarge(what.filesystem, where, size);
  if (cannot) return { runs: [], skip: cannot };
  const place = open(what.filesystem, where, size);
  const runs = [];
  try {
    const source = join(place.source, "source", what.dataset);
    mkdirSync(join(place.source, "source"));
    await make(what.dataset, scale, source);
    const wanted = contents(source);
    for (let round = 1; round <= rounds; round++) {
      for (const contender of contenders) {
        const label = { ...what, contender: contender.name, against: contender.against, round };
        try {
          runs.push({ ...label, ...(await once(contender, { source, wanted, place, scratch })) });
        } catch (error) {
          runs.push({ ...label, error: error.message });
        }
        tell(runs.at(-1));
      }
    }
  } finally {
    place.close();
  }
  return { runs };
}

function tell({ filesystem, dataset, round, contender, wall_s, cpu_s, ends, wrong, error }) {
  const peak = () => Math.max(...ends.map((end) => end.peak_rss_bytes)) / 1024 ** 2;
  const figures = () => `${wall_s.toFixed(3)} s, CPU ${cpu_s.toFixed(2)} s, peak ${peak().toFixed(0)} MiB`;
  say(`${filesystem} ${dataset} ${round} ${contender}: ${error ? `failed: ${error}` : `${figures()}${wrong ? `, INCOMPLETE: ${wrong}` : ""}`}`);
}

/**
 * Runs everything of `part` that the command line selected, into `report` (runs, contenders,
 * skipped). `keep` is called after each dataset with the results so far.
 */
export async function race(part, { contenders: list, kinds, datasets }, { ringway, only, report, keep, ...conditions }) {
  const { where, scratch } = conditions;
  const all = await list(scratch, ringway);
  const wanted = all.filter(({ name, against }) => name === "ringway" || !only || only.includes(name) || only.includes(against));
  report.skipped.push(...wanted.filter(({ skip }) => skip).map(({ name, skip }) => `${part}: ${name}: ${skip}`));
  const able = wanted.filter(({ skip }) => !skip);
  report.contenders.push(...able.map(({ name, note }) => ({ part, name, note })));
  for (const filesystem of kinds) {
    const cannot = unavailable(filesystem, where);
    if (cannot) {
      report.skipped.push(`${part}: ${filesystem}: ${cannot}`);
      continue;
    }
    const here = able.filter((contender) => contender.kinds?.includes(filesystem) ?? true);
    for (const dataset of datasets) {
      const what = { part, filesystem, cache: cacheOf(filesystem), dataset };
      const { runs, skip } = await measure(what, here, conditions);
      report.runs.push(...runs);
      if (skip) report.skipped.push(`${part}: ${filesystem}: ${dataset}: ${skip}`);
      keep();
    }
  }
}
