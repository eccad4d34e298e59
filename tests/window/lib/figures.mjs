// The cost of a window, read from /proc and from its page.
import { readFileSync } from "node:fs";
import { family } from "./processes.mjs";

/** Clock ticks per second in /proc (sysconf _SC_CLK_TCK), which Linux fixes at 100 for programs. */
export const TICKS_PER_S = 100;

export const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** Proportional memory of a process, MiB (proc(5), smaps_rollup). */
export function pss({ pid }) {
  const kib = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8").match(/^Pss:\s+(\d+) kB$/m)?.[1];
  return Number(kib ?? 0) / 1024;
}

/**
 * Seconds from the start of the window's process to its page's first paint; null if the page does
 * not know.
 */
export async function firstPaint(page, env) {
  const painted = await page.script(() => {
    const [paint] = performance.getEntriesByName("first-contentful-paint");
    return paint ? performance.timeOrigin + paint.startTime : null;
  });
  const uptime = Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]) * 1000;
  const started = Date.now() - uptime + (family(env)[0].started / TICKS_PER_S) * 1000;
  return painted && (painted - started) / 1000;
}
