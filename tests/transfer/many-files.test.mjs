// Hundreds of thousands of files in one folder: both ends stay small, and all files arrive, or are
// listed. In memory, because this is not about a disk.
import assert from "node:assert/strict";
import { closeSync, lstatSync, mkdirSync, openSync, readFileSync, readdirSync, statfsSync, utimesSync, writeSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { MEMORY } from "../setup/memory.mjs";
import { CODE, EXIT, asked, ends, receiver, sender, strangers } from "./harness.mjs";
import { watchMemory } from "./memory.mjs";

const FILES = 400_000;
/** One of this many has contents; the others are empty. */
const EMPTY = 100;
/** The memory that they and their copies take, and half as much again; and without copies. */
const ROOM_BYTES = 2 * 2 ** 30;
const ROOM_ONCE_BYTES = ROOM_BYTES / 2;
/** Either end holds 10 MiB at most. One that held the names would hold 28 MiB more. */
const HELD_MIB_MAX = 24;
const AN_EARLIER_TIME = 1_700_000_000;

function room(files = 3 * FILES, bytes = ROOM_BYTES) {
  try {
    const { bavail, bsize, ffree } = statfsSync(MEMORY);
    return ffree > files && bavail * bsize > bytes;
  } catch {
    return false;
  }
}

const nameOf = (number) => `a file with a name so long that an end that holds all of them shows ${number}`;

test(`${FILES} files in one folder arrive, and neither end holds them`, { skip: !room() && `${MEMORY} has no room for them` }, async (t) => {
  const { inbox, source, near, far } = strangers(t, MEMORY);
  const tree = join(source, "tree");
  mkdirSync(tree);
  for (let number = 0; number < FILES; number += 1) {
    const path = join(tree, nameOf(number));
    const file = openSync(path, "w");
    if (number % EMPTY === 0) writeSync(file, `${number}`);
    closeSync(file);
    if (number % EMPTY === 0) utimesSync(path, AN_EARLIER_TIME, AN_EARLIER_TIME);
  }
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, tree, receiving.target);
  const watched = [watchMemory(sending), watchMemory(receiving)];
  await ends(sending, receiving);
  const [there, here] = await Promise.all(watched);
  const { files, seconds } = sending.events.find(({ event }) => event === "finished");
  t.diagnostic(`${seconds.toFixed(1)} s; memory held: sender ${there.toFixed(1)} MiB, receiver ${here.toFixed(1)} MiB`);
  assert.equal(files, FILES);
  assert.ok(there > 1 && here > 1, "both were seen");
  assert.ok(Math.max(there, here) <= HELD_MIB_MAX, `sender ${there} MiB, receiver ${here} MiB`);
  assert.equal(readdirSync(join(inbox, "tree")).length, FILES);
  for (let number = 0; number < FILES; number += EMPTY) {
    const path = join(inbox, "tree", nameOf(number));
    assert.equal(readFileSync(path, "utf8"), `${number}`);
    assert.equal(lstatSync(path).mtimeMs, AN_EARLIER_TIME * 1_000);
  }
});

test(`${FILES} files in one shared folder are listed in order, and neither end holds them`, { skip: !room(1.5 * FILES, ROOM_ONCE_BYTES) && `${MEMORY} has no room for them` }, async (t) => {
  const { base, inbox, source, near, far } = strangers(t, MEMORY);
  for (let number = 0; number < FILES; number += 1) closeSync(openSync(join(source, nameOf(number)), "w"));
  const serving = await receiver(t, far, inbox, { once: false });
  const paired = await near.run(["pair", serving.target, "--code-file", near.codeFile(CODE)]);
  assert.equal(paired.status, EXIT.all, paired.said());
  await asked(far, ["share", "add", source, "--name", "many", "--with", "near"]);
  const list = join(base, "list");
  const begun = performance.now();
  const listing = near.start(["ls", `${serving.target}:many`], { wrap: ["sh", "-c", `exec "$0" "$@" > '${list}'`] });
  const there = watchMemory({ pid: serving.pid, ended: listing.ended });
  const here = watchMemory(listing);
  assert.equal(await listing.exit(), EXIT.all, listing.said());
  const [serves, asks] = [await there, await here];
  t.diagnostic(`${((performance.now() - begun) / 1_000).toFixed(1)} s; memory held: serving ${serves.toFixed(1)} MiB, asking ${asks.toFixed(1)} MiB`);
  const names = readFileSync(list, "utf8").split("\n").slice(0, -1);
  assert.equal(names.length, FILES);
  assert.ok(names.every((name, at) => at === 0 || names[at - 1] < name), "each once, in order");
  assert.ok(serves > 1 && asks > 1, "both were seen");
  assert.ok(Math.max(serves, asks) <= HELD_MIB_MAX, `serving ${serves} MiB, asking ${asks} MiB`);
});
