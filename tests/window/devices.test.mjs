// A paired machine under Devices, with the longest name there can be: renamed and forgotten with the keyboard, and readable whatever is asked.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ends, receiver, sender } from "../transfer/harness.mjs";
import { Device } from "../setup/devices.mjs";
import { folder, keepPicture, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { placeWindow } from "./lib/drag.mjs";
import { press, tabTo, type } from "./lib/keyboard.mjs";
import { AXE, SIZES, checked, fits } from "./lib/looks.mjs";
import { eventually, field, showing } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};

/** As long as a name can be, in bytes. */
const LONGEST = "workstation-".repeat(6).slice(0, 64);

/** Lines of text that something may be high at 360 pixels, where the longest name alone has three. */
const LINES_MAX = 10;

driven("a machine is renamed and forgotten with the keyboard, and every question about it can be read", async (t) => {
  const base = folder();
  const near = await windowDevice(base, "near");
  const set = join(base, "set");
  mkdirSync(set);
  const receiving = await receiver(t, near, near.inbox);
  await ends(sender(t, new Device(base, LONGEST), set, receiving.target), receiving);
  const page = await openWindow(t, near);
  await page.evaluate(AXE);
  await show(page, "Devices");
  await page.wait(showing(LONGEST));
  const at = () => page.script(() => document.activeElement.ariaLabel || document.activeElement.name || document.activeElement.textContent);
  const focused = (wanted) => eventually(`the keyboard at ${wanted}`, async () => wanted.test(await at()));

  await tabTo(page, /^Forget/);
  press("Return");
  await focused(/^Keep$/);
  for (const [width, height] of SIZES) {
    await placeWindow(page, width, height);
    const lines = await page.script(() => {
      const asked = document.querySelector("[role=alertdialog]");
      return asked.clientHeight / parseFloat(getComputedStyle(asked).lineHeight);
    });
    assert.ok(lines <= LINES_MAX, `the question is ${lines} lines high at ${width}`);
    await keepPicture(page, `devices-forget-${width}`);
    await fits(page, `a question at ${width}`);
    await checked(page, `a question at ${width}`);
  }
  press("Escape");
  await focused(/^Forget/);

  await tabTo(page, /^Devices$/);
  await tabTo(page, /^Rename/);
  press("Return");
  await focused(/^new-name$/);
  type("lab");
  press("Return");
  await page.wait("//article[@aria-label='lab']");
  await focused(/^Rename lab/);
  assert.equal(await page.find(field("new-name")), null);
  assert.deepEqual((await near.run(["devices", "--json"])).events.map(({ name }) => name), ["lab"]);

  press("Tab");
  await focused(/^Forget lab/);
  press("Return");
  await focused(/^Keep$/);
  press("shift+Tab", "Return");
  await page.wait(showing("No machine is paired yet."));
  await focused(/^Devices$/);
});
