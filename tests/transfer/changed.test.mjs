// Large files that have changed since they were sent: only their new parts are sent, whatever the
// change and whatever happens during the transfer.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { closeSync, mkdirSync, openSync, readFileSync, readdirSync, statSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { countingNetwork, ends, harmfulNetwork, receiver, same, sender, strangers } from "./harness.mjs";

const MIB = 1 << 20;
const LARGE_BYTES = 48 * MIB;
/**
 * Bytes of a transfer without contents: handshakes, an offer, progress; and 0.2 % for the digests
 * of chunks.
 */
const BESIDES_BYTES = 200_000 + LARGE_BYTES / 500;
/**
 * About the longest of a file's chunks. An edit can cause this much to be sent on both its sides.
 */
const AROUND_BYTES = 256 << 10;
/** Without compression, so that counted bytes are exact. */
const CHANGED = ["--delta", "on", "--compress", "off"];

const finished = (end) => end.events.find((event) => event.event === "finished");

/** Two devices. The far one has the file `tree/large` in its old version. */
function withOld(t, old) {
  const both = strangers(t);
  for (const side of [both.source, both.inbox]) mkdirSync(join(side, "tree"));
  writeFileSync(join(both.inbox, "tree/large"), old);
  return { ...both, tree: join(both.source, "tree"), there: join(both.inbox, "tree") };
}

/** Sends the file's new version, and returns how many bytes of it were sent. */
async function sendChanged(t, old, changed, args = CHANGED) {
  const { inbox, near, far, tree, there } = withOld(t, old);
  writeFileSync(join(tree, "large"), changed);
  const receiving = await receiver(t, far, inbox, { args: ["--on-conflict", "replace"] });
  const network = await countingNetwork(t, receiving.target);
  const sending = sender(t, near, tree, network.target, { args });
  await ends(sending, receiving);
  same(tree, there);
  assert.deepEqual(readdirSync(inbox), ["tree"]);
  for (const end of [sending, receiving]) assert.equal(finished(end).bytes, changed.length, end.said());
  assert.equal(finished(sending).reused, finished(receiving).reused);
  return { sent: network.bytes, reused: finished(sending).reused, sending, receiving };
}

/** Every byte counts either as new or as reused. */
function adds({ sent, reused }, changed, fresh) {
  assert.ok(sent < fresh + BESIDES_BYTES, `${sent} bytes went for ${fresh} new ones`);
  assert.ok(sent + reused >= changed.length, `${sent} went, ${reused} were there, of ${changed.length}`);
  assert.ok(reused > changed.length - fresh - 1 && reused <= changed.length, `${reused} of ${changed.length} were there`);
}

const old = randomBytes(LARGE_BYTES);
const appended = Buffer.concat([old, randomBytes(3 * MIB)]);
const inserted = Buffer.concat([randomBytes(MIB), old]);
const edited = Buffer.from(old);
for (let edit = 0; edit < 8; edit++) randomBytes(4096).copy(edited, edit * 6 * MIB + 12_345);

const WAYS = {
  appended: [appended, 3 * MIB + AROUND_BYTES],
  "edited here and there": [edited, 8 * AROUND_BYTES],
  "longer at the front": [inserted, MIB + AROUND_BYTES],
  "shorter at the end": [old.subarray(0, 30 * MIB + 77), AROUND_BYTES],
  "shorter at the front": [old.subarray(5 * MIB + 77), AROUND_BYTES],
  "the same but for its time": [old, 0],
};

for (const [what, [changed, fresh]] of Object.entries(WAYS)) {
  test(`a file that is ${what}: only new parts are sent`, async (t) => {
    adds(await sendChanged(t, old, changed), changed, fresh + 1);
  });
}

test("an entirely changed file is sent whole, and finding that out costs little", async (t) => {
  const changed = randomBytes(LARGE_BYTES);
  const { sent, reused } = await sendChanged(t, old, changed);
  assert.equal(reused, 0);
  assert.ok(sent < LARGE_BYTES + LARGE_BYTES / 50, `${sent} bytes went`);
});

test("reused parts are proven with the rest", async (t) => {
  const done = await sendChanged(t, old, edited, [...CHANGED, "--verify"]);
  adds(done, edited, 8 * AROUND_BYTES);
  for (const end of [done.sending, done.receiving]) {
    const { proven } = finished(end);
    assert.deepEqual([proven.files, proven.bytes], [1, LARGE_BYTES], end.said());
  }
});

test("several lanes send the new parts", async (t) => {
  const changed = Buffer.concat([randomBytes(20 * MIB), old]);
  adds(await sendChanged(t, old, changed, [...CHANGED, "--lanes", "3"]), changed, 20 * MIB + AROUND_BYTES);
});

test("--delta off sends it whole", async (t) => {
  const { sent, reused } = await sendChanged(t, old, edited, ["--delta", "off", "--compress", "off"]);
  assert.equal(reused, 0);
  assert.ok(sent > LARGE_BYTES);
});

test("on a slow line it is compared by default", async (t) => {
  const { sent, reused } = await sendChanged(t, old, edited, ["--limit", "20M", "--compress", "off"]);
  assert.ok(reused > LARGE_BYTES / 2, `${reused} were there`);
  assert.ok(sent < LARGE_BYTES / 2, `${sent} went`);
});

test("holes stay holes, and data between them is found", async (t) => {
  const { inbox, near, far, tree, there } = withOld(t, old);
  const file = openSync(join(tree, "large"), "w");
  writeSync(file, old, 0, 10 * MIB, 0);
  writeSync(file, edited, 20 * MIB, 28 * MIB, 20 * MIB);
  closeSync(file);
  const receiving = await receiver(t, far, inbox, { args: ["--on-conflict", "replace"] });
  const sending = sender(t, near, tree, receiving.target, { args: CHANGED });
  await ends(sending, receiving);
  same(tree, there);
  assert.ok(finished(sending).reused > 10 * MIB, sending.said());
  assert.ok(statSync(join(there, "large")).blocks * 512 < 40 * MIB);
});

for (const [what, args] of Object.entries({ "sent again": ["--retry", "no"], "going on by itself": ["--retry", "1m"] })) {
  test(`a connection that is cut while a file is compared, ${what}: copied and received parts are kept`, async (t) => {
    const { inbox, near, far, tree, there } = withOld(t, old);
    // The last third is new, so that it is cut when everything that existed has been copied.
    const changed = Buffer.concat([old.subarray(0, 32 * MIB), randomBytes(16 * MIB)]);
    writeFileSync(join(tree, "large"), changed);
    const replace = ["--on-conflict", "replace"];
    const receiving = await receiver(t, far, inbox, { args: replace });
    const network = await harmfulNetwork(t, receiving.target, "--cut-after", 6 * MIB);
    const first = sender(t, near, tree, network.target, { args: [...CHANGED, "--lanes", "1", ...args] });
    await network.event("cut");
    let last = first;
    if (args[1] === "no") {
      await ends(first, receiving, 1);
      assert.deepEqual(readFileSync(join(there, "large")), old, "what is there stays until the new one is whole");
      const again = await receiver(t, far, inbox, { args: replace });
      const counting = await countingNetwork(t, again.target);
      last = sender(t, near, tree, counting.target, { args: CHANGED });
      await ends(last, again);
      assert.ok(counting.bytes < 13 * MIB, `${counting.bytes} went again`);
    } else {
      await ends(first, receiving);
      assert.ok(finished(first).reused >= 31 * MIB, first.said());
    }
    assert.equal(finished(last).bytes, changed.length);
    same(tree, there);
    assert.deepEqual(readdirSync(inbox), ["tree"]);
  });
}
