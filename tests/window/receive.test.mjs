// The window receives: it shows a code, asks before it accepts, and shows names as text.
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { EXIT, oddTree, same, sender } from "../transfer/harness.mjs";
import { Device } from "../setup/devices.mjs";
import { folder, keepPicture, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { fileManager } from "./lib/file-manager.mjs";
import { button, eventually, line, showing } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};

async function meet() {
  const base = folder();
  const near = await windowDevice(base, "near");
  const far = new Device(base, "far");
  const tree = join(base, "set");
  oddTree(tree);
  return { base, near, far, tree };
}

/** What was received, as a line that opens. */
const ARRIVED = "//*[@data-transfer][@data-ended = 'complete']";

/** A time of change, in seconds since 1970. */
const LONG_AGO = 1_600_000_000;

/** The shown code. */
function code(page) {
  return page.text("//*[@data-code]//*[contains(@class, 'text')]");
}

driven("the window shows its code, asks, receives an identical tree, and opens its folder", async (t) => {
  const { base, near, far, tree } = await meet();
  // The desktop's opener, which records what it was asked to open.
  const opened = join(base, "opened");
  const bin = join(base, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "xdg-open"), `#!/bin/sh\nprintf '%s' "$1" > '${opened}'\n`);
  chmodSync(join(bin, "xdg-open"), 0o755);
  const page = await openWindow(t, near, { PATH: `${bin}:${process.env.PATH}` });
  await show(page, "Inbox");
  const sending = sender(t, far, tree, near.target, { code: await code(page) });
  await page.wait(showing("Offer from far"));
  await page.wait(showing(" free"));
  await keepPicture(page, "inbox-offer");
  assert.deepEqual(readdirSync(near.inbox), [], "nothing lands before it is accepted");
  await page.click(button("Accept"));
  await page.wait(ARRIVED);
  assert.equal(await sending.exit(), EXIT.all, sending.said());
  same(tree, join(near.inbox, basename(tree)));
  await page.wait(showing("far is now paired with this device."));
  await keepPicture(page, "inbox-arrived");
  await page.click(line("set", "Received"));
  await page.wait(showing("Received: "));
  // No program on the bus selects files yet, so the folder around it is opened.
  await page.click(button("Open folder"));
  await eventually("the opener", () => existsSync(opened) && readFileSync(opened, "utf8") === near.inbox);
  const selected = await fileManager(t);
  await page.click(button("Open folder"));
  await eventually("the file manager", () => selected().length > 0);
  assert.deepEqual(selected(), [[pathToFileURL(join(near.inbox, basename(tree))).href]]);
});

driven("an offer says what it would do to its folder, and what differs, before it is answered", async (t) => {
  const { base, near, far } = await meet();
  const album = join(base, "album");
  mkdirSync(album);
  for (const name of ["new", "same", "edited"]) {
    writeFileSync(join(album, name), name);
    utimesSync(join(album, name), LONG_AGO, LONG_AGO);
  }
  mkdirSync(join(near.inbox, "album"));
  for (const name of ["same", "edited"]) writeFileSync(join(near.inbox, "album", name), name);
  utimesSync(join(near.inbox, "album", "same"), LONG_AGO, LONG_AGO);
  const page = await openWindow(t, near);
  await show(page, "Inbox");
  const sending = sender(t, far, album, near.target, { code: await code(page) });
  await page.wait("//*[@data-compared = 'done']");
  // It goes to a folder of its own, unless a person chooses otherwise.
  await page.wait(showing("All new here"));
  await page.wait(showing("Arrives under a new name, because its own is taken here: album (1)."));
  await page.script(() => {
    const select = document.querySelector("[name=existing]");
    select.value = "replace";
    select.dispatchEvent(new Event("change", { bubbles: true }));
  });
  // The folder itself counts nowhere, as in the report afterwards.
  await page.wait(showing("1 new, 1 unchanged, 1 differs here (1 changed here or from elsewhere)"));
  await page.wait(showing("“Replace” overwrites 1 item that was changed here or is from elsewhere."));
  await page.click(button("Show what differs"));
  await page.wait(showing("album/edited"));
  await page.wait(showing("Newer here (changed here or from elsewhere): 6\u00a0B"));
  await keepPicture(page, "inbox-compared");
  assert.deepEqual(readdirSync(join(near.inbox, "album")).sort(), ["edited", "same"], "nothing is changed");
  await page.click(button("Hide what differs"));
  // In another view, a line says what its answer does, which keeps both.
  await show(page, "Activity");
  await page.wait(showing("All new here"));
  await page.wait(showing("Arrives under a new name, because its own is taken here: album (1)."));
  await keepPicture(page, "banner-compared");
  await page.click(button("Decline"));
  assert.equal(await sending.exit(), EXIT.declined, sending.said());
});

