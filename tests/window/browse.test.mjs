// The window browses what another device shares, and gets from it; and shares a folder by a real
// drop. Both devices run the real service.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { EXIT, asked, listing, oddTree, same, sameInside } from "../transfer/harness.mjs";
import { Device, freePort } from "../setup/devices.mjs";
import { WINDOW } from "../setup/build.mjs";
import { ROOT, capture } from "../setup/process.mjs";
import { folder, keepPicture, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { clickAt, dragOnto, middleOf, placeWindow } from "./lib/drag.mjs";
import { pickFolder, press, type } from "./lib/keyboard.mjs";
import { AXE, SIZES, THEMES, checked, fits } from "./lib/looks.mjs";
import { KEYS, button, device, eventually, exactly, field, line, showing } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};

/** More rows than are made at once, and as many as people look through in a results folder. */
const MANY = 100_000;
/** Browsing `name`, on its card or in its row. */
const BROWSE = (name) => `//main//button[@aria-label = "Browse ${name}"]`;
const ROW = (name) => `//*[@role = "row"][@data-name = "${name}"]`;
const GRID = '//*[@role = "grid"]';

/**
 * Starts the service of a device that shares `shared` as "runs" with all, and pairs `near` with it.
 */
async function sharing(t, base, near) {
  const far = new Device(base, "lab-ws");
  const [shared, inbox] = ["shared", "inbox there"].map((name) => join(base, name));
  for (const path of [shared, inbox]) mkdirSync(path);
  const target = `127.0.0.1:${await freePort()}`;
  const serve = async () => {
    const running = far.start(["serve", inbox, "--listen", target, "--no-announce", "--json"]);
    t.after(() => running.kill());
    await running.event("listening");
    await eventually("the socket", () => existsSync(join(far.env.XDG_RUNTIME_DIR, "ringway/control.sock")));
    return running;
  };
  const serving = await serve();
  const [{ code }] = await asked(far, ["code"]);
  const paired = await near.run(["pair", target, "--code-file", near.codeFile(code)]);
  assert.equal(paired.status, EXIT.all, paired.said());
  const added = await far.run(["share", "add", shared, "--name", "runs", "--with-all"]);
  assert.equal(added.status, EXIT.all, added.said());
  return { far, shared, serving, serve };
}

const active = (page) => page.script(() => document.getElementById(document.querySelector("[role=grid]")?.getAttribute("aria-activedescendant") ?? "")?.dataset.name ?? null);

driven("a shared folder is browsed with the keyboard, got, and got again; its device goes and comes back", async (t) => {
  const base = folder();
  const near = await windowDevice(base, "near");
  const { shared, serving, serve, far } = await sharing(t, base, near);
  const night = join(shared, "2026-11-22");
  oddTree(night);
  mkdirSync(join(shared, "2026-11-23"));
  const page = await openWindow(t, near);
  await placeWindow(page, 1000, 760);
  await page.click(BROWSE("lab-ws"));
  await page.click("//main//li/button[contains(., 'runs')]");
  await page.wait(ROW("2026-11-23"));
  await eventually("the keyboard on the first row", async () => (await active(page)) === "2026-11-22");
  press("space");
  await page.wait(`${ROW("2026-11-22")}[@aria-selected = "true"]`);
  await keepPicture(page, "browse-picked");
  await page.click(exactly("Get"));
  await page.click(line("2026-11-22", "Received"));
  same(night, join(near.inbox, "2026-11-22"));
  await keepPicture(page, "browse-got");

  writeFileSync(join(night, "later"), "one more");
  await show(page, "Activity");
  await page.click(line("2026-11-22", "Received"));
  await page.click('//main//button[@aria-label = "Get again: 2026-11-22"]');
  await eventually("what is new", () => existsSync(join(near.inbox, "2026-11-22/later")));
  const past = async (whose) => (await asked(whose, ["inbox", "--all"])).filter(({ event }) => event === "past");
  await eventually("both to have ended", async () => (await past(near)).filter(({ outcome }) => outcome === "complete").length === 2);
  // A folder that was there keeps its own time.
  sameInside(night, join(near.inbox, "2026-11-22"));
  assert.ok(!existsSync(join(near.inbox, "2026-11-22 (1)")));
  const there = await eventually("both at the other end", async () => ((await past(far)).length === 2 ? past(far) : null));
  assert.ok(there.length === 2 && there.every(({ direction }) => direction === "sending"), JSON.stringify(there));

  await show(page, "Devices");
  await page.click(BROWSE("lab-ws"));
  await page.click("//main//li/button[contains(., 'runs')]");
  // What was looked at before shows at once, and is listed anew.
  await page.wait(`${GRID}[@aria-busy = "false"]`);
  await page.click(`${ROW("2026-11-23")}//button`);
  await page.wait(showing("This folder is empty."));
  serving.kill();
  await serving.exit();
  press("BackSpace");
  await page.wait('//*[@role = "alert"]');
  assert.ok(await page.find(ROW("2026-11-22")), "the last list is there");
  assert.ok(await page.find(`${GRID}[contains(@class, "stale")]`), "the last list is grey");
  assert.equal(await page.find("//*[@role = 'group' and @aria-label = 'Get']"), null);
  await keepPicture(page, "browse-unreachable");
  writeFileSync(join(shared, "after the restart"), "x");
  await serve();
  await page.click(button("Try again"));
  await page.wait(ROW("after the restart"));
  assert.equal(await page.find(`${GRID}[contains(@class, "stale")]`), null);
});

