// Paired devices, and the commands about them; the command's information about itself.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { which } from "../setup/process.mjs";
import { CODE, Device, EXIT, ends, receiver, sameInside, sender, soon, strangers } from "./harness.mjs";

/** A secret like those that a headless machine keeps in a file. */
const STANDING_SECRET = "correct horse battery staple 2026";

/** The events of a command that ends by itself. */
async function said(device, args) {
  const done = await device.run([...args, "--json"]);
  assert.equal(done.status, EXIT.all, done.said());
  return done.events;
}

test("pair, list, rename and forget: a name stands for an address, and a forgotten device must pair again", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  writeFileSync(join(source, "file"), "content");
  const pairing = await receiver(t, far, inbox, { once: false });
  const paired = await near.run(["pair", pairing.target, "--code-file", near.codeFile(CODE), "--json"]);
  assert.equal(paired.status, EXIT.all, paired.said());
  const [device] = (await said(near, ["devices"])).filter((event) => event.event === "device");
  assert.equal(device.name, "far");
  const renamed = await near.run(["devices", "rename", "far", "the attic"]);
  assert.equal(renamed.status, EXIT.all, renamed.said());
  assert.equal((await said(near, ["devices"])).find((event) => event.event === "device").name, "the attic");
  const byName = sender(t, near, join(source, "file"), "the attic", { code: null });
  assert.equal(await byName.exit(), EXIT.all, byName.said());
  sameInside(source, inbox);
  const forgotten = await near.run(["devices", "forget", "the attic"]);
  assert.equal(forgotten.status, EXIT.all, forgotten.said());
  assert.deepEqual(
    (await said(near, ["devices"])).filter((event) => event.event === "device"),
    [],
  );
  const stranger = sender(t, near, join(source, "file"), pairing.target, { code: null });
  assert.equal(await stranger.exit(), EXIT.notAuthenticated, stranger.said());
});

/** A transfer of 40 MB that would take minutes, once its bytes move. */
async function slowTransfer(t) {
  const { inbox, source, near, far } = strangers(t);
  writeFileSync(join(source, "file"), randomBytes(40_000_000));
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, join(source, "file"), receiving.target, { args: ["--limit", "400K", "--retry", "1m"] });
  await receiving.event(({ event, bytes_done: done }) => event === "progress" && done > 0);
  return { inbox, near, far, sending, receiving };
}

async function endsWhenForgotten({ inbox, sending, receiving }, here, other, codes) {
  const forgotten = await here.run(["devices", "forget", other]);
  assert.equal(forgotten.status, EXIT.all, forgotten.said());
  await ends(sending, receiving, EXIT.failed);
  const said = [sending, receiving].map((end) => end.events.find(({ event }) => event === "finished").error.code);
  assert.deepEqual(said, codes);
  assert.deepEqual(readdirSync(inbox), [], "nothing is published, and nothing is kept");
}

test("a running transfer ends when another command of the receiver forgets the sender", async (t) => {
  const both = await slowTransfer(t);
  await endsWhenForgotten(both, both.far, "near", ["cancelled", "peer_forgotten"]);
});

test("a running transfer ends when another command of the sender forgets the receiver", async (t) => {
  const both = await slowTransfer(t);
  await endsWhenForgotten(both, both.near, "far", ["peer_forgotten", "cancelled"]);
});

