// The main job: two devices that have never met, a code, a real folder, an identical one at the other end.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { CODE, EXIT, ends, receiver, same, sender, strangers, sysroot } from "./harness.mjs";

test("a real folder crosses by code and arrives identical", async (t) => {
  const { inbox, near, far } = strangers(t);
  const source = join(sysroot(), "lib/rustlib");
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, source, receiving.target);
  // While it runs: the arguments of both processes are for everyone on the machine to read, and hold no code.
  for (const { pid } of [sending, receiving]) {
    const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    assert.ok(words.length > 3);
    assert.ok(!words.some((word) => CODE.split("-").slice(1).some((part) => word.includes(part))), words.join(" "));
  }
  await ends(sending, receiving);
  same(source, join(inbox, basename(source)));
  assert.deepEqual(readdirSync(inbox), [basename(source)], "no staging folder is left");
  for (const end of [sending, receiving]) {
    assert.ok(end.events.length > 0);
    assert.ok(
      end.stdout.trim().split("\n").every((line) => line.startsWith("{")),
      "every line of --json is an object",
    );
    assert.ok(!end.events.some((event) => event.event === "not JSON"));
    assert.ok(!(end.stdout + end.stderr).includes(CODE), "the code is in no output");
  }
});
