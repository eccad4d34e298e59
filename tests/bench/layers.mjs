// Each layer of a copy by itself, measured by `layers` (an example of ringway-sys) on each
// filesystem: the limit of what a copy can reach.
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { TARGET, WORKSPACE, needRust } from "../setup/build.mjs";
import { lastLine } from "../setup/packages.mjs";
import { capture, run, say } from "../setup/process.mjs";
import { clear, open, title, tooLarge, unavailable } from "./places.mjs";

const PROGRAM = join(TARGET, "release/examples/layers");
/**
 * Enough that a batch's noise averages out, and that all layers on all filesystems take minutes.
 */
const FILES = 20_000;
const LARGE_MIB = 512;
/** The most trees that a layer has at a time, and their largest files. */
const SIZE = { files: 3 * FILES, bytes: 3 * LARGE_MIB * 1024 * 1024 };
/** The only layer that needs a real disk. */
const COLD = "read-cold";

function build(whether) {
  if (whether) {
    needRust();
    run("cargo", ["build", "--release", "--locked", "-p", "ringway-sys", "--example", "layers"], { cwd: WORKSPACE });
  }
  if (!existsSync(PROGRAM)) throw new Error(`there is no ${PROGRAM}: leave --no-build out`);
}

/** The results of one layer in one round, a record for each way. */
function measureOnce(layer, place, scale) {
  const folder = join(place.source, "layer");
  clear(folder);
  mkdirSync(folder);
  place.settle();
  const amounts = [FILES, LARGE_MIB].map((full) => String(Math.max(1, Math.round(full * scale))));
  const done = capture(PROGRAM, [layer, folder, ...amounts]);
  clear(folder);
  if (done.status !== 0) throw new Error(lastLine(done.err));
  return done.out.trim().split("\n").map((line) => {
    const [way, unit, count, wall_ns, cpu_ns] = line.split("\t");
    return { way, unit, wall_ns: wall_ns / count, cpu_ns: cpu_ns / count };
  });
}

/** All layers on all filesystems into `report.layers`: a record for each round of each way. */
export async function layers(part, { kinds }, { where, rounds, scale, report, keep, build: whether }) {
  build(whether);
  const all = capture(PROGRAM, ["--list"]).out.trim().split("\n");
  for (const filesystem of kinds) {
    const cannot = unavailable(filesystem, where) ?? tooLarge(filesystem, where, SIZE);
    if (cannot) {
      report.skipped.push(`${part}: ${filesystem}: ${cannot}`);
      continue;
    }
    const place = open(filesystem, where, SIZE);
    try {
      for (let round = 1; round <= rounds; round++) {
        for (const layer of all.filter((name) => (name === COLD) === (filesystem === "disk"))) {
          try {
            report.layers.push(...measureOnce(layer, place, scale).map((one) => ({ filesystem, layer, round, ...one })));
            say(`${part} ${filesystem} ${round} ${layer}`);
          } catch (error) {
            report.skipped.push(`${part}: ${filesystem}: ${layer}: ${error.message}`);
          }
        }
        keep();
      }
    } finally {
      place.close();
    }
  }
}

/** A rate above this exceeds memory's: no byte was copied, the blocks are shared. */
const SHARED_GBPS = 100;

/** The text for a way's figures on one filesystem: medians of its rounds. */
function figure(runs, median) {
  if (runs.length === 0) return "";
  const [wall, cpu] = ["wall_ns", "cpu_ns"].map((key) => median(runs.map((one) => one[key])));
  // Bytes per nanosecond are GB/s; nanoseconds per byte are seconds per GB.
  if (runs[0].unit === "byte" && 1 / wall > SHARED_GBPS) return "blocks shared";
  if (runs[0].unit === "byte") return `${(1 / wall).toFixed(2)} GB/s · ${cpu.toFixed(2)}`;
  return `${(wall / 1000).toFixed(2)} · ${(cpu / 1000).toFixed(2)}`;
}

/** The table of layers: a line for each way, a column for each filesystem. */
export function layersTable(records, median) {
  const distinct = (list) => [...new Set(list)];
  const kinds = distinct(records.map(({ filesystem }) => filesystem));
  const row = (columns) => `| ${columns.join(" | ")} |`;
  const lines = [row(["µs of wall · of CPU each, or GB/s · CPU s a GB", ...kinds.map(title)]), row(["---", ...kinds.map(() => "---:")])];
  for (const way of distinct(records.map((one) => one.way))) {
    const { unit } = records.find((one) => one.way === way);
    const cells = kinds.map((kind) => figure(records.filter((one) => one.way === way && one.filesystem === kind), median));
    lines.push(row([unit === "entry" ? `${way}, an entry` : way, ...cells]));
  }
  return lines.join("\n");
}
