// Ended transfers are stored at both ends, and `ringway inbox` shows, searches and forgets them.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { freePort } from "../setup/devices.mjs";
import { EXIT, asked, ends, receiver, sameInside, sender, strangers } from "./harness.mjs";
import { SLOW, got, moving, sharing } from "./sharing.mjs";

async function past(device, ...args) {
  const done = await device.run(["inbox", ...args, "--json"]);
  assert.equal(done.status, EXIT.all, done.said());
  return done.events.filter((event) => event.event === "past");
}

test("both ends remember what was sent, what failed and why, and forget it when asked", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  assert.deepEqual(await past(near, "--all"), []);
  const tree = join(source, "tree");
  mkdirSync(tree);
  writeFileSync(join(tree, "file"), "content");
  const receiving = await receiver(t, far, inbox);
  await ends(sender(t, near, tree, receiving.target), receiving);
  // A FIFO cannot be sent, so it is named and stored.
  execFileSync("mkfifo", [join(tree, "pipe")]);
  const again = await receiver(t, far, inbox);
  await ends(sender(t, near, tree, again.target), again, EXIT.partial);
  const nobody = `127.0.0.1:${await freePort()}`;
  const alone = sender(t, near, tree, nobody);
  assert.equal(await alone.exit(), EXIT.failed, alone.said());

  assert.deepEqual(await past(near), [], "nothing was received here");
  const sent = await past(near, "--sent");
  assert.deepEqual(
    sent.map(({ outcome, peer, target, files, failed }) => ({ outcome, peer, target, files, failed })),
    [
      { outcome: "failed", peer: null, target: nobody, files: 0, failed: 0 },
      { outcome: "partial", peer: "far", target: again.target, files: 1, failed: 1 },
      { outcome: "complete", peer: "far", target: receiving.target, files: 1, failed: 0 },
    ],
  );
  assert.equal(sent[0].error.code, "unreachable");
  assert.deepEqual(sent[2].paths, [{ path: tree }]);
  const received = await past(far);
  assert.deepEqual(received.map(({ outcome, peer }) => [outcome, peer]), [["partial", "near"], ["complete", "near"]]);
  assert.deepEqual(received[1].paths, [{ path: join(inbox, "tree") }]);
  assert.equal(received[1].id, sent[2].id);
  assert.equal(received[1].title.path, "tree");

  const [shown] = await past(near, "show", String(sent[1].number));
  assert.deepEqual(shown.failures.map(({ path, reason, side }) => [path, reason, side]), [["tree/pipe", "special_file", "here"]]);
  assert.ok(shown.series.every((point, index) => index === 0 || point.bytes >= shown.series[index - 1].bytes));

  assert.deepEqual((await past(near, "--all", "--search", nobody)).map(({ number }) => number), [sent[0].number]);
  assert.equal((await past(near, "--all", "--failed")).length, 2);
  assert.deepEqual((await past(near, "--all", "-n", "1", "--before", String(sent[1].number))).map(({ number }) => number), [sent[2].number]);

  for (const wanted of [EXIT.all, EXIT.failed]) {
    const forgetting = await near.run(["inbox", "forget", String(sent[1].number)]);
    assert.equal(forgetting.status, wanted, forgetting.said());
  }
  const old = await near.run(["inbox", "clear", "--older-than", "1", "--json"]);
  assert.equal(old.events[0].transfers, 0);
  const all = await near.run(["inbox", "clear", "--json"]);
  assert.equal(all.events[0].transfers, 2);
  assert.deepEqual(await past(near, "--all"), []);
});

