// Two machines with a window each: paired under Devices, asked about once, and let in by a rule from then on.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { WINDOW } from "../setup/build.mjs";
import { oddTree, same } from "../transfer/harness.mjs";
import { folder, keepPicture, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { button, eventually, field, showing } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};

const code = (page) => page.text("//*[@data-code]//*[contains(@class, 'text')]");

/** Two windows that know each other, the first one beside the second. */
async function paired(t, base) {
  const [near, lab] = [await windowDevice(base, "near"), await windowDevice(base, "lab")];
  const there = await openWindow(t, lab);
  await show(there, "Inbox");
  const here = await openWindow(t, near);
  await show(here, "Devices");
  await here.fill(field("pair-address"), lab.target);
  await here.fill(field("pair-code"), await code(there));
  await here.click("//section[@aria-labelledby = 'pair']//button");
  await here.wait(showing("Paired with lab."));
  await here.wait("//article[@aria-label = 'lab']");
  await show(there, "Devices");
  await there.wait("//article[@aria-label = 'near']");
  return { near, lab, here, there };
}

/** What was given to the window is sent to the card of `lab`. */
async function sendToCard(here) {
  await show(here, "Send");
  await here.click("//button[@data-card][contains(., 'lab')]");
}

driven("two windows pair by a code, and what one sends the other asks about once, and then takes by its rule", async (t) => {
  const base = folder();
  const trees = ["first set", "second set"].map((name) => join(base, name));
  for (const tree of trees) oddTree(tree);
  const { near, lab, here, there } = await paired(t, base);
  await keepPicture(here, "devices-paired");

  // A second start hands what it was given to the window that is there.
  const hand = async (tree) => {
    const second = spawn(WINDOW, ["--show", "send", tree], { env: { ...process.env, ...near.env }, stdio: "ignore" });
    await here.wait(`//h1[. = "Send"]`);
    await here.wait(showing(basename(tree)));
    assert.deepEqual(second.exitCode === null ? await once(second, "exit") : [second.exitCode, null], [0, null]);
  };
  await hand(trees[0]);
  await sendToCard(here);
  await show(there, "Inbox");
  await there.wait(showing("near wants to send you"));
  await there.click(button("Accept"));
  await there.wait(showing("Arrived whole"));
  await here.wait(showing("Arrived whole on lab"));
  same(trees[0], join(lab.inbox, basename(trees[0])));

  await show(there, "Devices");
  await there.click("//article[@aria-label = 'near']//summary");
  await there.click("//article[@aria-label = 'near']//select[@name = 'consent']/option[. = 'Accept without asking']");
  await there.wait(showing("accepted without asking"));

  await hand(trees[1]);
  await sendToCard(here);
  await eventually("the second to be there", () => existsSync(join(lab.inbox, basename(trees[1]))));
  await here.wait("//*[contains(., 'second set')]//*[contains(., 'Arrived whole on lab')]");
  same(trees[1], join(lab.inbox, basename(trees[1])));
});
