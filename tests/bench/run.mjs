// `npm run bench`: Ringway and its peers side by side, interleaved; a Markdown table, and all
// figures as JSON in tests/.out/.
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { TARGET, WORKSPACE, needRust } from "../setup/build.mjs";
import { missing, need } from "../setup/packages.mjs";
import { ROOT, run, say } from "../setup/process.mjs";
import { asks } from "./asks.mjs";
import { contenders as copy, growth } from "./copy.mjs";
import { DATASETS, TINY_DATASETS } from "./datasets.mjs";
import { layers } from "./layers.mjs";
import { links } from "./links.mjs";
import { listing } from "./listing.mjs";
import { modes } from "./modes.mjs";
import { KINDS, cacheOf } from "./places.mjs";
import { race } from "./race.mjs";
import { cells, machine, markdown } from "./report.mjs";
import { undoAll, undoLater, undoOnSignals } from "./undo.mjs";
import { vm } from "./vm.mjs";
import { window } from "./window.mjs";
import { again, contenders as wire, getting } from "./wire.mjs";

/** Kept over a reboot (hier(7)), so it is on a disk. */
const DISK = "/var/tmp";
const HELP = `npm run bench -- [OPTIONS]
  --scale N       part of the full size; "small" is 0.02, for trying it out (default 1)
  --rounds N      interleaved rounds (default 5)
  --part P,...    wire, copy: against the peers; get: sending against getting; again: over the wire, a tree that is there already; scale: many files; layers: each
                  layer of a copy alone; modes: what the wire is made of, by itself and together; vm: whole transfers with
                  kernel TLS, in instructions, in a virtual machine; links: long links, in another one; listing: what is shared, in a third; asks: single questions beside a transfer, in a fourth;
                  window: what the window costs, on a virtual screen (default: all)
  --fs F,...      ${KINDS.join(", ")}; all but tmpfs take root (default: what the part is about)
  --cache C,...   warm, cold; cold is the source on a disk (default: both)
  --data D,...    ${DATASETS.join(", ")} (default: all; wire, copy)
  --only C,...    contenders by name, besides ringway (default: all)
  --at FOLDER     where the trees lie: on tmpfs (default: /dev/shm)
  --disk FOLDER   where cold sources lie: on a disk (default: ${DISK})
  --no-build      take the release build of ringway that is there
RINGWAY_BENCH_COMMAND=/path/to/ringway measures that one, with --no-build.
RINGWAY_BENCH_URING_SYNC=/path/to/uring-sync adds that peer. RINGWAY_SETUP=skip installs no packages.
`;
const SMALL = 0.02;
/**
 * What can be measured: contenders that race, or another function; on which filesystems and
 * datasets.
 */
const PARTS = {
  wire: { contenders: wire, kinds: ["tmpfs", "ext4"], datasets: DATASETS },
  get: { contenders: getting, kinds: ["tmpfs", "ext4"], datasets: DATASETS },
  again: { contenders: again, kinds: ["tmpfs", "ext4"], datasets: DATASETS },
  copy: { contenders: copy, kinds: KINDS, datasets: DATASETS },
  scale: { contenders: growth, kinds: ["tmpfs"], datasets: TINY_DATASETS },
  layers: { measure: layers, kinds: KINDS },
  modes: { measure: modes, kinds: ["tmpfs", "ext4"] },
  vm: { measure: vm, kinds: ["tmpfs"] },
  links: { measure: links, kinds: ["tmpfs"] },
  listing: { measure: listing, kinds: ["tmpfs"] },
  asks: { measure: asks, kinds: ["tmpfs"] },
  window: { measure: window, kinds: ["tmpfs"] },
};
const CACHES = ["warm", "cold"];
const OUT = join(ROOT, "tests/.out");

