// Real filesystems in bad conditions at either end: frozen, over quota, cut off in the middle,
// shown inside themselves, mostly holes.
import assert from "node:assert/strict";
import { closeSync, copyFileSync, existsSync, mkdirSync, openSync, readFileSync, readSync, readdirSync, statSync } from "node:fs";
import { symlinkSync, truncateSync, utimesSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { capture, run, which } from "../setup/process.mjs";
import { EXIT, differences, ends, eventually, isRoot, receiver, same, sender, strangers } from "./harness.mjs";
import { watchMemory } from "./memory.mjs";
import { mounting } from "./mounts.mjs";

const GB = 1_000_000_000;
/** "Numerical result out of range" (setxattr(2)). */
const ERANGE = 34;

test("a file of 300 GB that is nearly all holes arrives as such", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  const file = join(source, "sparse");
  const pieces = [0, 123 * GB + 7, 300 * GB - 4096].map((offset) => ({ offset, bytes: Buffer.from(`at ${offset}`.padEnd(4096, ".")) }));
  const written = openSync(file, "w");
  for (const { offset, bytes } of pieces) writeSync(written, bytes, 0, bytes.length, offset);
  closeSync(written);
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, file, receiving.target);
  await ends(sending, receiving);
  const there = statSync(join(inbox, "sparse"));
  assert.equal(there.size, 300 * GB);
  assert.ok(there.blocks * 512 < 4_000_000, `${there.blocks} blocks`);
  const arrived = openSync(join(inbox, "sparse"), "r");
  t.after(() => closeSync(arrived));
  for (const { offset, bytes } of pieces) {
    const read = Buffer.alloc(bytes.length);
    readSync(arrived, read, 0, read.length, offset);
    assert.deepEqual(read, bytes);
  }
});

mounting("mounted files in a source are sent, circular links are kept, and a folder that is mounted inside itself is named", async (t, { mount }) => {
  const { inbox, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  for (const name of ["mounted", "round"]) mkdirSync(join(tree, name), { recursive: true });
  symlinkSync("b", join(tree, "a"));
  symlinkSync("a", join(tree, "b"));
  symlinkSync("..", join(tree, "up"));
  writeFileSync(join(tree, "file"), "here");
  if (!mount(join(tree, "mounted"), "-t", "tmpfs", "tmpfs") || !mount(join(tree, "round"), "--bind", tree)) {
    return t.skip("mounting takes root");
  }
  writeFileSync(join(tree, "mounted/file"), "there");
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, tree, receiving.target);
  await ends(sending, receiving, EXIT.partial);
  const failed = sending.events.filter(({ event }) => event === "entry_failed").map(({ path }) => path);
  assert.deepEqual(failed, ["tree/round"]);
  assert.deepEqual(readdirSync(join(inbox, "tree")).sort(), ["a", "b", "file", "mounted", "up"]);
  assert.equal(readFileSync(join(inbox, "tree/mounted/file"), "utf8"), "there");
});

mounting("a destination that is mounted read-only is found before the first byte", async (t, { mount }) => {
  const { inbox, far } = strangers(t);
  if (!mount(inbox, "-t", "tmpfs", "-o", "ro", "tmpfs")) return t.skip("mounting takes root");
  const receiving = far.start(["recv", inbox, "--json", "--yes", "--once"]);
  t.after(() => receiving.kill());
  assert.equal(await receiving.exit(), EXIT.failed, receiving.said());
  assert.match(receiving.stdout + receiving.stderr, /inbox.*[Rr]ead-only/s);
});

mounting("a disk that stalls is waited for in little memory, and everything arrives", async (t, { ext4 }) => {
  const { base, inbox, source, near, far } = strangers(t);
  if (!which("fsfreeze") || !ext4(inbox, join(base, "image"))) return t.skip("mounting and freezing a filesystem takes root");
  const tree = join(source, "tree");
  mkdirSync(tree);
  for (let number = 0; number < 60; number += 1) writeFileSync(join(tree, `large ${number}`), Buffer.alloc(1_000_000, number));
  for (let number = 0; number < 2_000; number += 1) writeFileSync(join(tree, `${number}`), `${number}`);
  const receiving = await receiver(t, far, inbox);
  const memory = watchMemory(receiving);
  const sending = sender(t, near, tree, receiving.target, { args: ["--limit", "30M", "--lanes", "16", "--compress", "off"] });
  await sending.event(({ event, bytes_done: bytes }) => event === "progress" && bytes > 5_000_000);
  run("fsfreeze", ["--freeze", inbox]);
  // Long enough for everything under way to arrive, short enough that no end gives up.
  await sleep(4_000);
  run("fsfreeze", ["--unfreeze", inbox]);
  await ends(sending, receiving);
  const held = await memory;
  t.diagnostic(`memory held by the receiver: ${held.toFixed(1)} MiB`);
  assert.ok(held > 1 && held < 64, `${held} MiB`);
  same(tree, join(inbox, "tree"));
});

