// Ends that die, networks that break, sources that change: nothing half-written under a final name, both ends say so.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { EXIT, ends, harmfulNetwork, oddTree, receiver, sender, strangers, untouched } from "./harness.mjs";

/** The harm is done after so many bytes on one connection: past handshake and offer, long before the tree's 40 MB end. */
const MIDWAY_BYTES = 6_000_000;
/** More than an end may hold in memory, so that what comes after it in the tree is not yet read. */
const FILLER_BYTES = 160 << 20;

/** A 40 MB tree on its way through a network that has done its harm. */
async function underWay(t, harm) {
  const { inbox, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  oddTree(tree, "--bulk-mib", "40");
  const receiving = await receiver(t, far, inbox);
  const network = await harmfulNetwork(t, receiving.target, harm, MIDWAY_BYTES);
  const sending = sender(t, near, tree, network.target);
  await network.event({ "--flip-after": "flipped", "--cut-after": "cut", "--hold-after": "holding" }[harm]);
  return { inbox, sending, receiving, network };
}

test("one flipped bit: both ends fail, nothing appears", async (t) => {
  const { inbox, sending, receiving } = await underWay(t, "--flip-after");
  await ends(sending, receiving, EXIT.failed);
  untouched(inbox);
});

test("a connection cut in mid-record: both ends fail, nothing appears", async (t) => {
  const { inbox, sending, receiving } = await underWay(t, "--cut-after");
  await ends(sending, receiving, EXIT.failed);
  untouched(inbox);
});

test("sender killed: the receiver fails and leaves nothing", async (t) => {
  const { inbox, sending, receiving, network } = await underWay(t, "--hold-after");
  sending.kill("SIGKILL");
  network.tell("go on");
  assert.equal(await receiving.exit(), EXIT.failed, receiving.said());
  untouched(inbox);
});

test("receiver killed: the sender fails, and nothing stands under the final name", async (t) => {
  const { inbox, sending, receiving, network } = await underWay(t, "--hold-after");
  receiving.kill("SIGKILL");
  network.tell("go on");
  assert.equal(await sending.exit(), EXIT.failed, sending.said());
  assert.deepEqual(
    readdirSync(inbox).filter((name) => !name.startsWith(".ringway-")),
    [],
    "only the hidden staging folder may be left",
  );
});

for (const end of ["sending", "receiving"]) {
  test(`Ctrl-C at the ${end} end stops both cleanly`, async (t) => {
    const both = await underWay(t, "--hold-after");
    both[end].kill("SIGINT");
    both.network.tell("go on");
    for (const one of [both.sending, both.receiving]) {
      assert.notEqual(await one.exit(), EXIT.all, one.said());
      assert.equal(one.signal, null, `${one.title} ended by itself, not by the signal`);
    }
    untouched(both.inbox);
  });
}

test("a receiver stopped with Ctrl-C while nothing happens ends by itself", async (t) => {
  const { inbox, far } = strangers(t);
  const receiving = await receiver(t, far, inbox);
  receiving.kill("SIGINT");
  await receiving.exit();
  assert.equal(receiving.signal, null, receiving.said());
  untouched(inbox);
});

test("a source that shrinks, grows or vanishes under way is reported by name, the rest arrives", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  mkdirSync(tree);
  // In the order of their inodes, which is the order in which they are read.
  writeFileSync(join(tree, "0 filler"), Buffer.alloc(FILLER_BYTES, 7));
  const late = ["shrinks", "grows", "vanishes", "stays"].map((name) => join(tree, name));
  for (const path of late) writeFileSync(path, Buffer.alloc(3 << 20, 1));
  const receiving = await receiver(t, far, inbox);
  const network = await harmfulNetwork(t, receiving.target, "--hold-after", MIDWAY_BYTES);
  const sending = sender(t, near, tree, network.target);
  await network.event("holding");
  truncateSync(late[0], 1000);
  writeFileSync(late[1], Buffer.alloc(5 << 20, 1));
  rmSync(late[2]);
  network.tell("go on");
  await ends(sending, receiving, EXIT.partial);
  for (const name of ["shrinks", "vanishes"]) assert.ok(sending.stdout.includes(name), sending.said());
  const arrived = readdirSync(join(inbox, "tree"));
  assert.ok(arrived.includes("0 filler") && arrived.includes("stays"), arrived.join(" "));
  assert.ok(!arrived.includes("vanishes") && !arrived.includes("shrinks"), arrived.join(" "));
  assert.ok(readFileSync(join(inbox, "tree/stays")).equals(Buffer.alloc(3 << 20, 1)));
});
