// The states of a window that golden pictures and screenshots show, in any of its languages.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Device } from "../../setup/devices.mjs";
import { ROOT } from "../../setup/process.mjs";
import { EXIT, ends, receiver, sender } from "../../transfer/harness.mjs";
import { WELCOME, configOf, folder, newDevice, openWindow, windowDevice } from "./device.mjs";
import { button, field, line, showing } from "./webdriver.mjs";

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
  const page = await openWindow(t, device, env, [join(base, "survey"), join(base, "thesis")]);
  await page.wait(showing("thesis"));
  // A reload loses what was chosen, so this view is in English in every language.
  await each(page, "send-chosen");
  await speaks(page, language, "//h1");
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
