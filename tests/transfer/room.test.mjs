// Free space at the destination: checked before the first byte, and waited for if it runs out
// during the transfer.
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, rmSync, statfsSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { capture, run } from "../setup/process.mjs";
import { EXIT, ends, listing, oddTree, receiver, same, sender, strangers, untouched } from "./harness.mjs";
import { filled, mounting } from "./mounts.mjs";

const MIB = 1 << 20;
/** So that there is time to act during the transfer. */
const SLOWLY = ["--limit", "8M", "--compress", "off"];

/** A folder with this many files of this many bytes. */
function files(path, count, bytes) {
  mkdirSync(path);
  for (let number = 0; number < count; number += 1) {
    const file = join(path, `${number}`);
    writeFileSync(file, Buffer.alloc(bytes, number));
    utimesSync(file, 1_600_000_000, 1_600_000_000);
  }
  return path;
}

/** A tmpfs of this many MiB as the inbox, and a function that resizes it. */
function smallDisk(t, mount, mib) {
  const all = strangers(t);
  if (!mount(all.inbox, "-t", "tmpfs", "-o", `size=${mib}m`, "tmpfs")) return t.skip("mounting takes root");
  return { ...all, resize: (mib) => run("mount", ["-o", `remount,size=${mib}m`, all.inbox]) };
}

const free = (folder) => Number(statfsSync(folder, { bigint: true }).bavail * statfsSync(folder, { bigint: true }).bsize);
const isPaused = ({ stage }) => stage === "paused";
const lastOf = (end) => end.events.at(-1);

/** Another program fills the disk while the transfer runs. Returns a function that undoes that. */
async function filledUnderWay(inbox, sending) {
  await sending.event(({ stage, bytes_done }) => stage === "running" && bytes_done > 2 * MIB);
  const { path } = filled(inbox, MIB);
  return () => rmSync(path);
}

/** It has arrived completely, and neither end takes the pause for a lost connection. */
async function arrivesWhole({ inbox, tree, sending, receiving }) {
  await ends(sending, receiving);
  same(tree, join(inbox, "tree"));
  assert.deepEqual(readdirSync(inbox), ["tree"]);
  for (const end of [sending, receiving]) {
    const { reconnected, unchanged } = end.events.find(({ event }) => event === "finished");
    assert.deepEqual([reconnected, unchanged], [0, 0], end.said());
  }
}

mounting("an offer that plainly does not fit is refused before the first byte, with the figures at both ends", async (t, { mount }) => {
  const disk = smallDisk(t, mount, 8);
  if (!disk) return;
  const { inbox, source, near, far } = disk;
  const tree = files(join(source, "tree"), 1, 40 * MIB);
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, tree, receiving.target);
  await ends(sending, receiving, EXIT.declined);
  const offer = await receiving.event("offer");
  const free = offer.free_space;
  assert.ok(free.free_bytes > 7 * MIB && free.free_bytes <= 8 * MIB, receiving.said());
  assert.ok(free.free_entries > 1 && free.name_max === 255 && free.writable, receiving.said());
  const { error, message: said } = lastOf(sending);
  const errors = [{ ...error, message: said }, lastOf(receiving)];
  for (const { code, message, needed, free } of errors) {
    assert.deepEqual([code, needed], ["declined", 40 * MIB]);
    assert.ok(free > 7 * MIB && free <= 8 * MIB, `${free}`);
    assert.match(message, /42 MB needed, 8\.\d MB free\./);
  }
  untouched(inbox);
});

mounting("a transfer that turns out too large pauses before the disk is full, and resumes with free space", async (t, { mount }) => {
  const disk = smallDisk(t, mount, 28);
  if (!disk) return;
  const { inbox, source, near, far, resize } = disk;
  const tree = files(join(source, "tree"), 60, MIB);
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, tree, receiving.target, { args: SLOWLY });
  for (const end of [sending, receiving]) {
    const { interruption } = await end.event(isPaused);
    assert.equal(interruption.why, "full");
    assert.ok(interruption.needed > interruption.free && interruption.needed - interruption.free < 60 * MIB, JSON.stringify(interruption));
  }
  assert.ok(free(inbox) > 4 * MIB, `${free(inbox)} bytes are free`);
  resize(100);
  await arrivesWhole({ inbox, tree, sending, receiving });
});

