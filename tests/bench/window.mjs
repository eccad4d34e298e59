// The cost of the window: time from start to first paint, memory, the processor at rest, and how
// smoothly it draws while a fast transfer runs.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { WORKSPACE, buildFrontEnd } from "../setup/build.mjs";
import { run, say } from "../setup/process.mjs";
import { lacking, onDisplay } from "../window/lib/display.mjs";

const INSIDE = fileURLToPath(new URL("window-inside.mjs", import.meta.url));
/** Bytes that are received at full scale while frames are counted: enough for some seconds. */
const BYTES = 3 * 1024 ** 3;

/** Measures the window together with the release build of the command, on a virtual display. */
export async function window(_name, _part, { ringway, build, rounds, scale, scratch, report, keep }) {
  const program = join(dirname(ringway), "ringway-desktop");
  if (build) {
    buildFrontEnd();
    run("cargo", ["build", "--release", "--locked", "-p", "ringway-desktop"], { cwd: WORKSPACE });
  }
  const why = lacking() || (!existsSync(program) && `there is no ${program}`);
  if (why) {
    say(`bench: window: ${why}`);
    report.skipped.push(`window: ${why}`);
    return;
  }
  say("bench: window");
  const told = JSON.stringify({ ringway, program, rounds, bytes: Math.round(BYTES * scale), scratch });
  const done = onDisplay([INSIDE, told], { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  if (done.status !== 0) throw new Error(`the window's figures: ${done.error ?? `exit ${done.status}`}`);
  report.window = JSON.parse(done.stdout.trim().split("\n").at(-1));
  keep();
}

const row = (columns) => `| ${columns.join(" | ")} |`;

/** The table. */
export function windowTable({ paint_s, pss_mib, rss_mib, rest, moving, lists, frames }, median) {
  const span = (numbers, digits, unit) => {
    const [least, middle, most] = [Math.min(...numbers), median(numbers), Math.max(...numbers)].map((number) => number.toFixed(digits));
    return `${middle} ${unit} (${least} to ${most})`;
  };
  const lines = [row(["what", "figure"]), row(["---", "---"]), row(["start of the process to first paint", span(paint_s, 2, "s")])];
  for (const [process, mib] of Object.entries(pss_mib)) lines.push(row([`memory (PSS), ${process}`, span(mib, 0, "MiB")]));
  for (const [when, of] of Object.entries(rss_mib)) {
    for (const [process, mib] of Object.entries(of)) lines.push(row([`memory (RSS), ${process}, ${when}`, `${mib.toFixed(0)} MiB`]));
  }
  for (const [process, percent] of Object.entries(moving.percent)) {
    lines.push(row([`processor while a transfer runs at ${moving.bytes_per_s / 1e6} MB/s, ${process}`, `${percent.toFixed(1)} % of a core over ${moving.seconds} s`]));
  }
  for (const [list, { per_s, worst_ms, late_percent, drawn, read_s }] of Object.entries(lists)) {
    if (read_s) lines.push(row([`reading the ${list} to its end while scrolling, a page at a time`, `${read_s.toFixed(0)} s`]));
    lines.push(row([`scrolling the ${list}, ${drawn} rows drawn`, `${per_s.toFixed(0)} frames a second; longest without one ${worst_ms.toFixed(0)} ms, ${late_percent.toFixed(1)} % later than 34 ms`]));
  }
  for (const [process, percent] of Object.entries(rest.percent)) {
    lines.push(row([`processor at rest, ${process}`, `${percent.toFixed(2)} % of a core over ${rest.seconds} s`]));
  }
  for (const [when, { per_s, worst_ms, late_percent, seconds, bytes }] of Object.entries(frames)) {
    const rate = bytes ? `, ${(bytes / seconds / 1e9).toFixed(2)} GB/s` : "";
    lines.push(row([`frames a second, ${when}${rate}`, `${per_s.toFixed(0)}; longest without one ${worst_ms.toFixed(0)} ms, ${late_percent.toFixed(1)} % later than 34 ms`]));
  }
  return lines.join("\n");
}

/** The explanation of the figures, for below the table. */
export const WINDOW_NOTE =
  "On a virtual screen that is drawn by the processor (Xvfb): no graphics card helps, and both ends of the transfer, the page and the screen share this machine's processors. " +
  "Frames are those that the page was given (requestAnimationFrame).";
