// Native dialogs, which a page that was taken over can neither draw nor answer: for a home as the
// receive folder, and for a new target of files sent before.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CODE, EXIT, receiver, same } from "../transfer/harness.mjs";
import { Device } from "../setup/devices.mjs";
import { capture } from "../setup/process.mjs";
import { configOf, folder, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay, picture } from "./lib/display.mjs";
import { geometry, placeWindow } from "./lib/drag.mjs";
import { focus, pickFolder, press } from "./lib/keyboard.mjs";
import { button, eventually, sleep } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};

const HOME_TITLE = "Home folder";
/** The session's languages, and the title of the dialog about a new target in each. */
const LANGUAGES = {
  en: { LANG: "en_GB.UTF-8", target: "Send to another device?" },
  de: { LANG: "de_DE.UTF-8", target: "An ein anderes Gerät senden?" },
};

const active = () => capture("xdotool", ["getactivewindow"]).out.trim();
const titled = (title) => capture("xdotool", ["search", "--onlyvisible", "--name", `^${title.replace("?", "\\?")}$`]).out.trim().split("\n").filter(Boolean);

/** The open dialog with that title, once it has the keyboard. */
async function dialog(title, name) {
  const id = await eventually(`the dialog "${title}"`, () => titled(title)[0]);
  await eventually("the keyboard to be in the dialog", () => {
    focus(id);
    return active() === id;
  });
  // It is drawn a moment after it has the keyboard.
  await sleep(300);
  picture(name);
  return id;
}

/** The buttons share the dialog's foot: no is the left one, yes the right one. */
const NO = 0.25;
const YES = 0.75;
/** Half of a button's height. */
const FOOT = 18;

/** Clicks with the pointer on one of a dialog's buttons. */
function clickOn(id, across) {
  const { width, height } = geometry(id);
  const at = [width * across, height - FOOT].map((place) => String(Math.round(place)));
  capture("xdotool", ["mousemove", "--window", id, ...at, "click", "1"]);
}

/** Answers a dialog, and repeats the answer if it came too early, until the dialog has gone. */
async function answered(id, title, answer) {
  await eventually("the dialog to close", async () => {
    if (active() === id) answer();
    await sleep(300);
    return titled(title).length === 0;
  });
}

/** Calls the service like a page. */
const asked = (page, call) => page.later((given) => window.__TAURI_INTERNALS__.invoke("call", { call: given }), call);

/** Calls a command of the shell without waiting. Its answer goes into `window.answers`. */
const invoking = (page, key, command, args) =>
  page.script(
    (at, name, given) => {
      const answers = (window.answers ??= {});
      const call = window.__TAURI_INTERNALS__.invoke(name, given);
      call.then((value) => (answers[at] = { value }), (error) => (answers[at] = { error }));
    },
    key,
    command,
    args,
  );
const answerTo = (page, key) => eventually(`the answer to "${key}"`, () => page.script((at) => window.answers?.[at] ?? null, key));

driven("a home becomes the receive folder only after a click in a native dialog", async (t) => {
  const near = await windowDevice(folder(), "near");
  const { HOME } = near.env;
  const page = await openWindow(t, near);
  await show(page, "Settings");
  const { id } = await placeWindow(page, 1000, 760);
  const stored = () => readFileSync(configOf(near), "utf8").match(/^receive_folder = "(.*)"$/m)[1];
  const picked = async () => {
    await page.click(button("Change"));
    await pickFolder(id, HOME);
    return dialog(HOME_TITLE, "dialog-home");
  };
  // Keys that a person types in the page when a dialog appears do not count as yes.
  for (const key of ["Escape", "Return", "space"]) {
    await answered(await picked(), HOME_TITLE, () => press(key));
    assert.equal(stored(), near.inbox, `${key} says no`);
  }
  const refusing = await picked();
  await answered(refusing, HOME_TITLE, () => clickOn(refusing, NO));
  assert.equal(stored(), near.inbox);
  const allowing = await picked();
  await answered(allowing, HOME_TITLE, () => clickOn(allowing, YES));
  await eventually("the home to be stored", () => stored() === HOME);
});

for (const [language, said] of Object.entries(LANGUAGES)) {
  driven(`a page that was taken over sends what was sent before to a new target only after a click in a native dialog, in ${language}`, async (t) => {
    const base = folder();
    const near = await windowDevice(base, "near");
    const receivers = {};
    for (const name of ["nas", "mallory"]) {
      const inbox = join(base, `inbox-${name}`);
      mkdirSync(inbox);
      const device = new Device(base, name);
      const receiving = await receiver(t, device, inbox, { once: false });
      const paired = await near.run(["pair", receiving.target, "--code-file", near.codeFile(CODE)]);
      assert.equal(paired.status, EXIT.all, paired.said());
      receivers[name] = { inbox, receiving };
    }
    const survey = join(base, "survey");
    mkdirSync(survey);
    writeFileSync(join(survey, "text"), "text");
    const sent = await near.run(["send", survey, "nas", "--json"]);
    assert.equal(sent.status, EXIT.all, sent.said());
    const devices = (await near.run(["devices", "--json"])).events;
    const target = { to: "device", id: devices.find(({ name }) => name === "mallory").id };
    const page = await openWindow(t, near, { LANG: said.LANG, LANGUAGE: language, LC_ALL: said.LANG });
    const { value: past, error } = await asked(page, { past: { query: { direction: "sending", failed_only: false, unresolved_only: false, search: "", before: null } } });
    assert.equal(error, undefined, JSON.stringify(error));
    const { value: again } = await asked(page, { chooseAgain: { id: past[0].id } });
    const send = (key) => invoking(page, key, "send", { chosen: again.chosen.id, target, code: null, verify: false, limit: null, leaveOut: "" });

    await send("first");
    const first = await dialog(said.target, `dialog-target-${language}`);
    // One at a time: more calls are refused while it is open.
    await send("meanwhile");
    assert.equal((await answerTo(page, "meanwhile")).error.code, "new_target");
    assert.equal(titled(said.target).length, 1);
    await answered(first, said.target, () => press("Escape"));
    assert.equal((await answerTo(page, "first")).error.code, "new_target");
    for (const key of ["Return", "space"]) {
      await send(key);
      await answered(await dialog(said.target, `dialog-target-${language}-${key}`), said.target, () => press(key));
      assert.equal((await answerTo(page, key)).error?.code, "new_target", `${key} says no`);
    }
    assert.deepEqual(readdirSync(receivers.mallory.inbox), []);

    await send("second");
    const last = await dialog(said.target, `dialog-target-${language}-again`);
    await answered(last, said.target, () => clickOn(last, YES));
    await eventually("the folder to arrive", () => existsSync(join(receivers.mallory.inbox, "survey/text")));
    same(survey, join(receivers.mallory.inbox, "survey"));
  });
}
