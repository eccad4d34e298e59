// A receiver that is killed while folders get their names: the same send completes them.
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { ends, receiver, sameInside, sender, strangers } from "./harness.mjs";

/** Enough folders that a receiver is killed between the names of two of them. */
const FOLDERS = 40;
const NAMED_WITHIN_MS = 60_000;
/** With this option, an entry that is not the sender's own gets a number. */
const UPDATE = ["--on-conflict", "update"];

const folderNames = [...Array(FOLDERS).keys()].map((number) => `folder ${number}`).sort();

/** The entries that everybody sees. */
const named = (inbox) => readdirSync(inbox).filter((name) => !name.startsWith(".ringway-")).sort();

function makeFolders(source) {
  const tree = join(source, "tree");
  for (const name of folderNames) {
    mkdirSync(join(tree, name), { recursive: true });
    writeFileSync(join(tree, name, "file"), name);
  }
  return tree;
}

/** Sends the tree until this many folders have their names, and then kills the receiver. */
async function killedAfter(t, { inbox, near, far }, tree, count) {
  const receiving = await receiver(t, far, inbox, { args: UPDATE });
  const sending = sender(t, near, `${tree}/.`, receiving.target, { args: ["--retry", "no"] });
  const until = Date.now() + NAMED_WITHIN_MS;
  while (named(inbox).length < count) {
    assert.ok(Date.now() < until, `only ${named(inbox).length} folders have their names`);
    await setImmediate();
  }
  receiving.kill("SIGKILL");
  await Promise.all([receiving.exit(), sending.exit()]);
  return named(inbox).length;
}

/** The same send brings the rest, and nothing else. */
async function finished(t, { inbox, near, far }, tree) {
  const receiving = await receiver(t, far, inbox, { args: UPDATE });
  const sending = sender(t, near, `${tree}/.`, receiving.target);
  await ends(sending, receiving);
  assert.deepEqual(readdirSync(inbox).sort(), folderNames);
  sameInside(tree, inbox);
}

for (const count of [1, FOLDERS / 2, FOLDERS]) {
  test(`a receiver that is killed once ${count} of ${FOLDERS} folders have their names finishes the same send`, async (t) => {
    const both = strangers(t);
    const tree = makeFolders(both.source);
    const left = await killedAfter(t, both, tree, count);
    t.diagnostic(`${left} folders had their names`);
    await finished(t, both, tree);
  });
}

test("a receiver that is killed as soon as the sender has its receipt updates the folders next time", async (t) => {
  const both = strangers(t);
  const tree = makeFolders(both.source);
  const receiving = await receiver(t, both.far, both.inbox, { args: UPDATE });
  const sending = sender(t, both.near, `${tree}/.`, receiving.target);
  await sending.event(({ event }) => event === "finished");
  receiving.kill("SIGKILL");
  await Promise.all([receiving.exit(), sending.exit()]);
  await finished(t, both, tree);
});