function options() {
  const list = { type: "string" };
  const { values } = parseArgs({
    options: {
      scale: list, rounds: list, part: list, fs: list, data: list, only: list, at: list, cache: list, disk: list,
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
  const caches = chosen(values.cache, CACHES);
  return {
    scale: values.scale === "small" ? SMALL : positive(values.scale, 1),
    rounds: Math.ceil(positive(values.rounds, 5)),
    parts: chosen(values.part, Object.keys(PARTS)),
    kinds: chosen(values.fs, KINDS).filter((kind) => caches.includes(cacheOf(kind))),
    datasets: chosen(values.data, DATASETS),
    only: values.only?.split(","),
    base: values.at ?? (existsSync("/dev/shm") ? "/dev/shm" : tmpdir()),
    disk: values.disk ?? DISK,
    build: !values["no-build"],
  };
}

/** The distribution's packages that the chosen parts need. */
function packages(parts) {
  if (process.env.RINGWAY_SETUP === "skip") return;
  need(["rsync", "time", "e2fsprogs", "btrfs-progs", "xfsprogs"], "the benchmark");
  if (!["wire", "again", "get", "links", "listing", "asks"].some((part) => parts.includes(part))) return;
  need(["openssh-client", "iperf3"], "the benchmark");
  if (parts.includes("listing")) need(["sshfs"], "the benchmark");
  // With an init system, the package would open this machine to the network. Its administrator has
  // to decide that.
  if (!existsSync("/run/systemd/system")) need(["openssh-server"], "the benchmark");
  else if (missing(["openssh-server"]).length) say("bench: install openssh-server to measure what goes over ssh");
}

/** The release build of the `ringway` command, built if `whether` says so. */
function command(whether) {
  const ringway = process.env.RINGWAY_BENCH_COMMAND ?? join(TARGET, "release/ringway");
  if (whether) {
    needRust();
    run("cargo", ["build", "--release", "--locked", "-p", "ringway-cli"], { cwd: WORKSPACE });
  }
  if (!existsSync(ringway)) throw new Error(`there is no ${ringway}: leave --no-build out`);
  return ringway;
}

/** The selected ones of a part's own kinds or datasets. */
function left(part, own, chosen) {
  const both = own.filter((name) => chosen.includes(name));
  if (both.length === 0) say(`bench: ${part}: nothing of ${chosen.join(", ")} there`);
  return both;
}

async function main() {
  const chosen = options();
  undoOnSignals();
  packages(chosen.parts);
  const ringway = command(chosen.build);
  const base = mkdtempSync(join(chosen.base, "ringway-bench-"));
  undoLater(() => rmSync(base, { recursive: true, force: true }));
  const scratch = join(base, "scratch");
  mkdirSync(scratch, { mode: 0o700 });
  const report = {
    conditions: { date: new Date().toISOString(), machine: machine(), rounds: chosen.rounds, scale: chosen.scale },
    contenders: [],
    skipped: [],
    runs: [],
    layers: [],
    modes: [],
    vm: null,
    links: null,
    listing: null,
    asks: null,
    window: null,
  };
  const { rounds, scale, only, build } = chosen;
  const conditions = { ringway, build, only, rounds, scale, scratch, where: { base, disk: chosen.disk }, report, keep: () => keep(report) };
  for (const name of chosen.parts) {
    const { measure = race, ...part } = PARTS[name];
    const kinds = left(name, part.kinds, chosen.kinds);
    // A part with only its own datasets offers no choice.
    const datasets = part.datasets === DATASETS ? left(name, DATASETS, chosen.datasets) : part.datasets;
    await measure(name, { ...part, kinds, datasets }, conditions);
  }
  const table = keep(report);
  say(`\n${table}\nbench: figures in tests/.out/bench.json, table in tests/.out/bench.md`);
  if (report.runs.some((run) => run.error && run.contender === "ringway")) process.exitCode = 1;
}

/** Writes the results so far, so that an interrupted long benchmark was not in vain. */
function keep(report) {
  mkdirSync(OUT, { recursive: true });
  const whole = { ...report, cells: cells(report.runs) };
  const table = markdown(whole);
  writeFileSync(join(OUT, "bench.json"), `${JSON.stringify(whole, null, 2)}\n`);
  writeFileSync(join(OUT, "bench.md"), table);
  return table;
}

try {
  await main();
} catch (error) {
  process.stderr.write(`bench: ${error.message}\n`);
  process.exitCode = 1;
} finally {
  undoAll();
}
