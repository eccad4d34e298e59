// `npm run screenshots`: every view at three widths, in both themes and every language, as pictures
// in tests/.out/screenshots, for people to look at. RINGWAY_SCENES names some:
// fresh,first,used,notes,shares,underway,troubled,meeting.
import { mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT } from "../setup/process.mjs";
import { keepPicture } from "./lib/device.mjs";
import { OUT, onPrivateDisplay } from "./lib/display.mjs";
import { placeWindow } from "./lib/drag.mjs";
import { THEMES } from "./lib/looks.mjs";
import * as scenes from "./lib/scenes.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const SHOTS = join(ROOT, "tests/.out/screenshots");
const LANGUAGES = ["en", "de"];
const SIZES = [
  [360, 780],
  [800, 700],
  [1440, 900],
];
const wanted = process.env.RINGWAY_SCENES?.split(",") ?? ["fresh", "first", "used", "notes", "shares", "underway", "troubled", "meeting"];

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
