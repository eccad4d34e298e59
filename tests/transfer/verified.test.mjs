// `send --verify`: what the receiver wrote is read back from its medium and compared with what the
// sender read, and differing files are named.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  closeSync, existsSync, linkSync, mkdirSync, openSync, readFileSync, readSync, readdirSync, statSync, truncateSync, utimesSync, writeFileSync, writeSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { run, which } from "../setup/process.mjs";
import { EXIT, countingNetwork, ends, eventually, harmfulNetwork, isRoot, oddTree, receiver, same, sender, strangers } from "./harness.mjs";

/**
 * The network holds after this many bytes on one connection: in the middle of the first large file.
 */
const MIDWAY_BYTES = 6_000_000;
const LARGE_BYTES = 24 << 20;
/** Without compression, so that counted bytes are exact. */
const VERIFY = { args: ["--verify", "--compress", "off", "--lanes", "1"] };

const finished = (end) => end.events.find((event) => event.event === "finished");

test("verified files are counted at both ends, with the time it took", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  oddTree(tree, "--bulk-mib", "10");
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, tree, receiving.target, { args: ["--verify"] });
  await ends(sending, receiving);
  same(tree, join(inbox, "tree"));
  for (const end of [sending, receiving]) {
    const { proven, files, bytes } = finished(end);
    assert.deepEqual([proven.files, proven.bytes], [files, bytes], end.said());
    assert.ok(proven.seconds > 0 && proven.seconds < 100, end.said());
  }
});

test("without --verify nothing is read back", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  writeFileSync(join(source, "file"), "contents");
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, join(source, "file"), receiving.target);
  await ends(sending, receiving);
  assert.deepEqual([finished(sending).proven, finished(receiving).proven], [null, null]);
});

/** Two large files. Half of the first one has arrived when the network holds. */
async function halfThere(t, inbox, { source, near, far }) {
  const tree = join(source, "tree");
  mkdirSync(tree);
  for (const name of ["one", "two"]) writeFileSync(join(tree, name), randomBytes(LARGE_BYTES));
  const receiving = await receiver(t, far, inbox);
  const network = await harmfulNetwork(t, receiving.target, "--hold-after", MIDWAY_BYTES);
  const sending = sender(t, near, tree, network.target, VERIFY);
  await network.event("holding");
  const staging = readdirSync(inbox).find((name) => name.startsWith(".ringway-"));
  const [name] = readdirSync(join(inbox, staging, "tree/tree"));
  const staged = join(inbox, staging, "tree/tree", name);
  // What was under way when the network held is written in a moment.
  for (const by = Date.now() + 10_000; firstByte(staged) !== firstByte(join(tree, name)); ) assert.ok(Date.now() < by);
  return { tree, name, staged, receiving, sending, network };
}

function firstByte(path) {
  const [file, start] = [openSync(path, "r"), Buffer.alloc(64)];
  readSync(file, start, 0, start.length, 0);
  closeSync(file);
  return start.toString("hex");
}

function flip(path, at) {
  const [file, byte] = [openSync(path, "r+"), Buffer.alloc(1)];
  readSync(file, byte, 0, 1, at);
  byte[0] ^= 0x10;
  writeSync(file, byte, 0, 1, at);
  closeSync(file);
}

/**
 * The altered file is named at both ends and does not exist, the other one does. The same send
 * again brings it.
 */
async function isFoundOut(t, inbox, { near, far }, { tree, name, receiving, sending, network }) {
  network.tell("go on");
  await ends(sending, receiving, EXIT.partial);
  for (const end of [sending, receiving]) {
    const failed = end.events.filter((event) => event.event === "entry_failed");
    assert.deepEqual(failed.map(({ path, reason }) => [path, reason]), [[`tree/${name}`, "differs"]], end.said());
    assert.deepEqual(finished(end).proven.files, 1, end.said());
  }
  assert.equal(existsSync(join(inbox, "tree", name)), false);
  const again = await receiver(t, far, inbox, { args: ["--on-conflict", "replace"] });
  await ends(sender(t, near, tree, again.target, VERIFY), again);
  same(tree, join(inbox, "tree"));
}

test("a file that is altered at the receiver is named, removed, and sent by the next attempt", async (t) => {
  const both = strangers(t);
  const under = await halfThere(t, both.inbox, both);
  flip(under.staged, 1000);
  await isFoundOut(t, both.inbox, both, under);
});