mounting("a disk that fills up pauses both ends, which report how much is missing, and free space resumes them", async (t, { mount }) => {
  const disk = smallDisk(t, mount, 100);
  if (!disk) return;
  const { inbox, source, near, far } = disk;
  const tree = join(source, "tree");
  oddTree(tree, "--bulk-mib", "40");
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, tree, receiving.target, { args: SLOWLY });
  const makeRoom = await filledUnderWay(inbox, sending);
  for (const end of [sending, receiving]) {
    const { interruption } = await end.event(isPaused);
    assert.equal(interruption.why, "full");
    assert.ok(interruption.needed - interruption.free > MIB && interruption.needed - interruption.free < 60 * MIB, JSON.stringify(interruption));
    assert.ok(interruption.gives_up_seconds > 3600, JSON.stringify(interruption));
  }
  assert.ok(readdirSync(inbox).every((name) => name === "filler" || name.startsWith(".ringway-")), `${readdirSync(inbox)}`);
  makeRoom();
  await arrivesWhole({ inbox, tree, sending, receiving });
});

mounting("without retries a full disk ends the transfer with the figures, and the next attempt resumes", async (t, { mount }) => {
  const disk = smallDisk(t, mount, 100);
  if (!disk) return;
  const { inbox, source, near, far } = disk;
  const tree = files(join(source, "tree"), 40, MIB);
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, tree, receiving.target, { args: [...SLOWLY, "--retry", "no"] });
  const makeRoom = await filledUnderWay(inbox, sending);
  await ends(sending, receiving, EXIT.failed);
  for (const { code, shortage } of [lastOf(sending).error, lastOf(receiving).error]) {
    assert.equal(code, "destination_full");
    assert.ok(shortage.needed > shortage.free, JSON.stringify(shortage));
  }
  makeRoom();
  const again = await receiver(t, far, inbox);
  const sent = sender(t, near, tree, again.target);
  await ends(sent, again);
  same(tree, join(inbox, "tree"));
  assert.deepEqual(readdirSync(inbox), ["tree"]);
  assert.ok(sent.events.find(({ event }) => event === "finished").unchanged > 0, sent.said());
});

mounting("a sender whose receiver ends while its disk is full says that it was lost, and not that the disk is full", async (t, { mount }) => {
  const disk = smallDisk(t, mount, 100);
  if (!disk) return;
  const { inbox, source, near, far } = disk;
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, files(join(source, "tree"), 40, MIB), receiving.target, { args: [...SLOWLY, "--retry", "6s"] });
  await filledUnderWay(inbox, sending);
  await sending.event(isPaused);
  receiving.kill("SIGINT");
  await receiving.exit();
  assert.equal(await sending.exit(), EXIT.failed, sending.said());
  assert.equal(lastOf(sending).error.code, "unreachable", sending.said());
});

mounting("a sender that is paused by a full disk stops at once", async (t, { mount }) => {
  const disk = smallDisk(t, mount, 100);
  if (!disk) return;
  const { inbox, source, near, far } = disk;
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, files(join(source, "tree"), 40, MIB), receiving.target, { args: SLOWLY });
  await filledUnderWay(inbox, sending);
  await sending.event(isPaused);
  sending.kill("SIGINT");
  assert.equal(await sending.exit(), EXIT.failed, sending.said());
  assert.equal(sending.signal, null, "it ended by itself, not by the signal");
});

