// 10,000 half-open connections from sixteen addresses: a running transfer continues, a known device
// begins another one, and the receiver stays small.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Running } from "../setup/devices.mjs";
import { EXIT, oddTree, receiver, same, sameInside, sender, strangers } from "./harness.mjs";
import { watchMemory } from "./memory.mjs";

const CONNECTIONS = 10_000;
const ADDRESSES = 16;
/** The receiver's memory limit, the same as without strangers. */
const HELD_MIB_MAX = 64;
/**
 * The running transfer, and its limit in bytes a second. It may take twice the time that this
 * makes.
 */
const RUNNING_BYTES = 80_000_000;
const LIMIT = 4_000_000;
const RUNNING_SECONDS_MAX = (2 * RUNNING_BYTES) / LIMIT;

test(`${CONNECTIONS} half-open connections leave a running transfer and a new one of a known device untouched`, async (t) => {
  const { inbox, source, near, far } = strangers(t);
  const receiving = await receiver(t, far, inbox, { once: false });
  writeFileSync(join(source, "first"), "paired by this");
  const first = sender(t, near, join(source, "first"), receiving.target);
  assert.equal(await first.exit(), EXIT.all, first.said());

  const large = join(source, "large");
  writeFileSync(large, Buffer.alloc(RUNNING_BYTES, "not all alike\n"));
  const running = sender(t, near, large, receiving.target, { code: null, args: ["--limit", String(LIMIT), "--compress", "off"] });
  await running.event("progress");
  const memory = watchMemory(receiving);
  const flood = new Running(
    "flood",
    process.execPath,
    [fileURLToPath(new URL("flood.mjs", import.meta.url)), receiving.port, CONNECTIONS, ADDRESSES].map(String),
    { env: process.env, input: null },
  );
  t.after(() => flood.kill());
  await flood.event("all dialled");
  assert.equal(running.status, undefined, "the transfer is still running");

  const tree = join(source, "tree");
  oddTree(tree, "--bulk-mib", "8", "--small", "200");
  const begun = performance.now();
  const another = sender(t, near, tree, receiving.target, { code: null });
  assert.equal(await another.exit(), EXIT.all, another.said());
  t.diagnostic(`a known device's new transfer took ${((performance.now() - begun) / 1000).toFixed(1)} s`);
  same(tree, join(inbox, "tree"));
  assert.equal(await running.exit(), EXIT.all, running.said());
  const { seconds } = await running.event("finished");
  t.diagnostic(`the running transfer took ${seconds.toFixed(1)} s`);
  assert.ok(seconds >= RUNNING_BYTES / LIMIT / 2 && seconds <= RUNNING_SECONDS_MAX, `${seconds} s`);

  flood.tell("");
  const { opened, closed, open } = await flood.event("tally");
  t.diagnostic(`${opened} connections were opened, ${closed} of them closed by the receiver, ${open} are open`);
  assert.ok(opened >= CONNECTIONS && closed > CONNECTIONS / 2, flood.said());
  flood.kill();
  sameInside(source, inbox);
  receiving.kill("SIGINT");
  assert.equal(await receiving.exit(), EXIT.all, receiving.said());
  const held = await memory;
  t.diagnostic(`memory held by the receiver: ${held.toFixed(1)} MiB`);
  assert.ok(held > 1 && held <= HELD_MIB_MAX, `${held} MiB`);
});
