// Senders that wait in a receiver's queue: what they are told when the receiver stops receiving,
// cancels their transfer or forgets them.
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { freePort } from "../setup/devices.mjs";
import { EXIT, asked, eventually, receiver, sender, strangers } from "./harness.mjs";

/** This many transfers of one device run at a time. */
const PLACES = 8;
const SLOWLY = ["--limit", "10K", "--compress", "off", "--retry", "10m"];
const SECRET = "a standing secret of two laptops";

/**
 * Fills the places of one device and lets one more transfer wait: `[the running ones, the waiting
 * one]`.
 */
async function crowd(t, { near, source }, target, code) {
  const files = Array.from({ length: PLACES + 1 }, (_, number) => join(source, `file-${number}`));
  for (const file of files) writeFileSync(file, Buffer.alloc(3_000_000, file));
  const send = (file) => sender(t, near, file, target, { code: null, args: SLOWLY });
  const first = sender(t, near, files[0], target, { code, args: SLOWLY });
  const runs = (one) => one.event(({ event, stage }) => event === "progress" && stage === "running");
  await runs(first);
  const others = files.slice(1, PLACES).map(send);
  await Promise.all(others.map(runs));
  const waits = send(files[PLACES]);
  await waits.event(({ event, stage }) => event === "progress" && stage === "queued");
  return [[first, ...others], waits];
}

/** Ends with that status and error code, and has not tried again before. */
async function isTold(waits, status, code, reason) {
  assert.equal(await waits.exit(), status, waits.said());
  const { error } = await waits.event("finished");
  assert.deepEqual([error.code, error.reason ?? null], [code, reason ?? null], waits.said());
  assert.ok(!waits.events.some(({ stage }) => stage === "reconnecting"), waits.said());
}

/** The receiver's history says the same, and not that a person has cancelled it. */
async function isNotedAsStopped({ far }) {
  const past = await eventually("the end in the history", async () => {
    const all = (await asked(far, ["inbox", "--all"])).filter(({ event }) => event === "past");
    return all.find(({ error }) => error?.code === "declined");
  });
  assert.equal(past.error.reason, "stopped", JSON.stringify(past));
  assert.match(past.message, /^Receiving was stopped here/);
}

for (const signal of ["SIGTERM", "SIGINT"]) {
  test(`a sender in the queue of a receiver that ends by ${signal} is told so at once`, async (t) => {
    const place = strangers(t);
    const receiving = await receiver(t, place.far, place.inbox, { code: SECRET, once: false });
    const [running, waits] = await crowd(t, place, receiving.target, SECRET);
    receiving.kill(signal);
    await isTold(waits, EXIT.declined, "declined", "stopped");
    assert.match(waits.stderr, /stopped receiving/);
    await receiving.exit();
    await isNotedAsStopped(place);
    for (const one of running) one.kill();
  });
}

/** Starts `ringway serve`, with a rule to accept offers of `near`. */
async function service(t, { near, far, inbox }) {
  const pairing = await receiver(t, far, inbox, { code: SECRET, once: false });
  const paired = await near.run(["pair", pairing.target, "--code-file", near.codeFile(SECRET), "--json"]);
  assert.equal(paired.status, EXIT.all, paired.said());
  pairing.kill();
  await pairing.exit();
  await asked(far, ["devices", "rule", "near", "--accept"]);
  const target = `127.0.0.1:${await freePort()}`;
  const serving = far.start(["serve", inbox, "--listen", target, "--no-announce", "--json", "--grace", "1s"]);
  t.after(() => serving.kill());
  await serving.event("listening");
  await eventually("the socket", () => existsSync(join(far.env.XDG_RUNTIME_DIR, "ringway/control.sock")));
  return Object.assign(serving, { target });
}

test("a sender in the service's queue is told at once that receiving was switched off", async (t) => {
  const place = strangers(t);
  const serving = await service(t, place);
  const [running, waits] = await crowd(t, place, serving.target, null);
  await asked(place.far, ["settings", "--receiving", "off"]);
  await isTold(waits, EXIT.declined, "declined", "stopped");
  await isNotedAsStopped(place);
  for (const one of running) one.kill();
});

test("a sender in the service's queue is told at once that the service ends", async (t) => {
  const place = strangers(t);
  const serving = await service(t, place);
  const [running, waits] = await crowd(t, place, serving.target, null);
  serving.kill("SIGTERM");
  await isTold(waits, EXIT.declined, "declined", "stopped");
  await serving.exit();
  await isNotedAsStopped(place);
  for (const one of running) one.kill();
});

test("a sender in the queue is told that its transfer was cancelled at the receiver, or that it is not paired there any more", async (t) => {
  const place = strangers(t);
  const serving = await service(t, place);
  const [running, cancelled] = await crowd(t, place, serving.target, null);
  const queued = await eventually("the queued transfer", async () =>
    (await asked(place.far, ["status"])).find(({ event, stage }) => event === "transfer" && stage === "queued"),
  );
  await asked(place.far, ["cancel", queued.id]);
  await isTold(cancelled, EXIT.failed, "cancelled");
  assert.match(cancelled.stderr, /Cancelled by far/);

  const forgotten = sender(t, place.near, join(place.source, `file-${PLACES}`), serving.target, { code: null, args: SLOWLY });
  await forgotten.event(({ event, stage }) => event === "progress" && stage === "queued");
  await asked(place.far, ["devices", "forget", "near"]);
  await isTold(forgotten, EXIT.notAuthenticated, "pairing_needed");
  for (const one of running) one.kill();
  // A file that it is still writing would prevent the folder's removal.
  serving.kill();
  await serving.exit();
});
