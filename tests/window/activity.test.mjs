// What failed stands first, however much ended well since, and is retried. A device that has
// forgotten this one is paired again. The selection is cleared and comes back. All with the pointer
// and the keyboard of the display.
import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Device } from "../setup/devices.mjs";
import { CODE, EXIT, receiver, same, sender } from "../transfer/harness.mjs";
import { folder, keepPicture, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { clickAt, middleOf, placeWindow } from "./lib/drag.mjs";
import { press, type } from "./lib/keyboard.mjs";
import { button, eventually, field, line, showing } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};

/** Clicks with the pointer on the first button that has this text and is not in the sidebar. */
async function pressed(page, placed, words) {
  const mark = (wanted) => {
    document.querySelector("[data-wanted]")?.removeAttribute("data-wanted");
    const found = [...document.querySelectorAll("button")].find((one) => !one.closest("nav") && one.textContent.trim() === wanted);
    found?.setAttribute("data-wanted", "");
    return Boolean(found);
  };
  await eventually(`the button ${words}`, () => page.script(mark, words));
  clickAt(await middleOf(page, placed, "[data-wanted]"));
}

driven("what failed stands first and open after nine good transfers, and is retried with the pointer", async (t) => {
  const base = folder();
  const near = await windowDevice(base, "near");
  const far = new Device(base, "far");
  const inbox = join(base, "inbox");
  mkdirSync(join(inbox, "holiday/photo"), { recursive: true });
  const [holiday, well] = [join(base, "holiday"), join(base, "well")];
  for (const path of [holiday, well]) mkdirSync(path);
  writeFileSync(join(holiday, "photo"), "a photo");
  writeFileSync(join(holiday, "text"), "text");
  writeFileSync(join(well, "text"), "text");
  const receiving = await receiver(t, far, inbox, { once: false, args: ["--on-conflict", "replace"] });
  let code = CODE;
  const send = async (path, wanted) => {
    const sending = sender(t, near, path, receiving.target, { code });
    // It is for one device.
    code = null;
    assert.equal(await sending.exit(), wanted, sending.said());
  };
  // A folder there has the name of the file.
  await send(holiday, EXIT.partial);
  for (let time = 0; time < 9; time += 1) await send(well, EXIT.all);
  const page = await openWindow(t, near);
  const placed = await placeWindow(page, 800, 760);
  await show(page, "Activity");
  await page.wait(line("holiday", "1 item failed"));
  await page.wait(showing("holiday/photo"));
  assert.equal(await page.script(() => document.querySelector("main .outcome-line strong").textContent), "holiday", "it stands first");
  await keepPicture(page, "failures-first");
  rmSync(join(inbox, "holiday/photo"), { recursive: true });
  await pressed(page, placed, "Retry these");
  await page.wait(line("holiday", "Sent"));
  await page.wait(showing("Resolved by a later transfer"));
  same(holiday, join(inbox, "holiday"));
  assert.notEqual(await page.script(() => document.querySelector("main .outcome-line").textContent.includes("failed")), true);
});

driven("a device that has forgotten this one is paired again by a press on its card, without sending anything", async (t) => {
  const base = folder();
  const near = await windowDevice(base, "near");
  const far = new Device(base, "far");
  const inbox = join(base, "inbox");
  const set = join(base, "set");
  for (const path of [inbox, set]) mkdirSync(path);
  writeFileSync(join(set, "text"), "text");
  const receiving = await receiver(t, far, inbox, { once: false });
  const paired = await near.run(["pair", receiving.target, "--code-file", near.codeFile(CODE)]);
  assert.equal(paired.status, EXIT.all, paired.said());
  const forgotten = await far.run(["devices", "forget", "near"]);
  assert.equal(forgotten.status, EXIT.all, forgotten.said());
  // It shows a code anew: the first one was for one device.
  receiving.kill();
  await receiving.exit();
  await receiver(t, far, inbox, { once: false, port: receiving.port });
  const page = await openWindow(t, near, {}, [set]);
  const placed = await placeWindow(page, 800, 760);
  await page.wait(showing("set"));

  // The selection is cleared with the pointer and with the keyboard, and comes back both times.
  for (const clears of [() => pressed(page, placed, "Clear"), () => press("Escape")]) {
    await clears();
    await page.wait(showing("Drop folders or files here"));
    await pressed(page, placed, "Undo");
    await page.wait(button("Clear"));
  }
  press("question");
  await page.wait(showing("Go to the next name that begins with these letters"));
  await page.wait(showing("On a device: send, or select it"));
  press("Escape");
  await eventually("the list of keys to go", async () => !(await page.find('//*[@role = "dialog"]')));

  await page.click("//main//button[@data-card][contains(., 'far')]");
  await pressed(page, placed, "Send");
  await page.wait(showing("far no longer knows this device"));
  await pressed(page, placed, "Cancel");
  await pressed(page, placed, "Pair again");
  await page.wait(field("retry-code"));
  await keepPicture(page, "pair-again");
  await eventually("the keyboard in its field", () => page.script(() => document.activeElement.name === "retry-code"));
  type("1-wrong-code");
  press("Return");
  await page.wait('//*[@role = "alert"]');
  await page.fill(field("retry-code"), CODE);
  press("Return");
  await eventually("the panel to go", async () => !(await page.find(field("retry-code"))));
  await eventually("the button to go", async () => !(await page.find(button("Pair again"))));
  // The wrong code is no failed transfer.
  await show(page, "Activity");
  await page.wait(showing("No transfers yet"));
  const told = await near.run(["inbox", "--all", "--json"]);
  assert.deepEqual(told.events, []);
});