const skip = which("strace") ? false : "no strace here to slow a disk down";
test("complete files that wait for the disk get no final names once their device is forgotten", { skip }, async (t) => {
  const { inbox, source, near, far } = strangers(t);
  writeFileSync(join(source, "file"), "content");
  const slow = ["-e", "trace=syncfs", "-e", "inject=syncfs:delay_enter=4s"];
  const wrap = ["strace", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", ...slow, "setpriv", "--pdeathsig", "KILL"];
  const receiving = await receiver(t, far, inbox, { wrap });
  const sending = sender(t, near, source, receiving.target, { args: ["--retry", "no"] });
  await receiving.event(({ event, stage }) => event === "progress" && stage === "finishing");
  assert.equal((await far.run(["devices", "forget", "near"])).status, EXIT.all);
  await ends(sending, receiving, EXIT.failed);
  assert.deepEqual(readdirSync(inbox), []);
});

test("what is given its names while its device is forgotten is complete, and nobody says that it was removed", { skip }, async (t) => {
  const { inbox, source, near, far } = strangers(t);
  for (let number = 0; number < 40; number += 1) mkdirSync(join(source, `${number}`));
  const slow = ["-e", "trace=renameat2", "-e", "inject=renameat2:delay_enter=50ms"];
  const wrap = ["strace", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", ...slow, "setpriv", "--pdeathsig", "KILL"];
  const receiving = await receiver(t, far, inbox, { wrap });
  const sending = sender(t, near, `${source}/`, receiving.target, { args: ["--retry", "no"] });
  const named = () => readdirSync(inbox).filter((name) => !name.startsWith(".ringway-")).length;
  await soon("a name", () => named() > 0);
  assert.equal((await far.run(["devices", "forget", "near"])).status, EXIT.all);
  assert.ok(named() < 40, "it was forgotten in time");
  assert.equal(await sending.exit(), EXIT.failed, sending.said());
  assert.equal(await receiving.exit(), EXIT.all, receiving.said());
  assert.equal(named(), 40);
  const { error } = sending.events.at(-1);
  assert.deepEqual([error.code, error.by, error.kept], ["cancelled", "there", true], sending.said());
  const [past] = await said(far, ["inbox", "-n1"]);
  assert.equal(past.outcome, "complete", JSON.stringify(past));
});

test("files sent to a forgotten device are not sent again to another one of its name", async (t) => {
  const { base, inbox, source, near, far } = strangers(t);
  writeFileSync(join(source, "file"), "content");
  const first = await receiver(t, far, inbox);
  await ends(sender(t, near, join(source, "file"), first.target), first);
  const [{ number }] = (await said(near, ["inbox", "--sent"])).filter(({ event }) => event === "past");
  const id = async () => (await said(near, ["devices"])).find(({ event }) => event === "device").id;
  const short = (id) => id.slice(0, 16).match(/.{4}/g).join("-");
  const was = await id();
  assert.equal((await near.run(["devices", "forget", "far"])).status, EXIT.all);
  const other = new Device(join(base, "other"), "far");
  const second = await receiver(t, other, inbox, { once: false });
  const paired = await near.run(["pair", second.target, "--code-file", near.codeFile(CODE)]);
  assert.equal(paired.status, EXIT.all, paired.said());
  const refused = await near.run(["send", "--again", String(number)]);
  assert.equal(refused.status, EXIT.notAuthenticated, refused.said());
  for (const shown of [short(was), short(await id())]) assert.ok(refused.said().includes(shown), refused.said());
  assert.ok(!second.said().includes("file"), second.said());
});

test("a name that looks like another device's is pointed out when pairing and in the list", async (t) => {
  const { base, inbox, near } = strangers(t);
  // The second letter of the other name is Cyrillic.
  for (const name of ["nas", "n\u0430s"]) {
    const device = new Device(join(base, Buffer.from(name).toString("hex")), name);
    const receiving = await receiver(t, device, inbox, { once: false });
    const paired = await near.run(["pair", receiving.target, "--code-file", near.codeFile(CODE)]);
    assert.equal(paired.status, EXIT.all, paired.said());
    assert.equal(/This name looks like that of nas /.test(paired.said()), name !== "nas", paired.said());
  }
  const listed = (await said(near, ["devices"])).filter(({ event }) => event === "device");
  assert.deepEqual(listed.map(({ looks_like }) => looks_like?.id), [listed[1].id, listed[0].id]);
  const words = await near.run(["devices"]);
  assert.match(words.stdout, /n\u0430s \([\da-f-]{19}\): This name looks like that of nas \([\da-f-]{19}\)/);
});

test("a standing secret pairs one device after the other, and guesses do not use it up", async (t) => {
  const { base, inbox, source, far } = strangers(t);
  writeFileSync(join(source, "file"), "content");
  const receiving = await receiver(t, far, inbox, { code: STANDING_SECRET, once: false });
  const attempt = async (name, code) => {
    const sending = sender(t, new Device(base, name), join(source, "file"), receiving.target, { code });
    return { status: await sending.exit(), said: sending.said() };
  };
  for (const [name, code, wanted] of [
    ["first", STANDING_SECRET, EXIT.all],
    ["guesser", `${STANDING_SECRET}?`, EXIT.notAuthenticated],
    ["second", STANDING_SECRET, EXIT.all],
  ]) {
    const { status, said } = await attempt(name, code);
    assert.equal(status, wanted, `${name}\n${said}`);
  }
  assert.ok(!(receiving.stdout + receiving.stderr).includes(STANDING_SECRET));
});

test("doctor names its checks, in words and as JSON", async (t) => {
  const { near } = strangers(t);
  const checks = (await said(near, ["doctor"])).filter((event) => event.event === "check");
  assert.ok(checks.length >= 4, JSON.stringify(checks));
  assert.ok(checks.every(({ state }) => ["good", "note", "problem"].includes(state)));
  const words = await near.run(["doctor"]);
  for (const about of [/io_uring/, /TLS/, /port/i, /AES/]) assert.match(words.stdout, about);
});

test("manual page and completions come from the same definition as the command", async (t) => {
  const { near } = strangers(t);
  const manual = await near.run(["man"]);
  assert.match(manual.stdout, /\.TH/);
  for (const shell of ["bash", "zsh", "fish"]) {
    const completions = await near.run(["completions", shell]);
    assert.equal(completions.status, EXIT.all);
    for (const option of ["code-file", "on-conflict"]) assert.ok(completions.stdout.includes(option), `${shell}: ${option}`);
  }
});
