// What the window costs: start to first paint, memory, and the processor while nothing happens. Told, never asserted.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { folder, openWindow, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { family } from "./lib/processes.mjs";
import { sleep } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};

/** Clock ticks a second in /proc (sysconf _SC_CLK_TCK), which Linux fixes at 100 for programs. */
const TICKS_PER_S = 100;
const IDLE_S = 5;
/** After the first paint WebKit still tidies up. */
const SETTLE_S = 5;

/** Proportional memory of a process, MiB (proc(5), smaps_rollup). */
function pss({ pid }) {
  const kib = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8").match(/^Pss:\s+(\d+) kB$/m)?.[1];
  return Number(kib ?? 0) / 1024;
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

driven("start, memory and idle processor time are told", async (t) => {
  const device = await windowDevice(folder(), "near");
  const page = await openWindow(t, device);
  const painted = await page.script(() => {
    const [paint] = performance.getEntriesByName("first-contentful-paint");
    return paint ? performance.timeOrigin + paint.startTime : null;
  });
  const members = family(device.env);
  const booted = Number(readFileSync("/proc/stat", "utf8").match(/^btime (\d+)$/m)[1]) * 1000;
  const uptime = Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]) * 1000;
  assert.ok(Math.abs(Date.now() - uptime - booted) < 2000, "the boot time is known");
  const started = Date.now() - uptime + (members[0].started / TICKS_PER_S) * 1000;
  if (painted) t.diagnostic(`first paint ${((painted - started) / 1000).toFixed(2)} s after the process began (debug build)`);
  t.diagnostic(`memory of ${members.length} processes: ${sum(members.map(pss)).toFixed(0)} MiB PSS`);
  await sleep(SETTLE_S * 1000);
  const before = sum(family(device.env).map(({ ticks }) => ticks));
  await sleep(IDLE_S * 1000);
  const used = sum(family(device.env).map(({ ticks }) => ticks)) - before;
  t.diagnostic(`idle: ${((used / TICKS_PER_S / IDLE_S) * 100).toFixed(1)} % of a core over ${IDLE_S} s`);
  assert.ok(members.length > 1, "the page has a process of its own");
});