mounting("running out of inodes pauses it, too, with their number", async (t, { ext4 }) => {
  const { base, inbox, source, near, far } = strangers(t);
  if (!ext4(inbox, join(base, "image"), { mib: 64, features: ["-N", "2048"] })) return t.skip("mounting takes root");
  rmSync(join(inbox, "lost+found"), { recursive: true });
  const others = files(join(inbox, "others"), 1_200, 0);
  const tree = files(join(source, "tree"), 1_500, 10);
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, tree, receiving.target);
  assert.ok((await receiving.event("offer")).free_space.free_entries < 1_000, receiving.said());
  for (const end of [sending, receiving]) {
    const { interruption } = await end.event(({ stage, interruption }) => stage === "paused" && interruption.entries > 0);
    assert.deepEqual([interruption.why, Math.max(0, interruption.needed - interruption.free)], ["full", 0]);
    assert.ok(interruption.entries < 1_500, JSON.stringify(interruption));
  }
  rmSync(others, { recursive: true });
  await arrivesWhole({ inbox, tree, sending, receiving });
});

mounting("a disk that has become read-only is shown in the offer, and named as the reason", async (t, { mount }) => {
  const disk = smallDisk(t, mount, 8);
  if (!disk) return;
  const { inbox, source, near, far } = disk;
  const receiving = await receiver(t, far, inbox);
  run("mount", ["-o", "remount,ro", inbox]);
  const sending = sender(t, near, files(join(source, "tree"), 1, 10), receiving.target);
  assert.equal(await sending.exit(), EXIT.declined, sending.said());
  assert.match(lastOf(sending).message, /cannot write to the folder that receives this/);
  assert.equal((await receiving.event("offer")).free_space.writable, false);
  assert.equal(await receiving.exit(), EXIT.failed, receiving.said());
  untouched(inbox);
});

mounting("a command that is told to continue resumes although the figures say that it does not fit", async (t, { mount }) => {
  const disk = smallDisk(t, mount, 24);
  if (!disk) return;
  const { inbox, source, near, far, resize } = disk;
  const tree = files(join(source, "tree"), 60, MIB);
  // Because a part of it exists here, it is not refused from the beginning.
  mkdirSync(join(inbox, "tree"));
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, tree, receiving.target, { args: SLOWLY });
  for (const end of [sending, receiving]) await end.event(isPaused);
  // Less than the rest needs, and less than counts as a sign of free space: nothing resumes by
  // itself.
  resize(34);
  await new Promise((resolve) => setTimeout(resolve, 6_000));
  const done = lastOf(receiving).bytes_done;
  assert.ok(isPaused(lastOf(receiving)), receiving.said());
  for (const end of [receiving, sending]) end.kill("SIGCONT");
  await receiving.event(({ stage, bytes_done }) => stage === "running" && bytes_done > done + 4 * MIB);
  resize(100);
  receiving.kill("SIGCONT");
  await arrivesWhole({ inbox, tree, sending, receiving });
});

mounting("copy reports that a filesystem has no inode left for an attribute", async (t, { mount }) => {
  const { inbox, source, near } = strangers(t);
  const file = join(source, "file");
  writeFileSync(file, "content");
  if (!mount(inbox, "-t", "tmpfs", "-o", "size=64m,nr_inodes=6", "tmpfs")) return t.skip("mounting takes root");
  run("setfattr", ["-n", "user.ringway", "-v", "value", file]);
  // One is left, for the file itself. Its attribute needs another one (tmpfs, from Linux 6.6 on).
  for (let taken = 0; taken < 4; taken += 1) writeFileSync(join(inbox, String(taken)), "");
  const done = await near.run(["copy", file, inbox, "--json"]);
  const arrived = listing(inbox).includes("file");
  if (arrived && capture("getfattr", ["-n", "user.ringway", join(inbox, "file")]).status === 0) return t.skip("attributes take no inodes here");
  assert.equal(done.status, EXIT.failed, done.said());
  assert.equal(done.events.at(-1).error.code, "destination_full", done.said());
  assert.ok(!arrived, "nothing is there that lacks an attribute");
});