driven("of 5,000 files exactly the 2,000 that are selected are got", async (t) => {
  const base = folder();
  const near = await windowDevice(base, "near");
  const { shared } = await sharing(t, base, near);
  const [many, wanted, last] = [5_000, 2_000, "1999"];
  mkdirSync(join(shared, "night"));
  for (let number = 0; number < many; number += 1) writeFileSync(join(shared, "night", String(number).padStart(4, "0")), "x");
  const page = await openWindow(t, near);
  await placeWindow(page, 1000, 760);
  await page.click(BROWSE("lab-ws"));
  await page.click("//main//li/button[contains(., 'runs')]");
  await eventually("the keyboard on the folder", async () => (await active(page)) === "night");
  press("Return");
  await page.wait(`${GRID}[@aria-busy = "false"][@aria-rowcount = "${many + 1}"]`);
  type(last);
  await page.wait(`${ROW(last)}[@aria-selected = "true"]`);
  press("shift+Home");
  await page.wait(showing("2,000 items selected"));
  await page.click(exactly("Get"));
  await page.wait(line("night", "Received"));
  const got = readdirSync(near.inbox).filter((name) => !name.startsWith("."));
  assert.deepEqual([got.length, got.every((name) => name <= last)], [wanted, true]);
});

driven("rows are sorted and picked by the pointer, and what is left out of a folder stays there and is remembered", async (t) => {
  const base = folder();
  const near = await windowDevice(base, "near");
  const { shared, far } = await sharing(t, base, near);
  for (const made of ["2026-11-22/cache", "2026-11-23"]) mkdirSync(join(shared, made), { recursive: true });
  for (const [name, size] of [["alpha", 3_000], ["beta", 1_000], ["gamma", 2_000], ["2026-11-22/data", 500], ["2026-11-22/one.tmp", 5], ["2026-11-22/cache/x", 5]]) writeFileSync(join(shared, name), "x".repeat(size));
  const page = await openWindow(t, near);
  const names = () => page.script(() => [...document.querySelectorAll("[role=row][data-name]")].map((row) => row.dataset.name));
  const picked = () => page.script(() => [...document.querySelectorAll('[role=row][aria-selected="true"]')].map((row) => row.dataset.name));
  const listed = (...wanted) => eventually(`the rows ${wanted}`, async () => String(await names()) === String(wanted));
  const bar = (words) => page.wait(`//*[@role = "group"][@aria-label = "Get"]//p[@role = "status"][contains(., "${words}")]`);
  await page.click(BROWSE("lab-ws"));
  await page.click("//main//li/button[contains(., 'runs')]");
  for (const width of [1000, 360]) {
    const placed = await placeWindow(page, width, 760);
    const row = async (name, times, held) => clickAt(await middleOf(page, placed, `[data-name="${name}"]`), times, held);
    const pick = async (name, held, ...wanted) => {
      await row(name, 1, held);
      await eventually(`${wanted} to be picked`, async () => String(await picked()) === String(wanted));
      await bar(`${wanted.length} item${wanted.length > 1 ? "s" : ""} selected`);
    };
    await listed("2026-11-22", "2026-11-23", "alpha", "beta", "gamma");
    const head = async (name, sorted) => {
      clickAt(await middleOf(page, placed, `[role=columnheader].${name} button`));
      await page.wait(`//*[@role = "columnheader"][contains(@class, "${name}")][@aria-sort = "${sorted}"]`);
    };
    await head("size", "ascending");
    await listed("2026-11-22", "2026-11-23", "beta", "gamma", "alpha");
    await head("size", "descending");
    assert.deepEqual((await names()).filter((name) => !name.startsWith("2026")), ["alpha", "gamma", "beta"]);
    await head("name", "ascending");
    await bar("The whole folder runs");
    await page.wait(exactly("Get all of runs"));
    await pick("alpha", "", "alpha");
    await pick("gamma", "ctrl", "alpha", "gamma");
    await pick("2026-11-23", "", "2026-11-23");
    await pick("beta", "shift", "2026-11-23", "alpha", "beta");
    await pick("alpha", "ctrl", "2026-11-23", "beta");
    await keepPicture(page, `browse-several-${width}`);
    await page.wait(exactly("Get"));
    type("gam");
    await eventually("the keyboard on gamma", async () => (await active(page)) === "gamma");
    await row("2026-11-22", 2);
    await listed("cache", "data", "one.tmp");
    const path = '//nav[@aria-label = "Path"]';
    assert.equal(await page.text(`${path}//*[@aria-current = "page"]`), "2026-11-22");
    clickAt(await middleOf(page, placed, 'nav[aria-label="Path"] li:nth-child(2) button'));
    await page.wait(`${path}//*[@aria-current = "page"][. = "runs"]`);
  }

  await page.click(`${ROW("2026-11-22")}//*[@data-ticks]`);
  await page.click(button("Options"));
  await page.fill("//textarea[@name = 'leave-out']", ["*.tmp", "/cache"].join(KEYS.enter));
  await keepPicture(page, "browse-leave-out");
  await page.evaluate(AXE);
  await checked(page, "what is left out of what is got");
  await fits(page, "what is left out of what is got");
  await page.click(button("Options"));
  await bar("2 patterns leave out items");
  await page.clickAndKeep(exactly("Get"));
  await page.wait(line("2026-11-22", "Received"));
  assert.deepEqual(listing(join(near.inbox, "2026-11-22")), ["data"]);
  const said = await page.kept();
  for (const words of ["Getting 2026-11-22 from lab-ws", "2026-11-22: "]) assert.ok(said.some((text) => text.startsWith(words)), `a screen reader hears “${words}”`);

  // The next page knows it, for this folder and no other.
  await page.reload();
  await page.click(BROWSE("lab-ws"));
  await page.click("//main//li/button[contains(., 'runs')]");
  await page.click(`${ROW("2026-11-23")}//*[@data-ticks]`);
  await bar("1 item selected");
  assert.equal(await page.find(showing("leave out items")), null);
  await page.click(`${ROW("2026-11-22")}//*[@data-ticks]`);
  await bar("2 patterns leave out items");
  await page.click(exactly("Get"));
  await page.wait(line("2026-11-23 and 1 more item", "Received"));
  assert.deepEqual(listing(near.inbox), ["2026-11-22", "2026-11-22/data", "2026-11-23"]);
  await show(page, "Activity");
  await page.wait(showing("from runs on lab-ws"));
  const [past] = (await asked(far, ["inbox", "--all"])).filter(({ event }) => event === "past");
  assert.equal(past.in_share.path, "runs/2026-11-23");
});

