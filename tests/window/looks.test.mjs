// The appearance of the window, in both themes and from narrow to wide: pictures for people,
// contrast and overflow for the test.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { WELCOME, folder, keepPicture, newDevice, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { placeWindow } from "./lib/drag.mjs";
import { focus, press } from "./lib/keyboard.mjs";
import { AXE, SIZES, THEMES, checked, fits, holdsItsText } from "./lib/looks.mjs";
import { troubled } from "./lib/scenes.mjs";
import { eventually, windowId } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};

const VIEWS = ["Send", "Inbox", "Activity", "Devices", "Settings"];

for (const [theme, name] of Object.entries(THEMES)) {
  driven(`every view in ${theme} is readable and fits, from 360 pixels to wide`, async (t) => {
    const page = await openWindow(t, await windowDevice(folder(), "laptop"), { GTK_THEME: name });
    const dark = await page.script(() => matchMedia("(prefers-color-scheme: dark)").matches);
    assert.equal(dark, theme === "dark");
    await page.evaluate(AXE);
    for (const [width, height] of SIZES) {
      await placeWindow(page, width, height);
      for (const view of VIEWS) {
        await show(page, view);
        await keepPicture(page, `${view.toLowerCase()}-${theme}-${width}`);
        await fits(page, `${view} at ${width}`);
        await checked(page, `${view} in ${theme} at ${width}`);
      }
    }
  });
}

driven("the view alone scrolls, however much it holds, and what is no fact is not selected", (t) =>
  troubled(t, { env: {} }, async (page, what) => {
    await placeWindow(page, 800, 500);
    await show(page, "Activity");
    await page.click(`//h1[. = "Activity"]`);
    const scroll = () => page.script(() => [document.scrollingElement.scrollTop, document.documentElement.scrollHeight - innerHeight]);
    assert.ok(await page.script(() => document.querySelector("main").scrollHeight > innerHeight), `${what}: else nothing is tried`);
    focus(await windowId(page.env));
    press("End");
    await page.script(() => scrollTo(0, 10_000));
    assert.deepEqual(await scroll(), [0, 0], what);
    press("ctrl+a");
    const selected = await page.script(() => getSelection().toString());
    for (const word of ["Activity", "Devices", "Settings", "Copy list"]) assert.ok(!selected.includes(word), `${what}: ${selected}`);
  }));

driven("the keyboard is at the heading as soon as the window is open, also in the first run", async (t) => {
  const focused = (page) => page.script(() => document.activeElement.tagName);
  const page = await openWindow(t, await windowDevice(folder(), "laptop"));
  await eventually("the heading", async () => (await focused(page)) === "H1");
  const fresh = await openWindow(t, await newDevice(folder(), "laptop"), {}, [], { shows: WELCOME });
  await eventually("the first run's heading", async () => (await focused(fresh)) === "H1");
});

driven("a view that is shown while the window becomes narrower stays whole", async (t) => {
  const page = await openWindow(t, await windowDevice(folder(), "laptop"));
  for (const view of VIEWS) {
    await placeWindow(page, 960, 640);
    await show(page, view);
    await holdsItsText(page, `${view} at 960`);
    for (const width of [700, 360]) {
      await placeWindow(page, width, 640);
      await holdsItsText(page, `${view} made as narrow as ${width}`);
    }
  }
});

driven("every view is readable and fits where the desktop draws all of it twice as large, from 360 pixels to wide", async (t) => {
  const page = await openWindow(t, await windowDevice(folder(), "laptop"), { GDK_SCALE: "2" });
  await page.evaluate(AXE);
  for (const [width, height] of [[360, 500], [800, 500]]) {
    await placeWindow(page, width * 2, height * 2);
    for (const view of VIEWS) {
      await show(page, view);
      await keepPicture(page, `${view.toLowerCase()}-twice-${width}`);
      await fits(page, `${view} twice as large at ${width}`);
      await checked(page, `${view} twice as large at ${width}`);
    }
  }
});

driven("every view is readable and fits where the desktop draws all of it a quarter larger, from 360 pixels to wide", async (t) => {
  const page = await openWindow(t, await windowDevice(folder(), "laptop"), { GDK_DPI_SCALE: "1.25" });
  await page.evaluate(AXE);
  for (const [width, height] of [[360, 640], [1280, 720]]) {
    await placeWindow(page, width * 1.25, height * 1.25, 1.25);
    for (const view of VIEWS) {
      // The driver's own clicks do not take the page's scale into account, and miss.
      await page.script((name) => [...document.querySelectorAll("nav button")].find((entry) => entry.textContent.includes(name)).click(), view);
      await page.wait(`//h1[. = "${view}"]`);
      await keepPicture(page, `${view.toLowerCase()}-quarter-${width}`);
      await fits(page, `${view} a quarter larger at ${width}`);
      await checked(page, `${view} a quarter larger at ${width}`);
    }
  }
});

driven("where the desktop asks for less motion nothing moves by itself", async (t) => {
  const device = await windowDevice(folder(), "laptop");
  const still = join(device.env.XDG_CONFIG_HOME, "gtk-3.0");
  const moving = async (page) => ({
    less: await page.script(() => matchMedia("(prefers-reduced-motion: reduce)").matches),
    times: await page.script(() => [...new Set([...document.querySelectorAll("*")].flatMap((at) => [getComputedStyle(at).transitionDuration, getComputedStyle(at).animationDuration]))]),
  });
  const before = await openWindow(t, device);
  const usual = await moving(before);
  assert.equal(usual.less, false);
  assert.ok(usual.times.some((time) => parseFloat(time) > 0), `else nothing is tried: ${usual.times}`);
  await before.close();
  mkdirSync(still, { recursive: true });
  writeFileSync(join(still, "settings.ini"), "[Settings]\ngtk-enable-animations=false\n");
  const page = await openWindow(t, device);
  const quiet = await moving(page);
  assert.equal(quiet.less, true);
  assert.deepEqual(quiet.times.filter((time) => parseFloat(time) > 0), []);
});
