// Devices that know each other, and the commands about them; what the command says of itself.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CODE, Device, EXIT, ends, receiver, sameInside, sender, strangers } from "./harness.mjs";

/** A secret of the kind that a headless machine keeps in a file. */
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

test("a standing secret lets in one device after the other, and no guess spends it", async (t) => {
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

test("doctor names what it looked at, in words and as JSON", async (t) => {
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
