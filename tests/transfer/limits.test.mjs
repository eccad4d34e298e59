// The bottleneck of a transfer, and the limit that a person sets: what both processes report.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CODE, EXIT, ends, receiver, sameInside, sender, strangers } from "./harness.mjs";

/**
 * The data that may be sent before any wait: a burst of a tenth of a second, and a piece of a
 * twentieth.
 */
const FREE_SECONDS = 0.16;
const STAGES = ["finding", "reading", "encrypting", "sending", "limited", "receiving", "decrypting", "writing"];

const of = (running, name) => running.events.filter((event) => event.event === name);

test("a rate limit holds, by argument and by the settings, and both ends report it as the bottleneck", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  const length = 4_000_000;
  const stored = await near.run(["settings", "--limit", "2M", "--json"]);
  assert.equal(stored.status, EXIT.all, stored.said());
  assert.equal(stored.events[0].send_limit, 2_000_000);
  for (const [args, limit, code] of [
    [["--limit", "4000K", "--compress", "off"], 4_000_000, CODE],
    [["--compress", "off"], 2_000_000, null],
  ]) {
    const receiving = await receiver(t, far, inbox);
    const file = join(source, `at ${limit}`);
    writeFileSync(file, Buffer.alloc(length, 7));
    const sending = sender(t, near, file, receiving.target, { code, args });
    await ends(sending, receiving);
    const [end] = of(sending, "finished");
    assert.ok(end.seconds >= length / limit - FREE_SECONDS, `${end.seconds} s at ${limit} bytes a second`);
    for (const running of [sending, receiving]) {
      const [finished] = of(running, "finished");
      assert.equal(finished.limited_by, "limit", running.said());
      assert.deepEqual(Object.keys(finished.times).sort(), [...STAGES].sort());
      assert.ok(of(running, "progress").some((event) => event.limited_by === "limit"), running.said());
      assert.ok(of(running, "progress").every((event) => "limited_by" in event));
    }
  }
  const lifted = await near.run(["settings", "--limit", "none", "--json"]);
  assert.equal(lifted.events[0].send_limit, null, lifted.said());
});

test("compressible data is compressed over a slow line, and this is reported", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  writeFileSync(join(source, "text"), "the same line again and again\n".repeat(200_000));
  const receiving = await receiver(t, far, inbox);
  const target = [receiving.target, "--code-file", near.codeFile(CODE)];
  const sent = await near.run(["send", join(source, "text"), ...target, "--limit", "6M", "--json"]);
  assert.equal(sent.status, EXIT.all, sent.said());
  assert.equal(await receiving.exit(), EXIT.all, receiving.said());
  const { packed } = sent.events.find(({ event }) => event === "finished");
  assert.ok(packed.contents > 1_000_000 && packed.wire < packed.contents / 10, JSON.stringify(packed));
  sameInside(source, inbox);
});

test("the summary names the bottleneck, and with --verbose where the time went", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  writeFileSync(join(source, "file"), Buffer.alloc(1_500_000, 7));
  const receiving = await receiver(t, far, inbox);
  const target = [receiving.target, "--code-file", near.codeFile(CODE)];
  const sent = await near.run(["send", join(source, "file"), ...target, "--limit", "1.5M", "--compress", "off", "--verbose"]);
  assert.equal(sent.status, EXIT.all, sent.said());
  assert.equal(await receiving.exit(), EXIT.all, receiving.said());
  const said = sent.stdout + sent.stderr;
  assert.match(said, /^Limited by the upload limit here\.$/m);
  assert.match(said, /^Time here: .*waiting for the limit \d+ %/m);
  assert.match(said, /^Time there: waiting for the network \d+ %/m);
  sameInside(source, inbox);
});

test("an invalid rate limit is refused before anything is sent", async (t) => {
  const { source, near } = strangers(t);
  for (const bad of ["0", "999", "fast", "20Mb", "-1"]) {
    const refused = await near.run(["send", source, "127.0.0.1:9", `--limit=${bad}`]);
    assert.equal(refused.status, EXIT.usage, refused.said());
    assert.match(refused.stderr, /a limit is/, refused.said());
  }
});

test("many files over a slow line are counted ahead, and both ends show the time left", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  const files = 6_000;
  const length = 4_000;
  for (let at = 0; at < files; at++) writeFileSync(join(source, `file ${at}`), Buffer.alloc(length, at));
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, source, receiving.target, { args: ["--limit", "1M", "--compress", "off"] });
  const known = ({ event, totals_final: isFinal, seconds_left: left }) => event === "progress" && isFinal && left !== null;
  for (const running of [sending, receiving]) {
    const first = await running.event(known);
    assert.equal(first.stage, "running", running.said());
    assert.ok(first.entries_done < files / 2, `known after ${first.entries_done} of ${files}: ${running.said()}`);
    assert.deepEqual([first.entries_total, first.bytes_total], [files + 1, files * length], running.said());
  }
  sending.kill();
});
