// `npm run bench`: Ringway and its peers side by side, interleaved; a Markdown table, and all figures as JSON in tests/.out/.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { TARGET, WORKSPACE, needRust } from "../setup/build.mjs";
import { missing, need } from "../setup/packages.mjs";
import { ROOT, run, say } from "../setup/process.mjs";
import { DATASETS, contents, estimate, make } from "./datasets.mjs";
import { KINDS, open, settle, tooLarge, unavailable } from "./places.mjs";
import { cells, machine, markdown } from "./report.mjs";
import { undoAll, undoLater, undoOnSignals } from "./undo.mjs";
import { contenders as wire } from "./wire.mjs";

const HELP = `npm run bench -- [OPTIONS]
  --scale N       part of the full size; "small" is 0.02, for trying it out (default 1)
  --rounds N      interleaved rounds (default 5)
  --part P,...    wire (default: all)
  --fs F,...      ${KINDS.join(", ")} (default: all; ext4 takes root)
  --data D,...    ${DATASETS.join(", ")} (default: all)
  --only C,...    contenders by name, besides ringway (default: all)
  --at FOLDER     where the trees lie: on tmpfs (default: /dev/shm)
  --no-build      take the release build of ringway that is there
RINGWAY_BENCH_URING_SYNC=/path/to/uring-sync adds that peer. RINGWAY_SETUP=skip installs no packages.
`;
const SMALL = 0.02;
/** What can be measured; each part lists its contenders. */
const PARTS = { wire };
const OUT = join(ROOT, "tests/.out");
/** Sources are read from the page cache: they were written just before. */
const CACHE = "warm";

