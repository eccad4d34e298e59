// The mouse wheel scrolls a view, also where no graphics card draws it.
import { test } from "node:test";
import { folder, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { placeWindow, turnWheelAt } from "./lib/drag.mjs";
import { eventually } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};

driven("the mouse wheel scrolls a view down and up again", async (t) => {
  const page = await openWindow(t, await windowDevice(folder(), "near"));
  await show(page, "Settings");
  const { x, y } = await placeWindow(page, 800, 500);
  const scrolled = () => page.script(() => document.querySelector("main").scrollTop);
  const middle = { x: x + 500, y: y + 250 };
  turnWheelAt(middle, 4);
  await eventually("the view to be scrolled", async () => (await scrolled()) > 100);
  turnWheelAt(middle, -6);
  await eventually("the view to be at its beginning again", async () => (await scrolled()) === 0);
});
