// Notes in the real window: dropped, pasted, sent, received, shown as text, copied and deleted.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Device } from "../setup/devices.mjs";
import { CODE, EXIT, asked, receiver } from "../transfer/harness.mjs";
import { folder, keepPicture, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { clipboardText, copyTextElsewhere, dragTextOnto, middleOf, placeWindow } from "./lib/drag.mjs";
import { focus, press } from "./lib/keyboard.mjs";
import { button, eventually, showing } from "./lib/webdriver.mjs";
import { RINGWAY } from "../setup/build.mjs";
import { capture } from "../setup/process.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};

const LEN_MAX = 65_536;
const HOSTILE = "hostile \u202eline\n<img src=x onerror=\"document.title = 'run'\">\nhttps://example.org/\x1b[2J\u200b\ttab\n";

/** `near` with a window, and `far`, which is paired with it and receives. */
async function friends(t) {
  const base = folder();
  const near = await windowDevice(base, "near");
  const far = new Device(base, "far");
  const inbox = folder();
  const receiving = await receiver(t, far, inbox, { once: false });
  const paired = await near.run(["pair", receiving.target, "--code-file", near.codeFile(CODE)]);
  assert.equal(paired.status, EXIT.all, paired.said());
  return { near, far, receiving };
}

/** The exact texts of a device's notes, the oldest first. */
async function texts(device) {
  const notes = await asked(device, ["notes"]);
  return notes.reverse().map(({ number }) => capture(RINGWAY, ["notes", "show", String(number)], { env: device.env }).out);
}

async function arrives(device, n) {
  await eventually(`${n} notes`, async () => (await asked(device, ["notes"])).length === n);
  return (await texts(device)).at(-1);
}

const CARD = "main [data-card]";

driven("a text and an address that are dropped on a card arrive there exactly", async (t) => {
  const { near, far } = await friends(t);
  const page = await openWindow(t, near);
  const place = await placeWindow(page, 1000, 760);
  const card = () => middleOf(page, place, CARD);
  await dragTextOnto(t, HOSTILE, await card(), () => page.wait(showing("Send note to far")));
  assert.equal(await arrives(far, 1), HOSTILE);
  await page.wait(showing("far has the note."));
  const address = "https://example.org/a%20b?c=d%2Fe#f";
  // What is said of the first one stands above the cards.
  await dragTextOnto(t, address, await card(), () => page.wait(showing("Send note to far")), { isAddress: true });
  assert.equal((await arrives(far, 2)).trimEnd(), address);
});

driven("a text that is dropped or pasted waits with its first line, and is sent by the button or removed", async (t) => {
  const { near, far } = await friends(t);
  const page = await openWindow(t, near);
  const place = await placeWindow(page, 1000, 760);
  const heading = await middleOf(page, place, "main h1");
  await dragTextOnto(t, "dropped\nmore", heading, () => page.wait(showing("Drop to keep the text as a note")));
  await page.wait(showing("dropped …"));
  await keepPicture(page, "send-note");
  await page.click("//button[@aria-label = 'Remove the note']");
  await eventually("no note", async () => !(await page.words()).includes("dropped …"));

  const pasted = `${"é".repeat(LEN_MAX / 2 - 1)}\n.`;
  const source = await copyTextElsewhere(t, pasted);
  focus(place.id);
  press("ctrl+v");
  await page.wait(showing("éé"));
  await page.click(`//main//button[@data-card][.//strong[contains(., "far")]]`);
  await page.click(button("Send note to far"));
  assert.equal(await arrives(far, 1), pasted);
  source.kill();

  await copyTextElsewhere(t, "n".repeat(LEN_MAX + 1));
  focus(place.id);
  press("ctrl+v");
  await page.wait(showing("A note has 1 to 65,536 bytes of text."));
});

driven("notes arrive in the inbox as text, are copied exactly, and are deleted", async (t) => {
  const { near, far } = await friends(t);
  const page = await openWindow(t, near);
  await show(page, "Inbox");
  const send = async (text) => {
    const sent = await far.run(["send", "--text", near.target, "--json"], { input: text });
    assert.equal(sent.status, EXIT.all, sent.said());
  };
  await send(HOSTILE);
  await page.wait(showing("hostile \\u{202e}line …"));
  await page.wait(showing("Unread"));
  await page.click(`//*[@data-note]//button[@aria-expanded]`);
  const shown = await page.text("//*[@data-note-text]");
  assert.ok(shown.includes("<img src=x onerror=") && shown.includes("https://example.org/\\u{1b}[2J\\u{200b}"), shown);
  const parts = await page.script(() => [document.title, document.querySelectorAll("[data-note-text] *").length, document.querySelectorAll("[data-note] a").length]);
  assert.deepEqual([parts[0] === "run", parts[1], parts[2]], [false, 0, 0], "nothing in it is markup or a link");
  await keepPicture(page, "inbox-note");
  await eventually("the note to be read", async () => !(await page.words()).includes("Unread"));
  await page.click("//button[@aria-label = 'Copy the note from far']");
  await page.wait("//button[@aria-label = 'Copied the note from far']");
  const focused = await page.script(() => document.activeElement?.getAttribute("aria-label"));
  assert.equal(focused, "Copied the note from far", "the focus stays");
  await eventually("the clipboard to have it", () => clipboardText() === HOSTILE);

  const long = `${"n".repeat(LEN_MAX - 1)}\n`;
  await send(long);
  await page.wait("//*[@data-note][2]");
  await page.click("(//*[@data-note]//button[@aria-label = 'Copy the note from far' or @aria-label = 'Copied the note from far'])[1]");
  await eventually("the clipboard to have the long one", () => clipboardText() === long).catch((error) => {
    const has = clipboardText();
    throw new Error(`${error.message}; it has ${has.length} characters: ${has.slice(0, 40)}`);
  });
  await eventually("both to be read", async () => (await asked(near, ["notes"])).every(({ is_read: read }) => read));

  await page.click("(//button[@aria-label = 'Delete the note from far'])[1]");
  assert.equal((await asked(near, ["notes"])).length, 2, "it can be undone");
  await page.click("//*[@role = 'status']//button[@aria-label = 'Close']");
  await eventually("one note", async () => (await asked(near, ["notes"])).length === 1);
  // Another program deletes the other one.
  await asked(near, ["notes", "clear"]);
  await eventually("no note", async () => !(await page.words()).includes("hostile"));
});

driven("a note fits into a window of 360 pixels", async (t) => {
  const { near, far } = await friends(t);
  const page = await openWindow(t, near);
  await placeWindow(page, 360, 640);
  await show(page, "Inbox");
  await far.run(["send", "--text", near.target], { input: `https://example.org/${"long".repeat(100)}\n${"wide".repeat(200)}` });
  await page.click(`//*[@data-note]//button[@aria-expanded]`);
  await page.wait("//*[@data-note-text]");
  const wide = await page.script(() => document.querySelector("main").scrollWidth - document.querySelector("main").clientWidth);
  assert.equal(wide, 0, "nothing is beside the window");
  await keepPicture(page, "inbox-note-360");
});
