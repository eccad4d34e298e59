// Golden pictures: the appearance of views, kept in the repository and compared with a tolerance,
// so that a person who changes it notices.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import { capture } from "../../setup/process.mjs";
import { keepPicture } from "./device.mjs";
import { OUT } from "./display.mjs";
import { geometry, placeWindow } from "./drag.mjs";
import { windowId } from "./webdriver.mjs";

const LOOKER = fileURLToPath(new URL("pictures.py", import.meta.url));
export const KEPT = fileURLToPath(new URL("../golden", import.meta.url));
const MADE_WITH = join(KEPT, "made-with.json");
/**
 * If it is "write", pictures are written instead of compared. Look at them before committing
 * (`RINGWAY_GOLDEN=write`).
 */
export const writes = process.env.RINGWAY_GOLDEN === "write";
/**
 * Compared at a quarter of the size: letters drawn slightly differently are the same grey there,
 * but moved elements are not.
 */
const SCALE = "25%";
/**
 * How far a pixel's colour may differ, and how many may differ more: fewer than the smallest button
 * has.
 */
const FUZZ = "5%";
const PIXELS_MAX = 10;
/** Pixels at the right that do not count, because the scroll bar appears and fades there. */
const EDGE = 10;
/** A window that was not drawn has its background, and perhaps a frame. */
const BLANK_COLOURS_MAX = 4;
/** How long a view may take: a debug build on two cores that others keep busy. */
const PAINT_MS_MAX = 40_000;

const ENGINE = `
import gi
gi.require_version("WebKit2", "4.1")
from gi.repository import WebKit2
print(WebKit2.get_major_version(), WebKit2.get_minor_version(), sep=".")`;

/**
 * The programs that draw. Another engine or font draws other pictures, which is no mistake of the
 * window.
 */
function madeWith() {
  const webkit = capture("/usr/bin/python3", ["-c", ENGINE]).out.trim();
  return { webkit, sans: capture("fc-match", ["-f", "%{file}", "sans-serif"]).out.trim().split("/").at(-1) };
}

/** Why pictures cannot be compared here; empty if they can. */
export function incomparable() {
  const here = madeWith();
  if (writes) {
    mkdirSync(KEPT, { recursive: true });
    writeFileSync(MADE_WITH, `${JSON.stringify(here, null, 2)}\n`);
  }
  const kept = JSON.parse(readFileSync(MADE_WITH, "utf8"));
  const told = ({ webkit, sans }) => `WebKitGTK ${webkit || "?"} with ${sans || "no font"}`;
  return told(kept) === told(here) ? "" : `the golden pictures are by ${told(kept)}, here is ${told(here)}`;
}

/** Replaces text that differs between runs and machines by the same words each time, or none. */
export function calm(page) {
  return page.script(() => {
    const words = [
      [/\d+\.\d+\.\d+\.\d+(:\d+)?/g, "192.168.1.20"],
      [/\[?[0-9a-f]{0,4}(:[0-9a-f]{0,4}){2,}\]?(:\d+)?/gi, "fd00::20"],
      // Before codes, because the middle of an id may look like one.
      [/[0-9a-f]{4}(-[0-9a-f]{4}){3}/g, "0123-4567-89ab-cdef"],
      [/\b\d+-[a-z]+-[a-z]+\b/g, "42-river-castle"],
      [/(?:\/tmp|\/dev\/shm)\/[^\s,]+/g, "/home/ada/Downloads"],
      [/(Linux|kernel) \d[\w.+-]*/gi, "$1 6.12"],
      [/\w+ \d+, \d{4}, [\d:]+ [AP]M/g, "Nov 22, 2026, 11:26 AM"],
      [/\d+ minutes? ago/g, "just now"],
      // Midnight has passed.
      [/\bYesterday\b/g, "Today"],
      [/[\d.,]+\s\w+ free\b/g, "120.0\u00a0GB free"],
      [/[\d.,]+\s\w+ afterwards\b/g, "119.9\u00a0GB afterwards"],
      [/Version \d\S*/g, "Version 1.0.0"],
      [/[\d.]+\sm?s\./g, "2.3\u00a0s."],
      [/[\d.]+\s(\w+)\/s on average/g, "2.5\u00a0MB/s on average"],
      [/Valid for \d+ min/g, "Valid for 10 min"],
    ];
    // A path that breaks behind its slashes is several texts: the first one gets all of it.
    for (const { parentElement } of document.querySelectorAll("wbr")) {
      const [first, ...others] = [...parentElement.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE);
      first.data += others.map(({ data }) => data).join("");
      for (const other of others) other.data = "";
    }
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
      const calmed = words.reduce((text, [found, instead]) => text.replace(found, instead), node.data);
      if (calmed !== node.data) node.data = calmed;
    }
    for (const drawn of document.querySelectorAll("canvas")) drawn.style.visibility = "hidden";
    // The highest rate, and files a second, differ in each run: their words may need another line.
    for (const timed of document.querySelectorAll("figcaption, [data-limited-by], [data-limited-by] + ul, .encryption")) timed.style.display = "none";
    // How far something is that runs, which is drawn anew, and what was said about it for a while.
    const hidden = "canvas, .low, [data-state] > .figures, [data-state] [role=progressbar] > *, [data-row]:has(.track) .track, [data-row]:has(.track) .note, main form.sheet input[name=address]";
    const calmed = document.getElementById("calm") ?? document.head.appendChild(Object.assign(document.createElement("style"), { id: "calm" }));
    calmed.textContent = `:is(${hidden}) { visibility: hidden !important; }`;
    // Ports are free ones, and a value would be stored when the view goes. The number of addresses
    // and the features differ between machines.
    for (const field of document.querySelectorAll("input[name=port]")) field.style.color = "transparent";
    const others = ".told .copyable ~ .copyable, .system dd, .system dl ~ div, [data-firewalls]";
    for (const other of document.querySelectorAll(others)) other.style.display = "none";
    document.activeElement?.blur();
    scrollTo(0, 0);
  });
}

