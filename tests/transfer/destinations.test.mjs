// Destinations that go while something arrives in them: both ends say so, nobody hangs, and there is no receipt for what is not there.
import assert from "node:assert/strict";
import { mkdirSync, renameSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { capture, run } from "../setup/process.mjs";
import { EXIT, ends, receiver, same, sender, strangers } from "./harness.mjs";
import { mounting } from "./mounts.mjs";

const MIDWAY_BYTES = 4_000_000;
const SLOWLY = ["--limit", "4M", "--compress", "off", "--retry", "no"];

/** A transfer that is half way, into a folder of its own, which `prepare` may make something else of. */
async function halfWay(t, prepare = () => true) {
  const { base, inbox, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  mkdirSync(tree);
  for (let number = 0; number < 40; number += 1) {
    writeFileSync(join(tree, `${number}`), Buffer.alloc(number % 2 ? 5_000 : 1_000_000, `${number}`));
    // What is as young as the attempt is not taken for whole.
    utimesSync(join(tree, `${number}`), 1_600_000_000, 1_600_000_000);
  }
  if (!prepare({ base, inbox })) return undefined;
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, tree, receiving.target, { args: SLOWLY });
  await sending.event(({ stage, bytes_done: bytes }) => stage === "running" && bytes > MIDWAY_BYTES);
  return { base, inbox, tree, near, far, sending, receiving };
}

const lastError = (end) => end.events.findLast(({ event }) => event === "finished")?.error;

/** Both failed, and the receiver says why. */
async function bothSay({ sending, receiving }, code) {
  await ends(sending, receiving, EXIT.failed);
  assert.equal(lastError(receiving)?.code, code, receiving.said());
  assert.equal(lastError(sending)?.code, "failed_there", sending.said());
}

test("a destination that is removed under way", async (t) => {
  const transfer = await halfWay(t);
  // What is being made there meanwhile may keep it a moment.
  while (capture("rm", ["-rf", transfer.inbox]).status !== 0);
  await bothSay(transfer, "destination_gone");
});

test("a destination that is renamed under way: no receipt for a path where nothing is, and what has come goes on where it lies", async (t) => {
  const transfer = await halfWay(t);
  const { inbox, base, tree, near, far } = transfer;
  const moved = join(base, "moved");
  renameSync(inbox, moved);
  await bothSay(transfer, "destination_gone");
  mkdirSync(inbox);
  const again = await receiver(t, far, moved, { code: null });
  const sent = sender(t, near, tree, again.target, { code: null });
  await ends(sent, again);
  same(tree, join(moved, "tree"));
});

mounting("a destination that is unmounted under way, for who looks for it by its name", async (t, { ext4 }) => {
  const transfer = await halfWay(t, ({ base, inbox }) => ext4(inbox, join(base, "image")));
  if (!transfer) return t.skip("mounting takes root");
  run("umount", ["-l", transfer.inbox]);
  await bothSay(transfer, "destination_gone");
});

mounting("a destination that becomes read-only under way: both ends fail with the reason, and once it can be written to the same send brings the rest", async (t, { ext4 }) => {
  const transfer = await halfWay(t, ({ base, inbox }) => ext4(inbox, join(base, "image")));
  if (!transfer) return t.skip("mounting takes root");
  const { base, inbox, tree, near, far, sending, receiving } = transfer;
  // As after an error of the disk, which asks nobody whether a file is open.
  run("mount", ["-o", "remount,abort", inbox]);
  for (const end of [sending, receiving]) assert.equal(await end.exit(), EXIT.failed, end.said());
  assert.match(receiving.stdout, /Read-only file system/);
  assert.ok(receiving.stderr.includes(inbox), receiving.said());
  run("umount", [inbox]);
  run("mount", ["-o", "loop", join(base, "image"), inbox]);
  const again = await receiver(t, far, inbox, { code: null });
  await ends(sender(t, near, tree, again.target, { code: null }), again);
  same(tree, join(inbox, "tree"));
});
