// `npm run screenshots`: every view at three widths, in both themes and every language, as pictures
// in tests/.out/screenshots, for people to look at.
import { mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT } from "../setup/process.mjs";

const SCENES = ["fresh", "first", "used", "notes", "shares", "underway", "troubled", "meeting"];
const HELP = `Usage: [RINGWAY_SCENES=NAME,...] npm run screenshots

Takes pictures of every view at 360, 800 and 1440 pixels, in both themes and every language, on a
display of its own, and writes them to tests/.out/screenshots.

RINGWAY_SCENES takes some of them: ${SCENES.join(", ")}.
`;
if (process.argv.slice(2).some((arg) => arg === "--help" || arg === "-h")) {
  process.stdout.write(HELP);
  process.exit(0);
}
// Only now: they need what `npm ci` installs.
const { keepPicture } = await import("./lib/device.mjs");
const { OUT, onPrivateDisplay } = await import("./lib/display.mjs");
const { placeWindow } = await import("./lib/drag.mjs");
const { THEMES } = await import("./lib/looks.mjs");
const scenes = await import("./lib/scenes.mjs");
const inside = await onPrivateDisplay(import.meta.url);
const SHOTS = join(ROOT, "tests/.out/screenshots");
const LANGUAGES = ["en", "de"];
const SIZES = [
  [360, 780],
  [800, 700],
  [1440, 900],
];
const wanted = process.env.RINGWAY_SCENES?.split(",") ?? SCENES;
const unknown = wanted.find((scene) => !SCENES.includes(scene));
if (unknown !== undefined) throw new Error(`${unknown} is none of ${SCENES.join(", ")}`);

for (const [theme, name] of inside ? Object.entries(THEMES) : []) {
  for (const language of LANGUAGES) {
    // `around` brings a placed window into the state of the picture, and has it taken.
    const each = async (page, what, around) => {
      mkdirSync(SHOTS, { recursive: true });
      for (const [width, height] of SIZES) {
        const placed = await placeWindow(page, width, height);
        const shot = async (part) => {
          const file = `${what}-${language}-${theme}-${width}${part > 1 ? `-${part}` : ""}`;
          await keepPicture(page, file);
          renameSync(join(OUT, `${file}.png`), join(SHOTS, `${file}.png`));
        };
        if (around) {
          await around(placed, () => shot(1));
          continue;
        }
        await scenes.scrollBack(page);
        await shot(1);
        for (let part = 2; await scenes.scrollOn(page); part += 1) await shot(part);
      }
    };
    for (const scene of wanted) {
      test(`${scene} in ${language} and ${theme}`, (t) => scenes[scene](t, { env: { GTK_THEME: name }, language }, each));
    }
  }
}