function options() {
  const list = { type: "string" };
  const { values } = parseArgs({
    options: {
      scale: list, rounds: list, part: list, fs: list, data: list, only: list, at: list,
      "no-build": { type: "boolean" }, help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) {
    say(HELP);
    process.exit(0);
  }
  const chosen = (text, all) => {
    const names = text?.split(",") ?? all;
    const odd = names.find((name) => !all.includes(name));
    if (odd !== undefined) throw new Error(`${odd} is none of ${all.join(", ")}`);
    return names;
  };
  const positive = (text, fallback) => {
    const number = Number(text ?? fallback);
    if (!(number > 0)) throw new Error(`${text} is no positive number`);
    return number;
  };
  return {
    scale: values.scale === "small" ? SMALL : positive(values.scale, 1),
    rounds: Math.ceil(positive(values.rounds, 5)),
    parts: chosen(values.part, Object.keys(PARTS)),
    kinds: chosen(values.fs, KINDS),
    datasets: chosen(values.data, DATASETS),
    only: values.only?.split(","),
    base: values.at ?? (existsSync("/dev/shm") ? "/dev/shm" : tmpdir()),
    build: !values["no-build"],
  };
}

function setUp(build) {
  if (process.env.RINGWAY_SETUP !== "skip") {
    need(["rsync", "openssh-client", "iperf3", "time", "e2fsprogs"], "the benchmark");
    // Where an init system runs, the package would open this machine to the network: left to whoever looks after it.
    if (!existsSync("/run/systemd/system")) need(["openssh-server"], "the benchmark");
    else if (missing(["openssh-server"]).length) say("bench: install openssh-server to measure what goes over ssh");
  }
  const ringway = join(TARGET, "release/ringway");
  if (build) {
    needRust();
    run("cargo", ["build", "--release", "--locked", "-p", "ringway-cli"], { cwd: WORKSPACE });
  }
  if (!existsSync(ringway)) throw new Error(`there is no ${ringway}: leave --no-build out`);
  return ringway;
}

/** One run: destination emptied before, counted after, both outside the measured time. */
async function once(contender, { source, wanted, place, scratch }) {
  const destination = join(place.folder, "destination");
  rmSync(destination, { recursive: true, force: true });
  mkdirSync(destination);
  settle(place.folder);
  const done = await contender.run({ source, destination, scratch, bytes: wanted.bytes });
  const ends = done.ends.map((end) => end.usage());
  const result = {
    wall_s: done.wall_s,
    cpu_s: ends.reduce((sum, end) => sum + end.user_s + end.system_s, 0),
    ends,
    path: done.path,
    reasons: done.reasons,
    complete: true,
  };
  if (contender.delivers !== false) {
    const name = readdirSync(destination)[0] ?? ".";
    result.delivered = contents(join(destination, name));
    result.complete = ["files", "links", "bytes"].every((key) => result.delivered[key] === wanted[key]);
  }
  return result;
}

/** All rounds of all contenders on one dataset in one fresh place. */
async function measure(what, contenders, { base, scratch, rounds, scale }) {
  const bytes = estimate(what.dataset, scale);
  const cannot = tooLarge(what.filesystem, base, bytes);
  if (cannot) return { runs: [], skip: cannot };
  const place = open(what.filesystem, base, bytes);
  const runs = [];
  try {
    const source = join(place.folder, "source", what.dataset);
    mkdirSync(join(place.folder, "source"));
    await make(what.dataset, scale, source);
    const wanted = contents(source);
    for (let round = 1; round <= rounds; round++) {
      for (const contender of contenders) {
        const label = { ...what, contender: contender.name, round };
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

function tell({ filesystem, dataset, round, contender, wall_s, cpu_s, complete, error }) {
  const outcome = error ? `failed: ${error}` : `${wall_s.toFixed(3)} s, CPU ${cpu_s.toFixed(2)} s${complete ? "" : ", INCOMPLETE"}`;
  say(`${filesystem} ${dataset} ${round} ${contender}: ${outcome}`);
}

async function main() {
  const chosen = options();
  undoOnSignals();
  const ringway = setUp(chosen.build);
  const base = mkdtempSync(join(chosen.base, "ringway-bench-"));
  undoLater(() => rmSync(base, { recursive: true, force: true }));
  const scratch = join(base, "scratch");
  mkdirSync(scratch, { mode: 0o700 });
  const conditions = { date: new Date().toISOString(), machine: machine(), rounds: chosen.rounds, scale: chosen.scale };
  const skipped = [];
  const runs = [];
  const notes = [];
  for (const part of chosen.parts) {
    const all = await PARTS[part](scratch, ringway);
    const wanted = all.filter(({ name }) => name === "ringway" || !chosen.only || chosen.only.includes(name));
    skipped.push(...wanted.filter(({ skip }) => skip).map(({ name, skip }) => `${part}: ${name}: ${skip}`));
    const able = wanted.filter(({ skip }) => !skip);
    notes.push(...able.map(({ name, note }) => ({ name, note })));
    for (const filesystem of chosen.kinds) {
      const cannot = unavailable(filesystem, base);
      if (cannot) {
        skipped.push(`${part}: ${filesystem}: ${cannot}`);
        continue;
      }
      for (const dataset of chosen.datasets) {
        const what = { part, filesystem, cache: CACHE, dataset };
        const { runs: more, skip } = await measure(what, able, { base, scratch, ...chosen });
        runs.push(...more);
        if (skip) skipped.push(`${part}: ${filesystem}: ${dataset}: ${skip}`);
      }
    }
  }
  write({ conditions, cells: cells(runs), contenders: notes, skipped, runs });
}

function write(report) {
  mkdirSync(OUT, { recursive: true });
  const table = markdown(report);
  writeFileSync(join(OUT, "bench.json"), `${JSON.stringify(report, null, 2)}\n`);
  writeFileSync(join(OUT, "bench.md"), table);
  say(`\n${table}\nbench: figures in tests/.out/bench.json, table in tests/.out/bench.md`);
  if (report.runs.some((run) => run.error && run.contender === "ringway")) process.exitCode = 1;
}

try {
  await main();
} catch (error) {
  process.stderr.write(`bench: ${error.message}\n`);
  process.exitCode = 1;
} finally {
  undoAll();
}
