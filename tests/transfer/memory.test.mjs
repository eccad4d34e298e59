// Memory stays bounded at both ends, for many small files and for a large one: read from /proc
// while the transfer runs.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ends, oddTree, receiver, same, sender, strangers } from "./harness.mjs";
import { watchMemory } from "./memory.mjs";

/**
 * The memory limit of an end, the same for every tree, since none is held completely. The program's
 * own text and libraries do not count.
 */
const HELD_MIB_MAX = 64;
const MANY = 20_000;
/**
 * As many lanes as possible, all of them compressing, over a line that is slow for their data, even
 * where other programs keep the processors busy.
 */
const ALL_AT_WORK = ["--lanes", "16", "--compress", "auto", "--limit", "10M"];

async function crossing(t, prepare, args = []) {
  const { inbox, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  prepare(tree);
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, tree, receiving.target, { args });
  const watched = [watchMemory(sending), watchMemory(receiving)];
  await ends(sending, receiving);
  const [there, here] = await Promise.all(watched);
  t.diagnostic(`memory held: sender ${there.toFixed(1)} MiB, receiver ${here.toFixed(1)} MiB`);
  assert.ok(there > 1 && here > 1, "both were seen");
  assert.ok(Math.max(there, here) <= HELD_MIB_MAX, `sender ${there} MiB, receiver ${here} MiB`);
  same(tree, join(inbox, "tree"));
  return sending.events.find(({ event }) => event === "finished");
}

/** Text that compresses to a fraction and does not repeat. */
function text(bytes) {
  let lines = "";
  for (let line = 0; lines.length < bytes; line += 1) lines += `line ${line} of ${(line * 7919) % 100_003}, as logs have many\n`;
  return lines.slice(0, bytes);
}

test("memory stays bounded for a large tree of large files", (t) =>
  crossing(t, (tree) => oddTree(tree, "--bulk-mib", "300", "--small", "10")));

test(`memory stays bounded for ${MANY} files in one folder`, (t) =>
  crossing(t, (tree) => {
    mkdirSync(tree);
    for (let number = 0; number < MANY; number += 1) writeFileSync(join(tree, `a file with a longer name ${number}`), `${number}`);
  }));

for (const [what, prepare] of [
  [
    "large files",
    (tree) => {
      mkdirSync(tree);
      const block = text(1 << 20);
      for (let file = 0; file < 4; file += 1) writeFileSync(join(tree, `${file}`), `${file}${block.repeat(80)}`);
    },
  ],
  [
    "small files",
    (tree) => {
      mkdirSync(tree);
      const block = text(1 << 20);
      for (let number = 0; number < MANY / 2; number += 1) writeFileSync(join(tree, `${number}`), block.slice(number, number + 12_000));
    },
  ],
]) {
  test(`memory stays bounded with 16 lanes that compress ${what}`, async (t) => {
    const { lanes, packed } = await crossing(t, prepare, ALL_AT_WORK);
    assert.equal(lanes, 16);
    assert.ok(packed.contents > 50_000_000, JSON.stringify(packed));
  });
}