/** Has `work` receive into a folder on a disk whose medium `rot` alters, or skips the test. */
async function onImage(t, both, work) {
  const image = join(both.base, "image");
  writeFileSync(image, "");
  truncateSync(image, 160 << 20);
  if (!isRoot || !which("mkfs.ext4")) return t.skip("mounting an image needs root and mkfs.ext4");
  execFileSync("mkfs.ext4", ["-q", "-F", image], { stdio: "pipe" });
  try {
    execFileSync("mount", ["-o", "loop", image, both.inbox], { stdio: "pipe" });
  } catch (error) {
    return t.skip(`no loop mount here: ${error.stderr}`);
  }
  const rot = (path) => {
    execFileSync("sync", ["-f", path]);
    const start = readFileSync(path).subarray(0, 4096);
    const at = readFileSync(image).indexOf(start);
    assert.ok(at > 0, "what was synchronised is in the image");
    flip(image, at + 1000);
    assert.deepEqual(readFileSync(path).subarray(0, 4096), start, "who reads through the cache sees nothing of it");
  };
  try {
    const inbox = join(both.inbox, "in");
    mkdirSync(inbox);
    await work(inbox, rot);
  } finally {
    execFileSync("umount", ["-l", both.inbox]);
  }
}

test("a byte that the medium has altered beneath the page cache is found", async (t) => {
  const both = strangers(t);
  await onImage(t, both, async (inbox, rot) => {
    const under = await halfThere(t, inbox, both);
    rot(under.staged);
    await isFoundOut(t, inbox, both, under);
  });
});

/** At the top, and in a folder that came before. */
const LANDED = ["file.txt", "tree/early"];
/** They come after these. */
const LATER = Array.from({ length: 60 }, (_, number) => `tree/later ${number}`);

/**
 * `LANDED` have their names, and the rest still comes. Then `meddle` does something, and the send
 * ends. Returns what both ends said.
 */
async function landedThen(t, inbox, { source, near, far }, meddle) {
  const args = ["--on-conflict", "update"];
  const paths = [join(source, "file.txt"), join(source, "tree")];
  mkdirSync(paths[1]);
  writeFileSync(join(paths[1], "before"), "before");
  const first = await receiver(t, far, inbox, { args });
  await ends(sender(t, near, paths[1], first.target), first);
  for (const path of LANDED) writeFileSync(join(source, path), randomBytes(20_000));
  for (const path of LATER) writeFileSync(join(source, path), randomBytes(200_000));
  const receiving = await receiver(t, far, inbox, { args });
  const network = await harmfulNetwork(t, receiving.target, "--hold-after", MIDWAY_BYTES);
  const sending = sender(t, near, paths, network.target, VERIFY);
  await network.event("holding");
  await eventually("the first files", () => LANDED.every((path) => existsSync(join(inbox, path))));
  assert.ok(!LATER.every((path) => existsSync(join(inbox, path))), "the rest still comes");
  meddle();
  network.tell("go on");
  await ends(sending, receiving, EXIT.partial);
  for (const path of LATER) assert.ok(readFileSync(join(inbox, path)).equals(readFileSync(join(source, path))), path);
  return [sending, receiving].map((end) => {
    const failed = end.events.filter((event) => event.event === "entry_failed");
    return failed.map(({ path, operation, reason }) => [path, operation, reason]).sort();
  });
}

test("a save in place that keeps size and time stays, and both ends say that the file was changed", async (t) => {
  const both = strangers(t);
  const saved = (path) => `saved in ${path}`.padEnd(20_000);
  const said = await landedThen(t, both.inbox, both, () => {
    for (const path of LANDED) {
      writeFileSync(join(both.inbox, path), saved(path));
      run("touch", ["-r", join(both.source, path), join(both.inbox, path)]);
    }
  });
  for (const end of said) assert.deepEqual(end, LANDED.map((path) => [path, "read", "changed_while_reading"]));
  for (const path of LANDED) assert.equal(readFileSync(join(both.inbox, path), "utf8"), saved(path));
  assert.deepEqual(readdirSync(both.inbox).sort(), ["file.txt", "tree"]);
});

test("a file that the medium has altered after it landed gets another name, and comes with the next send", async (t) => {
  const both = strangers(t);
  await onImage(t, both, async (inbox, rot) => {
    const said = await landedThen(t, inbox, both, () => LANDED.forEach((path) => rot(join(inbox, path))));
    for (const end of said) assert.deepEqual(end, LANDED.map((path) => [path, "rename", "differs"]));
    assert.deepEqual(readdirSync(inbox).sort(), ["file (not verified).txt", "tree"]);
    assert.deepEqual(readdirSync(join(inbox, "tree")).sort(), ["before", "early (not verified)", ...LATER.map((path) => path.slice("tree/".length))].sort());
    const again = await receiver(t, both.far, inbox, { args: ["--on-conflict", "update"] });
    const paths = ["file.txt", "tree"].map((path) => join(both.source, path));
    await ends(sender(t, both.near, paths, again.target, VERIFY), again);
    for (const path of LANDED) assert.ok(readFileSync(join(inbox, path)).equals(readFileSync(join(both.source, path))), path);
  });
});

