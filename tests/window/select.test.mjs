// A pattern that is left out in the window: it is counted, nothing that matches arrives, and the
// folder brings it again. Opened options leave the view and the buttons where they are.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CODE, EXIT, listing, receiver } from "../transfer/harness.mjs";
import { Device } from "../setup/devices.mjs";
import { folder, keepPicture, openWindow, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { clickAt, dragOnto, placeWindow } from "./lib/drag.mjs";
import { pickFolder, press } from "./lib/keyboard.mjs";
import { AXE, checked, fits } from "./lib/looks.mjs";
import { KEYS, button, eventually, exactly, field, line, showing } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};
const FIELD = "//textarea[@name = 'leave-out']";

driven("what matches a pattern is left out of what is sent and copied, counted and remembered by its folder", async (t) => {
  const base = folder();
  const near = await windowDevice(base, "near");
  const far = new Device(base, "far");
  const [inbox, tree] = ["inbox", "project"].map((name) => join(base, name));
  for (const path of [inbox, join(tree, "cache"), join(tree, "src")]) mkdirSync(path, { recursive: true });
  for (const file of ["main.o", "src/main.c", "src/keep.o", "cache/x"]) writeFileSync(join(tree, file), file);
  const first = await receiver(t, far, inbox);
  const paired = await near.run(["pair", first.target, "--code-file", near.codeFile(CODE)]);
  assert.equal(paired.status, EXIT.all, paired.said());
  first.kill();
  await first.exit();
  const receiving = far.start(["recv", inbox, "--listen", first.target, "--json", "--yes"]);
  t.after(() => receiving.kill());
  await receiving.event("listening");

  const page = await openWindow(t, near);
  const drop = async () => {
    await placeWindow(page, 1000, 760);
    await dragOnto(t, [tree], { x: 600, y: 60 }, () => page.wait(showing("Drop to")));
    await page.wait(showing("project"));
  };
  await drop();
  await page.click("//main//*[@data-card][contains(., 'far')]");
  await page.click(button("Options"));
  await page.fill(FIELD, ["*.o", "!keep.o", "/cache"].join(KEYS.enter));
  await page.wait(showing("2 items left out"));
  await page.evaluate(AXE);
  await checked(page, "leaving out");
  await fits(page, "leaving out");
  await keepPicture(page, "leave-out");
  await page.click(exactly("Send"));
  await page.wait(line("project", "Sent"));
  assert.deepEqual(listing(join(inbox, "project")), ["src", "src/keep.o", "src/main.c"]);

  // Another run of the service knows it again.
  const report = (await near.run(["inbox", "--sent", "--json"])).events.find(({ event }) => event === "past");
  assert.equal(report.excluded, 2);
  await drop();
  await page.wait(showing("2 items left out"));

  // Also where it is copied.
  const sets = join(base, "sets");
  mkdirSync(sets);
  const { id } = await placeWindow(page, 1000, 760);
  await page.click("//main//*[@data-card = 'here']");
  await page.click("//main//form//button[contains(., 'Choose folder…')]");
  await pickFolder(id, sets);
  await page.wait("//form//*[@data-folder]");
  await page.wait("//form//textarea[@name = 'leave-out']");
  await page.wait("//form//*[starts-with(., '2 items left out.')]");
  await checked(page, "leaving out of a copy");
  await fits(page, "leaving out of a copy");
  await keepPicture(page, "leave-out-copy");
  await page.click("//main//form//button[contains(., 'Copy')]");
  await page.wait(line("project", "Copied"));
  assert.deepEqual(listing(join(sets, "project")), ["src", "src/keep.o", "src/main.c"]);
});