/**
 * Compares a view with its kept picture, or writes it. Returns how it differs, in words; empty if
 * it does not.
 */
export async function looksAsKept(page, name) {
  const take = async () => {
    await calm(page);
    await page.pointAway();
    await keepPicture(page, `golden-${name}`);
  };
  await take();
  const [now, kept] = [join(OUT, `golden-${name}.png`), join(KEPT, `${name}.png`)];
  if (writes) {
    // What the engine has not drawn is no picture of the view.
    for (const until = Date.now() + PAINT_MS_MAX; (await isBlank(now)) && Date.now() < until; await take()) await redrawn(page);
    assert.ok(!(await isBlank(now)), `${name} was not drawn, so it is not kept; see ${now}`);
    const made = capture("convert", [now, "-strip", `png24:${kept}`]);
    assert.equal(made.status, 0, made.err);
    return "";
  }
  if (!existsSync(kept)) return `${name} is not kept: RINGWAY_GOLDEN=write keeps it`;
  let unpainted = "";
  // A window that has just been made smaller is drawn a moment later, and text that has changed
  // since is replaced again.
  for (const until = Date.now() + PAINT_MS_MAX; ; await take()) {
    const differs = await difference(name, now, kept);
    if (!differs) return "";
    if (Date.now() > until) return `${name}: ${differs}${unpainted}`;
    if (!unpainted && Date.now() > until - PAINT_MS_MAX / 2 && (await isBlank(now))) {
      unpainted = ", and it was blank until the window had another size";
      process.stdout.write(`${name}${unpainted}\n`);
      await redrawn(page);
    }
  }
}

/** Has the engine draw: where it has drawn nothing since a change of size, the next one helps. */
async function redrawn(page) {
  const { width, height } = geometry(await windowId(page.env));
  await placeWindow(page, width, height + 1);
  await placeWindow(page, width, height);
}

let looker;
after(() => looker?.kill());

/** Asks the program that reads pictures. It stays, because its start takes longer than a look. */
async function asked(...question) {
  if (!looker) {
    looker = spawn("/usr/bin/python3", [LOOKER], { stdio: ["pipe", "pipe", "inherit"] });
    looker.lines = createInterface({ input: looker.stdout });
  }
  const late = { signal: AbortSignal.timeout(PAINT_MS_MAX) };
  looker.stdin.write(`${question.join("\t")}\n`);
  const [answer] = await once(looker.lines, "line", late);
  return Number(answer);
}

/** Whether a picture is of a window that was not drawn: black, or its background and a frame. */
export async function isBlank(path) {
  const colours = await asked("colours", path, BLANK_COLOURS_MAX);
  assert.ok(colours > 0, path);
  return colours <= BLANK_COLOURS_MAX;
}

/** A picture's average colour, which tells a wrong theme from a blank window. */
const average = (path) => capture("convert", [path, "-resize", "1x1!", "-format", "%[hex:u.p{0,0}]", "info:"]).out.trim();

/** How a picture differs from the kept one, in words; empty if it does not. */
async function difference(name, now, kept) {
  // Width and height begin there in each PNG.
  const size = (path) => [16, 20].map((at) => readFileSync(path).readUInt32BE(at)).join(" ");
  if (size(now) !== size(kept)) return `${size(now)} instead of ${size(kept)}`;
  // Most are the same to the last pixel, and need no comparison that takes longer.
  if (await asked("same", now, kept, EDGE)) return "";
  const small = (path) => ["(", path, "-crop", `-${EDGE}+0`, "-resize", SCALE, ")"];
  const off = join(OUT, `golden-${name}-difference.png`);
  const { err } = capture("compare", ["-metric", "AE", "-fuzz", FUZZ, ...small(now), ...small(kept), off]);
  const pixels = Number(err.trim().split(/\s/)[0]);
  if (pixels <= PIXELS_MAX) return "";
  return `${err.trim()} pixels differ at ${SCALE}, on average ${average(now)} instead of ${average(kept)} (${off})`;
}
