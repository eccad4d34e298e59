// A real drag and drop from another process, done with the pointer.
import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { capture } from "../../setup/process.mjs";
import { eventually, sleep } from "./webdriver.mjs";

const SOURCE = join(dirname(fileURLToPath(import.meta.url)), "drag-source.py");
/** Where the source is put: beside the window under test, which lies in the top left corner. */
const SOURCE_AT = { x: 1480, y: 60 };

function pointer(...args) {
  const done = capture("xdotool", args.map(String));
  if (done.status !== 0) throw new Error(`xdotool ${args.join(" ")}: ${done.err}`);
  return done.out.trim();
}

/** The X window whose title is `name`. */
export function xWindow(name) {
  return eventually(`a window called ${name}`, () => capture("xdotool", ["search", "--onlyvisible", "--name", `^${name}$`]).out.trim().split("\n")[0]);
}

/** Brings the window under test to the top left corner, with the given size. Returns its id and where its page begins. */
export async function placeWindow(width, height) {
  const id = await xWindow("Ringway");
  pointer("windowsize", id, width, height);
  pointer("windowmove", id, 0, 0);
  pointer("windowfocus", id);
  await sleep(300);
  const [x, y] = ["X", "Y"].map((axis) => Number(pointer("getwindowgeometry", "--shell", id).match(new RegExp(`^${axis}=(\\d+)$`, "m"))?.[1]));
  return { id, x, y };
}

/** Drags `paths` out of another program to a position on the screen; `before` runs while they hang over it. */
export async function dragOnto(t, paths, { x, y }, before = async () => {}) {
  const uris = paths.map((path) => pathToFileURL(path).href);
  const source = spawn("/usr/bin/python3", [SOURCE, ...uris], { stdio: "ignore" });
  t.after(() => source.kill());
  const id = await xWindow("Drag source");
  pointer("windowmove", "--sync", id, SOURCE_AT.x, SOURCE_AT.y);
  await sleep(300);
  const from = { x: SOURCE_AT.x + 70, y: SOURCE_AT.y + 70 };
  pointer("mousemove", from.x, from.y);
  pointer("mousedown", 1);
  // GTK takes it for a drag once the pointer has moved a little with the button down.
  for (const step of [3, 6, 9, 12, 16]) {
    pointer("mousemove", from.x - step, from.y + step);
    await sleep(30);
  }
  for (let step = 1; step <= 20; step += 1) {
    pointer("mousemove", Math.round(from.x + ((x - from.x) * step) / 20), Math.round(from.y + ((y - from.y) * step) / 20));
    await sleep(20);
  }
  // A pointer that stands still sends nothing: the target would not learn what hangs over it.
  for (const wiggle of [1, 2, 3, 4]) {
    pointer("mousemove", x + wiggle, y);
    await sleep(60);
  }
  try {
    await before();
  } finally {
    pointer("mousemove", x, y);
    pointer("mouseup", 1);
  }
  await sleep(100);
  source.kill();
}
