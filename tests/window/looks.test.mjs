// What the window looks like, in both themes and from narrow to wide: pictures for people, contrast and overflow for the test.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { folder, keepPicture, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { placeWindow } from "./lib/drag.mjs";
import { sleep } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const VIEWS = ["Send", "Inbox", "Activity", "Devices", "Settings"];
const SIZES = [
  [360, 640],
  [800, 640],
  [1280, 800],
];
/** What the desktop says to prefer light or dark by. */
const THEMES = { light: "Adwaita", dark: "Adwaita:dark" };

/** Nothing that axe-core objects to, and the contrast was among what it looked at. */
async function checked(page, where) {
  const { value, error } = await page.later(async () => {
    const { violations, passes } = await globalThis.axe.run(document);
    const told = ({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join("; ")}`;
    return { wrong: violations.map(told), looked: passes.map(({ id }) => id) };
  });
  assert.equal(error, undefined, where);
  assert.deepEqual(value.wrong, [], where);
  assert.ok(value.looked.includes("color-contrast"), where);
}

for (const [theme, name] of Object.entries(THEMES)) {
  driven(`every view in ${theme} is readable and fits, from 360 pixels to wide`, async (t) => {
    const page = await openWindow(t, await windowDevice(folder(), "laptop"), { GTK_THEME: name });
    const dark = await page.script(() => matchMedia("(prefers-color-scheme: dark)").matches);
    assert.equal(dark, theme === "dark");
    await page.evaluate(AXE);
    for (const [width, height] of SIZES) {
      await placeWindow(width, height);
      await sleep(200);
      for (const view of VIEWS) {
        await show(page, view);
        await keepPicture(page, `${view.toLowerCase()}-${theme}-${width}`);
        const wide = await page.script(() => {
          const main = document.querySelector("main");
          return [document.documentElement.scrollWidth - innerWidth, main.scrollWidth - main.clientWidth];
        });
        assert.deepEqual(wide, [0, 0], `${view} at ${width} needs no sideways scrolling`);
        await checked(page, `${view} in ${theme} at ${width}`);
      }
    }
  });
}
