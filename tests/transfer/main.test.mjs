// The main case: two devices that are not paired, a code, a real folder, and an identical one at
// the other end.
import assert from "node:assert/strict";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { CODE, EXIT, ends, receiver, same, sender, strangers, sysroot } from "./harness.mjs";

test("a real folder crosses by code and arrives identical", async (t) => {
  const { inbox, near, far } = strangers(t);
  const source = join(sysroot(), "lib/rustlib");
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, source, receiving.target);
  // While it runs: everyone on the machine can read the arguments of both processes, and they
  // contain no code.
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

test("output that cannot be printed does not fail a transfer; events that cannot be printed do", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  writeFileSync(join(source, "file"), "content");
  const wrap = (output) => ["sh", "-c", `exec "$@" ${output}`, "sh"];
  const code = ["--code-file", near.codeFile(CODE)];
  for (const [args, output, status] of [[[], ">/dev/full", EXIT.all], [[], ">&-", EXIT.all], [["--json"], ">/dev/full", EXIT.failed]]) {
    const receiving = await receiver(t, far, inbox);
    const sent = await near.run(["send", join(source, "file"), receiving.target, ...code, ...args], { wrap: wrap(output) });
    assert.equal(sent.status, status, `${args} ${output}\n${sent.said()}`);
    assert.equal(/standard output: No space left on device/.test(sent.stderr), output === ">/dev/full", sent.said());
    assert.equal(await receiving.exit(), EXIT.all, receiving.said());
  }
});
