// What a person presses or drops on stays under the pointer and can be read: the button that sends,
// cards, the question before much is stopped, and the toast beside the sidebar. With the real
// pointer.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CODE, EXIT, receiver } from "../transfer/harness.mjs";
import { Device } from "../setup/devices.mjs";
import { braked } from "../setup/wire.mjs";
import { configOf, folder, keepPicture, openWindow, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { clickAt, dragOnto, middleOf, placeWindow } from "./lib/drag.mjs";
import { focus, press } from "./lib/keyboard.mjs";
import { eventually, line, showing, sleep } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};
const CARD = "main [data-card]:not([data-card='here'])";
const SEND = "[data-bar] button.primary";
/** More than a gigabyte, of which the slow network passes some at once. */
const MUCH = { files: 17, each: 64 << 20, fast: 256 << 20 };
/** Longer than an answer of the page to a click takes. */
const SETTLED_MS = 500;

/** A window with a chosen folder, and a paired device that receives behind a slow network. */
async function meet(t, fill) {
  const base = folder();
  const near = await windowDevice(base, "near");
  // No card of another device appears.
  appendFileSync(configOf(near), "announce = false\n");
  const inbox = join(base, "inbox");
  const tree = join(base, "scans");
  for (const path of [inbox, tree]) mkdirSync(path);
  fill(tree);
  const receiving = await receiver(t, new Device(base, "far-away-ws"), inbox, { once: false });
  const network = await braked(receiving.target, MUCH.fast);
  t.after(() => network.close());
  const paired = await near.run(["pair", network.target, "--code-file", near.codeFile(CODE)]);
  assert.equal(paired.status, EXIT.all, paired.said());
  const page = await openWindow(t, near, {}, ["--show", "send", tree]);
  await page.wait(showing("scans"));
  return { page, network, tree };
}

/** Where an element is, and whether it can be pressed. */
const boxOf = (page, selector) =>
  page.script((wanted) => {
    const element = document.querySelector(wanted);
    if (!element) return null;
    const { left, top, right, bottom } = element.getBoundingClientRect();
    return { left, top, right, bottom, disabled: element.disabled === true };
  }, selector);

for (const width of [360, 800]) {
  driven(`at ${width} pixels, Send stands in its place before a device is picked, where a press does nothing, and after`, async (t) => {
    const { page } = await meet(t, (tree) => writeFileSync(join(tree, "one"), "1"));
    const placed = await placeWindow(page, width, 640);
    const before = await boxOf(page, SEND);
    assert.equal(before.disabled, true);
    const send = await middleOf(page, placed, SEND);
    clickAt(send);
    await sleep(SETTLED_MS);
    assert.ok(!(await page.find("//*[@data-transfer]")), "nothing is sent to nobody");
    clickAt(await middleOf(page, placed, CARD));
    await eventually("Send to be ready", async () => !(await boxOf(page, SEND)).disabled);
    assert.deepEqual(await boxOf(page, SEND), { ...before, disabled: false });
    await keepPicture(page, `pressed-send-${width}`);
    clickAt(send);
    await page.wait(line("scans", "Sent"));
  });
}

driven("over a card of a narrow window the words of what a drop does are whole", async (t) => {
  const { page, tree } = await meet(t, (tree) => writeFileSync(join(tree, "one"), "1"));
  const card = await middleOf(page, await placeWindow(page, 360, 780), CARD);
  const still = await boxOf(page, CARD);
  await dragOnto(t, [tree], card, async () => {
    await page.wait(showing("Send 1 folder to far-away-ws"));
    await keepPicture(page, "pressed-over-360");
    assert.deepEqual(await boxOf(page, CARD), still, "the card stays as it is");
    const below = await page.script((card) => {
      const words = document.querySelector(`${card} .drops`).getBoundingClientRect();
      return document.querySelector(card).getBoundingClientRect().bottom - words.bottom;
    }, CARD);
    assert.ok(below >= 0, `the words end ${-below} pixels below the card`);
  });
  await page.wait(line("scans", "Sent"));
});

driven("the question before much is stopped stays once the transfer has ended, and a late press hits nothing below it", async (t) => {
  const { page, network } = await meet(t, (tree) => {
    for (let file = 0; file < MUCH.files; file += 1) writeFileSync(join(tree, `slice-${file}`), randomBytes(MUCH.each));
  });
  const placed = await placeWindow(page, 800, 640);
  clickAt(await middleOf(page, placed, CARD));
  await eventually("Send to be ready", async () => !(await boxOf(page, SEND)).disabled);
  clickAt(await middleOf(page, placed, SEND));
  await eventually("the transfer to move", () => page.script(() => document.querySelector("[data-state=moving] [role=progressbar]") !== null));
  clickAt(await middleOf(page, placed, "[data-transfer] button[aria-label^='Cancel']"));
  await page.wait(showing("Stop scans?"));
  const keep = await middleOf(page, placed, "[role=dialog] [data-changes-nothing]");
  await keepPicture(page, "pressed-stop");
  network.release();
  await page.wait(showing("scans has ended"));
  await keepPicture(page, "pressed-stop-ended");
  assert.ok(!(await page.find("//*[@role = 'dialog']//button[contains(., 'Stop')]")), "nothing is left to stop");
  // The press that was on its way to the button.
  clickAt(keep);
  await sleep(SETTLED_MS);
  if (await page.find("//*[@role = 'dialog']")) clickAt(await middleOf(page, placed, "[role=dialog] button"));
  await eventually("the question to go", async () => !(await page.find("//*[@role = 'dialog']")));
  await page.wait(line("scans", "Sent"));
  assert.ok(await page.find(`//h1[. = "Send"]`), "the view is the same");
  assert.notEqual(await page.script(() => document.activeElement.tagName), "BODY");
});

driven("a toast covers nothing of the sidebar, at any width, and fits a narrow window", async (t) => {
  const { page } = await meet(t, (tree) => writeFileSync(join(tree, "one"), "1"));
  for (const width of [360, 719, 720, 800, 960, 1440]) {
    const { id } = await placeWindow(page, width, 640);
    focus(id);
    await eventually("the list", () => page.script(() => document.body.innerText.includes("scans")));
    press("Escape");
    await eventually("the toast", async () => boxOf(page, ".toast"));
    const { left, right } = await boxOf(page, ".toast .toast");
    const side = width < 720 ? 0 : (await boxOf(page, ".side")).right;
    assert.ok(left >= side && right <= width, `from ${left} to ${right} beside ${side} at ${width}`);
    await keepPicture(page, `pressed-toast-${width}`);
    clickAt(await middleOf(page, await placeWindow(page, width, 640), ".toast button.undo"));
    await page.wait(showing("scans"));
  }
});
