// What the window costs: start to first paint, memory, and the processor while nothing happens. Told, never asserted.
import assert from "node:assert/strict";
import { test } from "node:test";
import { folder, openWindow, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { TICKS_PER_S, firstPaint, pss, sum } from "./lib/figures.mjs";
import { family } from "./lib/processes.mjs";
import { sleep } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};

const IDLE_S = 5;
/** After the first paint WebKit still tidies up. */
const SETTLE_S = 5;

driven("start, memory and idle processor time are told", async (t) => {
  const device = await windowDevice(folder(), "near");
  const page = await openWindow(t, device);
  const painted = await firstPaint(page, device.env);
  if (painted) t.diagnostic(`first paint ${painted.toFixed(2)} s after the process began (debug build)`);
  const members = family(device.env);
  t.diagnostic(`memory of ${members.length} processes: ${sum(members.map(pss)).toFixed(0)} MiB PSS`);
  await sleep(SETTLE_S * 1000);
  const before = sum(family(device.env).map(({ ticks }) => ticks));
  await sleep(IDLE_S * 1000);
  const used = sum(family(device.env).map(({ ticks }) => ticks)) - before;
  t.diagnostic(`idle: ${((used / TICKS_PER_S / IDLE_S) * 100).toFixed(1)} % of a core over ${IDLE_S} s`);
  assert.ok(members.length > 1, "the page has a process of its own");
});
