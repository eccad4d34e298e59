// Every view as it is kept in tests/window/golden, in both themes, narrow and wide: appearance
// changes on purpose or not at all.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Device } from "../setup/devices.mjs";
import { EXIT, ends, receiver, sender } from "../transfer/harness.mjs";
import { WELCOME, configOf, folder, newDevice, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { placeWindow } from "./lib/drag.mjs";
import { incomparable, looksAsKept } from "./lib/golden.mjs";
import { THEMES } from "./lib/looks.mjs";
import { button, field, showing } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const why = inside ? incomparable() : "";
const VIEWS = ["Send", "Inbox", "Activity", "Devices", "Settings"];
const SIZES = [
  [360, 780],
  [960, 700],
];

/** A laptop. Its surroundings are not in the picture. */
async function laptop(base) {
  const device = await windowDevice(base, "laptop");
  appendFileSync(configOf(device), "announce = false\n");
  return device;
}

/** A folder with one file, and whatever `more` adds. */
function tree(base, name, bytes, more = () => {}) {
  const path = join(base, name);
  mkdirSync(path);
  writeFileSync(join(path, "data"), Buffer.alloc(bytes));
  more(path);
  return path;
}

/**
 * The state after a few days of use: a paired machine with a rule, transfers from it, one complete
 * and one without a pipe, and one that reached nobody.
 */
async function inUse(t, base) {
  const device = await laptop(base);
  const lab = new Device(base, "lab");
  const receive = async (path, wanted) => {
    const receiving = await receiver(t, device, device.inbox);
    await ends(sender(t, lab, path, receiving.target, { args: ["--limit", "3M", "--compress", "off"] }), receiving, wanted);
  };
  await receive(tree(base, "survey", 6_000_000));
  await receive(tree(base, "thesis", 40_000, (path) => execFileSync("mkfifo", [join(path, "pipe")])), EXIT.partial);
  const alone = sender(t, device, join(base, "thesis"), "127.0.0.1:9");
  assert.equal(await alone.exit(), EXIT.failed, alone.said());
  const ruled = await device.run(["devices", "rule", "lab", "--accept", "--max-size", "20G"]);
  assert.equal(ruled.status, EXIT.all, ruled.err);
  return device;
}

/** Scrolls a view by its visible height; false at its end. */
function scrollOn(page) {
  return page.script(() => {
    const main = document.getElementById("main");
    const before = main.scrollTop;
    main.scrollTop += main.clientHeight;
    return main.scrollTop > before;
  });
}

if (why) test("golden pictures", { skip: why });
for (const [theme, name] of inside && !why ? Object.entries(THEMES) : []) {
  test(`every view in ${theme} looks as it is kept`, async (t) => {
    const device = await laptop(folder());
    const page = await openWindow(t, device, { GTK_THEME: name });
    for (const [width, height] of SIZES) {
      await placeWindow(page, width, height);
      for (const view of VIEWS) {
        await show(page, view);
        const name = `${view.toLowerCase()}-${theme}-${width}`;
        await looksAsKept(page, name);
        for (let part = 2; await scrollOn(page); part += 1) await looksAsKept(page, `${name}-${part}`);
      }
    }
  });

  test(`the first run in ${theme} looks as it is kept`, async (t) => {
    const page = await openWindow(t, await newDevice(folder(), "laptop"), { GTK_THEME: name }, [], { shows: WELCOME });
    await page.wait(showing("This adds Ringway to the startup programs"));
    // Every machine has another name.
    await page.fill(field("name"), "laptop");
    for (const [width, height] of SIZES) {
      await placeWindow(page, width, height);
      await looksAsKept(page, `first-${theme}-${width}`);
    }
  });

  test(`a window in use in ${theme} looks as it is kept`, async (t) => {
    const base = folder();
    const device = await inUse(t, base);
    const page = await openWindow(t, device, { GTK_THEME: name }, [join(base, "survey"), join(base, "thesis")]);
    const kept = async (what) => {
      for (const [width, height] of SIZES) {
        await placeWindow(page, width, height);
        await looksAsKept(page, `${what}-${theme}-${width}`);
      }
    };
    await page.wait(showing("thesis"));
    await kept("send-chosen");
    await show(page, "Devices");
    await page.wait("//article[@aria-label='lab']");
    await kept("devices-paired");
    await show(page, "Activity");
    await page.click("//details[@data-past][contains(summary, 'survey')]/summary");
    await page.wait("//details[@open]//canvas");
    await kept("activity-earlier");
    await show(page, "Inbox");
    const studio = new Device(base, "studio");
    const code = await page.text("//*[@data-code]//*[contains(@class, 'text')]");
    const sending = sender(t, studio, tree(base, "renders", 12_000_000), device.target, { code, args: ["--limit", "6M", "--compress", "off"] });
    await page.wait(showing(" free"));
    await kept("inbox-offer");
    await page.click(button("Accept"));
    assert.equal(await sending.exit(), EXIT.all, sending.said());
    await page.wait(showing("Received: "));
    await kept("inbox-arrived");
  });
}
