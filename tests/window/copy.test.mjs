// The window copies inside this machine: a real drag onto "This device", the native picker, and an
// identical tree.
import assert from "node:assert/strict";
import { appendFileSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, readdirSync, renameSync, rmSync, statSync, statfsSync, utimesSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { oddTree, same } from "../transfer/harness.mjs";
import { differences } from "../setup/devices.mjs";
import { configOf, endService, folder, keepPicture, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { dragOnto, middleOf, placeWindow } from "./lib/drag.mjs";
import { focus, pickFolder, press, tabTo } from "./lib/keyboard.mjs";
import { AXE, SIZES, THEMES, checked, fits } from "./lib/looks.mjs";
import { serviceProcess } from "./lib/processes.mjs";
import { KEYS, button, eventually, line, showing, sleep } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
/** The tests run only if the window can be driven. */
const driven = inside ? test : () => {};

/**
 * Large enough that a debug build on two busy cores is still at work when it is checked, and small
 * enough not to delay the test.
 */
const LARGE = 768 * 1024 * 1024;
/** Eight of these take longer than pressing a button, unless the disk is fast or shares blocks. */
const PIECE = LARGE / 12;
/** Then this many small files take longer, and more of them even longer. */
const SMALL = [0, 20_000, 40_000];
/** Space that must stay free on a disk, however little a test needs. */
const SPARE = 512 * 1024 * 1024;
/** A disk to which other programs write too may need this long to accept and to free so much. */
const DISK_MS_MAX = 180_000;
const CARD = "//main//button[@data-card='here']";
/** The form's own button. One of the list above it begins with almost the same words. */
const CHOOSE_FOLDER = "Choose folder…";

/**
 * A window, a tree to copy, and a folder to copy into. Other devices on this network have no card.
 */
async function meet(tree = "odd set") {
  const base = folder();
  const near = await windowDevice(base, "near");
  appendFileSync(configOf(near), "announce = false\n");
  const source = join(base, tree);
  const sets = join(base, "sets");
  mkdirSync(sets);
  return { base, near, source, sets };
}

/** A file whose bytes are neither holes nor all the same. */
function largeFile(path, size) {
  const part = Buffer.alloc(8 * 1024 * 1024, "ringway");
  const file = openSync(path, "w");
  for (let written = 0; written < size; written += part.length) {
    part.writeUInt32LE(written / part.length);
    writeSync(file, part);
  }
  closeSync(file);
}

/**
 * Whether the disk of `base` has space for `bytes` and for what other programs write meanwhile. If
 * not, the test is skipped.
 */
function hasRoom(t, base, bytes) {
  const { bavail, bsize } = statfsSync(base);
  const has = bavail * bsize >= bytes + SPARE;
  if (!has) t.skip(`fewer than ${(bytes + SPARE) / 1024 ** 2} MiB are free in ${tmpdir()}`);
  return has;
}

/**
 * How many files are in `copy`. Each must be as large as its original, because there are no
 * incomplete files.
 */
function wholeFiles(source, copy) {
  const entries = existsSync(copy) ? readdirSync(copy, { recursive: true, withFileTypes: true }) : [];
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  for (const path of paths) assert.equal(statSync(path).size, statSync(join(source, relative(copy, path))).size, path);
  return paths.length;
}

/**
 * Frees space before the next copy, because a disk that is nearly full may not hold all of them.
 */
async function removed(page, base) {
  await page.close();
  await endService(page.env);
  rmSync(base, { recursive: true, force: true });
}

/** Drops paths on the card "This device". */
async function dropHere(t, page, paths, before, enlarged) {
  const place = await placeWindow(page, 1000, 860, enlarged);
  await dragOnto(t, paths, await middleOf(page, place, "[data-card=here]"), async () => {
    await page.wait(showing("Drop to copy"));
    await before?.();
  });
  return place.id;
}

/** Chooses `destination` in the native picker. */
async function take(page, id, destination) {
  await page.click(button(CHOOSE_FOLDER));
  await pickFolder(id, destination);
  await page.wait("//*[@data-folder]");
}

/** Drops `source` on the card, and chooses `destination`. */
async function aim(t, page, source, destination) {
  const id = await dropHere(t, page, [source]);
  await take(page, id, destination);
  return id;
}

driven("where the desktop enlarges the page, the card under the pointer is still the one that is meant", async (t) => {
  const { near, source } = await meet();
  mkdirSync(source);
  const page = await openWindow(t, near, { GDK_DPI_SCALE: "1.25" });
  await dropHere(t, page, [source], () => keepPicture(page, "copy-over-card-enlarged"), 1.25);
  await page.wait(showing("No folder chosen"));
});

driven("a dropped folder is copied into the folder that the native picker gave, and the folder is offered again after a restart", async (t) => {
  const { near, base, source, sets } = await meet("Ünïcode set");
  oddTree(source);
  const page = await openWindow(t, near);
  const id = await dropHere(t, page, [source], () => keepPicture(page, "copy-over-card"));
  await page.wait(showing("No folder chosen"));
  await keepPicture(page, "copy-no-folder");
  await page.click(button(CHOOSE_FOLDER));
  await pickFolder(id, sets);
  await page.wait(showing(`Copy location: ${join(sets, "Ünïcode set")}`));
  await page.wait(showing("Nothing to replace"));
  await keepPicture(page, "copy-form");
  await page.click(button("Copy"));
  await page.click(line("Ünïcode set", "Copied"));
  await page.wait(showing("Copied: "));
  await keepPicture(page, "copy-done");
  same(source, join(sets, basename(source)));
  assert.doesNotMatch(await page.words(), /Encrypted|Sent to .*:/);
  await show(page, "Activity");
  await page.wait(showing(`to ${sets}`));
  await keepPicture(page, "copy-activity");
  await page.close();
  await near.run(["stop"]);

  // Once more, with another time: newer files there stay, because that was chosen.
  const kept = join(sets, basename(source), "kept");
  writeFileSync(join(source, "kept"), "from here");
  writeFileSync(kept, "newer there");
  utimesSync(join(source, "kept"), 1_700_000_000, 1_700_000_000);
  const again = await openWindow(t, near);
  await dropHere(t, again, [source]);
  await again.wait(`//*[@data-folder][. = "${sets}"]`);
  await again.wait(showing("Ünïcode set already exists"));
  await keepPicture(again, "copy-there-already");
  await again.script(() => {
    const select = document.querySelector("[name=existing]");
    select.value = "update";
    select.dispatchEvent(new Event("change", { bubbles: true }));
  });
  await again.click(button("Copy"));
  await again.click(line("Ünïcode set", "Copied"));
  await again.wait(showing("left unchanged."));
  await keepPicture(again, "copy-updated");
  const found = differences(source, join(sets, basename(source)));
  assert.deepEqual(found.map((line) => line.replace(/^\S+ /, "")), ["kept"], `${base}: ${found.join("\n")}`);
});

driven("the keyboard alone chooses what and where, and copies", async (t) => {
  const { base, near, source, sets } = await meet("plain");
  oddTree(source);
  // Names that can be typed with any keyboard layout.
  const plain = join(base, "tree");
  renameSync(source, plain);
  const page = await openWindow(t, near);
  const { id } = await placeWindow(page, 1000, 860);
  focus(id);
  await tabTo(page, /^This device/);
  press("Return");
  await pickFolder(id, plain);
  await page.wait(button(CHOOSE_FOLDER));
  focus(id);
  await tabTo(page, /^Choose folder…$/);
  press("Return");
  await pickFolder(id, sets);
  await page.wait("//*[@data-folder]");
  focus(id);
  await tabTo(page, /^Copy$/);
  press("Return");
  await page.wait(line("tree", "Copied"));
  same(plain, join(sets, "tree"));
});

driven("a large file shows its progress and graph, and is read back when that is asked", async (t) => {
  const { base, near, source, sets } = await meet("large");
  if (!hasRoom(t, base, 2 * LARGE)) return;
  mkdirSync(source);
  largeFile(join(source, "one.bin"), LARGE);
  const page = await openWindow(t, near);
  await aim(t, page, source, sets);
  await page.click("//input[@name='verify']");
  await page.clickAndKeep(button("Copy"));
  await keepPicture(page, "copy-running");
  await page.wait(line("large", "Copied"), DISK_MS_MAX);
  const kept = await page.kept();
  assert.ok(kept.includes("role=progressbar"), `it showed its progress: ${kept}`);
  assert.ok(kept.some((text) => text.includes("Verifying…")), `it said that it verifies: ${kept}`);
  await page.click(line("large", "Copied"));
  await page.wait(showing("Verified: read back from the disk, identical."));
  // The time without what the reading back took. A graph says it itself; a fast copy has none.
  const said = await page.words();
  const [, rate, unit] = /([\d.]+)\s([MG])B\/s on average/.exec(said) ?? /Average ([\d.]+)\s([MG])B\/s/.exec(said) ?? [];
  const seconds = LARGE / (rate * (unit === "G" ? 1e9 : 1e6));
  assert.ok(seconds > 0, "it has an average");
  const drawn = () =>
    page.script(() => {
      const canvas = document.querySelector("[data-ended] .graph canvas");
      if (!canvas) return 0;
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return new Set(new Uint32Array(data.buffer)).size;
    });
  // One of less than two seconds has none. The last point lies up to a tenth of a second before
  // the end. The figures of a graph come after the words.
  if (seconds > 2.2) await eventually("a graph of more than 10 colours", async () => (await drawn()) > 10);
  else t.diagnostic(`copied in ${seconds} s`);
  await keepPicture(page, "copy-verified");
  same(source, join(sets, "large"));
  await removed(page, base);
});

function largeFiles(source) {
  mkdirSync(source);
  for (let number = 0; number < 8; number += 1) largeFile(join(source, `${number}.bin`), PIECE);
}

/**
 * Begins to copy `source` with this many additional small files, and presses `next` as soon as it
 * appears.
 */
async function begun(t, { near, source, sets }, small, next) {
  const more = join(source, `${small} small`);
  mkdirSync(more);
  for (let number = 0; number < small; number += 1) writeFileSync(join(more, String(number)), "small");
  const page = await openWindow(t, near);
  const id = await dropHere(t, page, [source]);
  // After the first time it is offered again.
  if (small === 0) await take(page, id, sets);
  else await page.wait("//*[@data-folder]");
  await page.clickAndKeep(button("Copy"), next);
  return page;
}

driven("a copy under way is cancelled: what is there is whole, and nothing else is", async (t) => {
  const machine = await meet("large");
  const { base, source, sets } = machine;
  if (!hasRoom(t, base, 2 * 8 * PIECE)) return;
  largeFiles(source);
  for (const small of SMALL) {
    const page = await begun(t, machine, small, "Cancel");
    await page.click(`${line("large", "Cancelled")} | ${line("large", "Copied")}`, DISK_MS_MAX);
    await page.wait(`${showing("Cancelled.")} | ${showing("Copied: ")}`);
    await keepPicture(page, "copy-cancelled");
    const wasCancelled = Boolean(await page.find(showing("Cancelled.")));
    const copied = wholeFiles(source, join(sets, "large"));
    if (wasCancelled && copied < wholeFiles(source, source)) return removed(page, base);
    await removed(page, join(sets, "large"));
  }
  rmSync(base, { recursive: true, force: true });
  t.skip(`this machine has copied ${SMALL.at(-1)} files and more before a button can be pressed`);
});

/** Clock ticks of the threads of a copy, and the bytes written at its destination. */
function rest(near, copy) {
  const tasks = `/proc/${serviceProcess(near.env).pid}/task`;
  const threads = readdirSync(tasks).filter((id) => /^ringway-c/.test(readFileSync(join(tasks, id, "comm"), "utf8")));
  const ticks = threads.map((id) => readFileSync(join(tasks, id, "stat"), "utf8").replace(/^.*\) /s, "").split(" ").slice(11, 13));
  const entries = readdirSync(copy, { recursive: true }).sort();
  const written = entries.map((name) => [name, statSync(join(copy, name)).blocks, statSync(join(copy, name)).mtimeMs]);
  return { threads, ticks, written };
}

driven("a copy under way is paused, rests, and is finished when it is resumed", async (t) => {
  const machine = await meet("large");
  const { base, near, source, sets } = machine;
  if (!hasRoom(t, base, 2 * 8 * PIECE)) return;
  largeFiles(source);
  for (const small of SMALL) {
    const page = await begun(t, machine, small, "Pause");
    await page.wait(`${button("Resume")} | ${line("large", "Copied")}`, DISK_MS_MAX);
    if (!(await page.find(button("Resume")))) {
      await removed(page, join(sets, "large"));
      continue;
    }
    await page.wait(showing("Paused"));
    assert.ok(!(await page.find("//p[contains(@class, 'figures')]/span[contains(., 'B/s')]")), "what is paused has no speed");
    assert.ok(!(await page.find(button("Pause"))), "it is paused already");
    let resting;
    await eventually("every thread's rest", async () => {
      const before = rest(near, join(sets, "large"));
      await sleep(1_000);
      resting = rest(near, join(sets, "large"));
      return isDeepStrictEqual(before, resting);
    });
    assert.ok(resting.threads.length > 0, "there are threads that rest");
    await keepPicture(page, "copy-paused");
    assert.ok(!(await page.find(line("large", "Copied"))));
    await page.click(button("Resume"));
    await page.wait(line("large", "Copied"), DISK_MS_MAX);
    same(source, join(sets, "large"));
    return removed(page, base);
  }
  rmSync(base, { recursive: true, force: true });
  t.skip(`this machine has copied ${SMALL.at(-1)} files and more before a button can be pressed`);
});

driven("what cannot be copied is said with what to do: into itself, the same place, a folder that has gone", async (t) => {
  const { near, source, sets } = await meet("set");
  oddTree(source);
  const below = join(source, "below");
  mkdirSync(below);
  const page = await openWindow(t, near);
  const id = await aim(t, page, source, below);
  await page.click(button("Copy"));
  await page.wait(showing("cannot be copied into itself"));
  await page.wait(showing("Choose a folder outside the one that is copied."));
  assert.notEqual(await page.script(() => document.activeElement.tagName), "BODY", "the keyboard was not lost with the button");
  await keepPicture(page, "copy-into-itself");

  await page.click(button("Change"));
  await pickFolder(id, join(source, ".."));
  await page.wait(showing("set already exists"));
  await page.click(button("Copy"));
  await page.wait(showing("is the same file at the source and at the destination"));
  await keepPicture(page, "copy-onto-itself");

  await page.click(button("Change"));
  await pickFolder(id, sets);
  await page.wait(showing("Nothing to replace"));
  rmSync(sets, { recursive: true });
  await page.click(button("Copy"));
  await page.wait(showing("could not be opened: it does not exist."));
  assert.ok(!existsSync(sets), "no folder of that name was made instead");

  mkdirSync(sets);
  await page.click(button("Copy"));
  await page.wait(line("set", "Copied"));
  same(source, join(sets, "set"));
});

for (const [theme, name] of Object.entries(THEMES)) {
  driven(`the form in ${theme} is readable and fits, from 360 pixels to wide`, async (t) => {
    const { near, source, sets } = await meet("dataset-v3");
    oddTree(source);
    const page = await openWindow(t, near, { GTK_THEME: name });
    await aim(t, page, source, sets);
    await page.evaluate(AXE);
    for (const [width, height] of SIZES) {
      await placeWindow(page, width, height);
      await page.script(() => document.querySelector("form").scrollIntoView({ block: "end" }));
      await keepPicture(page, `copy-${theme}-${width}`);
      await fits(page, `the form at ${width}`);
      await checked(page, `the form in ${theme} at ${width}`);
    }
    await page.keys(KEYS.escape);
    await page.wait(button("Send"));
    await page.click(CARD);
    await page.wait("//*[@data-folder]");
    await page.click(button("Copy"));
    await page.click(line("dataset-v3", "Copied"));
    await page.wait(showing("Copied: "));
    for (const [width, height] of SIZES) {
      await placeWindow(page, width, height);
      await page.script(() => document.querySelector("[data-ended]").scrollIntoView({ block: "end" }));
      await keepPicture(page, `copied-${theme}-${width}`);
      await fits(page, `a copy at ${width}`);
      await checked(page, `a copy in ${theme} at ${width}`);
    }
  });
}
