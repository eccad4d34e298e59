// What must fail: wrong codes, declined offers, unusable destinations, targets that do not exist.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { drawn, freePort } from "../setup/devices.mjs";
import {
  BOUND_BY_MODES,
  CODE,
  Device,
  EXIT,
  ends,
  receiver,
  sameInside,
  sender,
  strangers,
  untouched,
} from "./harness.mjs";

const WRONG = "7-zebra-zebra";
/** Wrong attempts that a code allows, minus one. */
const TRIES = 3;

function withFile(t) {
  const all = strangers(t);
  writeFileSync(join(all.source, "file"), "content");
  return { ...all, file: join(all.source, "file") };
}

test("a sender with the drawn code is paired", async (t) => {
  const { inbox, source, file, near, far } = withFile(t);
  const receiving = await receiver(t, far, inbox, { code: null });
  const { code } = await receiving.event(drawn);
  assert.match(code, /^\d+-[a-z]+-[a-z]+$/);
  await ends(sender(t, near, file, receiving.target, { code }), receiving);
  sameInside(source, inbox);
});

test("a code is burnt after three wrong attempts: then even the right one is refused, and a new code pairs", async (t) => {
  const { base, inbox, source, file, far } = withFile(t);
  const receiving = await receiver(t, far, inbox, { code: null });
  const { code } = await receiving.event(drawn);
  for (let attempt = 1; attempt <= TRIES; attempt += 1) {
    const guessing = sender(t, new Device(base, `guesser-${attempt}`), file, receiving.target, { code: WRONG });
    assert.equal(await guessing.exit(), EXIT.notAuthenticated, guessing.said());
  }
  const late = sender(t, new Device(base, "late"), file, receiving.target, { code });
  assert.equal(await late.exit(), EXIT.notAuthenticated, late.said());
  untouched(inbox);
  const renewed = await receiving.event((event) => drawn(event) && event.code !== code);
  await ends(sender(t, new Device(base, "right"), file, receiving.target, { code: renewed.code }), receiving);
  sameInside(source, inbox);
});

test("one wrong attempt does not burn the code", async (t) => {
  const { base, inbox, source, file, near, far } = withFile(t);
  const receiving = await receiver(t, far, inbox);
  const wrong = sender(t, new Device(base, "guesser"), file, receiving.target, { code: WRONG });
  assert.equal(await wrong.exit(), EXIT.notAuthenticated, wrong.said());
  untouched(inbox);
  await ends(sender(t, near, file, receiving.target), receiving);
  sameInside(source, inbox);
});

test("without a code a stranger is refused, and is not asked for one without a terminal", async (t) => {
  const { inbox, file, near, far } = withFile(t);
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, file, receiving.target, { code: null });
  assert.ok([EXIT.notAuthenticated, EXIT.usage].includes(await sending.exit()), sending.said());
  const { name, paired_as, allowed } = await receiving.event("pairing_requested");
  assert.deepEqual([name, paired_as, allowed], ["near", null, false], "a person there is told");
  untouched(inbox);
});

test("a known name with another key is refused, loudly", async (t) => {
  const { base, inbox, file, near, far } = withFile(t);
  const first = await receiver(t, far, inbox);
  await ends(sender(t, near, file, first.target), first);
  // Another installation with the same name, at the first one's address, with the right code.
  const impostor = new Device(join(base, "home"), "far");
  const there = await receiver(t, impostor, join(base, "source"), { port: first.port });
  const sending = sender(t, near, file, "far");
  assert.equal(await sending.exit(), EXIT.notAuthenticated, sending.said());
  assert.match(sending.said(), /identity_changed/);
  assert.ok(!there.said().includes("auth_failed"), "it does not even learn who called");
});

test("a name that is taken gets a number once the code was proven", async (t) => {
  const { base, inbox, file, near, far } = withFile(t);
  const first = await receiver(t, far, inbox);
  await ends(sender(t, near, file, first.target), first);
  const other = new Device(join(base, "home"), "near");
  const second = await receiver(t, far, inbox);
  await ends(sender(t, other, file, second.target), second);
  assert.match(second.said(), /near \(2\)/);
});

