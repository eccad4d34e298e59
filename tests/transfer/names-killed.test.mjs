// A receiver that is killed while folders get their names: the same send completes them. One that
// is terminated gives all of them first.
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { asked, ends, receiver, sameInside, sender, soon, strangers } from "./harness.mjs";

/** Enough folders that a receiver is killed between the names of two of them. */
const FOLDERS = 40;
/** With this option, an entry that is not the sender's own gets a number. */
const UPDATE = ["--on-conflict", "update"];

const folderNames = namesOf(FOLDERS);

/** The entries that everybody sees. */
const named = (inbox) => readdirSync(inbox).filter((name) => !name.startsWith(".ringway-")).sort();

function namesOf(count) {
  return [...Array(count).keys()].map((number) => `folder ${number}`).sort();
}

function makeFolders(source, count = FOLDERS) {
  const tree = join(source, "tree");
  for (const name of namesOf(count)) {
    mkdirSync(join(tree, name), { recursive: true });
    writeFileSync(join(tree, name, "file"), name);
  }
  return tree;
}

/** Sends the tree until this many folders have their names, and then kills the receiver. */
async function killedAfter(t, { inbox, near, far }, tree, count) {
  const receiving = await receiver(t, far, inbox, { args: UPDATE });
  const sending = sender(t, near, `${tree}/.`, receiving.target, { args: ["--retry", "no"] });
  await soon(`${count} names`, () => named(inbox).length >= count);
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

for (const which of ["receiver", "sender"]) {
  test(`a ${which} that is terminated while folders get their names ends with the transfer, which completes`, async (t) => {
    const both = strangers(t);
    const tree = makeFolders(both.source, 2_000);
    const receiving = await receiver(t, both.far, both.inbox);
    const sending = sender(t, both.near, `${tree}/.`, receiving.target);
    await soon("a name", () => named(both.inbox).length > 0);
    (which === "sender" ? sending : receiving).kill("SIGTERM");
    await ends(sending, receiving);
    assert.equal(named(both.inbox).length, 2_000);
    const [past] = await asked(both.near, ["inbox", "--sent", "-n1"]);
    assert.equal(past.outcome, "complete", JSON.stringify(past));
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