driven("a folder with 100,000 entries is listed soon, searched by letters and got into another folder", async (t) => {
  const base = folder();
  const near = await windowDevice(base, "near");
  const { shared } = await sharing(t, base, near);
  const many = join(shared, "many");
  mkdirSync(many);
  for (let number = 0; number < MANY; number += 1) writeFileSync(join(many, `run-${String(number).padStart(6, "0")}`), "");
  writeFileSync(join(many, "zebra"), "stripes");
  const elsewhere = join(base, "elsewhere");
  mkdirSync(elsewhere);
  const page = await openWindow(t, near);
  const { id } = await placeWindow(page, 1000, 760);
  await page.click(BROWSE("lab-ws"));
  await page.click("//main//li/button[contains(., 'runs')]");
  await page.wait(ROW("many"));
  const began = Date.now();
  press("Return");
  await page.wait(ROW("run-000000"));
  const first = Date.now() - began;
  await page.wait(showing("100,001 items"));
  const whole = Date.now() - began;
  t.diagnostic(`the first names after ${first} ms, all of them after ${whole} ms`);
  const drawn = await page.script(() => document.querySelectorAll("[role=row]").length);
  assert.ok(drawn < 100, `${drawn} rows are drawn`);
  // How long a frame takes while it scrolls, of a folder of any length.
  const { value: frames } = await page.later(async () => {
    const grid = document.querySelector("[role=grid]");
    const took = [];
    let before = performance.now();
    for (let frame = 0; frame < 60; frame += 1) {
      grid.scrollTop += 400;
      await new Promise((resolve) => requestAnimationFrame(resolve));
      const now = performance.now();
      took.push(now - before);
      before = now;
    }
    return took.sort((one, other) => one - other).map(Math.round);
  });
  t.diagnostic(`while it scrolled, a frame took ${frames[30]} ms, the longest of 60 ${frames[59]} ms`);
  type("zeb");
  await eventually("the keyboard on zebra", async () => (await active(page)) === "zebra");
  await page.wait(`${ROW("zebra")}[@aria-selected = "true"]`);
  await keepPicture(page, "browse-many");
  await page.click(exactly("Get into…"));
  await pickFolder(id, elsewhere);
  await page.wait(line("zebra", "Received"));
  assert.equal(readFileSync(join(elsewhere, "zebra"), "utf8"), "stripes");
});

