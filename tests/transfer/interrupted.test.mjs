// Ends that die, networks that break, sources that change: no incomplete file has a final name, and
// both ends report it.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { appendFileSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { capture, run } from "../setup/process.mjs";
import { IN_FLIGHT_BYTES, missingBytes } from "../setup/wire.mjs";
import { EXIT, countingNetwork, ends, harmfulNetwork, oddTree, receiver, same, sender, strangers, untouched } from "./harness.mjs";

/**
 * The harm is done after this many bytes on one connection: after handshake and offer, long before
 * the end of the tree's 40 MB.
 */
const MIDWAY_BYTES = 20_000_000;
/**
 * More than an end may hold in memory. When the network holds, its end was not read yet, nor were
 * later files.
 */
const LONG_BYTES = 160 << 20;
const SHORT_BYTES = 3 << 20;
/** Among this many entries there are whole files. */
const ENTRIES_MIN = 20;

/** Bytes of the holes in all files of a tree. */
function holesIn(tree) {
  const files = capture("find", [tree, "-type", "f", "-printf", "%s %b\\n"]).out.trim().split("\n").map((line) => line.split(" ").map(Number));
  return files.reduce((sum, [size, blocks]) => sum + Math.max(0, size - blocks * 512), 0);
}

/**
 * Everything has arrived. A file with holes counts by its data when it arrives, and by its size if
 * it was whole before.
 */
function isAllBut(holes, { bytes, moved }) {
  assert.ok(bytes >= moved && bytes - moved <= holes, `all but ${bytes - moved} bytes of ${bytes}, and ${holes} are holes`);
}

const finished = (end) => end.events.find(({ event }) => event === "finished");

