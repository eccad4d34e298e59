// A window with real other devices: another window, paired under Devices, asked about once and then
// accepted by a rule; and a service without any window.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { WINDOW } from "../setup/build.mjs";
import { Device, freePort, inTime } from "../setup/devices.mjs";
import { EXIT, oddTree, same } from "../transfer/harness.mjs";
import { folder, keepPicture, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { button, device, eventually, exactly, field, line, showing } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};

/** Longer than a service takes to start. */
const LATE_SECONDS = 15;

/** Seconds until an interrupted transfer is tried again, once they are at least so many. */
const untilTry = (page, least) =>
  eventually(`a next try in ${least} s or more`, async () => {
    const shown = await page.script(() => document.body.innerText);
    const left = Number(/Trying again in (\d+)\ss,/.exec(shown)?.[1]);
    return left >= least && left;
  });

const code = (page) => page.text("//*[@data-code]//*[contains(@class, 'text')]");

/** Two paired windows, the first one beside the second. */
async function paired(t, base) {
  const [near, lab] = [await windowDevice(base, "near"), await windowDevice(base, "lab")];
  const there = await openWindow(t, lab);
  await show(there, "Inbox");
  const here = await openWindow(t, near);
  await show(here, "Devices");
  await here.fill(field("pair-address"), lab.target);
  await here.fill(field("pair-code"), await code(there));
  await here.click(exactly("Pair"));
  await here.wait(showing("Paired with lab."));
  await here.wait(device("lab"));
  await show(there, "Devices");
  await there.wait(device("near"));
  return { near, lab, here, there };
}

/** A second start passes its paths to the existing window. */
async function hand(here, near, tree) {
  const second = spawn(WINDOW, ["--show", "send", tree], { env: { ...process.env, ...near.env }, stdio: "ignore" });
  await here.wait(`//h1[. = "Send"]`);
  await here.wait(showing(basename(tree)));
  assert.deepEqual(second.exitCode === null ? await once(second, "exit", inTime()) : [second.exitCode, null], [0, null]);
}

/** Picks the card of a machine. */
async function pick(here, name) {
  await show(here, "Send");
  await here.click(`//main//button[@data-card][contains(., '${name}')]`);
  await here.wait(`//main//button[@data-card][contains(., '${name}')][@aria-pressed = 'true']`);
}

/** Sends the paths that the window got to the card of a machine. */
async function sendToCard(here, name) {
  await pick(here, name);
  await here.click(exactly("Send"));
}

driven("two windows pair by a code, and what one sends the other asks about once, and then takes by its rule", async (t) => {
  const base = folder();
  const trees = ["first set", "second set"].map((name) => join(base, name));
  for (const tree of trees) oddTree(tree);
  const { near, lab, here, there } = await paired(t, base);
  await keepPicture(here, "devices-paired");

  await hand(here, near, trees[0]);
  await sendToCard(here, "lab");
  await show(there, "Inbox");
  await there.wait(showing("Offer from near"));
  await there.click(button("Accept"));
  await there.wait(line("first set", "Received"));
  await here.wait(line("first set", "Sent"));
  same(trees[0], join(lab.inbox, basename(trees[0])));

  await show(there, "Devices");
  await there.click(`${device("near")}//button[@aria-expanded]`);
  await there.click(`${device("near")}//select[@name = 'consent']/option[. = 'Accept automatically']`);
  await there.wait(`${device("near")}//*[@data-rule][. = 'Offers: Accept automatically']`);

  await hand(here, near, trees[1]);
  await sendToCard(here, "lab");
  await eventually("the second to be there", () => existsSync(join(lab.inbox, basename(trees[1]))));
  await here.wait(line("second set", "Sent"));
  same(trees[1], join(lab.inbox, basename(trees[1])));
});

driven("a window sends to a machine without one, whose service takes it by its rule and proves it, and what broke off there goes on by a press", async (t) => {
  const base = folder();
  const near = await windowDevice(base, "near");
  const server = new Device(base, "server");
  const inbox = join(base, "inbox");
  const tree = join(base, "results");
  mkdirSync(inbox);
  oddTree(tree);
  const target = `127.0.0.1:${await freePort()}`;
  const serve = async () => {
    const serving = server.start(["serve", inbox, "--listen", target, "--json"]);
    t.after(() => serving.kill());
    await serving.event("listening");
    return serving;
  };
  let serving = await serve();
  const [{ code: shown }] = (await server.run(["code", "--json"])).events;
  const here = await openWindow(t, near);
  await show(here, "Devices");
  await here.fill(field("pair-address"), target);
  await here.fill(field("pair-code"), shown);
  await here.click(exactly("Pair"));
  await here.wait(showing("Paired with server."));
  const ruled = await server.run(["devices", "rule", "near", "--accept"]);
  assert.equal(ruled.status, EXIT.all, ruled.said());

  await hand(here, near, tree);
  await pick(here, "server");
  await here.click(button("Options"));
  await here.click("//label[contains(., 'Verify afterwards')]");
  await here.click(exactly("Send"));
  await here.click(line("results", "Sent"));
  await here.wait(showing("read back from server's disk, identical."));
  await keepPicture(here, "send-verified");
  same(tree, join(inbox, basename(tree)));

  // Large and slow enough to be cut short.
  const bulk = join(base, "bulk");
  mkdirSync(bulk);
  for (let file = 0; file < 40; file += 1) writeFileSync(join(bulk, `${file}.bin`), randomBytes(1_000_000));
  const limited = await near.run(["settings", "--limit", "2M"]);
  assert.equal(limited.status, EXIT.all, limited.said());
  await hand(here, near, bulk);
  await sendToCard(here, "server");
  await eventually("some of it to have come", async () => Number(await here.script(() => document.querySelector("[role=progressbar]")?.getAttribute("aria-valuenow"))) > 10);
  serving.kill("SIGKILL");
  await serving.exit();
  await show(here, "Activity");
  await here.wait(showing("Connection to server lost."));
  await keepPicture(here, "activity-reconnecting");
  // Each press tries at once, in vain, and the next try of its own is later. In time it is so late
  // that the press is what finds the service again.
  const tryNow = "//button[contains(., 'Try now')]";
  for (let left = await untilTry(here, 1); left < LATE_SECONDS; left = await untilTry(here, left + 1)) await here.click(tryNow);
  serving = await serve();
  await here.click(tryNow);
  await here.wait(line("bulk", "Sent"));
  same(bulk, join(inbox, "bulk"));
  const [{ outcome, reconnected }] = (await near.run(["inbox", "--sent", "--json"])).events;
  assert.equal(outcome, "complete");
  assert.ok(reconnected > 0, "it is the same transfer");
});
