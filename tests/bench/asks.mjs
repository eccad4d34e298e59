// Single questions about a share, as a mount asks them, over a link: alone, while a file is got
// from the same device, and in the session in which that is got.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { TARGET, WORKSPACE } from "../setup/build.mjs";
import { ROOT, run } from "../setup/process.mjs";
import { missing, named, overLink, sameLink } from "./guest.mjs";

const SCRIPT = join(ROOT, "tests/bench/asks.sh");
/** An example of ringway-engine. */
const PROGRAM = process.env.RINGWAY_BENCH_ASKS ?? join(TARGET, "release/examples/asks");
/** How large the file is that is got meanwhile: it takes longer than the questions. */
const LINKS = [
  { rtt: 0, loss: 0, rate: 10_000, bulk: 800_000_000 },
  { rtt: 20, loss: 0, rate: 100, bulk: 400_000_000 },
  { rtt: 20, loss: 0, rate: 1000, bulk: 800_000_000 },
];
/** Of each question, at full scale. */
const COUNT = 200;
const WHEN = { alone: "alone", beside: "beside a get", same: "in the session of a get" };
const WHAT = { stat: "what is there", read: "128 KiB of a file" };

/**
 * All links into `report.asks`: {rows}, with a row for each question: how many, and the
 * percentiles in milliseconds.
 */
export async function asks(part, _conditions, { ringway, build, scale, report, keep }) {
  const why = missing(["head"]);
  if (why) {
    report.skipped.push(`${part}: ${why}`);
    return;
  }
  if (build) run("cargo", ["build", "--release", "--locked", "-p", "ringway-engine", "--example", "asks"], { cwd: WORKSPACE });
  if (!existsSync(PROGRAM)) throw new Error(`there is no ${PROGRAM}: leave --no-build out`);
  report.asks = { rows: [] };
  for (const link of LINKS) {
    const amounts = { count: Math.max(20, Math.round(COUNT * scale)), bulk_bytes: Math.round(link.bulk * scale) };
    const figures = await overLink({ part, script: SCRIPT, link, amounts, programs: [ringway, PROGRAM], tools: ["head"], report });
    report.asks.rows.push(...figures.filter(([when, what]) => when in WHEN && what in WHAT).map((words) => row(link, words)));
    keep();
  }
}

function row(link, [when, what, ...numbers]) {
  const [count, ...micros] = numbers.map(Number);
  const [p50_ms, p99_ms, longest_ms] = micros.map((one) => one / 1000);
  return { ...link, when, what, count, p50_ms, p99_ms, longest_ms };
}

const line = (columns) => `| ${columns.join(" | ")} |`;

/** The table. */
export function asksTable({ rows }) {
  const columns = Object.entries(WHAT).flatMap(([what]) => Object.keys(WHEN).map((when) => ({ what, when })));
  const lines = [
    line(["link", ...columns.map(({ what, when }) => `${WHAT[what]}, ${WHEN[when]}`)]),
    line(["---", ...columns.map(() => "---:")]),
  ];
  for (const link of LINKS) {
    const of = ({ what, when }) => rows.find((one) => sameLink(one, link) && one.what === what && one.when === when);
    const cells = columns.map(of).map((one) => (one ? `${one.p50_ms.toFixed(1)}; ${one.p99_ms.toFixed(1)}` : "-"));
    if (cells.some((cell) => cell !== "-")) lines.push(line([named(link), ...cells]));
  }
  return `Milliseconds, 50th and 99th percentile:\n\n${lines.join("\n")}`;
}
