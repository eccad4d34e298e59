// The states of a window that golden pictures and screenshots show, in any of its languages.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomFillSync } from "node:crypto";
import { appendFileSync, chmodSync, closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { Device, freePort } from "../../setup/devices.mjs";
import { WINDOW } from "../../setup/build.mjs";
import { ROOT, capture } from "../../setup/process.mjs";
import { BOUND_BY_MODES, CODE, EXIT, asked, ends, inMemory, receiver, sender } from "../../transfer/harness.mjs";
import { WELCOME, configOf, folder, newDevice, openWindow, windowDevice } from "./device.mjs";
import { copyTextElsewhere, dragOnto, middleOf } from "./drag.mjs";
import { focus, press } from "./keyboard.mjs";
import { KEYS, button, eventually, exactly, field, line, showing, windowId } from "./webdriver.mjs";

/** The window's own storage has the chosen language under this name. */
const CHOSEN_LANGUAGE = "language";
const VIEWS = ["send", "inbox", "activity", "devices", "settings"];

/** The window's messages in a language. */
function catalogue(language) {
  return JSON.parse(readFileSync(join(ROOT, `src/messages/${language}.json`), "utf8"));
}

/** The part of a message before its first argument, and the part after its last one. */
const beginning = (message) => message.split(/[{…]/)[0].trim();
const ending = (message) => message.split("}").at(-1);

/** Switches the page to a language, and waits until it shows `shows`. */
async function speaks(page, language, shows) {
  if (language === "en") return;
  await page.script((key, chosen) => localStorage.setItem(key, chosen), CHOSEN_LANGUAGE, language);
  await page.reload();
  await page.wait(shows);
}

/** Shows one of the views, whatever the language calls it. */
async function show(page, says, view) {
  const name = says[`view.${view}`];
  await page.click(`//nav//button[contains(., "${name}")]`);
  await page.wait(`//h1[. = "${name}"]`);
}

/** A laptop. Its surroundings are not in the picture. */
async function laptop(base) {
  const device = await windowDevice(base, "laptop");
  appendFileSync(configOf(device), "announce = false\n");
  return device;
}

/** A folder with one file, and whatever `more` adds. */
function tree(base, name, bytes, more = () => {}) {
  const path = join(base, name);
  mkdirSync(path);
  writeFileSync(join(path, "data"), Buffer.alloc(bytes));
  more(path);
  return path;
}

/**
 * The state after a few days of use: a paired machine with a rule, transfers from it, one complete
 * and one without a pipe, and one that reached nobody.
 */
async function inUse(t, base) {
  const device = await laptop(base);
  const lab = new Device(base, "lab");
  const receive = async (path, wanted) => {
    const receiving = await receiver(t, device, device.inbox);
    await ends(sender(t, lab, path, receiving.target, { args: ["--limit", "3M", "--compress", "off"] }), receiving, wanted);
  };
  // Long enough for a graph.
  await receive(tree(base, "survey", 9_000_000));
  await receive(tree(base, "thesis", 40_000, (path) => execFileSync("mkfifo", [join(path, "pipe")])), EXIT.partial);
  const alone = sender(t, device, join(base, "thesis"), "127.0.0.1:9");
  assert.equal(await alone.exit(), EXIT.failed, alone.said());
  const ruled = await device.run(["devices", "rule", "lab", "--accept", "--max-size", "20G"]);
  assert.equal(ruled.status, EXIT.all, ruled.err);
  return device;
}

/** Scrolls a view back to its beginning. */
export function scrollBack(page) {
  return page.script(() => {
    document.getElementById("main").scrollTop = 0;
  });
}

/** Scrolls a view by its visible height; false at its end. */
export function scrollOn(page) {
  return page.script(() => {
    const main = document.getElementById("main");
    const before = main.scrollTop;
    main.scrollTop += main.clientHeight;
    return main.scrollTop > before;
  });
}

/** Every view of a window that was just set up. `each` runs for each, with its name. */
export async function fresh(t, { env, language = "en" }, each) {
  const says = catalogue(language);
  const page = await openWindow(t, await laptop(folder()), env);
  await speaks(page, language, "//h1");
  for (const view of VIEWS) {
    await show(page, says, view);
    await each(page, view);
  }
}

/** Has another program choose what is to be sent, as a file manager does in an open window. */
function opened(page, ...paths) {
  const done = capture(WINDOW, paths, { env: { ...process.env, ...page.env } });
  assert.equal(done.status, 0, done.err);
}

/** The first run. */
export async function first(t, { env, language = "en" }, each) {
  const says = catalogue(language);
  const page = await openWindow(t, await newDevice(folder(), "laptop"), env, [], { shows: WELCOME });
  await speaks(page, language, `//h1[. = "${says["first.title"]}"]`);
  await page.wait(showing(beginning(says["settings.login.wouldAutostart"])));
  // Every machine has another name.
  await page.fill(field("name"), "laptop");
  await each(page, "first");
}

/** A window in use: something chosen, a paired machine, what has ended, an offer, what arrived. */
export async function used(t, { env, language = "en" }, each) {
  const says = catalogue(language);
  const base = folder();
  const device = await inUse(t, base);
  const page = await openWindow(t, device, env);
  await speaks(page, language, "//h1");
  opened(page, join(base, "survey"), join(base, "thesis"));
  await page.wait(showing("thesis"));
  await each(page, "send-chosen");
  await show(page, says, "devices");
  await page.wait("//main//*[text() = 'lab']");
  await each(page, "devices-paired");
  await show(page, says, "activity");
  await page.click(line("survey", says["state.received"]));
  await page.wait("//*[@data-past]//canvas");
  await each(page, "activity-earlier");
  await show(page, says, "inbox");
  const studio = new Device(base, "studio");
  const code = await page.text("//*[@data-code]//*[contains(@class, 'text')]");
  const sending = sender(t, studio, tree(base, "renders", 12_000_000), device.target, { code, args: ["--limit", "6M", "--compress", "off"] });
  await page.wait("//*[@data-offer]");
  await page.wait(showing(ending(says["folder.free"])));
  await page.wait("//*[@data-compared = 'done']");
  await each(page, "inbox-offer");
  await page.click(button(says["inbox.accept"]));
  assert.equal(await sending.exit(), EXIT.all, sending.said());
  await page.wait(line("renders", says["state.received"]));
  await each(page, "inbox-arrived");
}

const ADDRESS = "https://lab.example/runs/2026-11-22/report?format=html&section=results";
const STEPS = `Before the next run:
1. Mount the scratch disk below /srv/scratch.
2. module load cuda/12.4 && nvidia-smi
3. sbatch --gres=gpu:2 --time=04:00:00 train.sh

The password is where it always is.
`;

/** Notes that have arrived, one of them opened, and one that is to be sent. */
export async function notes(t, { env, language = "en" }, each) {
  const says = catalogue(language);
  const base = folder();
  const [device, lab] = [await laptop(base), new Device(base, "lab-ws")];
  const receiving = await receiver(t, lab, folder(), { once: false });
  const paired = await device.run(["pair", receiving.target, "--code-file", device.codeFile(CODE)]);
  assert.equal(paired.status, EXIT.all, paired.said());
  const page = await openWindow(t, device, env);
  await speaks(page, language, "//h1");
  await show(page, says, "inbox");
  for (const text of ["Coffee at four?", STEPS, ADDRESS]) {
    const sent = await lab.run(["send", "--text", device.target], { input: text });
    assert.equal(sent.status, EXIT.all, sent.said());
  }
  await page.wait("//*[@data-note][3]");
  await page.click("(//*[@data-note]//button[@aria-expanded])[2]");
  await page.wait("//*[@data-note-text]");
  await eventually("it to be read", async () => (await asked(device, ["notes"])).filter(({ is_read: read }) => read).length === 1);
  await each(page, "inbox-notes");
  await show(page, says, "send");
  const source = await copyTextElsewhere(t, STEPS);
  focus(await windowId(page.env));
  press("ctrl+v");
  await page.wait("//*[@data-note-draft]");
  source.kill();
  await page.click('//main//button[@data-card][.//strong[contains(., "lab-ws")]]');
  await each(page, "send-note");
}

/** What a device shares, of which one folder is gone, and a drop box there and one here. */
export async function browsed(t, { env, language = "en" }, each) {
  const says = catalogue(language);
  const base = folder();
  const [device, lab] = [await laptop(base), new Device(base, "lab-ws")];
  const [runs, incoming, gone, photos, inbox] = ["runs", "incoming", "archive", "photos", "inbox there"].map((name) => tree(base, name, 1_000));
  for (const [name, bytes] of [["2026-11-21", 4_200_000], ["2026-11-22", 12_000_000], ["calibration of the second detector", 900]]) tree(runs, name, bytes);
  const at = new Date("2026-11-22T11:26:00Z");
  for (const [name, bytes] of [["index.csv", 48_000], ["readme.txt", 700]]) writeFileSync(join(runs, name), Buffer.alloc(bytes));
  for (const name of ["2026-11-21", "2026-11-22", "calibration of the second detector", "data", "index.csv", "readme.txt"]) utimesSync(join(runs, name), at, at);
  const target = `127.0.0.1:${await freePort()}`;
  const serving = lab.start(["serve", inbox, "--listen", target, "--no-announce", "--json"]);
  t.after(() => serving.kill());
  await serving.event("listening");
  await eventually("the socket", () => existsSync(join(lab.env.XDG_RUNTIME_DIR, "ringway/control.sock")));
  const [{ code }] = await asked(lab, ["code"]);
  const paired = await device.run(["pair", target, "--code-file", device.codeFile(code)]);
  assert.equal(paired.status, EXIT.all, paired.said());
  await asked(lab, ["share", "add", runs, "--name", "runs", "--with-all"]);
  await asked(lab, ["share", "add", incoming, "--name", "incoming", "--with-all", "--drop"]);
  await asked(lab, ["share", "add", gone, "--with-all"]);
  renameSync(gone, join(base, "elsewhere"));
  await asked(device, ["share", "add", photos, "--with-all", "--drop"]);

  const page = await openWindow(t, device, env);
  await speaks(page, language, "//h1");
  await show(page, says, "devices");
  await page.click(`//main//button[@aria-label = "${says["browse.openNamed"].replace("{name}", "lab-ws")}"]`);
  await page.wait("//main//li/button[contains(., 'incoming')]");
  await each(page, "browse-shares");
  await page.click("//main//li/button[contains(., 'runs')]");
  await page.click('//*[@role = "row"][@data-name = "2026-11-22"]//*[@data-ticks]');
  await each(page, "browse-folder");
  await show(page, says, "settings");
  await page.click('//*[@data-share = "photos"]//button[@aria-expanded]');
  await page.fill('//*[@data-share = "photos"]//input[@name = "drop-size"]', "2");
  await page.keys(KEYS.enter);
  // The size stands in the row's line as well, once it is stored.
  await page.wait('//*[@data-share = "photos"]//*[contains(@class, "drop")][contains(., "2")]');
  // "Saved" stands there for a while.
  const saved = `//*[@data-share = "photos"]//*[@role = "status"][normalize-space(.) = "${says["settings.saved"]}"]`;
  await eventually("what was saved to be said no more", async () => !(await page.find(saved)));
  await each(page, "settings-share");
  return { page, says, base };
}

/** The same, and what was got from there and is sent there. */
export async function shares(t, { env, language = "en" }, each) {
  const { page, says, base } = await browsed(t, { env, language }, each);
  await show(page, says, "devices");
  await page.click(`//main//button[@aria-label = "${says["browse.openNamed"].replace("{name}", "lab-ws")}"]`);
  await page.click("//main//li/button[contains(., 'runs')]");
  await page.click('//*[@role = "row"][@data-name = "2026-11-22"]//*[@data-ticks]');
  await page.click(exactly(says["browse.get"]));
  await page.click(line("2026-11-22", says["state.received"]));
  await each(page, "browse-got");
  await show(page, says, "activity");
  await page.click(line("2026-11-22", says["state.received"]));
  await each(page, "activity-got");
  await show(page, says, "devices");
  await page.click("//li[@data-device]//button[@aria-expanded]");
  await each(page, "devices-shares");
  await show(page, says, "send");
  await page.click('//main//*[@data-card][contains(., "lab-ws")]');
  opened(page, join(base, "photos"));
  await page.click(button(says["send.options"]));
  await page.click('//main//select[@name = "folder-there"]/option[. = "incoming"]');
  await page.fill(field("folder-below"), "2026/november");
  await each(page, "send-folder-there");
}

const CARD = (name) => `//main//button[@data-card][.//strong[contains(., "${name}")]]`;

let large;

/** A folder above a gigabyte that cannot be compressed, made once. */
function largeTree() {
  if (large) return large;
  const parts = 75;
  const part = Buffer.alloc(16 << 20);
  const base = mkdtempSync(join(inMemory(parts * part.length), "ringway-large-"));
  process.on("exit", () => rmSync(base, { recursive: true, force: true }));
  large = join(base, "scans");
  mkdirSync(large);
  for (let scan = 0; scan < parts; scan += 1) {
    const file = openSync(join(large, `scan-${scan}`), "w");
    writeSync(file, randomFillSync(part));
    closeSync(file);
  }
  return large;
}

/** A laptop that is paired with lab-ws, which receives. */
async function paired(t, base) {
  const [device, lab] = [await laptop(base), new Device(base, "lab-ws")];
  const receiving = await receiver(t, lab, folder(), { once: false });
  const done = await device.run(["pair", receiving.target, "--code-file", device.codeFile(CODE)]);
  assert.equal(done.status, EXIT.all, done.said());
  return { device, lab, receiving };
}

/** A limited transfer under way, two that wait for it, the question before a stop, and a drag. */
export async function underway(t, { env, language = "en" }, each) {
  const says = catalogue(language);
  const base = folder();
  const { device } = await paired(t, base);
  const limited = await device.run(["settings", "--limit", "3M"]);
  assert.equal(limited.status, EXIT.all, limited.said());
  const page = await openWindow(t, device, env);
  await speaks(page, language, "//h1");
  const send = async (path) => {
    opened(page, path);
    await page.wait(button(says["send.clear"]));
    await page.click(CARD("lab-ws"));
    await page.click(exactly(says["send.button"]));
  };
  await send(largeTree());
  await page.wait('//*[@data-state = "moving"]//figcaption');
  for (const name of ["survey", "thesis"]) {
    await send(tree(base, name, 1_000));
    await page.wait(`//*[@data-waiting][contains(., "${name}")]`);
  }
  await each(page, "send-running");
  const dragged = tree(base, "renders", 1_000);
  await each(page, "send-drag", async (placed, shoot) => {
    const card = await middleOf(page, placed, "main [data-card] .symbol");
    await dragOnto(t, [dragged], card, async () => {
      await page.wait("//main//button[@data-card]/span[contains(@class, 'drops')]");
      await shoot();
    });
  });
  await show(page, says, "activity");
  await each(page, "activity-running");
  await page.click(`//main//button[@aria-label = "${says["common.cancel"]}: scans"]`);
  await page.wait("//*[@role = 'alertdialog' or @role = 'dialog']");
  await each(page, "activity-cancel");
}

/** What has just failed in part, what was cancelled, and a device that wants to connect. */
export async function troubled(t, { env, language = "en" }, each) {
  const says = catalogue(language);
  const base = folder();
  const { device, lab } = await paired(t, base);
  const ruled = await device.run(["devices", "rule", "lab-ws", "--accept"]);
  assert.equal(ruled.status, EXIT.all, ruled.said());
  const page = await openWindow(t, device, env);
  await speaks(page, language, "//h1");
  await show(page, says, "activity");
  const send = (path, args = []) => sender(t, lab, path, device.target, { code: null, args: ["--compress", "off", ...args], wrap: BOUND_BY_MODES });
  const stopped = send(largeTree(), ["--limit", "30M"]);
  await page.wait('//*[@data-state = "moving"]//figcaption');
  await page.click(`//main//button[@aria-label = "${says["common.cancel"]}: scans"]`);
  await page.click(`//*[@role = "alertdialog" or @role = "dialog"]//button[contains(., "${says["activity.stopKeep"]}")]`);
  await stopped.exit();
  const verified = send(tree(base, "survey", 4_000_000), ["--verify"]);
  assert.equal(await verified.exit(), EXIT.all, verified.said());
  const failing = tree(base, "thesis", 9_000_000, (path) => {
    for (const name of ["figures.bin", "letters.bin", "raw.bin"]) {
      writeFileSync(join(path, name), name);
      chmodSync(join(path, name), 0);
    }
    for (const name of ["queue", "events"]) execFileSync("mkfifo", [join(path, name)]);
  });
  const partly = send(failing, ["--limit", "3M"]);
  assert.equal(await partly.exit(), EXIT.partial, partly.said());
  await page.wait("//*[@data-ended = 'partial']//h3");
  await each(page, "activity-failed");
  await page.click("//*[@data-ended = 'partial']//button[@aria-expanded]");
  await each(page, "activity-ended");
  const asking = sender(t, new Device(base, "ada-laptop"), tree(base, "photos", 100), device.target, { code: null });
  assert.equal(await asking.exit(), EXIT.notAuthenticated, asking.said());
  await page.wait("//*[@data-request]");
  await each(page, "activity-request");
}

/** Sending to an address: how it is sent, the code that is asked for, and a wrong one. */
export async function meeting(t, { env, language = "en" }, each) {
  const says = catalogue(language);
  const base = folder();
  const device = await laptop(base);
  const receiving = await receiver(t, new Device(base, "lab-ws"), folder(), { once: false });
  const page = await openWindow(t, device, env);
  await speaks(page, language, "//h1");
  opened(page, tree(base, "survey", 1_000));
  await page.wait(showing("survey"));
  await page.fill(field("address"), receiving.target);
  await page.click(button(says["send.options"]));
  await page.fill(field("box-there"), "runs/2026");
  await page.click("//main//*[@role = 'switch']");
  await each(page, "send-address");
  await page.fill(field("box-there"), "");
  await page.click(`//main//form//button[normalize-space(.) = "${says["send.button"]}"]`);
  await page.wait(field("retry-code"));
  await each(page, "send-first-contact");
  await page.fill(field("retry-code"), "7-canal-river");
  await page.click(exactly(says["send.pairAndSend"]));
  await page.wait("//main//form//*[@role = 'alert']");
  await each(page, "send-wrong-code");
}
