// The real keyboard, through the X server: for the window's own page and for the desktop's native
// picker.
import { readFileSync } from "node:fs";
import { capture } from "../../setup/process.mjs";
import { eventually, sleep } from "./webdriver.mjs";

/** How long one press of a key may take to show an effect, ms. After that it is pressed again. */
const PRESS_MS_MAX = 2000;
/** More stops than any view has. */
const TABS_MAX = 60;
/** A program that has used no processor time for this long has nothing left to do, ms. */
const QUIET_MS = 300;

export function press(...keys) {
  capture("xdotool", ["key", "--delay", "40", ...keys]);
}

export function type(text) {
  capture("xdotool", ["type", "--delay", "25", text]);
}

export function focus(window) {
  // It would also wait for a window that has gone meanwhile.
  capture("xdotool", ["windowfocus", "--sync", window], { timeout: 5000 });
}

/**
 * Presses Tab until the page's focus is on the element with `wanted` as its label, its `name` or
 * its text.
 */
export async function tabTo(page, wanted) {
  const here = () => {
    const at = (globalThis.leftByTest = document.activeElement);
    return (at.ariaLabel || at.getAttribute("name") || at.textContent).trim();
  };
  for (let presses = 0; presses < TABS_MAX; presses += 1) {
    if (wanted.test(await page.script(here))) return;
    press("Tab");
    const until = Date.now() + PRESS_MS_MAX;
    while (!(await page.script(() => document.activeElement !== globalThis.leftByTest)) && Date.now() < until) await sleep(20);
  }
  throw new Error(`Tab never reached ${wanted}`);
}

/** Waits until the program of `window` is at rest. */
async function atRest(window) {
  const pid = capture("xdotool", ["getwindowpid", window]).out.trim();
  // User and system time (proc(5), stat), counted from after the name in brackets.
  const used = () => readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /s, "").split(" ").slice(11, 13).join(" ");
  await eventually("the program to be at rest", async () => {
    const before = used();
    await sleep(QUIET_MS);
    return used() === before;
  });
}

/** Answers the native folder picker that `window` has opened, with the keyboard alone. */
export async function pickFolder(window, path) {
  const active = () => capture("xdotool", ["getactivewindow"]).out.trim();
  const picker = await eventually("the folder picker", () => {
    const now = active();
    return now !== window && now;
  });
  focus(picker);
  // A picker that still reads its folder moves the focus to the list when it is done.
  await sleep(500);
  await atRest(picker);
  // A slash opens the picker's field for a path, which takes a moment.
  type("/");
  await sleep(500);
  await atRest(picker);
  type(path.slice(1));
  await atRest(picker);
  // The first press may only accept the field's proposal.
  await eventually("the folder picker to close", async () => {
    press("Return");
    // A further press while it closes would go to the page.
    for (const until = Date.now() + PRESS_MS_MAX; Date.now() < until && active() === picker; ) await sleep(100);
    return active() !== picker;
  });
}