driven("a folder that is dropped on the shared folders is shared after a question, and taken back", async (t) => {
  const base = folder();
  const near = await windowDevice(base, "near");
  const { far } = await sharing(t, base, near);
  const results = join(base, "results");
  oddTree(results);
  const page = await openWindow(t, near);
  await show(page, "Settings");
  const placed = await placeWindow(page, 1000, 760);
  const at = await middleOf(page, placed, '[data-card="shares"]');
  await dragOnto(t, [results], at, async () => {
    await page.wait(showing("Share “results”"));
    await keepPicture(page, "shares-over");
  });
  await page.wait('//*[@role = "dialog"]');
  await keepPicture(page, "shares-question");
  await page.click('//*[@role = "dialog"]//label[. = "lab-ws"]');
  await page.click('//*[@role = "dialog"]//button[. = "Share"]');
  await page.wait('//*[@data-share = "results"]');
  const [shared] = (await asked(near, ["share", "list"])).filter(({ event }) => event === "share");
  assert.deepEqual([shared.name, shared.folder.path, shared.with, shared.devices.length], ["results", results, "devices", 1]);
  const seen = await asked(far, ["ls", near.target]);
  assert.deepEqual(seen.filter(({ event }) => event === "share_there").map(({ name }) => name), ["results"]);
  await show(page, "Devices");
  await page.click(`${device("lab-ws")}//button[@aria-expanded]`);
  await page.wait('//*[@data-may-read]//label[. = "results"]');
  await keepPicture(page, "shares-device");
  await page.click('//*[@data-may-read]//label[. = "results"]');
  await eventually("nobody to read it", async () => (await asked(near, ["share", "list"]))[0].devices.length === 0);
  await show(page, "Settings");
  await page.click('//button[@aria-label = "Actions for the shared folder results"]');
  await page.click('//*[@role = "menuitem"][contains(., "Stop sharing")]');
  await eventually("it to be gone", async () => !(await page.find('//*[@data-share = "results"]')));
  assert.deepEqual((await asked(near, ["share", "list"])).filter(({ event }) => event === "share"), []);
});

driven("something is sent into a folder of a drop box there, which is remembered; a share here becomes one", async (t) => {
  const base = folder();
  const near = await windowDevice(base, "near");
  const { far } = await sharing(t, base, near);
  const [box, results] = ["box", "results"].map((name) => join(base, name));
  for (const path of [box, results]) mkdirSync(path);
  await asked(far, ["share", "add", box, "--name", "box", "--with-all", "--drop"]);
  await asked(near, ["share", "add", results, "--with-all"]);
  const [run, other] = ["run 7", "run 8"].map((name) => join(base, name));
  oddTree(run);
  oddTree(other);
  const page = await openWindow(t, near, {}, [run]);
  await placeWindow(page, 1000, 760);
  await page.click('//main//*[@data-card][contains(., "lab-ws")]');
  await page.click(button("Options"));
  await page.click('//main//select[@name = "folder-there"]/option[. = "box"]');
  await page.fill(field("folder-below"), "2026/november");
  await keepPicture(page, "send-folder-there");
  await page.click(exactly("Send"));
  await page.wait(line("run 7", "Sent"));
  same(run, join(box, "2026/november/run 7"));

  // The next window knows it still.
  await page.reload();
  await page.wait("//h1");
  assert.equal(capture(WINDOW, [other], { env: { ...process.env, ...near.env } }).status, 0, "the window that is open takes it");
  await page.click('//main//*[@data-card][contains(., "lab-ws")]');
  await page.wait(showing("Into box/2026/november"));

  await show(page, "Settings");
  await page.click('//*[@data-share = "results"]//button[@aria-expanded]');
  await page.click('//*[@data-share = "results"]//input[@name = "drop-box"]');
  await page.fill('//*[@data-share = "results"]//input[@name = "drop-size"]', "2");
  await page.keys(KEYS.enter);
  await page.wait(showing("Drop box, up to 2.0\u00a0GB"));
  await keepPicture(page, "shares-drop-box");
  const [shared] = (await asked(near, ["share", "list"])).filter(({ event }) => event === "share");
  assert.deepEqual(shared.drop, { bytes_max: 2_000_000_000 });
  const sent = await far.run(["send", other, `${near.target}:results/in`]);
  assert.equal(sent.status, EXIT.all, sent.said());
  same(other, join(results, "in/run 8"));
  await show(page, "Devices");
  await page.click(`${device("lab-ws")}//button[@aria-expanded]`);
  await page.wait('//*[@data-may-read]//input[@name = "drop-box"]');
  await keepPicture(page, "shares-device-drop-box");
});

