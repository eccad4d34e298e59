// A device that wants to connect: shown in any view with the code, allowed, blocked with the
// keyboard, and readable in every size.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Device } from "../setup/devices.mjs";
import { EXIT, oddTree, same, sender } from "../transfer/harness.mjs";
import { folder, keepPicture, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { placeWindow } from "./lib/drag.mjs";
import { press } from "./lib/keyboard.mjs";
import { AXE, SIZES, checked, fits } from "./lib/looks.mjs";
import { button, eventually, field, showing } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};

/** What is shown of a device that wants to connect. */
const request = (name) => `//*[@data-request][.//h2[contains(., "${name}")]]`;
/** The code in it. */
const shownCode = (name) => `${request(name)}//*[contains(@class, "large")]//*[contains(@class, "text")]`;
const ANOTHER = `//button[.//strong[. = "Another device"]]`;
const answer = (name, word) => `${request(name)}//button[normalize-space(.) = "${word}"]`;

/** A device with something to send, which tries that without a code. */
async function asks(t, device, tree, target) {
  const sending = sender(t, device, tree, target, { code: null });
  assert.equal(await sending.exit(), EXIT.notAuthenticated, sending.said());
}

driven("a window without the code sends once the other window's request was answered by it, with nothing opened there", async (t) => {
  const base = folder();
  const tree = join(base, "holiday");
  oddTree(tree);
  const [near, lab] = [await windowDevice(base, "ada-laptop"), await windowDevice(base, "lab")];
  const there = await openWindow(t, lab);
  await show(there, "Activity");
  const here = await openWindow(t, near, {}, ["--show", "send", tree]);
  await here.wait(showing("holiday"));
  await here.click(ANOTHER);
  await here.fill(field("address"), lab.target);
  await here.click(`//main//form//button[normalize-space(.) = "Send"]`);
  await here.wait(showing("a message there says that ada-laptop wants to connect"));
  await there.wait(request("ada-laptop wants to connect"));
  assert.equal(await there.text("//h1"), "Activity", "the view stays");
  await keepPicture(there, "request");
  await here.fill(field("retry-code"), (await there.text(shownCode("ada-laptop"))).toUpperCase().replaceAll("-", "  "));
  await here.click(button("Connect and send"));
  await eventually("the request to go", async () => !(await there.find(request("ada-laptop"))));
  await there.click("//*[@data-offer-banner]//button[1]");
  await there.click(button("Accept"));
  await eventually("the tree", () => {
    try {
      same(tree, join(lab.inbox, "holiday"));
      return true;
    } catch {
      return false;
    }
  });
});

driven("a request is readable in every size, and a click opens a code where none is open", async (t) => {
  const base = folder();
  const near = await windowDevice(base, "near");
  const [far, other] = ["workstation-".repeat(6).slice(0, 64), "other"].map((name) => new Device(base, name));
  const tree = join(base, "set");
  mkdirSync(tree);
  const page = await openWindow(t, near);
  await page.evaluate(AXE);
  await asks(t, far, tree, near.target);
  await page.wait(shownCode("workstation"));
  for (const [width, height] of SIZES) {
    await placeWindow(page, width, height);
    await keepPicture(page, `request-${width}`);
    await fits(page, `a request at ${width}`);
    await checked(page, `a request at ${width}`);
  }
  const paired = await far.run(["pair", near.target, "--code-file", far.codeFile(await page.text(shownCode("workstation")))]);
  assert.equal(paired.status, EXIT.all, paired.said());
  await eventually("the request to go", async () => !(await page.find("//*[@data-request]")));

  // That code was for one device.
  await asks(t, other, tree, near.target);
  await page.wait(request("other wants to connect"));
  assert.ok(!(await page.find(shownCode("other"))), "a peer opens none");
  assert.match((await near.run(["status"])).stdout, /"other" .* wants to connect/);
  await page.click(answer("other", "Allow"));
  await page.wait(shownCode("other"));
  await keepPicture(page, "request-allowed");
  const again = await other.run(["pair", near.target, "--code-file", other.codeFile(await page.text(shownCode("other")))]);
  assert.equal(again.status, EXIT.all, again.said());
  await eventually("the request to go", async () => !(await page.find("//*[@data-request]")));
});

driven("a request takes no keyboard, and one that is blocked with it comes back by Undo only", async (t) => {
  const base = folder();
  const near = await windowDevice(base, "near");
  const far = new Device(base, "far");
  const tree = join(base, "set");
  mkdirSync(tree);
  const page = await openWindow(t, near);
  await placeWindow(page, 800, 700);
  await show(page, "Settings");
  const at = () => page.script(() => document.activeElement.ariaLabel || document.activeElement.name || document.activeElement.textContent);
  const before = await at();
  await asks(t, far, tree, near.target);
  await page.wait(request("far wants to connect"));
  assert.equal(await at(), before);
  // It stands before the heading, which has the keyboard.
  for (const wanted of ["Block"]) {
    press("shift+Tab");
    await eventually(`the keyboard at ${wanted}`, async () => (await at()).trim() === wanted);
  }
  press("Return");
  await eventually("the request to go", async () => !(await page.find("//*[@data-request]")));
  await page.wait(showing("Nothing from far or its address is shown"));
  assert.equal(await page.script(() => document.activeElement === document.body), false);
  await page.click("//button[normalize-space(.) = 'Undo']");
  await page.wait(request("far wants to connect"));
  await page.click(answer("far", "Block"));
  await eventually("the request to go", async () => !(await page.find("//*[@data-request]")));
  await asks(t, far, tree, near.target);
  assert.doesNotMatch((await near.run(["status"])).stdout, /wants to connect/);
  assert.ok(!(await page.find("//*[@data-request]")));
});
