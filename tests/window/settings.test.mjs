// Name, port and receive folder are stored. A port that is in use is reported, with a way out.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createServer, connect } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { freePort } from "../setup/devices.mjs";
import { folder, keepPicture, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { clipboardText, placeWindow } from "./lib/drag.mjs";
import { pickFolder } from "./lib/keyboard.mjs";
import { KEYS, button, eventually, field, showing } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};

function listens(port) {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    }).on("error", () => resolve(false));
  });
}

driven("Copy diagnostics begins where its words do in a narrow window, and ends where the rows do in a wide one", async (t) => {
  const page = await openWindow(t, await windowDevice(folder(), "near"));
  await show(page, "Settings");
  await page.wait(button("Copy diagnostics"));
  const edges = () =>
    page.script(() => {
      const button = [...document.querySelectorAll("main button")].find(({ innerText }) => innerText.trim() === "Copy diagnostics");
      const row = button.closest(".entry");
      const inner = parseFloat(getComputedStyle(row).paddingInlineEnd);
      const [at, words, sheet] = [button, row.querySelector("strong"), row].map((element) => element.getBoundingClientRect());
      return { below: at.top >= words.bottom, start: at.left - words.left, end: sheet.right - inner - at.right };
    });
  await placeWindow(page, 360, 640);
  await eventually("it to stand below its words", async () => (await edges()).below);
  assert.ok(Math.abs((await edges()).start) < 1, JSON.stringify(await edges()));
  await placeWindow(page, 800, 640);
  await eventually("it to stand beside its words", async () => !(await edges()).below);
  assert.ok(Math.abs((await edges()).end) < 1, JSON.stringify(await edges()));
});

driven("name, port and folder survive a restart, and the receiver moves at once", async (t) => {
  const base = folder();
  const device = await windowDevice(base, "near");
  const other = await freePort();
  const page = await openWindow(t, device);
  await show(page, "Settings");
  await page.fill(field("name"), "renamed here");
  // What is left is in force, and so is what is typed with Enter; Escape puts back what was there.
  await page.fill(field("port"), "70000");
  await page.wait(showing("Saved"));
  await page.wait(showing("Enter a number from 1 to 65535."));
  await page.keys(KEYS.escape);
  assert.equal(await page.script("() => document.querySelector('[name=port]').value"), String(device.port));
  await page.fill(field("port"), String(other));
  await page.keys(KEYS.enter);
  await eventually("the receiver on its new port", () => listens(other));
  await eventually("the end of the old one", async () => !(await listens(device.port)));

  // The folder is chosen in the desktop's own picker.
  const elsewhere = join(base, "elsewhere");
  mkdirSync(elsewhere);
  const { id } = await placeWindow(page, 1000, 760);
  await page.click(button("Change"));
  await pickFolder(id, elsewhere);
  await page.wait(`//*[@data-folder][contains(., "elsewhere")]`);
  await keepPicture(page, "settings");
  // What a person would put into a report about a fault.
  await page.wait(showing("Version "));
  await page.click(button("Copy diagnostics"));
  await page.wait(`//*[@role = "status"][. = "Copied"]`);
  assert.match(clipboardText(), /kernel/i, "the diagnostics are on the clipboard");
  await keepPicture(page, "settings-about");
  await page.close();
  await device.run(["stop"]);

  const config = readFileSync(join(device.env.XDG_CONFIG_HOME, "ringway/config.toml"), "utf8");
  for (const value of ["renamed here", String(other), elsewhere]) assert.ok(config.includes(value), config);
  const again = await openWindow(t, device);
  await show(again, "Settings");
  assert.equal(await again.script("() => document.querySelector('[name=name]').value"), "renamed here");
  assert.equal(await again.script("() => document.querySelector('[name=port]').value"), String(other));
  await again.wait(`//*[@data-folder][contains(., "elsewhere")]`);
});

driven("a taken port is reported, and a free one is a click away", async (t) => {
  const device = await windowDevice(folder(), "near");
  const taken = createServer();
  await new Promise((resolve) => taken.listen(device.port, "::", resolve));
  t.after(() => taken.close());
  const page = await openWindow(t, device);
  await show(page, "Inbox");
  await page.wait(showing("another program uses this port"));
  await keepPicture(page, "inbox-port-taken");
  await page.click(button("Use a temporary port"));
  await page.wait(showing("Temporary port: "));
  assert.match(await page.text("//*[@data-code]//*[contains(@class, 'text')]"), /^\d+-[a-z]+-[a-z]+$/);
});
