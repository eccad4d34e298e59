// Turns figures into tables: medians, ratios to Ringway's own, losses in bold, and one line of
// conditions.
import { readFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { asksTable } from "./asks.mjs";
import { layersTable } from "./layers.mjs";
import { LINKS_NOTE, linksTable } from "./links.mjs";
import { LISTING_NOTE, listingTable } from "./listing.mjs";
import { modesTables } from "./modes.mjs";
import { title } from "./places.mjs";
import { VM_NOTE, vmTable } from "./vm.mjs";
import { WINDOW_NOTE, windowTable } from "./window.mjs";

const GIB = 1024 ** 3;
const MIB = 1024 ** 2;
const OURS = "ringway";
/** It moves no files: the others are compared with it, and it does not race. */
const CEILING = "iperf3";
/** The properties that identify a cell's place and data. */
const WHERE = ["part", "filesystem", "cache", "dataset"];

const distinct = (list) => [...new Set(list)];

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
  const ends = distinct(good[0].ends.map(({ end }) => end)).sort().reverse();
  return {
    rounds: good.length,
    failed: runs.length - good.length,
    wall_s: of((run) => run.wall_s),
    wall_min_s: Math.min(...good.map((run) => run.wall_s)),
    wall_max_s: Math.max(...good.map((run) => run.wall_s)),
    cpu_s: of((run) => run.cpu_s),
    peak_bytes: Object.fromEntries(ends.map((end) => [end, peak(end)])),
    path: good[0].path,
    incomplete: good.some((run) => !run.complete),
    wrong: good.find((run) => run.wrong)?.wrong,
    files: good[0].files,
  };
}

/**
 * Runs grouped by part, filesystem, cache, dataset and contender, in the order in which they were
 * met.
 */
export function cells(runs) {
  const groups = new Map();
  for (const run of runs) {
    const key = [...WHERE.map((each) => run[each]), run.contender].join("\n");
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(run);
  }
  const all = [...groups.values()].map((group) => {
    const { part, filesystem, cache, dataset, contender, against } = group[0];
    return { part, filesystem, cache, dataset, contender, against, ...summary(group) };
  });
  for (const cell of all) {
    const same = (other) => WHERE.every((key) => other[key] === cell[key]);
    const ours = all.find((other) => same(other) && other.contender === (cell.against ?? OURS));
    if (ours?.wall_s && cell.wall_s) cell.ratio = cell.wall_s / ours.wall_s;
  }
  return all;
}

function row(columns) {
  return `| ${columns.join(" | ")} |`;
}

/** Seconds with the precision that is meaningful. */
function seconds(value) {
  return value.toFixed(value < 0.1 ? 3 : 2);
}

function span({ wall_s, wall_min_s, wall_max_s }) {
  return `${seconds(wall_s)} (${seconds(wall_min_s)} to ${seconds(wall_max_s)})`;
}

/** Ringway, without or with options. */
const isOurs = ({ contender }) => contender.startsWith(OURS);

function figure(cell) {
  if (!cell) return "";
  if (cell.wall_s === undefined) return "failed";
  const marks = (cell.incomplete ? " (incomplete)" : "") + (cell.failed ? ` (${cell.failed} failed)` : "");
  const wall = seconds(cell.wall_s);
  if (isOurs(cell) || cell.ratio === undefined) return wall + marks;
  const ratio = `${cell.ratio.toFixed(2)}x`;
  return `${wall} · ${cell.ratio < 1 && cell.contender !== CEILING ? `**${ratio}**` : ratio}${marks}`;
}

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
  const each = Object.keys(group.find((cell) => cell.peak_bytes)?.peak_bytes ?? {});
  const ends = each.length > 1 ? `, ${each.join(" / ")}` : "";
  const lines = [
    row(["dataset", "contender", "wall s, median (min to max)", "CPU s", `peak MiB${ends}`, "path"]),
    row(["---", "---", "---:", "---:", "---:", "---"]),
  ];
  for (const cell of group) {
    if (cell.wall_s === undefined) {
      lines.push(row([cell.dataset, cell.contender, "failed", "", "", (cell.error ?? "").replace(/[\n|]+/g, " ").slice(0, 160)]));
      continue;
    }
    const peaks = Object.values(cell.peak_bytes).map(mib).join(" / ");
    lines.push(row([cell.dataset, cell.contender, span(cell), seconds(cell.cpu_s), peaks, cell.path]));
  }
  return lines.join("\n");
}