test("a paired device also proves a given code", async (t) => {
  const { inbox, file, near, far } = withFile(t);
  const receiving = await receiver(t, far, inbox, { once: false });
  const first = sender(t, near, file, receiving.target);
  assert.equal(await first.exit(), EXIT.all, first.said());
  const wrong = await near.run(["pair", receiving.target, "--code-file", near.codeFile("7-river-zebra"), "--json"]);
  assert.equal(wrong.status, EXIT.notAuthenticated, wrong.stdout + wrong.stderr);
  const sending = sender(t, near, file, receiving.target, { code: "7-river-zebra" });
  assert.equal(await sending.exit(), EXIT.notAuthenticated, sending.said());
});

test("a declined offer: the sender says so, nothing arrives", async (t) => {
  const { inbox, file, near, far } = withFile(t);
  const receiving = await receiver(t, far, inbox, { yes: false, input: "n\n" });
  const sending = sender(t, near, file, receiving.target);
  assert.equal(await sending.exit(), EXIT.declined, sending.said());
  untouched(inbox);
});

test("a destination that may not be written to is found before the first byte", async (t) => {
  const { inbox, file, near, far } = withFile(t);
  chmodSync(inbox, 0o555);
  const receiving = far.start(
    ["recv", inbox, "--listen", `127.0.0.1:${await freePort()}`, "--json", "--yes", "--once", "--code-file", far.codeFile(CODE)],
    { wrap: BOUND_BY_MODES },
  );
  t.after(() => receiving.kill());
  assert.equal(await receiving.exit(), EXIT.failed, receiving.said());
  assert.ok((receiving.stdout + receiving.stderr).includes("inbox"), receiving.said());
  untouched(inbox);
});

test("a destination that is a file, or is not there, is found before the first byte", async (t) => {
  const { base, file, far } = withFile(t);
  for (const destination of [file, join(base, "not there")]) {
    const receiving = far.start(["recv", destination, "--json", "--yes", "--once", "--code-file", far.codeFile(CODE)]);
    t.after(() => receiving.kill());
    assert.ok([EXIT.failed, EXIT.usage].includes(await receiving.exit()), receiving.said());
    assert.ok((receiving.stdout + receiving.stderr).includes(destination), receiving.said());
  }
});

test("if nobody listens the sender reports it at once", async (t) => {
  const { file, near } = withFile(t);
  const sending = sender(t, near, file, `127.0.0.1:${await freePort()}`);
  assert.equal(await sending.exit(), EXIT.failed, sending.said());
});

test("a source that does not exist is a failure that names it", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, join(source, "not there"), receiving.target);
  assert.ok([EXIT.failed, EXIT.usage, EXIT.partial].includes(await sending.exit()), sending.said());
  assert.ok((sending.stdout + sending.stderr).includes("not there"), sending.said());
  untouched(inbox);
});

test("wrong usage is exit 2", async (t) => {
  const { near } = strangers(t);
  for (const args of [["send"], ["recv", "--listen", "nonsense"], ["nonsense"], ["send", "--no-such", "a", "b"]]) {
    const done = await near.run(args);
    assert.equal(done.status, EXIT.usage, `${args.join(" ")}: ${done.said()}`);
  }
});

test("the code is no argument: there is no option that takes it", async (t) => {
  const { file, near } = withFile(t);
  const done = await near.run(["send", file, "127.0.0.1:9", "--code", CODE]);
  assert.equal(done.status, EXIT.usage, done.said());
});

test("the code is in no log, however much is asked for", async (t) => {
  const { inbox, file, near, far } = withFile(t);
  const env = { RUST_LOG: "trace", RUST_BACKTRACE: "1", SSLKEYLOGFILE: join(near.folder, "keys") };
  const receiving = await receiver(t, far, inbox, { env, args: ["--verbose"] });
  const sending = sender(t, near, file, receiving.target, { env, args: ["--verbose"] });
  await ends(sending, receiving);
  for (const end of [sending, receiving]) assert.ok(!/river|canal/.test(end.stdout + end.stderr), end.said());
  assert.ok(!readdirSync(near.folder).includes("keys"), "no session keys are written out");
});

test("private files are for their owner alone", async (t) => {
  const { inbox, file, near, far } = withFile(t);
  const receiving = await receiver(t, far, inbox);
  await ends(sender(t, near, file, receiving.target), receiving);
  for (const device of [near, far]) {
    const loose = execFileSync("find", [device.env.XDG_DATA_HOME, "-type", "f", "-perm", "/077"], { encoding: "utf8" });
    assert.equal(loose, "");
  }
});
