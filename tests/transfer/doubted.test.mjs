// A partial transfer that is in doubt, because the receiver stopped before a sync: it is compared,
// and unchanged parts are not sent again.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, statSync, utimesSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { countingNetwork, ends, harmfulNetwork, receiver, same, sender, strangers } from "./harness.mjs";

const MIB = 1 << 20;
const SMALL = 60;
const SMALL_BYTES = 64 << 10;
/** Files in ranges, which come last: one that is compared as a whole, two chunk by chunk. */
const LARGE = { "z/a 4": 4 * MIB, "z/b 12": 12 * MIB, "z/c 40": 40 * MIB };
const STOPPED_AFTER = 30 * MIB;
/** Handshakes, lists, figures, and the digests of chunks. */
const BESIDES_BYTES = 400_000;

/** After this long without a change the receiver has written everything that arrived, ms. */
const QUIET_MS = 500;

const plain = ["--compress", "off", "--lanes", "1", "--retry", "no"];

/** The folder in which the first attempt has left what had arrived. */
function staged(inbox) {
  const [staging] = readdirSync(inbox);
  assert.match(staging, /^\.ringway-/);
  return join(inbox, staging);
}

/** As after a power cut: length and time are there, but contents are not. */
function lose(path, offset, bytes) {
  const { atime, mtime } = statSync(path);
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(bytes), 0, bytes, offset);
  fsyncSync(file);
  closeSync(file);
  utimesSync(path, atime, mtime);
}

/**
 * A tree of which half has arrived when the receiver stops, before a sync has covered any of it.
 * Its times are whole seconds, long ago.
 */
async function stoppedInBetween(t) {
  const { source, inbox, near, far } = strangers(t);
  const tree = join(source, "tree");
  mkdirSync(join(tree, "z"), { recursive: true });
  const files = [...Array(SMALL).keys()].map((number) => [`${number}`, SMALL_BYTES]);
  for (const [name, bytes] of [...files, ...Object.entries(LARGE)]) {
    writeFileSync(join(tree, name), randomBytes(bytes));
    utimesSync(join(tree, name), 1_600_000_000, 1_600_000_000);
  }
  const receiving = await receiver(t, far, inbox);
  const network = await harmfulNetwork(t, receiving.target, "--hold-after", STOPPED_AFTER);
  const sending = sender(t, near, tree, network.target, { args: plain });
  await network.event("holding");
  await written(inbox);
  // An orderly end would synchronise what has arrived, and note that.
  receiving.kill("SIGKILL");
  await receiving.exit();
  network.tell("go on");
  assert.equal(await sending.exit(), 1, sending.said());
  return { tree, inbox, near, far };
}

/** Waits until nothing more is written. */
async function written(inbox) {
  const bytes = () => readdirSync(staged(inbox), { recursive: true, withFileTypes: true }).map(({ parentPath, name }) => statSync(join(parentPath, name)).blocks).join();
  for (let before = ""; before !== bytes(); ) {
    before = bytes();
    await sleep(QUIET_MS);
  }
}

/** Sends it once more, and returns how many bytes of it were sent. */
async function again(t, { tree, inbox, near, far }) {
  const receiving = await receiver(t, far, inbox);
  const network = await countingNetwork(t, receiving.target);
  const sending = sender(t, near, tree, network.target, { args: plain });
  await ends(sending, receiving);
  for (const end of [sending, receiving]) {
    const { reused, bytes, moved } = end.events.find(({ event }) => event === "finished");
    assert.equal(reused, 0, `nothing is replaced: ${end.said()}`);
    assert.ok(moved < bytes, end.said());
  }
  same(tree, join(inbox, "tree"));
  assert.deepEqual(readdirSync(inbox), ["tree"]);
  return network.bytes;
}

const ALL_BYTES = SMALL * SMALL_BYTES + Object.values(LARGE).reduce((all, bytes) => all + bytes, 0);

test("after the receiver's machine has stopped, received data is compared and not sent again", async (t) => {
  const ground = await stoppedInBetween(t);
  const bytes = await again(t, ground);
  t.diagnostic(`${bytes} of ${ALL_BYTES} went again`);
  // Bytes that were under way when it stopped were not noted: one range of each lane, and the
  // sockets' buffers.
  assert.ok(bytes < ALL_BYTES - STOPPED_AFTER + 8 * MIB + BESIDES_BYTES, `${bytes} went again`);
});

test("data that a power cut has lost is found and sent again, and nothing else is", async (t) => {
  const ground = await stoppedInBetween(t);
  const staging = staged(ground.inbox);
  const come = readdirSync(join(staging, "tree/tree")).filter((name) => name !== "z");
  assert.ok(come.length > 3, `${come}`);
  for (const name of come.slice(0, 3)) lose(join(staging, "tree/tree", name), 0, SMALL_BYTES);
  const bytes = await again(t, ground);
  t.diagnostic(`${bytes} of ${ALL_BYTES} went again`);
  assert.ok(bytes < ALL_BYTES - STOPPED_AFTER + 8 * MIB + BESIDES_BYTES + 3 * SMALL_BYTES, `${bytes} went again`);
});