driven("opening the options moves neither the view nor the buttons, and Tab goes through them, in sight, to the buttons below", async (t) => {
  const base = folder();
  const [near, far] = [await windowDevice(base, "near"), new Device(base, "far")];
  const inbox = join(base, "inbox");
  mkdirSync(inbox);
  const receiving = await receiver(t, far, inbox, { once: false });
  const paired = await near.run(["pair", receiving.target, "--code-file", near.codeFile(CODE)]);
  assert.equal(paired.status, EXIT.all, paired.said());
  const sets = Array.from({ length: 20 }, (_, index) => join(base, `measurements ${index}`));
  for (const path of sets) mkdirSync(path);
  const page = await openWindow(t, near, {}, ["--show", "send", ...sets]);
  await page.click("//main//*[@data-card][contains(., 'far')]");
  /** Where Options and Send are, and how far the view is scrolled. */
  const stands = () =>
    page.script(() => {
      const places = ["Options", "Send"].map((name) => {
        const { left, bottom } = [...document.querySelectorAll("[data-bar] button")].find(({ innerText }) => innerText.trim() === name).getBoundingClientRect();
        return [left, bottom].map(Math.round).join(" ");
      });
      return [...places, document.getElementById("main").scrollTop].join(", ");
    });
  /** Clicks where it is, without scrolling to it. */
  const clickOptions = async ({ x, y }) => {
    const [right, down] = await page.script(() => {
      const { left, top, width, height } = document.querySelector("[data-bar] button[aria-expanded]").getBoundingClientRect();
      return [left + width / 2, top + height / 2].map(Math.round);
    });
    clickAt({ x: x + right, y: y + down });
  };
  /** What has the keyboard, and whether its corners are covered or cut. */
  const focused = () =>
    page.script(() => {
      const at = document.activeElement;
      const { left, right, top, bottom } = at.getBoundingClientRect();
      const seen = [[left + 8, top + 4], [right - 8, bottom - 4]].every(([x, y]) => {
        const found = document.elementFromPoint(x, y);
        return found && (at.contains(found) || found.closest("label")?.contains(at));
      });
      return { name: at.name || at.innerText.trim(), seen };
    });
  for (const [width, height] of [[360, 640], [800, 700], [1440, 900]]) {
    const placed = await placeWindow(page, width, height);
    await page.script(() => (document.getElementById("main").scrollTop = 0));
    const before = await stands();
    await clickOptions(placed);
    await page.wait(field("send-limit"));
    await keepPicture(page, `send-options-${width}`);
    assert.equal(await stands(), before, `opened at ${width}`);
    const stops = [await focused()];
    const tab = async () => {
      const { name } = stops.at(-1);
      press("Tab");
      stops.push(await eventually("the next stop", async () => {
        const now = await focused();
        return now.name !== name && now;
      }));
    };
    while (stops.at(-1).name !== "leave-out" && stops.length < 8) await tab();
    await keepPicture(page, `send-options-last-${width}`);
    assert.equal(await stands(), before, `with the keyboard at the last one, at ${width}`);
    await tab();
    await tab();
    assert.deepEqual(stops.map(({ name }) => name), ["verify-sent", "send-limit", "leave-out", "Options", "Send"], "Tab goes as the eye does");
    for (const { name, seen } of stops) assert.ok(seen, `${name} is in sight at ${width}`);
    await clickOptions(placed);
    await eventually("the options to close", async () => !(await page.find(field("send-limit"))));
    assert.equal(await stands(), before, `closed again at ${width}`);
  }
});

driven("what is sent is led to, where the cards above it fill a narrow window", async (t) => {
  const base = folder();
  const [near, far] = [await windowDevice(base, "near"), new Device(base, "far")];
  const inbox = join(base, "inbox");
  const tree = join(base, "measurements");
  for (const path of [inbox, tree]) mkdirSync(path);
  const receiving = await receiver(t, far, inbox, { once: false });
  const paired = await near.run(["pair", receiving.target, "--code-file", near.codeFile(CODE)]);
  assert.equal(paired.status, EXIT.all, paired.said());
  const page = await openWindow(t, near, {}, ["--show", "send", tree]);
  await placeWindow(page, 360, 640);
  await page.click("//main//*[@data-card][contains(., 'far')]");
  await page.click("//*[@data-bar]//button[normalize-space(.) = 'Send']");
  await eventually("the transfer to be in sight", () =>
    page.script(() => {
      const shown = document.querySelector("[data-transfer]");
      return shown && shown.getBoundingClientRect().bottom <= document.getElementById("main").getBoundingClientRect().bottom;
    }),
  );
  await keepPicture(page, "send-led-to");
});
