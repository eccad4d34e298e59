// A real drag and drop from another process, with the pointer.
import { spawn } from "node:child_process";
import { basename, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { capture, which } from "../../setup/process.mjs";
import { eventually, sleep, windowId } from "./webdriver.mjs";

const COPIED = join(dirname(fileURLToPath(import.meta.url)), "copy-source.py");
const TEXT = join(dirname(fileURLToPath(import.meta.url)), "text-source.py");
const SOURCE = join(dirname(fileURLToPath(import.meta.url)), "drag-source.py");
/**
 * The position of the drag source: beside the window under test, which is in the top left corner.
 */
const SOURCE_AT = { x: 1480, y: 60 };
const MANAGER_AT = { x: 1020, y: 60 };
/** The most pixels between a window's frame and its contents. */
const FRAME_MAX = 64;

function pointer(...args) {
  const done = capture("xdotool", args.map(String));
  if (done.status !== 0) throw new Error(`xdotool ${args.join(" ")}: ${done.err}`);
  return done.out.trim();
}

/** The X window whose title is `name`. */
function xWindow(name) {
  return eventually(`a window called ${name}`, () => capture("xdotool", ["search", "--onlyvisible", "--name", `^${name}$`]).out.trim().split("\n")[0]);
}

/**
 * The position of a window's contents on the screen, and their size. xdotool counts the window
 * manager's frame twice.
 */
export function geometry(id) {
  const { out } = capture("xwininfo", ["-id", String(id)]);
  const number = (name) => Number(new RegExp(`${name}: +(-?\\d+)`).exec(out)?.[1]);
  return { x: number("Absolute upper-left X"), y: number("Absolute upper-left Y"), width: number("Width"), height: number("Height") };
}

/**
 * Moves a window and waits until the window manager has done it. Returns the position of its
 * contents, and its size.
 */
async function moved(id, { x, y }) {
  pointer("windowmove", id, x, y);
  return eventually(`window ${id} to be at ${x}, ${y}`, () => {
    const found = geometry(id);
    const isNear = [found.x - x, found.y - y].every((off) => off >= 0 && off <= FRAME_MAX);
    return isNear && found;
  });
}

/**
 * Moves the window under test to the top left corner, with the given size, and waits until its page
 * fills it. `enlarged` is the desktop's scale. Returns its id and the position of the page.
 */
export async function placeWindow(page, width, height, enlarged = 1) {
  const id = await windowId(page.env);
  pointer("windowsize", id, width, height);
  pointer("windowfocus", id);
  await eventually(`the page to be ${width} by ${height}`, async () => {
    const size = await page.script((more) => [innerWidth, innerHeight].map((length) => Math.round(length * devicePixelRatio * more)), enlarged);
    return size[0] === width && size[1] === height;
  });
  const { x, y } = await moved(id, { x: 0, y: 0 });
  return { id, x, y, enlarged };
}

/**
 * The middle of the element that `selector` finds in the page of a placed window, on the screen,
 * scrolled into sight and once it does not move any more.
 */
export async function middleOf(page, { x, y, enlarged }, selector) {
  const look = (wanted, more) => {
    const element = document.querySelector(wanted);
    element.scrollIntoView({ block: "center" });
    const { left, top, width, height } = element.getBoundingClientRect();
    return [left + width / 2, top + height / 2].map((length) => Math.round(length * devicePixelRatio * more));
  };
  let before = "";
  const at = await eventually(`${selector} to stay where it is`, async () => {
    const now = await page.script(look, selector, enlarged);
    const stays = String(now) === before;
    before = String(now);
    return stays && now;
  });
  return { x: x + at[0], y: y + at[1] };
}

/**
 * Drags `paths` from another program to a position on the screen. `before` runs while the pointer
 * is there.
 */
export async function dragOnto(t, paths, to, before) {
  const uris = paths.map((path) => pathToFileURL(path).href);
  await draggedBy(t, spawn("/usr/bin/python3", [SOURCE, ...uris], { stdio: "ignore" }), to, before);
}

/** The same with a text, or with an address of no file. */
export async function dragTextOnto(t, text, to, before, { isAddress = false } = {}) {
  const source = spawn("/usr/bin/python3", [TEXT, "drag", isAddress ? "uri" : "text"], { stdio: ["pipe", "ignore", "ignore"] });
  source.stdin.end(text);
  await draggedBy(t, source, to, before);
}

/** Drags what a program has that shows the drag source. */
async function draggedBy(t, source, to, before) {
  let hasEnded = false;
  source.on("exit", () => (hasEnded = true));
  t.after(() => source.kill());
  await moved(await xWindow("Drag source"), SOURCE_AT);
  await carried({ x: SOURCE_AT.x + 70, y: SOURCE_AT.y + 70 }, to, before);
  // It ends by itself once the other side has the dropped data. If it were ended sooner, the data
  // would be lost.
  await eventually("the drop to be taken", () => hasEnded);
}

/** Copies `paths` in another program, which has them on the clipboard until the test ends. */
export async function copyElsewhere(t, paths) {
  const source = spawn("/usr/bin/python3", [COPIED, ...paths.map((path) => pathToFileURL(path).href)], { stdio: ["ignore", "pipe", "ignore"] });
  t.after(() => source.kill());
  let said = "";
  source.stdout.on("data", (data) => (said += data));
  await eventually("the clipboard to be taken", () => said.includes("owned"));
}

/** Copies a text in another program, which has it on the clipboard until the test ends. */
export async function copyTextElsewhere(t, text) {
  const source = spawn("/usr/bin/python3", [TEXT, "copy", "text"], { stdio: ["pipe", "pipe", "ignore"] });
  t.after(() => source.kill());
  source.stdin.end(text);
  let said = "";
  source.stdout.on("data", (data) => (said += data));
  await eventually("the clipboard to be taken", () => said.includes("owned"));
  return source;
}

/** The text on the clipboard, as another program reads it. */
export function clipboardText() {
  return capture("/usr/bin/python3", [TEXT, "paste", "text"], { input: "" }).out;
}

/** Clicks at a position on the screen with the pointer, so often, while `held` is down if named. */
export function clickAt({ x, y }, times = 1, held = "") {
  const [down, up] = held ? [["keydown", held], ["keyup", held]] : [[], []];
  pointer("mousemove", x, y, ...down, "click", "--repeat", times, "--delay", 60, 1, ...up);
}

/** Turns the mouse wheel at a position on the screen, so many notches down, or up if negative. */
export function turnWheelAt({ x, y }, notches) {
  pointer("mousemove", x, y);
  pointer("click", "--repeat", Math.abs(notches), "--delay", 60, notches > 0 ? 5 : 4);
}

/** Why nothing can be dragged from a file manager here; empty if it can. */
export const noManager = () => (which("pcmanfm") ? "" : "pcmanfm is not installed");

/**
 * Drags the only entry of `folder` from a file manager's window to a position on the screen.
 * `before` runs while the pointer is there.
 */
export async function dragFromManager(t, folder, home, to, before) {
  const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: home };
  const manager = spawn("pcmanfm", ["--no-desktop", folder], { env, stdio: "ignore" });
  t.after(() => manager.kill());
  const id = await xWindow(basename(folder));
  pointer("windowsize", id, 640, 480);
  const { x, y } = await moved(id, MANAGER_AT);
  // Its first icon, beside the list of places. An icon that was not drawn yet cannot be dragged.
  await carried({ x: x + 205, y: y + 85 }, to, before);
  manager.kill();
}

/** Drags from `from` to `to` with the pointer, runs `before` there, and drops. */
async function carried(from, { x, y }, before) {
  await sleep(300);
  pointer("mousemove", from.x, from.y);
  pointer("mousedown", 1);
  // GTK begins a drag once the pointer has moved a little with the button down.
  for (const step of [3, 6, 9, 12, 16]) {
    pointer("mousemove", from.x - step, from.y + step);
    await sleep(30);
  }
  for (let step = 1; step <= 20; step += 1) {
    pointer("mousemove", Math.round(from.x + ((x - from.x) * step) / 20), Math.round(from.y + ((y - from.y) * step) / 20));
    await sleep(20);
  }
  let hangs = true;
  // A pointer at rest sends no events, so the target would not learn of a drag that begins late.
  const tremble = async () => {
    for (let step = 0; hangs; step += 1) {
      pointer("mousemove", x + (step % 4), y);
      await sleep(60);
    }
  };
  try {
    await Promise.all([tremble(), before().finally(() => (hangs = false))]);
  } finally {
    pointer("mousemove", x, y);
    pointer("mouseup", 1);
  }
}
