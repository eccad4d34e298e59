// A paired machine under Devices, with the longest possible name: renamed and forgotten with the
// keyboard, and readable in every state.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { EXIT, ends, receiver, sender } from "../transfer/harness.mjs";
import { Device } from "../setup/devices.mjs";
import { folder, keepPicture, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { placeWindow } from "./lib/drag.mjs";
import { pickFolder, press, tabTo, type } from "./lib/keyboard.mjs";
import { AXE, SIZES, checked, fits } from "./lib/looks.mjs";
import { button, device, eventually, field, showing } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};

/** The longest possible name, in bytes. */
const LONGEST = "workstation-".repeat(6).slice(0, 64);

/**
 * The greatest height of a question in lines of text at 360 pixels, where the longest name alone
 * has three: its frame and its buttons take five.
 */
const LINES_MAX = 14;

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

  await tabTo(page, /^Actions for/);
  press("Return");
  await focused(/^Rename$/);
  press("Down", "Return");
  await focused(/^Cancel$/);
  for (const [width, height] of SIZES) {
    await placeWindow(page, width, height);
    const lines = await page.script(() => {
      const asked = document.querySelector("[role=dialog]");
      return asked.clientHeight / parseFloat(getComputedStyle(asked).lineHeight);
    });
    assert.ok(lines <= LINES_MAX, `the question is ${lines} lines high at ${width}`);
    await keepPicture(page, `devices-forget-${width}`);
    await fits(page, `a question at ${width}`);
    await checked(page, `a question at ${width}`);
  }
  press("Escape");
  await focused(/^Actions for/);

  press("Return");
  await focused(/^Rename$/);
  press("Return");
  await focused(/^new-name$/);
  for (const [width, height] of SIZES) {
    await placeWindow(page, width, height);
    await keepPicture(page, `devices-panel-${width}`);
    await fits(page, `a device's panel at ${width}`);
    await checked(page, `a device's panel at ${width}`);
  }
  type("lab");
  press("Return");
  await page.wait(device("lab"));
  await focused(/^new-name$/);
  assert.deepEqual((await near.run(["devices", "--json"])).events.map(({ name }) => name), ["lab"]);

  press("shift+Tab");
  await focused(/^Actions for lab/);
  press("Return");
  await focused(/^Rename$/);
  press("Down", "Return");
  await focused(/^Cancel$/);
  press("Tab", "Return");
  await page.wait(showing("No paired devices"));
  await focused(/^Devices$/);
});

driven("a machine that is accepted without asking brings what it sends into the folder that was picked for it, up to the size that was said", async (t) => {
  const base = folder();
  const near = await windowDevice(base, "near");
  const far = new Device(base, "far");
  const [set, more, picked] = ["set", "more", "from far"].map((name) => join(base, name));
  for (const path of [set, more, picked]) mkdirSync(path);
  writeFileSync(join(set, "small"), "fits");
  writeFileSync(join(more, "large"), Buffer.alloc(1_200_000));
  const receiving = await receiver(t, near, near.inbox);
  await ends(sender(t, far, set, receiving.target), receiving);
  const page = await openWindow(t, near);
  const { id } = await placeWindow(page, 1000, 760);
  await show(page, "Devices");
  const card = device("far");
  await page.click(`${card}//button[@aria-expanded]`);
  await page.click(`${card}//select[@name = "consent"]/option[. = "Accept automatically"]`);
  await page.fill(field("rule-size"), "0.001");
  press("Return");
  await page.wait(showing("Offers: Accept automatically up to 1"));
  await page.click(`${card}//button[contains(., "Change")]`);
  await pickFolder(id, picked);
  await page.wait(`${card}//*[@data-folder][. = "${picked}"]`);
  await keepPicture(page, "devices-rule");
  const [{ rule }] = (await near.run(["devices", "--json"])).events;
  assert.deepEqual([rule.consent, rule.bytes_max, rule.folder], ["accept", 1_000_000, { path: picked }]);

  const sent = sender(t, far, set, near.target, { code: null });
  assert.equal(await sent.exit(), EXIT.all, sent.said());
  assert.equal(readFileSync(join(picked, "set/small"), "utf8"), "fits");
  const larger = sender(t, far, more, near.target, { code: null });
  await show(page, "Inbox");
  await page.wait(showing("Offer from far"));
  await keepPicture(page, "inbox-offer-too-large");
  await page.click(button("Decline"));
  assert.equal(await larger.exit(), EXIT.declined, larger.said());

  await show(page, "Devices");
  await page.click(`${card}//button[@aria-expanded]`);
  await page.click(`${card}//select[@name = "consent"]/option[. = "Refuse"]`);
  await page.wait(`${card}//*[@data-rule][. = "Offers: Refuse"]`);
  const refused = sender(t, far, set, near.target, { code: null });
  assert.equal(await refused.exit(), EXIT.declined, refused.said());
  assert.deepEqual(readdirSync(picked), ["set"]);
});
