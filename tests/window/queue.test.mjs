// What goes to one device goes one after the other: what waits is listed in the window and in the
// terminal, can be reordered and taken out in either, and begins by itself.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CODE, EXIT, harmfulNetwork, receiver, same } from "../transfer/harness.mjs";
import { Device } from "../setup/devices.mjs";
import { folder, keepPicture, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { dragOnto, middleOf, placeWindow } from "./lib/drag.mjs";
import { AXE, checked, fits } from "./lib/looks.mjs";
import { eventually, line, showing } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};
const SIZE = [1000, 900];
const FIRST_BYTES = 32 << 20;

driven("what is dropped on a card behind another transfer waits, is reordered and taken out, and begins by itself", async (t) => {
  const base = folder();
  const near = await windowDevice(base, "near");
  const far = new Device(base, "far");
  const inbox = join(base, "inbox");
  mkdirSync(inbox);
  const names = ["first", "second", "third", "fourth"];
  const [first, second, third, fourth] = names.map((name) => join(base, name));
  for (const path of [first, second, third, fourth]) {
    mkdirSync(path);
    writeFileSync(join(path, "file"), randomBytes(path === first ? FIRST_BYTES : 100));
  }
  // It is found nowhere but behind the network that holds everything.
  const receiving = await receiver(t, far, inbox, { once: false, args: ["--no-announce"] });
  const network = await harmfulNetwork(t, receiving.target, "--hold-after", FIRST_BYTES / 2);
  const paired = await near.run(["pair", network.target, "--code-file", near.codeFile(CODE)]);
  assert.equal(paired.status, EXIT.all, paired.said());

  const page = await openWindow(t, near);
  const drop = async (path) => {
    const card = await middleOf(page, await placeWindow(page, ...SIZE), "main [data-card]");
    await dragOnto(t, [path], card, () => page.wait(showing("Send 1 folder to far")));
  };
  await drop(first);
  await page.wait(showing("Sending to far"));
  await network.event("holding");
  for (const path of [second, third, fourth]) {
    await drop(path);
    await page.wait(`//*[@data-waiting][contains(., "${path.split("/").at(-1)}")]`);
  }
  await page.wait(showing("Waiting for second to finish"));
  const waiting = () => page.script(() => [...document.querySelectorAll("main [data-waiting]")].map((row) => row.textContent.match(/second|third|fourth/)[0]));
  assert.deepEqual(await waiting(), ["second", "third", "fourth"]);
  await page.evaluate(AXE);
  await checked(page, "transfers that wait");
  await fits(page, "transfers that wait");
  await keepPicture(page, "queue");
  await page.click("//button[@aria-label = 'Move third up']");
  await eventually("the new order", async () => (await waiting())[0] === "third");

  // The terminal has the same list, and takes one out.
  const status = await near.run(["status"]);
  const [, list] = status.stdout.split("Waiting until another one to the same device has ended (`ringway cancel ID`):");
  assert.ok(list, status.said());
  const rows = list.trim().split("\n").slice(1).map((row) => row.trim().split(/ {2,}/));
  assert.deepEqual(rows.map(([, device, title]) => [device, title]), ["third", "second", "fourth"].map((title) => ["far", title]));
  const events = (await near.run(["status", "--json"])).stdout.trim().split("\n").map((text) => JSON.parse(text));
  assert.deepEqual(events.filter(({ event }) => event === "transfer_waits").map(({ title }) => title.path), ["third", "second", "fourth"]);
  const cancelled = await near.run(["cancel", rows[2][0]]);
  assert.equal(cancelled.status, EXIT.all, cancelled.said());
  await eventually("one less", async () => (await waiting()).length === 2);
  await show(page, "Activity");
  await page.click("//button[@aria-label = 'Remove second']");
  await eventually("one left", async () => (await waiting()).join() === "third");

  network.tell("go on");
  await page.wait(line("third", "Sent"));
  await page.wait(line("first", "Sent"));
  for (const path of [first, third]) same(path, join(inbox, path.split("/").at(-1)));
  for (const path of [second, fourth]) assert.ok(!existsSync(join(inbox, path.split("/").at(-1))), `${path} was taken out`);
});