test("existing files are compared, and only those that differ are sent again", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  mkdirSync(tree);
  for (let number = 0; number < 50; number++) writeFileSync(join(tree, `${number}`), `contents of ${number}`);
  run("find", [tree, "-type", "f", "-exec", "touch", "-d", "2020-01-01", "{}", "+"]);
  const first = await receiver(t, far, inbox);
  await ends(sender(t, near, tree, first.target), first);
  const spoilt = join(inbox, "tree/7");
  flip(spoilt, 3);
  utimesSync(spoilt, statSync(join(tree, "7")).atime, statSync(join(tree, "7")).mtime);
  const again = await receiver(t, far, inbox);
  const sending = sender(t, near, tree, again.target, { args: ["--verify"] });
  await ends(sending, again);
  assert.deepEqual([finished(sending).proven.files, finished(sending).unchanged], [50, 49], sending.said());
  same(tree, join(inbox, "tree"));
});

/** Sends a tree, and once more through a network that counts, to a receiver with these options. */
async function twice(t, { inbox, near, far }, tree, args, between = () => {}) {
  const first = await receiver(t, far, inbox, { args });
  await ends(sender(t, near, tree, first.target, { args: ["--verify"] }), first);
  between();
  const receiving = await receiver(t, far, inbox, { args });
  const network = await countingNetwork(t, receiving.target);
  const sending = sender(t, near, tree, network.target, { args: ["--verify"] });
  return { sending, receiving, network };
}

for (const policy of ["replace", "update", "rename"]) {
  test(`--on-conflict ${policy}: larger existing files are compared and not sent again`, async (t) => {
    const both = strangers(t);
    const tree = join(both.source, "tree");
    mkdirSync(tree);
    const sizes = [300_000, 600_000, 9_000_000];
    for (const size of sizes) writeFileSync(join(tree, `${size}`), randomBytes(size));
    const { sending, receiving, network } = await twice(t, both, tree, ["--on-conflict", policy]);
    await ends(sending, receiving);
    const { files, unchanged, moved, reused, proven } = finished(sending);
    const [top] = readdirSync(both.inbox);
    same(tree, join(both.inbox, top));
    assert.ok(network.bytes < 100_000, `${network.bytes} bytes on the wire\n${sending.said()}`);
    assert.deepEqual({ files, unchanged, moved, reused }, { files: 3, unchanged: 3, moved: 0, reused: 0 }, sending.said());
    assert.deepEqual([proven.files, proven.bytes], [3, sizes.reduce((sum, size) => sum + size)], sending.said());
  });
}

test("a larger file whose contents differ is sent again, and its equal neighbours are not", async (t) => {
  const both = strangers(t);
  const tree = join(both.source, "tree");
  mkdirSync(tree);
  for (const name of ["one", "two", "three"]) writeFileSync(join(tree, name), randomBytes(600_000));
  const { sending, receiving, network } = await twice(t, both, tree, [], () => {
    const [spoilt, { atime, mtime }] = [join(both.inbox, "tree/two"), statSync(join(tree, "two"))];
    flip(spoilt, 300_000);
    utimesSync(spoilt, atime, mtime);
  });
  await ends(sending, receiving);
  assert.ok(network.bytes > 600_000 && network.bytes < 700_000, `${network.bytes} bytes on the wire`);
  assert.deepEqual([finished(sending).moved, finished(sending).unchanged, finished(sending).proven.files], [600_000, 2, 3], sending.said());
  same(tree, join(both.inbox, "tree"));
});

for (const size of [4_000, 600_000, 9_000_000]) {
  test(`--on-conflict keep: hard links to a kept file of ${size} bytes are kept, and not reported as missing it`, async (t) => {
    const both = strangers(t);
    const tree = join(both.source, "tree");
    mkdirSync(tree);
    writeFileSync(join(tree, "file"), randomBytes(size));
    linkSync(join(tree, "file"), join(tree, "link"));
    const { sending, receiving, network } = await twice(t, both, tree, ["--on-conflict", "keep"]);
    await ends(sending, receiving);
    const { failed, moved, skipped, proven } = finished(sending);
    assert.deepEqual({ failed, moved, skipped }, { failed: 0, moved: 0, skipped: 2 }, sending.said());
    assert.equal(proven.files, 0, "what was not compared is not counted");
    assert.ok(network.bytes < 100_000, `${network.bytes} bytes on the wire`);
    same(tree, join(both.inbox, "tree"));
  });
}

test("--on-conflict keep: a new name of a kept file gets its contents", async (t) => {
  const both = strangers(t);
  const tree = join(both.source, "tree");
  mkdirSync(tree);
  writeFileSync(join(tree, "file"), randomBytes(600_000));
  const { sending, receiving } = await twice(t, both, tree, ["--on-conflict", "keep"], () => {
    for (const name of ["link", "more"]) linkSync(join(tree, "file"), join(tree, name));
  });
  await ends(sending, receiving);
  const ino = (name) => statSync(join(both.inbox, "tree", name)).ino;
  assert.ok(ino("link") === ino("more") && ino("link") !== ino("file"), "no link leads to what was kept");
  for (const name of ["link", "more"]) {
    assert.ok(readFileSync(join(tree, name)).equals(readFileSync(join(both.inbox, "tree", name))), name);
  }
  assert.equal(finished(sending).moved, 600_000, sending.said());
});
