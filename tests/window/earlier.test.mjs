// The window's activity shows what the command received and sent on this machine, with its course,
// and can forget it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Device } from "../setup/devices.mjs";
import { EXIT, ends, receiver, same, sender } from "../transfer/harness.mjs";
import { folder, keepPicture, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { placeWindow } from "./lib/drag.mjs";
import { AXE, SIZES, THEMES, checked, fits } from "./lib/looks.mjs";
import { button, eventually, field, line, showing } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};

/**
 * One transfer that was received completely in three seconds, long enough for a graph, one without
 * a pipe, one that reached nobody.
 */
async function withPast(t) {
  const base = folder();
  const near = await windowDevice(base, "near");
  const far = new Device(base, "far");
  const survey = join(base, "survey");
  mkdirSync(survey);
  writeFileSync(join(survey, "large"), Buffer.alloc(9_000_000));
  const receive = async (path, args, wanted) => {
    const receiving = await receiver(t, near, near.inbox);
    await ends(sender(t, far, path, receiving.target, { args }), receiving, wanted);
  };
  await receive(survey, ["--limit", "3M", "--compress", "off"]);
  const thesis = join(base, "thesis");
  mkdirSync(thesis);
  writeFileSync(join(thesis, "text"), "text");
  execFileSync("mkfifo", [join(thesis, "pipe")]);
  await receive(thesis, [], EXIT.partial);
  const alone = sender(t, near, thesis, "127.0.0.1:9");
  assert.equal(await alone.exit(), EXIT.failed, alone.said());
  return { base, near };
}

/** The lines of both, in words. */
const SURVEY = line("survey", "Received");
const THESIS = line("thesis", "1 item failed");
/** What only an open line has. */
const GRAPH = "//*[@data-past]//canvas";

driven("what ended before is listed, searched, opened and forgotten", async (t) => {
  const { base, near } = await withPast(t);
  const opened = join(base, "opened");
  const bin = join(base, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "xdg-open"), `#!/bin/sh\nprintf '%s' "$1" > '${opened}'\n`);
  chmodSync(join(bin, "xdg-open"), 0o755);
  const page = await openWindow(t, near, { PATH: `${bin}:${process.env.PATH}` });
  await show(page, "Inbox");
  await page.wait(SURVEY);
  const came = await page.words();
  assert.match(came, /thesis\s+from far/);
  assert.doesNotMatch(came, /Nothing received|127\.0\.0\.1:9/);
  await show(page, "Activity");
  await page.wait(THESIS);
  await page.click(SURVEY);
  await page.wait(showing("Received: "));
  await page.wait(GRAPH);
  await page.click(button("Open folder"));
  await eventually("the opener", () => existsSync(opened));
  assert.equal(readFileSync(opened, "utf8"), near.inbox);
  await page.type(field("search"), "127.0.0.1:9");
  await eventually("the search", async () => !(await page.find(SURVEY)));
  await page.click(line("thesis", "Failed"));
  await page.click(button("Remove from list: thesis"));
  await page.wait(showing("No results"));
  const left = await near.run(["inbox", "--all", "--json"]);
  assert.deepEqual(left.events.map(({ title, outcome }) => [title.path, outcome]), [["thesis", "partial"], ["survey", "complete"]]);
});

driven("what reached nobody is sent again by a press", async (t) => {
  const base = folder();
  const near = await windowDevice(base, "near");
  const far = new Device(base, "far");
  const inbox = join(base, "inbox");
  mkdirSync(inbox);
  const first = join(base, "first");
  mkdirSync(first);
  const meeting = await receiver(t, far, inbox);
  await ends(sender(t, near, first, meeting.target), meeting);
  const survey = join(base, "survey");
  mkdirSync(survey);
  writeFileSync(join(survey, "text"), "text");
  const alone = sender(t, near, survey, meeting.target);
  assert.equal(await alone.exit(), EXIT.failed, alone.said());
  const receiving = await receiver(t, far, inbox, { port: meeting.port });
  const page = await openWindow(t, near);
  await show(page, "Activity");
  // What failed stands first and is open.
  await page.click(button("Send again: survey"));
  assert.equal(await receiving.exit(), EXIT.all, receiving.said());
  same(survey, join(inbox, "survey"));
  await page.wait(line("survey", "Sent"));
  assert.ok(await page.find('//h1[. = "Activity"]'), "the view stays");
});

for (const [theme, name] of Object.entries(THEMES)) {
  driven(`what ended before is readable in ${theme} and fits, from 360 pixels to wide`, async (t) => {
    const { near } = await withPast(t);
    const page = await openWindow(t, near, { GTK_THEME: name });
    await page.evaluate(AXE);
    await show(page, "Activity");
    await page.click(SURVEY);
    await page.wait(GRAPH);
    for (const [width, height] of SIZES) {
      await placeWindow(page, width, height);
      await keepPicture(page, `earlier-${theme}-${width}`);
      await fits(page, `earlier at ${width}`);
      await checked(page, `earlier in ${theme} at ${width}`);
    }
  });
}

driven("all that ended before is forgotten after a question, and what it brought stays", async (t) => {
  const { near } = await withPast(t);
  const page = await openWindow(t, near);
  await show(page, "Activity");
  await page.click("//label[contains(., 'Show failures only')]");
  await eventually("what arrived whole to be left out", async () => !(await page.find(SURVEY)));
  await page.wait(THESIS);
  await page.click(button("Remove all…"));
  await page.click('//*[@role = "alertdialog"]//button[. = "Cancel"]');
  await page.click(button("Remove all…"));
  await page.click('//*[@role = "alertdialog"]//button[. = "Remove all"]');
  await page.wait(showing("No results"));
  await page.click("//label[contains(., 'Show failures only')]");
  await page.wait(showing("No transfers yet"));
  assert.deepEqual((await near.run(["inbox", "--all", "--json"])).events, []);
  assert.ok(existsSync(join(near.inbox, "survey/large")));
});
