// A hundred devices at once: first contacts by a standing secret from a hundred addresses, then a
// hundred paired devices. None is turned away; all wait for a place.
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Device } from "../setup/devices.mjs";
import { capture } from "../setup/process.mjs";
import { EXIT, isRoot, receiver, same, sender, strangers } from "./harness.mjs";
import { watchMemory } from "./memory.mjs";

const DEVICES = 100;
const PORT = 17464;
/** As without other devices, plus each one's connection, task, and threads while it is received. */
const HELD_MIB_MAX = 96;
const FILE_BYTES = 100_000;
/** Slow enough that the first sixteen still run when the others arrive. */
const SLOWLY = ["--limit", "100K", "--compress", "off"];
const SECRET = "a standing secret of a hundred laptops";

/**
 * A network in which a sender that dials 10.78.1.N comes from 10.78.0.N; undefined if that is
 * impossible.
 */
function manyAddresses(t) {
  const name = `rw${process.pid}-crowd`;
  const inside = (...args) => capture("ip", ["-n", name, ...args]).status === 0;
  t.after(() => capture("ip", ["netns", "delete", name]));
  if (!isRoot || capture("ip", ["netns", "add", name]).status !== 0 || !inside("link", "set", "lo", "up")) return undefined;
  const numbers = Array.from({ length: DEVICES }, (_, number) => number + 1);
  const isMade = numbers.every(
    (number) =>
      inside("address", "add", `10.78.0.${number}/32`, "dev", "lo") &&
      inside("route", "add", "local", `10.78.1.${number}`, "dev", "lo", "src", `10.78.0.${number}`),
  );
  return isMade ? { wrap: ["ip", "netns", "exec", name], addresses: numbers.map((number) => `10.78.1.${number}:${PORT}`) } : undefined;
}

/** A device for each, with its own folder to send. */
function crowd(base, source) {
  return Array.from({ length: DEVICES }, (_, number) => {
    const path = join(source, `data-${number}`);
    mkdirSync(path);
    writeFileSync(join(path, "file"), Buffer.alloc(FILE_BYTES, `${number} `));
    return { device: new Device(base, `laptop-${number}`), path };
  });
}

async function allEndWell(sending) {
  const ends = await Promise.all(sending.map((one) => one.exit()));
  const bad = sending.filter((_, at) => ends[at] !== EXIT.all);
  assert.equal(bad.length, 0, `${bad.length} of ${ends.length} failed, the first: ${bad[0]?.said()}`);
}

test("a hundred first contacts and a hundred known devices at once all end well, in bounded memory", async (t) => {
  const { base, inbox, source, far } = strangers(t);
  const network = manyAddresses(t);
  if (!network) return t.skip("a network with a hundred addresses takes root and iproute2");
  const { wrap, addresses } = network;
  const receiving = await receiver(t, far, inbox, { code: SECRET, once: false, host: "0.0.0.0", port: PORT, args: ["--no-announce"], wrap });
  const memory = watchMemory(receiving);
  const all = crowd(base, source);
  const send = ({ device, path }, number, code, args) => sender(t, device, path, addresses[number], { code, args, wrap });

  const began = performance.now();
  await allEndWell(all.map((one, number) => send(one, number, SECRET, [])));
  t.diagnostic(`${DEVICES} first contacts took ${((performance.now() - began) / 1000).toFixed(1)} s`);
  assert.equal(readdirSync(inbox).length, DEVICES);

  for (const { path } of all) writeFileSync(join(path, "more"), Buffer.alloc(FILE_BYTES, "more "));
  const again = performance.now();
  const sending = all.map((one, number) => send(one, number, null, SLOWLY));
  await allEndWell(sending);
  t.diagnostic(`${DEVICES} known devices took ${((performance.now() - again) / 1000).toFixed(1)} s`);
  const places = sending.flatMap((one) => one.events.filter(({ stage }) => stage === "queued").map(({ place }) => place));
  assert.ok(places.length > 0 && places.every((place) => place >= 1), "some of them waited, and were told where they stand");
  for (const { path } of all) same(path, join(inbox, path.slice(source.length + 1)));

  receiving.kill("SIGINT");
  const most = await memory;
  t.diagnostic(`the receiver held ${most.toFixed(0)} MiB at most`);
  assert.ok(most < HELD_MIB_MAX, `${most} MiB`);
});

test("a sender that does not retry is told at once that there is no place", async (t) => {
  const { base, inbox, source, far } = strangers(t);
  const receiving = await receiver(t, far, inbox, { code: SECRET, once: false });
  const all = crowd(base, source).slice(0, 13);
  const send = ({ device, path }, code, args) => sender(t, device, path, receiving.target, { code, args });
  // Devices without a rule get 12 of the 16 places.
  const first = all.slice(0, 12).map((one) => send(one, SECRET, ["--limit", "10K", "--compress", "off"]));
  await Promise.all(first.map((one) => one.event(({ event, stage }) => event === "progress" && stage === "running")));
  const last = send(all[12], SECRET, ["--retry", "no"]);
  assert.equal(await last.exit(), EXIT.declined, last.said());
  assert.ok(!readdirSync(inbox).includes("data-12"));
});