/** A 40 MB tree, older than any transfer of it, on a network that has done its harm. */
async function underWay(t, harm, { retry = "no" } = {}) {
  const { inbox, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  oddTree(tree, "--bulk-mib", "40");
  run("find", [tree, "-depth", "-type", "f", "-newermt", "1 hour ago", "-exec", "touch", "-d", "2 days ago", "{}", "+"]);
  const receiving = await receiver(t, far, inbox);
  const network = await harmfulNetwork(t, receiving.target, harm, MIDWAY_BYTES);
  const sending = sender(t, near, tree, network.target, { args: ["--retry", retry] });
  await network.event({ "--flip-after": "flipped", "--cut-after": "cut", "--hold-after": "holding" }[harm]);
  return { inbox, tree, near, far, sending, receiving, network };
}

/**
 * Whole files wait in the staging folder. The same send again brings the rest, hardly more than
 * that, and leaves nothing else.
 */
async function goesOn(t, { inbox, tree, near, far, receiving: first }) {
  const left = readdirSync(inbox);
  assert.ok(left.length === 1 && left[0].startsWith(".ringway-"), `${left}`);
  const missing = missingBytes(tree, inbox);
  const receiving = await receiver(t, far, inbox);
  const network = await countingNetwork(t, receiving.target);
  const sending = sender(t, near, tree, network.target, { args: ["--compress", "off"] });
  await ends(sending, receiving);
  same(tree, join(inbox, "tree"));
  assert.deepEqual(readdirSync(inbox), ["tree"]);
  t.diagnostic(`${network.bytes} bytes went for ${missing} that were missing`);
  assert.ok(network.bytes < missing + IN_FLIGHT_BYTES, `${network.bytes} bytes went for ${missing} that were missing`);
  // On a busy machine the large file may come first, on one lane, with no other file.
  const came = Math.max(0, ...first.events.map(({ entries_done: entries = 0 }) => entries));
  const { unchanged } = sending.events.find((event) => event.event === "finished");
  assert.ok(unchanged > 0 || came < ENTRIES_MIN, sending.said());
}

test("one flipped bit: both ends fail, nothing appears, and the next attempt resumes", async (t) => {
  const both = await underWay(t, "--flip-after");
  await ends(both.sending, both.receiving, EXIT.failed);
  await goesOn(t, both);
});

test("a connection cut in mid-record: both ends fail, nothing appears, and the next attempt resumes", async (t) => {
  const both = await underWay(t, "--cut-after");
  await ends(both.sending, both.receiving, EXIT.failed);
  await goesOn(t, both);
});

/** Both ends succeed without asking anybody again: one transfer with this many interruptions. */
async function wentOn({ inbox, tree, sending, receiving }, times = 1) {
  await ends(sending, receiving);
  same(tree, join(inbox, "tree"));
  assert.deepEqual(readdirSync(inbox), ["tree"]);
  for (const end of [sending, receiving]) {
    assert.equal(end.events.filter(({ event }) => event === "started").length, 1, end.said());
    const finished = end.events.filter(({ event }) => event === "finished");
    assert.deepEqual(finished.map(({ reconnected, unchanged }) => [reconnected, unchanged]), [[times, 0]], end.said());
  }
}

test("a connection cut in mid-record, and a sender that resumes by itself: one transfer at both ends", async (t) => {
  const both = await underWay(t, "--cut-after", { retry: "1m" });
  await wentOn(both);
  assert.equal(both.receiving.events.filter(({ event }) => event === "offer").length, 1, both.receiving.said());
  const waiting = both.sending.events.find(({ stage }) => stage === "reconnecting");
  assert.ok(waiting.interruption.gives_up_seconds <= 60, JSON.stringify(waiting));
});

test("a sender that is killed and started again is awaited by the receiver, which has one transfer of it", async (t) => {
  const both = await underWay(t, "--hold-after", { retry: "1m" });
  both.sending.kill("SIGKILL");
  both.network.tell("go on");
  await both.receiving.event(({ stage }) => stage === "reconnecting");
  const network = await countingNetwork(t, both.receiving.target);
  const sending = sender(t, both.near, both.tree, network.target, { code: null, args: ["--compress", "off"] });
  await ends(sending, both.receiving);
  same(both.tree, join(both.inbox, "tree"));
  assert.deepEqual(readdirSync(both.inbox), ["tree"]);
  assert.equal(both.receiving.events.filter(({ event }) => event === "offer").length, 1, both.receiving.said());
  const [sent, received] = [finished(sending), finished(both.receiving)];
  assert.ok(sent.moved > 0 && sent.moved <= network.bytes, `${sent.moved} bytes sent in ${network.bytes} on the wire`);
  isAllBut(holesIn(both.tree), received);
});

test("a receiver that is killed and started again is found by its sender", async (t) => {
  const both = await underWay(t, "--hold-after", { retry: "1m" });
  // The sender knows of everything that arrived by then.
  await both.sending.event(({ stalled_seconds: stalled }) => stalled > 0);
  both.receiving.kill("SIGKILL");
  both.network.tell("go on");
  await both.sending.event(({ stage }) => stage === "reconnecting");
  const receiving = await receiver(t, both.far, both.inbox, { port: both.receiving.port, code: null });
  await ends(both.sending, receiving);
  same(both.tree, join(both.inbox, "tree"));
  assert.deepEqual(readdirSync(both.inbox), ["tree"]);
  const sent = finished(both.sending);
  isAllBut(holesIn(both.tree), sent);
  assert.ok(finished(receiving).moved < sent.bytes, receiving.said());
});

test("a sender that is stopped counts what it has sent", async (t) => {
  const { sending, receiving, network } = await underWay(t, "--hold-after");
  const { bytes_moved: least } = await sending.event(({ bytes_moved: moved }) => moved > 1_000_000);
  sending.kill("SIGINT");
  network.tell("go on");
  for (const end of [sending, receiving]) await end.exit();
  const { outcome, error, moved } = finished(sending);
  assert.deepEqual([outcome, error.code], ["failed", "cancelled"], sending.said());
  assert.ok(moved >= least && moved <= MIDWAY_BYTES, `${moved} bytes, of which ${least} were told before`);
});

/** A fixed time for files, so that it does not identify their version. */
const FIXED_SECONDS = 1_000_000_000;
const LARGE_BYTES = 40_000_000;

/** Puts another file of the same size and time over `path`, as when restored from a backup. */
function replace(path) {
  const other = `${path}.new`;
  writeFileSync(other, randomBytes(LARGE_BYTES));
  utimesSync(other, FIXED_SECONDS, FIXED_SECONDS);
  renameSync(other, path);
  return readFileSync(path);
}

for (const reconnects of [false, true]) {
  const again = reconnects ? "a sender that goes on by itself" : "the same send again";
  test(`a large file that was replaced while it was cut is not put together from two, with the same size and time, by ${again}`, async (t) => {
    const { inbox, source, near, far } = strangers(t);
    const path = join(source, "large");
    replace(path);
    const receiving = await receiver(t, far, inbox);
    const network = await harmfulNetwork(t, receiving.target, "--hold-after", MIDWAY_BYTES);
    const args = ["--compress", "off", "--retry", reconnects ? "1m" : "no"];
    const sending = sender(t, near, path, network.target, { args });
    await network.event("holding");
    // On a slow disk what has arrived is not written yet.
    await receiving.event(({ event, bytes_done }) => event === "progress" && bytes_done > SHORT_BYTES);
    if (!reconnects) sending.kill("SIGKILL");
    receiving.kill("SIGKILL");
    const contents = replace(path);
    network.tell("go on");
    if (reconnects) {
      await sending.event(({ stage }) => stage === "reconnecting");
      const found = await receiver(t, far, inbox, { port: receiving.port, code: null });
      await ends(sending, found);
    } else {
      const second = await receiver(t, far, inbox);
      await ends(sender(t, near, path, second.target, { args }), second);
    }
    assert.ok(readFileSync(join(inbox, "large")).equals(contents), "what arrived is not the file");
    assert.deepEqual(readdirSync(inbox), ["large"]);
  });
}

test("Ctrl-C stops a sender that waits to try again, and a receiver that waits for it", async (t) => {
  const both = await underWay(t, "--hold-after", { retry: "1m" });
  both.network.kill("SIGKILL");
  for (const end of [both.sending, both.receiving]) await end.event(({ stage }) => stage === "reconnecting");
  for (const end of [both.sending, both.receiving]) {
    end.kill("SIGINT");
    assert.equal(await end.exit(), EXIT.failed, end.said());
    assert.equal(end.signal, null, `${end.title} ended by itself, not by the signal`);
  }
  await goesOn(t, both);
});

test("sender killed: the receiver fails, nothing appears, and the next attempt resumes", async (t) => {
  const both = await underWay(t, "--hold-after");
  both.sending.kill("SIGKILL");
  both.network.tell("go on");
  assert.equal(await both.receiving.exit(), EXIT.failed, both.receiving.said());
  await goesOn(t, both);
});

test("receiver killed: the sender fails, nothing appears, and the next attempt resumes", async (t) => {
  const both = await underWay(t, "--hold-after");
  // On a slow disk what has arrived is not written yet.
  await both.receiving.event(({ event, bytes_done }) => event === "progress" && bytes_done > MIDWAY_BYTES / 2);
  both.receiving.kill("SIGKILL");
  both.network.tell("go on");
  assert.equal(await both.sending.exit(), EXIT.failed, both.sending.said());
  await goesOn(t, both);
});

for (const end of ["sending", "receiving"]) {
  test(`Ctrl-C at the ${end} end stops both cleanly and removes nothing, and the next attempt resumes`, async (t) => {
    const both = await underWay(t, "--hold-after");
    // On a slow disk what has arrived is not written yet.
    await both.receiving.event(({ event, bytes_done }) => event === "progress" && bytes_done > MIDWAY_BYTES / 2);
    both[end].kill("SIGINT");
    both.network.tell("go on");
    for (const one of [both.sending, both.receiving]) {
      assert.notEqual(await one.exit(), EXIT.all, one.said());
      assert.equal(one.signal, null, `${one.title} ended by itself, not by the signal`);
    }
    await goesOn(t, both);
  });
}

/**
 * The end of a session or of the machine, timeout(1), and a terminal that is closed: in none of
 * these cases should the transfer be discarded.
 */
for (const signal of ["SIGTERM", "SIGHUP"]) {
  for (const [end, other] of [["sending", "receiving"], ["receiving", "sending"]]) {
    test(`${signal} at the ${end} end removes nothing, and the next attempt resumes`, async (t) => {
      const both = await underWay(t, "--hold-after");
      // On a slow disk what has arrived is not written yet.
      await both.receiving.event(({ event, bytes_done }) => event === "progress" && bytes_done > MIDWAY_BYTES / 2);
      both[end].kill(signal);
      await both[end].exit();
      both.network.tell("go on");
      assert.equal(await both[other].exit(), EXIT.failed, both[other].said());
      assert.equal(both[end].status, signal === "SIGTERM" ? EXIT.terminated : EXIT.hungUp, both[end].said());
      assert.deepEqual(both[end].events.at(-1), { event: "stopping", left: 1 });
      assert.match(both[end].stderr, new RegExp(`Ended by ${signal}.*goes on from there`));
      await goesOn(t, both);
    });
  }
}

test("a silent line is reported as stalled at both ends, without a rate or a time left, until data moves again", async (t) => {
  const both = await underWay(t, "--hold-after", { retry: "5m" });
  for (const end of [both.sending, both.receiving]) {
    const stalled = await end.event(({ event, stalled_seconds }) => event === "progress" && stalled_seconds >= 5);
    assert.deepEqual([stalled.stage, stalled.bytes_per_s, stalled.entries_per_s, stalled.seconds_left], ["running", 0, 0, null], end.said());
  }
  both.network.tell("go on");
  await ends(both.sending, both.receiving);
  // A fast machine may be done before more is reported.
  for (const end of [both.sending, both.receiving]) {
    const told = end.events.filter(({ event }) => event === "progress");
    const { bytes_done: held } = told.find(({ stalled_seconds: seconds }) => seconds >= 5);
    const later = told.filter(({ bytes_done: bytes }) => bytes > held);
    assert.deepEqual(later.filter(({ stalled_seconds: seconds }) => seconds !== null), [], end.said());
  }
});

test("a terminal that goes away ends nothing that was started with nohup", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  writeFileSync(join(source, "file"), "contents");
  const wrap = ["env", "--ignore-signal=HUP"];
  const receiving = await receiver(t, far, inbox, { wrap });
  receiving.kill("SIGHUP");
  await ends(sender(t, near, source, receiving.target, { wrap }), receiving);
  same(source, join(inbox, "source"));
});

