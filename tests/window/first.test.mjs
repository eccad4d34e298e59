// The first run: the questions appear once, on a machine without stored settings, and never on
// others.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { Device } from "../setup/devices.mjs";
import { EXIT, oddTree, same, sender } from "../transfer/harness.mjs";
import { WELCOME, configOf, folder, keepPicture, newDevice, openWindow, show } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { placeWindow } from "./lib/drag.mjs";
import { pickFolder, press, tabTo, type } from "./lib/keyboard.mjs";
import { AXE, SIZES, THEMES, checked, fits } from "./lib/looks.mjs";
import { serviceProcess } from "./lib/processes.mjs";
import { button, eventually, field, showing } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};


/** The service's status. */
async function status(device) {
  const done = await device.run(["status", "--json"]);
  assert.equal(done.status, EXIT.all, done.said());
  return done.events[0];
}

driven("a new machine is set up with the keyboard, receives from then on, and is not asked again", async (t) => {
  const base = folder();
  const [near, far] = [await newDevice(base, "near"), new Device(base, "far")];
  const page = await openWindow(t, near, {}, [], { shows: WELCOME });
  assert.equal(await page.find("//nav"), null, "there is nowhere to go yet");
  const host = await page.script(() => document.querySelector("[name=name]").value);
  assert.match(host, /^\S+$/);
  const before = await status(near);
  assert.deepEqual([before.port, before.name], [null, host], "nothing is received before that");
  assert.ok(!existsSync(configOf(near)));

  const { id } = await placeWindow(page, 800, 760);
  await tabTo(page, /^name$/);
  await page.fill(field("name"), "x".repeat(65));
  await page.wait(showing("The name is too long"));
  assert.equal(await page.script(() => document.querySelector("form .primary").disabled), true);
  await tabTo(page, /^name$/);
  press("ctrl+a");
  type("laptop here");
  await tabTo(page, /^Change/);
  press("Return");
  await pickFolder(id, near.inbox);
  await page.wait(`//*[@data-receive-folder][. = "${near.inbox}"]`);
  assert.ok(!existsSync(configOf(near)), "a folder that was picked is not stored by itself");
  await tabTo(page, /^start-at-login$/);
  press("space");
  await eventually("the switch", () => page.script(() => document.querySelector("[name=start-at-login]").checked));
  await keepPicture(page, "first-run");
  await tabTo(page, /^Start using Ringway$/);
  press("Return");

  await page.wait(`//h1[. = "Send"]`);
  assert.equal(await page.script(() => document.activeElement.textContent), "Send", "the keyboard goes on there");
  await page.wait(showing("Drop folders or files here"));
  const config = readFileSync(configOf(near), "utf8");
  assert.match(config, /^name = "laptop here"$/m);
  assert.ok(config.includes(`receive_folder = "${near.inbox}"`), config);
  const entry = join(near.env.XDG_CONFIG_HOME, "autostart/org.ringway.Ringway.desktop");
  assert.match(readFileSync(entry, "utf8"), /^Exec=".*ringway" serve$/m);

  // A port that nothing else on the test machine uses, because the service uses it at once.
  assert.equal((await near.run(["settings", "--port", String(near.port)])).status, EXIT.all);
  const now = await status(near);
  assert.deepEqual([now.name, now.port], ["laptop here", near.port]);
  const tree = join(base, "set");
  oddTree(tree);
  await show(page, "Inbox");
  await page.wait(showing("Nothing received yet"));
  const sending = sender(t, far, tree, near.target, { code: now.code });
  await page.click(button("Accept"));
  assert.equal(await sending.exit(), EXIT.all, sending.said());
  same(tree, join(near.inbox, basename(tree)));
  await page.close();
  await near.run(["stop"]);
  const again = await openWindow(t, near, {}, [], { shows: "//h1" });
  await again.wait(`//h1[. = "Send"]`);
  assert.equal(await again.find(WELCOME), null);
});

driven("what a file manager hands over is there after it, and who closes the window first is asked again", async (t) => {
  const base = folder();
  const near = await newDevice(base, "near");
  mkdirSync(join(base, "holiday"));
  const page = await openWindow(t, near, {}, [join(base, "holiday")], { shows: WELCOME });
  await page.wait(showing("Your selection is kept"));
  await page.close();
  // No setting tells the service to stay.
  await eventually("the service to end", () => !serviceProcess(near.env));
  assert.ok(!existsSync(configOf(near)));

  const second = await openWindow(t, near, {}, [join(base, "holiday")], { shows: WELCOME });
  await second.click(button("Start using Ringway"));
  await second.wait(`//h1[. = "Send"]`);
  await second.wait(showing("holiday"));
});

driven("settings that were stored with the command end the first-run questions, also while they are shown", async (t) => {
  const base = folder();
  const [known, near] = [await newDevice(base, "known"), await newDevice(base, "near")];
  for (const args of [["--name", "lab"], ["--receiving", "off"]]) {
    assert.equal((await known.run(["settings", ...args])).status, EXIT.all);
  }
  const page = await openWindow(t, known);
  await page.wait(`//h1[. = "Send"]`);
  const asking = await openWindow(t, near, {}, [], { shows: WELCOME });
  const stored = await near.run(["settings", "--name", "by command", "--receive-folder", near.inbox, "--port", String(near.port)]);
  assert.equal(stored.status, EXIT.all, stored.said());
  await asking.wait(`//h1[. = "Send"]`);
  assert.equal((await status(near)).port, near.port);
});

driven("a start at login that cannot be had is reported, and the rest is not stored until that is answered", async (t) => {
  const base = folder();
  const near = await newDevice(base, "near");
  // A folder at the path of the new entry.
  mkdirSync(join(near.env.XDG_CONFIG_HOME, "autostart/org.ringway.Ringway.desktop.new"), { recursive: true });
  const page = await openWindow(t, near, {}, [], { shows: WELCOME });
  await page.wait(showing("This adds Ringway to the startup programs"));
  await page.click(field("start-at-login"));
  await page.click(button("Start using Ringway"));
  await page.wait(`//*[@role = "alert"][contains(., "autostart")]`);
  assert.ok(!existsSync(configOf(near)));
  await page.click(field("start-at-login"));
  await page.click(button("Start using Ringway"));
  await page.wait(`//h1[. = "Send"]`);
  assert.ok(existsSync(configOf(near)));
});

for (const [theme, name] of Object.entries(THEMES)) {
  driven(`the first run in ${theme} is readable and fits, in both languages, from 360 pixels to wide`, async (t) => {
    const page = await openWindow(t, await newDevice(folder(), "laptop"), { GTK_THEME: name }, [], { shows: WELCOME });
    await page.wait(showing("This adds Ringway to the startup programs"));
    await page.evaluate(AXE);
    for (const language of ["en", "de"]) {
      if (language === "de") {
        await page.script(() => localStorage.setItem("language", "de"));
        await page.reload();
        await page.wait(`//h1[. = "Willkommen bei Ringway"]`);
        await page.wait(showing("Das nimmt Ringway in die Startprogramme"));
        await page.evaluate(AXE);
      }
      for (const [width, height] of SIZES) {
        await placeWindow(page, width, height);
        await keepPicture(page, `first-${language}-${theme}-${width}`);
        await fits(page, `${language} at ${width}`);
        await checked(page, `${language} in ${theme} at ${width}`);
      }
    }
  });
}