test("a past transfer is sent again by its number, from any folder and to the same device", async (t) => {
  const { base, inbox, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  mkdirSync(tree);
  writeFileSync(join(tree, "file"), "content");
  execFileSync("mkfifo", [join(tree, "pipe")]);
  const receiving = await receiver(t, far, inbox);
  await ends(sender(t, near, "tree/", receiving.target, { args: ["--verify"], cwd: source }), receiving, EXIT.partial);
  const [{ number }] = await past(near, "--sent");
  rmSync(join(tree, "pipe"));
  writeFileSync(join(tree, "later"), "more");
  const later = await receiver(t, far, inbox, { port: receiving.port });
  const renamed = await near.run(["devices", "rename", "far", "lab"]);
  assert.equal(renamed.status, EXIT.all, renamed.said());
  const again = near.start(["send", "--again", String(number), "--json"], { cwd: base });
  t.after(() => again.kill());
  await ends(again, later);
  const { files, unchanged, proven } = again.events.find((event) => event.event === "finished");
  assert.deepEqual([files, unchanged, proven.files], [2, 1, 2], "verified again, and what was there is not sent twice");
  sameInside(tree, inbox);
  for (const asked of [999, (await past(far))[0].number]) {
    const refused = await far.run(["send", "--again", String(asked)]);
    assert.equal(refused.status, EXIT.usage, refused.said());
    assert.match(refused.said(), /inbox --sent/);
  }
  const word = await near.run(["send", "--again", "lab"]);
  assert.equal(word.status, EXIT.usage, word.said());
  assert.match(word.said(), /--again takes the number of an earlier send, as `ringway inbox --sent` lists them.* ringway send FOLDER DEVICE/);
  // Without a number it is the last one. What was received is none.
  const elsewhere = join(source, "other");
  writeFileSync(elsewhere, "other");
  const [other, last] = [await receiver(t, far, inbox, { port: receiving.port }), near.start(["send", elsewhere, "lab", "--json"])];
  t.after(() => last.kill());
  await ends(last, other);
  rmSync(join(inbox, "other"));
  const third = await receiver(t, far, inbox, { port: receiving.port });
  const latest = near.start(["send", "--again", "--json"], { cwd: base });
  t.after(() => latest.kill());
  await ends(latest, third);
  assert.equal(readFileSync(join(inbox, "other"), "utf8"), "other");
  const none = await far.run(["send", "--again"]);
  assert.deepEqual([none.status, /Nothing was sent yet/.test(none.said())], [EXIT.usage, true], none.said());
});

test("what was sent by a list is sent again with a list, any number of times", async (t) => {
  const { base, inbox, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  mkdirSync(tree);
  for (const name of ["a", "b.tmp", "c"]) writeFileSync(join(tree, name), name);
  const [list, empty] = ["list", "empty"].map((name) => join(base, name));
  writeFileSync(list, "a\nb.tmp\n");
  writeFileSync(empty, "");
  const receiving = await receiver(t, far, inbox, { once: false });
  const first = sender(t, near, tree, receiving.target, { args: ["--exclude", "*.tmp"] });
  assert.equal(await first.exit(), EXIT.all, first.said());
  for (let time = 0; time < 3; time += 1) {
    rmSync(join(inbox, "tree/a"));
    const done = await near.run(["send", "--again", "--files-from", list]);
    assert.equal(done.status, EXIT.all, done.said());
    assert.equal(readFileSync(join(inbox, "tree/a"), "utf8"), "a");
  }
  rmSync(join(inbox, "tree"), { recursive: true });
  const nothing = await near.run(["send", "--again", "--files-from", empty]);
  assert.deepEqual([nothing.status, /empty lists no path: there is nothing to send\./.test(nothing.stderr)], [EXIT.all, true], nothing.said());
  assert.ok(!existsSync(join(inbox, "tree")), "no empty folder is made");
  const without = await near.run(["send", "--again"]);
  assert.equal(without.status, EXIT.usage, without.said());
  const [, advised] = without.said().match(/was sent by a list \(--files-from\).*\n?.*: ringway (send --again \d+ --files-from) LIST/);
  const done = await near.run([...advised.split(" "), list]);
  assert.equal(done.status, EXIT.all, done.said());
  assert.ok(existsSync(join(inbox, "tree/a")) && !existsSync(join(inbox, "tree/b.tmp")), "the patterns are remembered");
  const [{ number }] = await past(near, "--sent");
  assert.match((await near.run(["inbox", "show", String(number)])).stdout, new RegExp(`^Again: +ringway send --again ${number} --files-from LIST$`, "m"));
});

for (const [signal, code] of [["SIGTERM", "program_ended"], ["SIGHUP", "program_ended"], ["SIGINT", "cancelled"], ["SIGKILL", "program_ended"]]) {
  test(`what ${signal} ended is in the history of both ends, and --again repeats it`, async (t) => {
    const { near, far, source, inbox, shared, serving } = await sharing(t);
    await asked(far, ["devices", "rule", "near", "--accept"]);
    for (const folder of [source, shared]) {
      writeFileSync(join(folder, "old"), "old");
      writeFileSync(join(folder, "new"), Buffer.alloc(40_000_000));
    }
    await asked(near, ["send", join(source, "old"), "far"]);
    await got(t, near, ["far:runs/old", inbox]);
    const ways = [[2, "get", ["far:runs/new", inbox], "receiving"], [3, "send", [join(source, "new"), "far"], "sending"]];
    for (const [earlier, verb, words, direction] of ways) {
      const running = near.start([verb, ...words, "--json", ...SLOW]);
      t.after(() => running.kill());
      await moving(running);
      assert.equal((await past(near, "--all")).length, earlier, "what runs has not ended");
      running.kill(signal);
      await running.exit();
      const all = await past(near, "--all");
      assert.deepEqual([all.length, all[0].title.path, all[0].direction, all[0].error?.code], [earlier + 1, "new", direction, code]);
      const planned = (await asked(near, [verb, "--again", "--dry-run"])).filter(({ event }) => event === "planned");
      assert.deepEqual(planned.map(({ path }) => path), ["new"]);
    }
    if (signal === "SIGINT") return;
    serving.kill(signal);
    await serving.exit();
    const there = (await past(far, "--all")).map(({ title, direction, outcome, error }) => [title.path, direction, error?.code ?? outcome]);
    assert.deepEqual(there.slice(0, 2).sort(), [["new", "receiving", code], ["new", "sending", code]]);
    assert.deepEqual(there.slice(2), [["old", "sending", "complete"], ["old", "receiving", "complete"]]);
  });
}

test("a transfer that takes a while is remembered with its course", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  writeFileSync(join(source, "large"), Buffer.alloc(6_000_000));
  const receiving = await receiver(t, far, inbox);
  await ends(sender(t, near, join(source, "large"), receiving.target, { args: ["--limit", "3M", "--compress", "off"] }), receiving);
  for (const device of [near, far]) {
    const [{ number, bytes, seconds }] = await past(device, "--all");
    assert.equal(bytes, 6_000_000);
    const [{ series }] = await past(device, "show", String(number));
    assert.ok(series.length >= 5, `${device.name}: ${JSON.stringify(series)}`);
    const last = series.at(-1);
    assert.equal(last.bytes, 6_000_000);
    assert.ok(last.seconds <= seconds, `${last.seconds} of ${seconds} s`);
  }
});