mounting("a used-up quota is a full disk: both ends fail with the reason if retries are off, and with more of it the next attempt resumes", async (t, { mount }) => {
  const { base, inbox, source, near, far } = strangers(t);
  if (!which("mkfs.btrfs")) return t.skip("quotas are tried on btrfs, whose tools are not here");
  const image = join(base, "image");
  writeFileSync(image, "");
  truncateSync(image, 512 << 20);
  run("mkfs.btrfs", ["-q", image]);
  if (!mount(inbox, "-o", "loop", image)) return t.skip("mounting takes root, and btrfs in the kernel");
  const btrfs = (...args) => run("btrfs", ["-q", ...args]);
  btrfs("quota", "enable", inbox);
  btrfs("qgroup", "limit", "8M", inbox);
  const tree = join(source, "tree");
  mkdirSync(tree);
  for (let number = 0; number < 20; number += 1) {
    writeFileSync(join(tree, `${number}`), Buffer.alloc(1_000_000, number));
    utimesSync(join(tree, `${number}`), 1_600_000_000, 1_600_000_000);
  }
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, tree, receiving.target, { args: ["--compress", "off", "--retry", "no"] });
  for (const end of [sending, receiving]) assert.ok([EXIT.failed, EXIT.declined].includes(await end.exit()), end.said());
  assert.match(sending.stdout + sending.stderr, /space|full|room/i);
  assert.ok(readdirSync(inbox).every((name) => name.startsWith(".ringway-")), `${readdirSync(inbox)}`);
  btrfs("qgroup", "limit", "64M", inbox);
  const again = await receiver(t, far, inbox);
  await ends(sender(t, near, tree, again.target), again);
  same(tree, join(inbox, "tree"));
  assert.deepEqual(readdirSync(inbox), ["tree"]);
});

mounting("after a power cut in a merge no large file has the right size and time without its contents", async (t, { mount, ext4 }) => {
  const { base, inbox, source, near, far } = strangers(t);
  const image = join(base, "image");
  // Names and times are written each second. Contents would be written half a minute later.
  if (!ext4(inbox, image, { options: "commit=1" })) return t.skip("mounting takes root");
  const tree = join(source, "tree");
  for (const path of [tree, join(inbox, "tree")]) mkdirSync(path);
  run("sync", ["-f", inbox]);
  for (let number = 0; number < 12; number += 1) {
    writeFileSync(join(tree, `${number}`), Buffer.alloc(3_000_000, 65 + number));
    utimesSync(join(tree, `${number}`), 1_600_000_000, 1_600_000_000);
  }
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, tree, receiving.target, { args: ["--limit", "6M", "--compress", "off"] });
  const merged = () => readdirSync(join(inbox, "tree")).length;
  await eventually("the fourth file", () => merged() >= 4);
  await sleep(2_000);
  // What a disk would hold after a power cut now: what the filesystem has passed to its device so
  // far.
  const cut = join(base, "cut");
  copyFileSync(image, cut);
  assert.equal(sending.status, undefined, "in the middle of it");
  const after = join(base, "after");
  mkdirSync(after);
  assert.ok(mount(after, "-o", "loop", cut), "the journal is replayed");
  // One may have its final name only soon.
  const there = existsSync(join(after, "tree")) ? readdirSync(join(after, "tree")).filter((name) => !name.startsWith(".ringway-")) : [];
  t.diagnostic(`${there.length} of ${merged()} files were there after the cut`);
  assert.ok(there.length > 0);
  for (const name of there) {
    const [was, is] = [join(tree, name), join(after, "tree", name)].map((path) => ({ path, ...statSync(path) }));
    if (is.size === was.size && is.mtimeMs === was.mtimeMs) assert.ok(readFileSync(is.path).equals(readFileSync(was.path)), `${name} is taken for the same and is not`);
  }
  await ends(sending, receiving);
  assert.deepEqual(differences(tree, join(inbox, "tree")), []);
});

/**
 * Filesystems made for this test: how they are made, and mounted so that nothing is written out by
 * itself meanwhile. A copy of one has its names and numbers.
 */
const OWN_FILESYSTEMS = {
  ext4: { make: ["-q", "-F"], options: "noatime,commit=600", again: "loop" },
  xfs: { make: ["-q", "-f"], options: "noatime", again: "loop,nouuid" },
  btrfs: { make: ["-q", "-f"], options: "noatime,commit=300", again: "loop" },
};

