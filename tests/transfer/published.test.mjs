// A destination that fails while final names are given, or after that: the receiver reports which
// names are there already.
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { which } from "../setup/process.mjs";
import { EXIT, ends, isRoot, receiver, sameInside, sender, strangers } from "./harness.mjs";

/** The calls that give names and write them to the disk. Each fails from its nth call on. */
const FAILING = {
  3: [...["syncfs", "renameat2"].flatMap((call) => [1, 2, 3].map((when) => ({ call, when }))), { call: "fsync", when: 1, only: true }],
  // More files than are written to the disk one by one.
  70: [...[2, 3].map((when) => ({ call: "syncfs", when })), { call: "renameat2", when: 40 }],
};

for (const folders of [3, 70]) {
  test(`final names that exist are reported, whichever call fails: ${folders} folders`, async (t) => {
    if (!isRoot || !which("strace")) return t.skip("tracing a receiver takes root and strace");
    const { inbox, source, near, far } = strangers(t);
    const names = Array.from({ length: folders }, (_, number) => `folder-${number}`);
    for (const name of names) {
      mkdirSync(join(source, name));
      writeFileSync(join(source, name, "file"), name);
    }
    const sent = names.map((name) => join(source, name));
    const paired = join(inbox, "paired");
    mkdirSync(paired);
    const first = await receiver(t, far, paired);
    await ends(sender(t, near, sent[0], first.target), first);
    const code = null;
    let told = 0;
    for (const { call, when, only } of FAILING[folders]) {
      const to = join(inbox, `${call}-${when}`);
      mkdirSync(to);
      const strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", `trace=${call}`, "-e", `inject=${call}:error=EIO:when=${when}+`];
      // The trust store uses that call, too.
      if (only) strace.push("-P", to);
      const failing = await receiver(t, far, to, { wrap: strace, code });
      const sending = sender(t, near, sent, failing.target, { code, args: ["--retry", "no"] });
      const ended = await sending.exit();
      const end = await failing.exit();
      const there = readdirSync(to).filter((name) => !name.startsWith("."));
      if (end === EXIT.all) {
        assert.deepEqual([ended, there.length], [EXIT.all, folders], failing.said());
        continue;
      }
      const { error, message } = failing.events.findLast(({ event }) => event === "finished");
      assert.ok(error, failing.said());
      assert.equal(/Already there: /.test(message), there.length > 0, `${call} ${when}: ${there.length}\n${message}`);
      told += Number(there.length > 0);
      const again = await receiver(t, far, to, { code });
      assert.equal(await sender(t, near, sent, again.target, { code }).exit(), EXIT.all, again.said());
      await again.exit();
      sameInside(source, to);
    }
    assert.ok(told > 0, "none failed behind the first name");
  });
}