driven("a declined offer leaves nothing behind, and the sender is told", async (t) => {
  const { near, far, tree } = await meet();
  const page = await openWindow(t, near);
  await show(page, "Inbox");
  const sending = sender(t, far, tree, near.target, { code: await code(page) });
  await page.click(button("Decline"));
  assert.equal(await sending.exit(), EXIT.declined, sending.said());
  assert.deepEqual(readdirSync(near.inbox), []);
  await eventually("the offer to go", async () => !(await page.find("//*[@data-offer]")));
});

driven("an offer that its sender withdraws goes away by itself, and is listed under Received as unanswered", async (t) => {
  const { near, far, tree } = await meet();
  const page = await openWindow(t, near);
  await show(page, "Inbox");
  const sending = sender(t, far, tree, near.target, { code: await code(page) });
  await page.wait("//*[@data-offer]");
  sending.kill("SIGINT");
  await sending.exit();
  await eventually("the offer to go", async () => !(await page.find("//*[@data-offer]")));
  assert.deepEqual(readdirSync(near.inbox), []);
  await page.click(line("set", "Not answered"));
  await page.wait(showing("Nobody answered this offer."));
  await page.wait(showing("accept offers from far automatically"));
  await keepPicture(page, "inbox-unanswered");
});

driven("hostile names are shown as text, before and after they arrive", async (t) => {
  const { base, near, far } = await meet();
  const names = ["<img src=x onerror=\"document.title='owned'\">", "{{7*7}}", "photo\u202egpj.exe", "line\nbreak"];
  const paths = names.map((name) => {
    const path = join(base, name);
    mkdirSync(path);
    writeFileSync(join(path, "file"), name);
    return path;
  });
  const page = await openWindow(t, near);
  await show(page, "Inbox");
  const sending = sender(t, far, paths, near.target, { code: await code(page) });
  await page.wait("//*[@data-offer]");
  await keepPicture(page, "inbox-hostile");
  const unharmed = async () => {
    const words = await page.words();
    for (const shown of [names[0], names[1], "photo\\u{202e}gpj.exe", "line\\nbreak"]) assert.ok(words.includes(shown), `${shown} is not in:\n${words}`);
    assert.equal(await page.script("() => document.title"), "Ringway");
    assert.equal(await page.script("() => document.images.length"), 0);
  };
  await unharmed();
  await page.click(button("Accept"));
  await page.wait(ARRIVED);
  assert.equal(await sending.exit(), EXIT.all, sending.said());
  assert.deepEqual(readdirSync(near.inbox).sort(), [...names].sort());
  await page.click(`${ARRIVED}//button[@aria-expanded]`);
  await page.wait(showing(names[1]));
  assert.equal(await page.script("() => document.title"), "Ringway");
  assert.equal(await page.script("() => document.images.length"), 0);
});

driven("wrong codes are told with the attempts left, the third voids the code, a new one works", async (t) => {
  const { near, far, tree } = await meet();
  const page = await openWindow(t, near);
  await show(page, "Inbox");
  const first = await code(page);
  for (const said of ["2 attempts left", "1 attempt left", "this code is no longer valid"]) {
    const trying = sender(t, far, tree, near.target, { code: "7-zebra-zebra" });
    assert.equal(await trying.exit(), EXIT.notAuthenticated, trying.said());
    await page.wait(showing(said));
  }
  await page.wait(showing("No valid code"));
  await keepPicture(page, "inbox-code-void");
  const late = sender(t, far, tree, near.target, { code: first });
  assert.equal(await late.exit(), EXIT.notAuthenticated, late.said());
  await page.click(button("New code"));
  const fresh = await code(page);
  assert.notEqual(fresh, first);
  const sending = sender(t, far, tree, near.target, { code: fresh });
  await page.click(button("Accept"));
  assert.equal(await sending.exit(), EXIT.all, sending.said());
});
