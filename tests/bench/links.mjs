// Long links: transfers over a network with delay, loss and a rate.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, capture } from "../setup/process.mjs";
import { missing, named, overLink, sameLink } from "./guest.mjs";

const SCRIPT = join(ROOT, "tests/bench/links.sh");
/** Round-trip time in ms, loss in percent each way, rate in Mbit/s each way. */
const LINKS = [
  { rtt: 20, loss: 0, rate: 100 },
  { rtt: 20, loss: 0, rate: 1000 },
  { rtt: 50, loss: 1, rate: 100 },
  { rtt: 50, loss: 1, rate: 1000 },
];
/** Their names in the script: how many files, and bytes in each, at full scale. */
const DATASETS = {
  small: { files: 20_000, bytes: 4_096, title: "20,000 files of 4 KB" },
  medium: { files: 2_000, bytes: 100_000, title: "2,000 files of 100 KB" },
  large: { files: 1, bytes: 256_000_000, title: "one file of 256 MB" },
};
const KINDS = { random: "random bytes", text: "text" };
/** The contenders' names in the script and in the table. */
const CONTENDERS = {
  send: "ringway send",
  get: "ringway get",
  rsync: "rsync -a",
  rsyncz: "rsync -az",
  "rsync-bbr": "rsync -a, BBR",
  tar: "tar over ssh",
  "uring-sync": "uring-sync, not encrypted",
};
/** The others are compared with it. */
const OURS = "send";
const TOOLS = ["head", "split", "rsync", "tar"];
/** The text is this project's own: as code is, it shrinks to a quarter. */
const TEXT = ["*.rs", "*.md", "*.mjs", "*.ts", "*.svelte", "*.json", "*.sh"];

function text() {
  const listed = capture("git", ["-C", ROOT, "ls-files", "-z", "--", ...TEXT]).out.split("\0").filter(Boolean);
  return Buffer.concat(listed.map((name) => readFileSync(join(ROOT, name))));
}

/**
 * All links into `report.links`: {scale, rows}, with a row for each transfer: seconds, bytes on the
 * wire in both directions, and instructions of both ends with their kernels.
 */
export async function links(part, _conditions, { ringway, rounds, scale, only, report, keep }) {
  const why = missing(TOOLS);
  if (why) {
    report.skipped.push(`${part}: ${why}`);
    return;
  }
  const peer = process.env.RINGWAY_BENCH_URING_SYNC;
  const programs = [ringway, ...(peer && existsSync(peer) ? [peer] : [])];
  const amounts = { rounds, only: (only ?? []).join(" ") };
  for (const [name, { files, bytes }] of Object.entries(DATASETS)) {
    amounts[`${name}_files`] = files === 1 ? 1 : Math.max(10, Math.round(files * scale));
    amounts[`${name}_bytes`] = files === 1 ? Math.round(bytes * scale) : bytes;
  }
  report.links = { scale, rows: [] };
  for (const link of LINKS) {
    const figures = await overLink({ part, script: SCRIPT, link, amounts, contents: { text: text() }, programs, tools: TOOLS, report });
    report.links.rows.push(...figures.map((words) => row(link, words)));
    keep();
  }
}

function row(link, [contender, dataset, kind, ...numbers]) {
  const [round, microseconds, wire_bytes, instructions] = numbers.map(Number);
  return { ...link, contender, dataset, kind, round, seconds: microseconds / 1e6, wire_bytes, instructions };
}

const line = (columns) => `| ${columns.join(" | ")} |`;

/**
 * The table: medians of seconds with their ratio to Ringway's, megabytes, millions of instructions.
 */
export function linksTable({ rows }, median) {
  const shown = Object.keys(CONTENDERS).filter((name) => rows.some(({ contender }) => contender === name));
  const lines = [line(["link", "what", ...shown.map((name) => CONTENDERS[name])]), line(["---", "---", ...shown.map(() => "---:")])];
  for (const link of LINKS) {
    for (const [dataset, { title }] of Object.entries(DATASETS)) {
      for (const [kind, made] of Object.entries(KINDS)) {
        const here = rows.filter((one) => sameLink(one, link) && one.dataset === dataset && one.kind === kind);
        if (here.length === 0) continue;
        const of = (name, key) => {
          const all = here.filter(({ contender }) => contender === name).map((one) => one[key]);
          return all.length ? median(all) : null;
        };
        const ours = of(OURS, "seconds");
        const cell = (name) => {
          const seconds = of(name, "seconds");
          if (seconds === null) return "";
          const ratio = name === OURS || !ours ? "" : ` ${(seconds / ours).toFixed(2)}x`;
          return `${seconds.toFixed(1)} s${ratio}, ${(of(name, "wire_bytes") / 1e6).toFixed(0)} MB, ${(of(name, "instructions") / 1e6).toFixed(0)} M`;
        };
        lines.push(line([named(link), `${title}, ${made}`, ...shown.map(cell)]));
      }
    }
  }
  return lines.join("\n");
}

/** The explanation of the figures, for below the table. */
export const LINKS_NOTE =
  "Seconds from a program's start to its end, megabytes on the wire in both directions, and millions of instructions of both ends with their kernels. Both ends run on one " +
  "processor that does 1,000 million instructions a second, and the others go over ssh. The loss is each way. Ringway chooses BBR for its connections where the kernel has it; the " +
  "other programs have the kernel's default (CUBIC), and rsync with BBR is measured too.";
