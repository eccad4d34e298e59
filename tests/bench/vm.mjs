// The cost of the wire in instructions: whole transfers in a virtual machine whose kernel has TLS
// and whose clock counts instructions.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CACHE, ROOT, say, which } from "../setup/process.mjs";
import { runInVm, vmMissing } from "../vm/vm.mjs";

const SCRIPT = join(ROOT, "tests/bench/vm.sh");
/** The number at full scale. */
const MANY_FILES = 2_000;
const MANY_BYTES = 4_096;
const LARGE_BYTES = 64_000_000;
/** The script's tools from this machine, which the guest's busybox lacks. */
const TOOLS = ["bash", "split"];
/** Emulated on one processor, a round of all takes about half a minute. */
const SECONDS_PER_ROUND = 120;
const SECONDS_TO_START = 180;

/** The contenders' names in the script and in the table. */
const CONTENDERS = {
  "ringway-kernel": "ringway, kernel TLS at both ends",
  "ringway-user": "ringway, userspace TLS at both ends",
  "uring-sync-ktls": "uring-sync, kernel TLS",
  "uring-sync-plain": "uring-sync, not encrypted",
};
/** The others are compared with it. */
const PEER = "uring-sync-ktls";
const DATASETS = ["start", "many", "large"];

/**
 * All rounds into `report.vm`: {conditions, rows}, with a row for each transfer, in nanoseconds,
 * which are instructions.
 */
export async function vm(part, _conditions, { ringway, rounds, scale, report, keep }) {
  const missing = TOOLS.find((tool) => !which(tool));
  const why = vmMissing() ?? (missing ? `${missing} is missing` : null);
  if (why) {
    report.skipped.push(`${part}: no virtual machine: ${why}`);
    return;
  }
  const peer = process.env.RINGWAY_BENCH_URING_SYNC;
  const programs = [ringway, ...TOOLS.map((tool) => which(tool)), ...(peer && existsSync(peer) ? [peer] : [])];
  const sizes = { many_files: Math.max(10, Math.round(MANY_FILES * scale)), large_bytes: Math.max(1, Math.round(LARGE_BYTES * scale)) };
  const amounts = { rounds, many_bytes: MANY_BYTES, ...sizes };
  const folder = join(CACHE, "vm/cost");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "amounts");
  writeFileSync(file, Object.entries(amounts).map(([name, value]) => `${name}=${value}\n`).join(""));
  say(`${part}: ${rounds} rounds in the virtual machine`);
  const { status, lines } = await runInVm({
    name: "cost",
    script: SCRIPT,
    programs,
    files: { "payload/amounts": file },
    timeoutSeconds: SECONDS_TO_START + SECONDS_PER_ROUND * (rounds + 1),
    instructionClock: true,
    onLine: (line) => line.startsWith("figure ") && say(`${part} ${line}`),
  });
  const rows = lines.filter((line) => line.startsWith("figure ")).map(row);
  const faults = lines.filter((line) => line.startsWith("fault ") || line.startsWith("guest: no end"));
  report.skipped.push(...faults.map((line) => `${part}: ${line}`));
  if (status !== 0 && faults.length === 0) report.skipped.push(`${part}: exit ${status}: ${lines.slice(-3).join(" ")}`);
  report.vm = { amounts, rows };
  keep();
}

function row(line) {
  const [, contender, dataset, ...numbers] = line.split(" ");
  const [round, sender, receiver, all] = numbers.map(Number);
  return { contender, dataset, round, sender, receiver, all };
}

const line = (columns) => `| ${columns.join(" | ")} |`;

/** The table: medians of millions of instructions, and their ratio to uring-sync's. */
export function vmTable({ amounts, rows }, median) {
  const millions = (count) => (count / 1e6).toFixed(1);
  const measured = (contender, dataset, key) => {
    const found = rows.filter((one) => one.contender === contender && one.dataset === dataset);
    return found.length ? median(found.map((one) => one[key])) : null;
  };
  const script = measured("nothing", "start", "all") ?? 0;
  const of = (contender, dataset, key) => {
    const count = measured(contender, dataset, key);
    return count === null || key !== "all" ? count : count - script;
  };
  const named = {
    start: "one file of a byte: starting, meeting, ending",
    many: `${amounts.many_files} files of ${amounts.many_bytes} bytes`,
    large: `one file of ${amounts.large_bytes / 1e6} MB`,
  };
  const heading = ["what", "", "all", "sender", "receiver", "less the start", `of ${CONTENDERS[PEER]}`];
  const lines = [line(heading), line(heading.map((_, at) => (at > 1 ? "---:" : "---")))];
  for (const dataset of DATASETS) {
    for (const [contender, name] of Object.entries(CONTENDERS)) {
      const all = of(contender, dataset, "all");
      if (all === null) continue;
      const peer = of(PEER, dataset, "all");
      const start = of(contender, "start", "all");
      const bulk = dataset === "start" || start === null ? "" : millions(all - start);
      const ratio = peer && contender !== PEER ? `${(all / peer).toFixed(2)}x` : "";
      const ends = ["sender", "receiver"].map((end) => millions(of(contender, dataset, end)));
      lines.push(line([named[dataset], name, millions(all), ...ends, bulk, ratio]));
    }
  }
  return lines.join("\n");
}

/** The explanation of the figures, for below the table. */
export const VM_NOTE =
  "*All* is every instruction of the guest's processor, kernel included, from before the receiver's start to after both ends have ended, waiting and the script's own left out; " +
  "a sender's and a receiver's are those that the kernel counts to their processes. Ringway's devices know each other and have their keys; its " +
  "two connections' handshakes, its journal of devices, and synchronising are counted. uring-sync shares a secret, keeps no times, and writes without " +
  "synchronising.";