for (const [kind, { make, options, again }] of Object.entries(OWN_FILESYSTEMS)) {
  for (const merged of [false, true]) {
    mounting(`everything with a receipt is there after a power cut right after it (${kind}, ${merged ? "merged" : "new"})`, async (t, { mount }) => {
      const { base, inbox, source, near, far } = strangers(t);
      if (!which(`mkfs.${kind}`)) return t.skip(`no mkfs.${kind} here`);
      const image = join(base, "image");
      writeFileSync(image, "");
      truncateSync(image, 512 << 20);
      run(`mkfs.${kind}`, [...make, image]);
      if (!mount(inbox, "-o", `loop,${options}`, image)) return t.skip(`mounting ${kind} takes root, and a kernel that has it`);
      const tree = join(source, "tree");
      for (let folder = 0; folder < 10; folder += 1) {
        mkdirSync(join(tree, `${folder}`), { recursive: true });
        for (let number = 0; number < 30; number += 1) writeFileSync(join(tree, `${folder}/${number}`), `${folder} ${number}`.repeat(100));
        writeFileSync(join(tree, `${folder}/large`), Buffer.alloc(1_500_000, `${folder}`));
      }
      if (merged) {
        mkdirSync(join(inbox, "tree/3"), { recursive: true });
        writeFileSync(join(inbox, "tree/3/7"), "older");
        run("sync", ["-f", inbox]);
      }
      const receiving = await receiver(t, far, inbox, { args: ["--on-conflict", "replace"] });
      await ends(sender(t, near, tree, receiving.target), receiving);
      // What the disk would hold after a power cut now: what the filesystem has passed to its
      // device so far.
      const [cut, after] = [join(base, "cut"), join(base, "after")];
      copyFileSync(image, cut);
      // Two filesystems with the same identity cannot be mounted at the same time.
      run("umount", [inbox]);
      mkdirSync(after);
      assert.ok(mount(after, "-o", again, cut), "the journal is replayed");
      assert.deepEqual(differences(tree, join(after, "tree")), []);
    });
  }
}

mounting("an attribute that a filesystem has no place for is named, and stops neither its file nor the others", async (t, { ext4 }) => {
  const { base, inbox, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  mkdirSync(tree);
  for (const name of ["adorned", "plain"]) writeFileSync(join(tree, name), name);
  // One block holds all attributes of a file, and is smaller than this.
  const adorned = capture("setfattr", ["-n", "user.note", "-v", "n".repeat(3000), join(tree, "adorned")]);
  if (adorned.status !== 0) return t.skip("the temporary folder's file system has no attributes of that size");
  if (!ext4(inbox, join(base, "image"), { features: ["-b", "1024", "-O", "^ea_inode"] })) return t.skip("mounting takes root");
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, tree, receiving.target);
  await ends(sending, receiving, EXIT.partial);
  const failed = sending.events.filter(({ event }) => event === "entry_failed");
  assert.deepEqual(failed.map(({ path, operation, errno }) => [path, operation, errno]), [["tree/adorned", "metadata", ERANGE]]);
  for (const name of ["adorned", "plain"]) assert.equal(readFileSync(join(inbox, "tree", name), "utf8"), name);
});

mounting("on a filesystem with times in whole seconds existing files are neither sent nor numbered again", async (t, { ext4 }) => {
  for (const policy of ["replace", "rename", "update"]) {
    const { base, inbox, source, near, far } = strangers(t);
    const tree = join(source, "tree");
    mkdirSync(tree);
    for (let number = 0; number < 6; number += 1) {
      writeFileSync(join(tree, `${number}`), `${number}`.repeat(number % 2 ? 2_000_000 : 20_000));
      utimesSync(join(tree, `${number}`), 1_600_000_000.25, 1_600_000_000.25 + number);
    }
    if (!ext4(inbox, join(base, "image"), { features: ["-I", "128"], mib: 64 })) return t.skip("mounting takes root");
    for (let round = 0; round < 3; round += 1) {
      const receiving = await receiver(t, far, inbox, { args: ["--on-conflict", policy] });
      const sending = sender(t, near, tree, receiving.target);
      await ends(sending, receiving);
      const { moved, unchanged } = sending.events.find(({ event }) => event === "finished");
      assert.deepEqual([moved > 0, unchanged], round ? [false, 6] : [true, 0], `${policy}, ${round}: ${sending.said()}`);
      assert.equal(readdirSync(join(inbox, "tree")).length, 6, policy);
    }
  }
});