driven("a get whose device goes says that it tries again, and goes on when it is back", async (t) => {
  const base = folder();
  const near = await windowDevice(base, "near");
  const { far, shared, serving, serve } = await sharing(t, base, near);
  await asked(far, ["settings", "--limit", "2M"]);
  writeFileSync(join(shared, "big"), randomBytes(16_000_000));
  const page = await openWindow(t, near);
  await placeWindow(page, 1000, 760);
  await page.click(BROWSE("lab-ws"));
  await page.click("//main//li/button[contains(., 'runs')]");
  await page.click(`${ROW("big")}//*[@data-ticks]`);
  await page.click(exactly("Get"));
  await page.wait(showing("Receiving from lab-ws"));
  await show(page, "Inbox");
  await page.wait(showing("Receiving from lab-ws"));
  serving.kill("SIGKILL");
  await serving.exit();
  await page.wait(showing("Trying again"));
  await keepPicture(page, "get-interrupted");
  assert.ok(!(await page.find(showing("Waiting for lab-ws"))), "this device tries again, and waits for nobody");
  await serve();
  await page.click(line("big", "Received"));
  assert.deepEqual(readFileSync(join(near.inbox, "big")), readFileSync(join(shared, "big")));
});

for (const [theme, name] of Object.entries(THEMES)) {
  driven(`what is shared is readable and fits in ${theme}, from 360 pixels to wide`, async (t) => {
    const base = folder();
    const near = await windowDevice(base, "near");
    const { shared } = await sharing(t, base, near);
    const long = `${"a very long name of a folder with results ".repeat(4)}end`;
    for (const made of ["2026-11-22", long]) mkdirSync(join(shared, made));
    for (let number = 0; number < 40; number += 1) writeFileSync(join(shared, `result-${number}.txt`), "x".repeat(number * 1000));
    for (const made of ["photos", "results of the night"]) {
      mkdirSync(join(base, made));
      await asked(near, ["share", "add", join(base, made), made === "photos" ? "--with-all" : "--nobody"]);
    }
    renameSync(join(base, "photos"), join(base, "gone"));
    const page = await openWindow(t, near, { GTK_THEME: name });
    await page.evaluate(AXE);
    const languages = theme === "light" ? ["en", "de"] : ["en"];
    for (const language of languages) {
      const says = JSON.parse(readFileSync(join(ROOT, `src/messages/${language}.json`), "utf8"));
      if (language !== "en") {
        await page.script((chosen) => localStorage.setItem("language", chosen), language);
        await page.reload();
        await page.wait("//h1");
        await page.evaluate(AXE);
      }
      const looked = async (view, each = async () => {}) => {
        for (const [width, height] of [...SIZES, [1440, 900]]) {
          await placeWindow(page, width, height);
          await each();
          await keepPicture(page, `${view}-${language}-${theme}-${width}`);
          await fits(page, `${view} in ${language} at ${width}`);
          await checked(page, `${view} in ${theme} at ${width}`);
        }
      };
      const view = (key) => page.click(`//nav//button[contains(., "${says[`view.${key}`]}")]`);
      await view("settings");
      await page.wait('//*[@data-share = "photos"]');
      await looked("shares", () => page.script(() => document.querySelector("[data-share]").scrollIntoView({ block: "center" })));
      await view("devices");
      await page.click(`//main//button[@aria-label = "${says["browse.openNamed"].replace("{name}", "lab-ws")}"]`);
      await page.wait("//main//li/button[contains(., 'runs')]");
      await looked("browse-shares");
      await page.click("//main//li/button[contains(., 'runs')]");
      await page.wait(ROW("result-1.txt"));
      press("Down", "space", "shift+Down");
      await looked("browse-folder");
    }
  });
}
