// The window sends: a real drag from another program, a typed code, and a real `ringway recv` that
// gets an identical tree.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { basename, join } from "node:path";
import { test } from "node:test";
import { CODE, EXIT, harmfulNetwork, oddTree, receiver, same } from "../transfer/harness.mjs";
import { Device, differences } from "../setup/devices.mjs";
import { capture } from "../setup/process.mjs";
import { folder, keepPicture, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { clickAt, copyElsewhere, dragOnto, middleOf, placeWindow } from "./lib/drag.mjs";
import { focus, pickFolder, press, tabTo, type } from "./lib/keyboard.mjs";
import { fits, holdsItsText } from "./lib/looks.mjs";
import { KEYS, button, eventually, exactly, field, line, showing } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
/** The card of those that have none: an address is typed. */
const ANOTHER = "//main//button[contains(., 'Another device')]";
/** The button of the form or of the bar. Cards of machines begin with the same word. */
const SEND = exactly("Send");
/** The tests run only if the window can be driven. */
const driven = inside ? test : () => {};

/** A window, an unpaired device with an inbox, and a folder to send. */
async function meet() {
  const base = folder();
  const near = await windowDevice(base, "near");
  const far = new Device(base, "far");
  const inbox = join(base, "inbox");
  mkdirSync(inbox);
  const tree = join(base, "Ünïcode set");
  oddTree(tree);
  return { base, near, far, inbox, tree };
}

/** Waits for the receiver's end, and shows its output if it did not succeed. */
async function ended(running, status = 0) {
  assert.equal(await running.exit(), status, running.said());
}

/** Beside the cards, which lie higher once something is chosen. */
async function dropInto(t, page, paths, size = [1000, 760]) {
  await placeWindow(page, ...size);
  await dragOnto(t, paths, { x: 600, y: 60 }, () => page.wait(showing("Drop to")));
}

// At scale 2 one CSS pixel is two of the screen's. The card under the pointer must still be the
// highlighted one.
for (const scale of [1, 2]) {
  driven(`at scale ${scale}, a dropped folder crosses by code, and the next one by a drop on the card`, async (t) => {
    const size = scale === 1 ? [1000, 760] : [1440, 1000];
    const { base, near, far, inbox, tree } = await meet();
    const receiving = await receiver(t, far, inbox);
    const page = await openWindow(t, near, { GDK_SCALE: String(scale) });
    await dropInto(t, page, [tree], size);
    await page.wait(showing(basename(tree)));
    await page.click(ANOTHER);
    await page.fill(field("address"), receiving.target);
    await page.fill(field("code"), CODE);
    await keepPicture(page, `send-chosen-${scale}`);
    await page.click(SEND);
    await page.wait(line(basename(tree), "Sent"));
    // The toast that tells of the pairing does not cover the line in a window this small.
    await page.click(line(basename(tree), "Sent"));
    await page.wait(showing("Sent to far: "));
    await keepPicture(page, `send-arrived-${scale}`);
    await ended(receiving);
    same(tree, join(inbox, basename(tree)));
    await page.click('//summary[contains(., "Technical details")]');
    await page.wait(showing("Encrypted by"));
    await page.click(line(basename(tree), "Sent"));

    // The two are paired now: a drop on the card sends at once, without a code.
    const second = join(base, "second");
    oddTree(second);
    const again = far.start(["recv", inbox, "--listen", receiving.target, "--json", "--yes", "--once"]);
    t.after(() => again.kill());
    await again.event("listening");
    const card = await middleOf(page, await placeWindow(page, ...size), "main [data-card]");
    await dragOnto(t, [second], card, async () => {
      await page.wait(showing("Send 1 folder to far"));
      await keepPicture(page, `send-over-card-${scale}`);
    });
    await ended(again);
    same(second, join(inbox, "second"));
  });
}

driven("a folder dropped on a card while another machine is being reached goes there at once", async (t) => {
  const { base, near, far, inbox, tree } = await meet();
  const first = await receiver(t, far, inbox);
  const paired = await near.run(["pair", first.target, "--code-file", near.codeFile(CODE)]);
  assert.equal(paired.status, 0, paired.said());
  first.kill();
  await first.exit();
  const receiving = far.start(["recv", inbox, "--listen", first.target, "--json", "--yes", "--once"]);
  t.after(() => receiving.kill());
  await receiving.event("listening");
  // Accepts connections and sends nothing.
  const silent = createServer((socket) => socket.on("error", () => {}).unref()).listen(0, "127.0.0.1");
  t.after(() => silent.close());
  await once(silent, "listening");
  const page = await openWindow(t, near);
  await dropInto(t, page, [tree], [1000, 760]);
  await page.wait(showing(basename(tree)));
  await page.click(ANOTHER);
  await page.fill(field("address"), `127.0.0.1:${silent.address().port}`);
  await page.click(SEND);
  await page.wait(showing("Connecting to 127.0.0.1"));
  const second = join(base, "second");
  oddTree(second);
  const card = await middleOf(page, await placeWindow(page, 1000, 760), "main [data-card]");
  await dragOnto(t, [second], card, () => page.wait(showing("Send 1 folder to far")));
  await ended(receiving);
  same(second, join(inbox, "second"));
  await page.wait(line("second", "Sent"));
});

driven("what is dropped, dropped again and pasted is one list; a click picks a card and a double click sends it", async (t) => {
  const { base, near, far, inbox, tree } = await meet();
  const first = await receiver(t, far, inbox);
  const paired = await near.run(["pair", first.target, "--code-file", near.codeFile(CODE)]);
  assert.equal(paired.status, 0, paired.said());
  first.kill();
  await first.exit();
  const receiving = far.start(["recv", inbox, "--listen", first.target, "--json", "--yes", "--once"]);
  t.after(() => receiving.kill());
  await receiving.event("listening");
  const [second, third] = ["second", "third"].map((name) => join(base, name));
  for (const path of [second, third]) oddTree(path);
  const page = await openWindow(t, near);
  await dropInto(t, page, [tree]);
  await page.wait(showing(basename(tree)));
  await dropInto(t, page, [second, join(tree, readdirSync(tree)[0])]);
  await page.wait(showing("second"));
  await page.wait(showing(`is part of ${basename(tree)}.`));
  await copyElsewhere(t, [third]);
  const { id } = await placeWindow(page, 1000, 760);
  focus(id);
  press("ctrl+v");
  await page.wait(showing("third"));
  await page.wait(showing("Total: 3 folders"));
  await eventually("all to be counted", async () => !/counting/.test(await page.words()));
  await keepPicture(page, "send-list");

  await page.click("//button[@aria-label = 'Remove second']");
  await page.wait(showing("Total: 2 folders"));
  const card = await middleOf(page, await placeWindow(page, 1000, 760), "main [data-card]");
  clickAt(card);
  await page.wait(showing("Send 2 folders to far"));
  clickAt(card, 2);
  await ended(receiving);
  for (const path of [tree, third]) same(path, join(inbox, basename(path)));
  assert.deepEqual(readdirSync(inbox).filter((name) => !name.startsWith(".")).sort(), [basename(tree), "third"].sort());
  await page.wait(showing("Drop folders or files to send to far"));
});

driven("a wrong code is reported at once, keeps what was chosen, and the right one goes through", async (t) => {
  const { near, far, inbox, tree } = await meet();
  const receiving = await receiver(t, far, inbox);
  const page = await openWindow(t, near);
  await dropInto(t, page, [tree]);
  await page.click(ANOTHER);
  await page.fill(field("address"), receiving.target);
  await page.fill(field("code"), "7-river-candel");
  await page.click(SEND);
  await page.wait(showing("The second word is not in any code."));
  await page.fill(field("retry-code"), "7-zebra-zebra");
  await page.keys(KEYS.enter);
  await page.wait(showing("Wrong code for"));
  await page.wait(showing("Failed attempt 1 of 3"));
  await keepPicture(page, "send-wrong-code");
  await page.fill(field("retry-code"), CODE);
  await page.keys(KEYS.enter);
  await page.wait(line(basename(tree), "Sent"));
  await ended(receiving);
  same(tree, join(inbox, basename(tree)));
});

driven("a transfer under way is cancelled, and nothing half-written stays", async (t) => {
  const { base, near, far, inbox } = await meet();
  const big = join(base, "big");
  mkdirSync(big);
  // Incompressible bytes, because the network is held after a number of bytes.
  writeFileSync(join(big, "one.bin"), randomBytes(64 * 1024 * 1024));
  const receiving = await receiver(t, far, inbox);
  const network = await harmfulNetwork(t, receiving.target, "--hold-after", 8 * 1024 * 1024);
  const page = await openWindow(t, near);
  await dropInto(t, page, [big]);
  await page.click(ANOTHER);
  await page.fill(field("address"), network.target);
  await page.fill(field("code"), CODE);
  await page.click(SEND);
  await page.wait("//*[@role='progressbar']");
  await keepPicture(page, "send-running");
  // Little enough that nobody is asked whether it is kept.
  await page.click(button("Cancel: big"));
  await page.click(`${line("big", "Stopped, kept")} | ${line("big", "Cancelled")}`);
  await page.wait(showing("Cancelled here."));
  network.kill();
  // The network lost the message about it, so the receiver would wait for the sender to resume.
  receiving.kill("SIGINT");
  await receiving.exit();
  assert.deepEqual(readdirSync(inbox).filter((name) => !name.startsWith(".ringway-")), []);
});

driven("a limit of the settings holds what is sent, and the window says that it is what limits", async (t) => {
  const { base, near, far, inbox } = await meet();
  const big = join(base, "big");
  mkdirSync(big);
  const length = 10_000_000;
  writeFileSync(join(big, "one.bin"), randomBytes(length));
  const receiving = await receiver(t, far, inbox);
  const page = await openWindow(t, near);
  await show(page, "Settings");
  await page.fill(field("limit"), "fast");
  await page.wait(showing("Enter a number of at least"));
  await page.fill(field("limit"), "2.5");
  await page.keys(KEYS.enter);
  await page.wait(showing("Saved"));
  await show(page, "Send");
  await dropInto(t, page, [big]);
  await page.click(ANOTHER);
  await page.fill(field("address"), receiving.target);
  await page.fill(field("code"), CODE);
  await page.click(SEND);
  await page.wait(showing("Limited by the upload limit here"));
  await keepPicture(page, "send-limited");
  await page.click(line("big", "Sent"));
  await page.wait(showing("Sent to far: "));
  await keepPicture(page, "send-limited-arrived");
  await ended(receiving);
  const finished = await receiving.event("finished");
  assert.equal(finished.limited_by, "limit");
  // The data that may be sent before any wait: a burst of a tenth of a second, and a piece of a
  // twentieth.
  assert.ok(finished.seconds >= length / 2_500_000 - 0.16, `${finished.seconds} s`);
  same(big, join(inbox, "big"));
});

driven("what goes to an address is sent with its options, past a wrong code in a panel that stays, and its line says that it was verified", async (t) => {
  const { near, far, inbox, tree } = await meet();
  const receiving = await receiver(t, far, inbox);
  const page = await openWindow(t, near, {}, [tree]);
  await page.wait(showing(basename(tree)));
  await page.click(ANOTHER);
  await page.fill(field("address"), receiving.target);
  await placeWindow(page, 1000, 900);
  await page.click("//main//form//button[@aria-expanded]");
  await page.wait(field("send-limit"));
  await page.click("//main//form//*[@role = 'switch']");
  await eventually("the switch to be on", () => page.script(() => document.querySelector("main form.sheet [role=switch]").checked));
  await page.fill(field("send-limit"), "20");
  for (const width of [1000, 700, 360]) {
    await placeWindow(page, width, 900);
    await holdsItsText(page, `options at ${width}`);
    await fits(page, `options at ${width}`);
  }
  await page.click("//main//form//button[@type = 'submit']");
  const panel = "//section[.//h2[. = 'Connect to far']]";
  await page.fill(`${panel}//input`, "7-canal-river");
  const before = await page.wait(panel);
  await page.click(exactly("Connect and send"));
  await page.wait(`${panel}//*[@role = "alert"]`);
  assert.equal(await page.find(panel), before, "the same element");
  await page.fill(`${panel}//input`, CODE);
  await page.click(exactly("Connect and send"));
  await ended(receiving);
  const finished = await receiving.event("finished");
  assert.ok(finished.proven.files > 0, JSON.stringify(finished.proven));
  same(tree, join(inbox, basename(tree)));
  await show(page, "Activity");
  await page.click(line(basename(tree), "Sent"));
  await page.wait(`${line(basename(tree), "Sent")}//*[normalize-space(.) = "Verified"]`);
});

driven("what cannot be sent is named, and all the rest arrives", async (t) => {
  const { near, far, inbox, tree } = await meet();
  capture("mkfifo", [join(tree, "a pipe")]);
  const receiving = await receiver(t, far, inbox);
  const page = await openWindow(t, near);
  await dropInto(t, page, [tree]);
  await page.click(ANOTHER);
  await page.fill(field("address"), receiving.target);
  await page.fill(field("code"), CODE);
  await page.click(SEND);
  await page.wait(line(basename(tree), "1 item failed"));
  // What failed is open without a press.
  await page.wait(showing("All but 1 item arrived"));
  await page.wait(showing("is a socket, pipe or device file, which Ringway does not send"));
  await page.wait(button("Copy list"));
  assert.match(await page.words(), /a pipe/);
  await keepPicture(page, "send-partial");
  await ended(receiving, EXIT.partial);
  assert.deepEqual(differences(tree, join(inbox, basename(tree))).filter((line) => !line.includes("a pipe")), []);
});

driven("an address where nothing listens is reported, with what to do", async (t) => {
  const { near, tree } = await meet();
  const page = await openWindow(t, near);
  await dropInto(t, page, [tree]);
  await page.click(ANOTHER);
  await page.fill(field("address"), "127.0.0.1:9");
  await page.click(SEND);
  await page.wait(showing("127.0.0.1:9 cannot be reached: no program accepts connections there."));
  await page.wait(showing("Turn on receiving there"));
  await page.wait(button("Try again"));
});

driven("the keyboard alone chooses a folder, types address and code, and sends", async (t) => {
  const { base, near, far, inbox, tree } = await meet();
  // A name that can be typed with any keyboard layout.
  const plain = join(base, "plain");
  renameSync(tree, plain);
  const receiving = await receiver(t, far, inbox);
  const page = await openWindow(t, near);
  const { id } = await placeWindow(page, 1000, 760);
  focus(id);
  await tabTo(page, /^Choose folders/);
  press("Return");
  await pickFolder(id, plain);
  await page.wait(showing("plain"));
  focus(id);
  await tabTo(page, /^Another device/);
  press("Return");
  await tabTo(page, /^address$/);
  type(receiving.target);
  await tabTo(page, /^code$/);
  type(CODE);
  press("Return");
  await page.wait(line("plain", "Sent"));
  await ended(receiving);
  same(plain, join(inbox, "plain"));
});