test("a receiver stopped with Ctrl-C while nothing happens ends by itself", async (t) => {
  const { inbox, far } = strangers(t);
  const receiving = await receiver(t, far, inbox);
  receiving.kill("SIGINT");
  await receiving.exit();
  assert.equal(receiving.signal, null, receiving.said());
  untouched(inbox);
});

test("sources that change under way: each is reported by name, or arrives whole as it was or is; the rest arrives", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  mkdirSync(tree);
  const before = { shrinks: LONG_BYTES, grows: SHORT_BYTES, vanishes: SHORT_BYTES, stays: SHORT_BYTES };
  // Files are sent in the order of their inodes, which is not always the order in which they were
  // made (ext4 leaves out those that were freed a moment ago, and uses them later). The long one
  // must be under way when the network is held. Behind two short ones it may not be, and is then
  // sent in its new version.
  const blank = Object.keys(before).map((_, number) => join(tree, `blank-${number}`));
  for (const path of blank) writeFileSync(path, "");
  const inode = (path) => statSync(path, { bigint: true }).ino;
  blank.sort((one, other) => (inode(one) < inode(other) ? -1 : 1));
  for (const [number, [name, length]] of Object.entries(before).entries()) {
    writeFileSync(blank[number], Buffer.alloc(length, 7));
    renameSync(blank[number], join(tree, name));
  }
  const receiving = await receiver(t, far, inbox);
  const network = await harmfulNetwork(t, receiving.target, "--hold-after", MIDWAY_BYTES);
  // Without compression, because the network is held after a number of bytes.
  const sending = sender(t, near, tree, network.target, { args: ["--compress", "off"] });
  await network.event("holding");
  // The long file cannot have been read to its end yet. The short ones may have been.
  truncateSync(join(tree, "shrinks"), LONG_BYTES - SHORT_BYTES);
  appendFileSync(join(tree, "grows"), Buffer.alloc(SHORT_BYTES, 7));
  rmSync(join(tree, "vanishes"));
  network.tell("go on");
  await ends(sending, receiving, EXIT.partial);
  const failed = sending.events.filter((event) => event.event === "entry_failed").map((event) => event.path);
  const arrived = readdirSync(join(inbox, "tree"));
  assert.ok(failed.includes("tree/shrinks") && arrived.includes("stays"), sending.said());
  for (const name of Object.keys(before)) {
    assert.notEqual(failed.includes(`tree/${name}`), arrived.includes(name), `${name}\n${sending.said()}`);
  }
  const whole = { grows: [SHORT_BYTES, 2 * SHORT_BYTES], vanishes: [SHORT_BYTES], stays: [SHORT_BYTES] };
  for (const name of arrived) {
    const bytes = readFileSync(join(inbox, "tree", name));
    assert.ok(whole[name].includes(bytes.length) && bytes.every((byte) => byte === 7), `${name}: ${bytes.length} bytes`);
  }
});
