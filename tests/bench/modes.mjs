// `ringway bench modes`: layers, system calls and encryption by themselves and all together,
// measured by the command itself.
import { lastLine } from "../setup/packages.mjs";
import { capture, say } from "../setup/process.mjs";
import { open, title, tooLarge, unavailable } from "./places.mjs";

const MIB = 1024 * 1024;
/** The full scale: the command's own default. */
const FULL = { small: 20_000, medium: 3_000, hugeMib: 512 };
/** The bytes of a small and of a medium file. */
const LENGTHS = { small: 4_096, medium: 100_000 };

/** Only one dataset exists at a time. */
function largest({ small, medium, hugeMib }) {
  return { files: Math.max(small, medium), bytes: Math.max(small * LENGTHS.small, medium * LENGTHS.medium, hugeMib * MIB) };
}

/**
 * All modes on all filesystems into `report.modes`: {filesystem, conditions, rows}, as the command
 * returns them.
 */
export async function modes(part, { kinds }, { ringway, where, rounds, scale, report, keep }) {
  const amounts = Object.fromEntries(Object.entries(FULL).map(([name, full]) => [name, Math.max(1, Math.round(full * scale))]));
  const sizes = ["--small", amounts.small, "--medium", amounts.medium, "--huge", `${amounts.hugeMib}M`].map(String);
  for (const filesystem of kinds) {
    const cannot = unavailable(filesystem, where) ?? tooLarge(filesystem, where, largest(amounts));
    if (cannot) {
      report.skipped.push(`${part}: ${filesystem}: ${cannot}`);
      continue;
    }
    const place = open(filesystem, where, largest(amounts));
    try {
      place.settle();
      say(`${part} ${filesystem}`);
      const done = capture(ringway, ["bench", "modes", "--json", "--at", place.source, "--rounds", String(rounds), ...sizes]);
      const events = done.out.split("\n").filter(Boolean).map((line) => JSON.parse(line));
      const rows = events.filter(({ event }) => event === "measured");
      if (rows.length === 0) throw new Error(lastLine(done.err) || `ringway bench modes: exit ${done.status}`);
      report.modes.push({ filesystem, conditions: events.find(({ event }) => event === "conditions"), rows });
      if (done.status !== 0) report.skipped.push(`${part}: ${filesystem}: ${lastLine(done.err) || "a mode failed, see its row"}`);
    } catch (error) {
      report.skipped.push(`${part}: ${filesystem}: ${error.message}`);
    } finally {
      place.close();
    }
    keep();
  }
}

const line = (columns) => `| ${columns.join(" | ")} |`;

/** A row's figures, each in its column. */
function figures({ bytes, files, bytes_per_s, files_per_s, sender, receiver, other_cpu_s, bottleneck, slowest_layer, part, mode }) {
  const perGb = (seconds) => (seconds / (bytes / 1e9)).toFixed(2);
  const both = (text) => [sender, receiver].map((end) => (end ? text(end) : "–")).join(" / ");
  const perMib = (count) => (count === null ? "–" : (count / 1e3 / (bytes / MIB)).toFixed(0));
  const ofFiles = files > 1 && (part !== "layer" || /^(read|write)/.test(mode));
  return [
    (bytes_per_s / 1e6).toFixed(0),
    ofFiles ? files_per_s.toFixed(0) : "",
    both(({ cpu_s }) => perGb(cpu_s)),
    perGb(other_cpu_s),
    both(({ busy }) => `${Math.round(busy * 100)} %`),
    both(({ instructions }) => perMib(instructions)),
    part === "layer" ? "" : [bottleneck, slowest_layer].filter(Boolean).join("; "),
  ];
}

const HEADING = ["", "mode", "TLS", "MB/s", "files/s", "CPU s a GB, sender / receiver", "CPU s a GB, neither", "busy", "k instructions a MiB", "in the way"];

function table(rows) {
  const lines = [line(HEADING), line(HEADING.map((_, at) => (at > 2 && at < HEADING.length - 1 ? "---:" : "---")))];
  for (const row of rows.filter(({ state }) => state !== "skipped")) {
    const shown = row.state === "measured" ? figures(row) : [`failed: ${row.reason.replace(/[\n|]+/g, " ")}`, "", "", "", "", "", ""];
    lines.push(line([row.part, row.mode, row.tls ?? "", ...shown]));
  }
  return lines.join("\n");
}

/**
 * The tables: one for each filesystem, dataset and number of lanes. Below each is what this machine
 * lacks.
 */
export function modesTables(all) {
  const parts = [];
  for (const { filesystem, conditions, rows } of all) {
    const groups = new Map();
    for (const row of rows) {
      const key = `${row.dataset} files (${row.files}, ${Math.round(row.bytes / 1e6)} MB), ${row.lanes} lane${row.lanes > 1 ? "s" : ""}`;
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(row);
    }
    for (const [key, group] of groups) parts.push(`### Modes: ${title(filesystem)}, ${key}`, table(group));
    const lacking = [...new Set(rows.filter(({ state }) => state === "skipped").map(({ reason }) => reason))];
    if (conditions?.no_instructions) lacking.push(`no instructions: ${conditions.no_instructions}`);
    if (lacking.length) parts.push(lacking.map((reason) => `- left out: ${reason}`).join("\n"));
  }
  return parts.join("\n\n");
}
