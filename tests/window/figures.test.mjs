// The cost of the window: time from start to first paint, memory, and the processor while nothing
// happens. Reported, never asserted.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { folder, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { TICKS_PER_S, firstPaint, pss, sum } from "./lib/figures.mjs";
import { family } from "./lib/processes.mjs";
import { sleep } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};

const IDLE_S = 5;
/** Names of the threads of Mesa's software rendering. */
const IMITATED = /^llvmpipe/;
/** After the first paint WebKit still does some work. */
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

const cards = () => {
  try {
    return readdirSync("/dev/dri").filter((node) => node.startsWith("renderD"));
  } catch {
    return [];
  }
};
const imitated = { skip: cards().length > 0 && "this machine has a graphics card" };

/** Processor time of software rendering in these processes, ticks. */
function imitating(processes) {
  const tasks = processes.flatMap(({ pid }) => readdirSync(`/proc/${pid}/task`).map((task) => `/proc/${pid}/task/${task}`));
  const imitations = tasks.filter((task) => IMITATED.test(readFileSync(`${task}/comm`, "utf8")));
  return sum(imitations.map((task) => sum(readFileSync(`${task}/stat`, "utf8").split(") ")[1].split(" ").slice(11, 13).map(Number))));
}

driven("without a graphics card none is imitated to draw the page", imitated, async (t) => {
  const device = await windowDevice(folder(), "near");
  const page = await openWindow(t, device);
  const before = imitating(family(device.env));
  for (const view of ["Devices", "Settings", "Activity", "Inbox"]) await show(page, view);
  assert.equal(imitating(family(device.env)), before);
});
