// Figures to tables: medians, ratios to Ringway's own, losses in bold; and one line of conditions.
import { readFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";

const GIB = 1024 ** 3;
const MIB = 1024 ** 2;
const OURS = "ringway";
/** Moves no files: what the others are held against, and no race to lose. */
const CEILING = "iperf3";

export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** One cell: all rounds of one contender on one dataset in one place. */
function summary(runs) {
  const good = runs.filter((run) => !run.error);
  if (good.length === 0) return { error: runs[0]?.error };
  const of = (value) => median(good.map(value));
  const peak = (end) => Math.max(...good.flatMap((run) => run.ends.filter((e) => e.end === end).map((e) => e.peak_rss_bytes)));
  return {
    rounds: good.length,
    failed: runs.length - good.length,
    wall_s: of((run) => run.wall_s),
    wall_min_s: Math.min(...good.map((run) => run.wall_s)),
    wall_max_s: Math.max(...good.map((run) => run.wall_s)),
    cpu_s: of((run) => run.cpu_s),
    sender_peak_bytes: peak("sender"),
    receiver_peak_bytes: peak("receiver"),
    path: good[0].path,
    incomplete: good.some((run) => !run.complete),
  };
}

/** Runs grouped by part, filesystem, cache, dataset and contender, in the order in which they were met. */
export function cells(runs) {
  const groups = new Map();
  for (const run of runs) {
    const key = [run.part, run.filesystem, run.cache, run.dataset, run.contender].join("\n");
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(run);
  }
  const all = [...groups.values()].map((group) => {
    const { part, filesystem, cache, dataset, contender } = group[0];
    return { part, filesystem, cache, dataset, contender, ...summary(group) };
  });
  for (const cell of all) {
    const same = (other) => ["part", "filesystem", "cache", "dataset"].every((key) => other[key] === cell[key]);
    const ours = all.find((other) => same(other) && other.contender === OURS);
    if (ours?.wall_s && cell.wall_s) cell.ratio = cell.wall_s / ours.wall_s;
  }
  return all;
}

function row(columns) {
  return `| ${columns.join(" | ")} |`;
}

function figure(cell) {
  if (!cell) return "";
  if (cell.wall_s === undefined) return "failed";
  const marks = (cell.incomplete ? " (incomplete)" : "") + (cell.failed ? ` (${cell.failed} failed)` : "");
  const seconds = cell.wall_s.toFixed(2);
  if (cell.contender === OURS || cell.ratio === undefined) return seconds + marks;
  const ratio = `${cell.ratio.toFixed(2)}x`;
  return `${seconds} · ${cell.ratio < 1 && cell.contender !== CEILING ? `**${ratio}**` : ratio}${marks}`;
}

const distinct = (list) => [...new Set(list)];

function overview(group) {
  const datasets = distinct(group.map((cell) => cell.dataset));
  const at = (contender, dataset) => group.find((cell) => cell.contender === contender && cell.dataset === dataset);
  const lines = [row(["seconds · times Ringway's", ...datasets]), row(["---", ...datasets.map(() => "---:")])];
  for (const contender of distinct(group.map((cell) => cell.contender))) {
    lines.push(row([contender, ...datasets.map((dataset) => figure(at(contender, dataset)))]));
  }
  return lines.join("\n");
}

function details(group) {
  const mib = (bytes) => (bytes / MIB).toFixed(0);
  const lines = [
    row(["dataset", "contender", "wall s, median (min to max)", "CPU s, both ends", "peak MiB, sender / receiver", "path"]),
    row(["---", "---", "---:", "---:", "---:", "---"]),
  ];
  for (const cell of group) {
    if (cell.wall_s === undefined) {
      lines.push(row([cell.dataset, cell.contender, "failed", "", "", (cell.error ?? "").replace(/[\n|]+/g, " ").slice(0, 160)]));
      continue;
    }
    const wall = `${cell.wall_s.toFixed(2)} (${cell.wall_min_s.toFixed(2)} to ${cell.wall_max_s.toFixed(2)})`;
    const peaks = `${mib(cell.sender_peak_bytes)} / ${mib(cell.receiver_peak_bytes)}`;
    lines.push(row([cell.dataset, cell.contender, wall, cell.cpu_s.toFixed(2), peaks, cell.path]));
  }
  return lines.join("\n");
}

export function machine() {
  const memory = `${Math.round(totalmem() / GIB)} GiB`;
  const load = readFileSync("/proc/loadavg", "utf8").split(" ")[0];
  return { processors: cpus().length, model: cpus()[0]?.model ?? "unknown", memory, kernel: release(), load_at_start: Number(load) };
}

const TITLES = { wire: "Over loopback, both ends on this machine" };

/** The tables as Markdown. */
export function markdown({ conditions, cells: all, contenders, skipped }) {
  const { machine: on, rounds, scale } = conditions;
  const parts = [
    `${on.processors} processors (${on.model}), ${on.memory}, Linux ${on.kernel}, load ${on.load_at_start} at the start; ` +
      `medians of ${rounds} interleaved rounds` +
      (scale === 1 ? "." : `; data scaled to ${scale}: good for trying the benchmark, not for figures.`) +
      " Lower is better; a ratio below 1 (bold) means that Ringway lost. " +
      "CPU is user and system time of all processes of both ends, peak that of an end's largest process.",
  ];
  const key = (cell) => `${cell.part}\n${cell.filesystem}\n${cell.cache}`;
  for (const each of distinct(all.map(key))) {
    const group = all.filter((cell) => key(cell) === each);
    const { part, filesystem, cache } = group[0];
    parts.push(`### ${TITLES[part] ?? part}: ${filesystem}, ${cache} source`, overview(group), details(group));
  }
  const notes = contenders.filter((contender) => contender.note).map(({ name, note }) => `- ${name}: ${note}`);
  if (notes.length) parts.push(notes.join("\n"));
  if (skipped.length) parts.push(skipped.map((line) => `- skipped: ${line}`).join("\n"));
  return `${parts.join("\n\n")}\n`;
}