/** The cost by the number of files, one line for each number and contender. */
function growth(group) {
  const lines = [
    row(["files", "contender", "wall s, median (min to max)", "CPU s", "µs of wall a file", "µs of CPU a file", "peak MiB"]),
    row(["---:", "---", "---:", "---:", "---:", "---:", "---:"]),
  ];
  for (const cell of group) {
    const { contender, files, wall_s, cpu_s } = cell;
    if (wall_s === undefined) {
      lines.push(row([cell.dataset, contender, "failed", "", "", "", ""]));
      continue;
    }
    const [wall, cpu] = [wall_s, cpu_s].map((total) => ((total / files) * 1e6).toFixed(2));
    const peak = Math.max(...Object.values(cell.peak_bytes)) / MIB;
    const marks = cell.incomplete ? " (incomplete)" : "";
    lines.push(row([String(files), contender, span(cell) + marks, seconds(cpu_s), wall, cpu, peak.toFixed(1)]));
  }
  return lines.join("\n");
}

const TITLES = {
  wire: "Over loopback, both ends on this machine",
  again: "A tree that is there already, over loopback",
  copy: "Copies inside this machine",
  scale: "Many files of 16 bytes",
};

function conditionsLine({ machine: on, rounds, scale }) {
  return (
    `${on.processors} processors (${on.model}), ${on.memory}, Linux ${on.kernel}, load ${on.load_at_start} at the start; ` +
    `medians of ${rounds} interleaved rounds` +
    (scale === 1 ? "." : `; data scaled to ${scale}: good for trying the benchmark, not for figures.`) +
    " Lower is better; a ratio below 1 (bold) means that Ringway lost. " +
    "CPU is user and system time of all processes, peak that of the largest process (over the wire: of each end's). " +
    "Memory is warmed before every run."
  );
}

/** The conditions that one table's figures share, as a heading. */
function heading({ part, filesystem, cache }) {
  return `### ${TITLES[part] ?? part}: ${title(filesystem)}, ${cache} source`;
}

/** The tables as Markdown. */
export function markdown({ conditions, cells: all, contenders, skipped, layers, modes, vm, links, listing, asks, window }) {
  const parts = [conditionsLine(conditions)];
  const key = (cell) => `${cell.part}\n${cell.filesystem}\n${cell.cache}`;
  for (const each of distinct(all.map(key))) {
    const group = all.filter((cell) => key(cell) === each);
    parts.push(heading(group[0]), ...(group[0].part === "scale" ? [growth(group)] : [overview(group), details(group)]));
  }
  if (layers.length) parts.push("### Layers of a copy, each alone", layersTable(layers, median));
  if (modes.length) parts.push(modesTables(modes));
  if (links) parts.push("### Over long links, in a virtual machine", linksTable(links, median), LINKS_NOTE);
  if (listing) parts.push("### Listing over a link, in a virtual machine", listingTable(listing, median), LISTING_NOTE);
  if (asks) parts.push("### Questions beside a transfer, in a virtual machine", asksTable(asks));
  if (vm) parts.push("### Over the guest's loopback with kernel TLS, tmpfs to tmpfs: millions of instructions", vmTable(vm, median), VM_NOTE);
  if (window) parts.push("### The window", windowTable(window, median), WINDOW_NOTE);
  for (const part of distinct(contenders.map((contender) => contender.part))) {
    const noted = contenders.filter((contender) => contender.note && contender.part === part);
    if (noted.length) parts.push(`${part}:\n\n${noted.map(({ name, note }) => `- ${name}: ${note}`).join("\n")}`);
  }
  const wrong = all.filter((cell) => cell.wrong);
  const lacking = (cell) => `- incomplete: ${[...WHERE, "contender"].map((each) => cell[each]).join(" ")}: ${cell.wrong}`;
  if (wrong.length) parts.push(wrong.map(lacking).join("\n"));
  if (skipped.length) parts.push(skipped.map((line) => `- skipped: ${line}`).join("\n"));
  return `${parts.join("\n\n")}\n`;
}

export function machine() {
  const memory = `${Math.round(totalmem() / GIB)} GiB`;
  const load = readFileSync("/proc/loadavg", "utf8").split(" ")[0];
  return { processors: cpus().length, model: cpus()[0]?.model ?? "unknown", memory, kernel: release(), load_at_start: Number(load) };
}
