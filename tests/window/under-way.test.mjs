// A fast transfer under way, as the README shows it: machines as cards, a course with its
// bottleneck, read with the pointer and the keyboard, readable in both themes.
// RINGWAY_PICTURES=write writes the README's pictures.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { CODE, EXIT, oddTree, receiver } from "../transfer/harness.mjs";
import { Device } from "../setup/devices.mjs";
import { braked } from "../setup/wire.mjs";
import { folder, keepPicture, openWindow, show, windowDevice } from "./lib/device.mjs";
import { OUT, onPrivateDisplay } from "./lib/display.mjs";
import { middleOf, placeWindow } from "./lib/drag.mjs";
import { AXE, THEMES, checked, fits } from "./lib/looks.mjs";
import { capture } from "../setup/process.mjs";
import { KEYS, eventually, exactly, line, showing } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};
const DOCS = fileURLToPath(new URL("../../docs", import.meta.url));
const writes = process.env.RINGWAY_PICTURES === "write";
/**
 * Random bytes, so that neither compression nor deduplication makes the transfer smaller than the
 * network's fast part.
 */
const FILES = 12;
const EACH_BYTES = 32 << 20;
/** The network brakes after half of it, so the transfer runs until the test lets it end. */
const FAST_BYTES = (FILES * EACH_BYTES) / 2;
const SIZE = [960, 840];

for (const [theme, name] of Object.entries(THEMES)) {
  driven(`a fast transfer under way is readable in ${theme}, and its course can be read moment by moment`, async (t) => {
    const base = folder();
    const laptop = await windowDevice(base, "ada-laptop");
    const tree = join(base, "scan-0412");
    oddTree(tree, "--bulk-mib", "64", "--small", "3000");
    for (let file = 0; file < FILES; file += 1) writeFileSync(join(tree, `slice-${file}.raw`), randomBytes(EACH_BYTES));
    const networks = [];
    for (const peer of ["lab-ws", "nas"]) {
      const inbox = join(base, `inbox-${peer}`);
      mkdirSync(inbox);
      const receiving = await receiver(t, new Device(base, peer), inbox, { once: false });
      const network = await braked(receiving.target, FAST_BYTES);
      t.after(() => network.close());
      const paired = await laptop.run(["pair", network.target, "--code-file", laptop.codeFile(CODE)]);
      assert.equal(paired.status, EXIT.all, paired.said());
      networks.push(network);
    }
    const page = await openWindow(t, laptop, { GTK_THEME: name }, [tree]);
    const placed = await placeWindow(page, ...SIZE);
    await page.evaluate(AXE);
    await page.wait(showing("scan-0412"));
    await page.click("//main//button[@data-card][contains(., 'lab-ws')]");
    await page.click(exactly("Send"));
    await page.wait(showing("Sending to lab-ws"));
    await eventually("some seconds of it", () => page.script(() => Number(document.querySelector("[role=slider]")?.getAttribute("aria-valuemax")) > 1.5));
    await keepPicture(page, `under-way-${theme}`);
    await show(page, "Activity");
    await page.click("//button[contains(., 'Pause')]");
    await page.wait("//button[contains(., 'Resume')]");
    for (const view of ["Send", "Activity"]) {
      await show(page, view);
      await checked(page, `a transfer under way under ${view} in ${theme}`);
      await fits(page, `a transfer under way under ${view} in ${theme}`);
    }
    const said = () => page.script(() => document.querySelector("figcaption").textContent);
    const course = await middleOf(page, placed, "[role=slider]");
    capture("xdotool", ["mousemove", String(course.x), String(course.y)]);
    // At that moment nothing may have been sent: "0 B/s".
    await eventually("what it was where it is pointed at", async () => /^\d[\d.,]*\ss\s*[\d.,]+\s.?B\/s/.test(await said()));
    await keepPicture(page, `under-way-read-${theme}`);
    capture("xdotool", ["mousemove", "9999", "9999"]);
    await eventually("the reading to go", async () => !/^\d[\d.,]*\ss/.test(await said()));
    await page.script(() => document.querySelector("[role=slider]").focus());
    await page.keys(KEYS.home);
    assert.match(await page.script(() => document.activeElement.getAttribute("aria-valuetext")), /^0\.\d\ss, /);
    await page.keys(KEYS.escape);
    await checked(page, `Activity with a course in ${theme}`);

    for (const network of networks) network.release();
    await page.click("//button[contains(., 'Resume')]");
    await page.click(line("scan-0412", "Sent"), 120_000);
    await page.wait(showing("Sent to lab-ws: "));
    await checked(page, `a transfer that has arrived in ${theme}`);
    if (writes) copyFileSync(join(OUT, `under-way-${theme}.png`), join(DOCS, `window-${theme}.png`));
  });
}
