// Listing what is far away: `ringway ls` against find over ssh, and against ls on sshfs.
import { join } from "node:path";
import { ROOT } from "../setup/process.mjs";
import { missing, named, overLink, sameLink } from "./guest.mjs";

const SCRIPT = join(ROOT, "tests/bench/listing.sh");
const LINKS = [
  { rtt: 0, loss: 0, rate: 10_000 },
  { rtt: 10, loss: 0, rate: 1000 },
];
/** Their names in the script: how many folders, and entries in each, at full scale. */
const DATASETS = {
  one: { folders: 1, entries: 100_000, title: "100,000 files in one folder" },
  many: { folders: 1_000, entries: 100, title: "100,000 files in 1,000 folders" },
};
/** The contenders' names in the script and in the table. */
const CONTENDERS = { ls: "ringway ls -lR", find: "ssh find -printf", sshfs: "ls -lR on sshfs" };
const OURS = "ls";
const TOOLS = ["find", "ls", "sshfs"];

/**
 * All listings into `report.listing`: {scale, rows}, with a row for each: seconds to the first line
 * and to the last, bytes on the wire in both directions, and instructions.
 */
export async function listing(part, _conditions, { ringway, rounds, scale, report, keep }) {
  const why = missing(TOOLS);
  if (why) {
    report.skipped.push(`${part}: ${why}`);
    return;
  }
  const amounts = { rounds };
  for (const [name, { folders, entries }] of Object.entries(DATASETS)) {
    amounts[`${name}_folders`] = Math.max(1, Math.round(folders * scale));
    amounts[`${name}_entries`] = folders === 1 ? Math.round(entries * scale) : entries;
  }
  report.listing = { scale, rows: [] };
  for (const link of LINKS) {
    const figures = await overLink({ part, script: SCRIPT, link, amounts, programs: [ringway], tools: TOOLS, modules: ["fuse"], report });
    report.listing.rows.push(...figures.map((words) => row(link, words)));
    keep();
  }
}

function row(link, [contender, dataset, ...numbers]) {
  const [round, first, last, wire_bytes, instructions] = numbers.map(Number);
  return { ...link, contender, dataset, round, first_s: first / 1e6, seconds: last / 1e6, wire_bytes, instructions };
}

const line = (columns) => `| ${columns.join(" | ")} |`;

/** The table: medians. */
export function listingTable({ rows }, median) {
  const names = Object.keys(CONTENDERS);
  const lines = [line(["link", "what", ...Object.values(CONTENDERS)]), line(["---", "---", ...names.map(() => "---:")])];
  for (const link of LINKS) {
    for (const [dataset, { title }] of Object.entries(DATASETS)) {
      const here = rows.filter((one) => sameLink(one, link) && one.dataset === dataset);
      const of = (name, key) => {
        const all = here.filter(({ contender }) => contender === name).map((one) => one[key]);
        return all.length ? median(all) : null;
      };
      const cell = (name) => {
        const seconds = of(name, "seconds");
        if (seconds === null) return "";
        const ratio = name === OURS ? "" : ` ${(seconds / of(OURS, "seconds")).toFixed(1)}x`;
        return `${seconds.toFixed(2)} s${ratio}, first line after ${of(name, "first_s").toFixed(2)} s, ${(of(name, "wire_bytes") / 1e6).toFixed(1)} MB`;
      };
      if (here.length > 0) lines.push(line([named(link), title, ...names.map(cell)]));
    }
  }
  return lines.join("\n");
}

/** The explanation of the figures, for below the table. */
export const LISTING_NOTE =
  "Seconds from a program's start, which includes connecting. Both ends run on one processor that does 1,000 million instructions a second. sshfs is mounted before, and has " +
  "nothing in its cache.";
