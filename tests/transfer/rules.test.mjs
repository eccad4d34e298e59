// Rules for devices: what is accepted, asked about or declined before anybody is asked, and where
// it lands.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { freePort } from "../setup/devices.mjs";
import { CODE, Device, EXIT, asked, eventually, listing, receiver, same, sender, strangers, untouched } from "./harness.mjs";

const MEGABYTE = 1_000_000;
const HOUR_AGO_S = Date.now() / 1000 - 3_600;

/** `near` and `far` are paired, and `far` has a separate folder for files from `near`. */
async function friends(t) {
  const place = strangers(t);
  const pairing = await receiver(t, place.far, place.inbox, { once: false });
  await pairs(place.near, pairing);
  pairing.kill("SIGTERM");
  await pairing.exit();
  const ruled = join(place.base, "from near");
  mkdirSync(ruled);
  return { ...place, ruled };
}

async function pairs(device, receiving) {
  const paired = await device.run(["pair", receiving.target, "--code-file", device.codeFile(CODE), "--json"]);
  assert.equal(paired.status, EXIT.all, paired.said());
}

/** Sets `far`'s rule for a device, and returns the rule. */
async function rule(far, name, ...args) {
  const set = await far.run(["devices", "rule", name, ...args, "--json"]);
  assert.equal(set.status, EXIT.all, set.said());
  return set.events.find((event) => event.event === "rule").rule;
}

/** A receiver without a person, in a separate folder that is not on its command line. */
function headless(t, { far, inbox }, how = {}) {
  return receiver(t, far, null, { yes: false, once: false, code: null, args: ["--no-pairing"], cwd: inbox, ...how });
}

/** A folder with one file of this many bytes. */
function tree(source, name, bytes) {
  const path = join(source, name);
  mkdirSync(path);
  writeFileSync(join(path, "data"), Buffer.alloc(bytes, name));
  return path;
}

async function sent(t, device, path, target, wanted = EXIT.all) {
  const sending = sender(t, device, path, target, { code: null });
  assert.equal(await sending.exit(), wanted, sending.said());
  return sending;
}

test("offers that a rule accepts land in its folder without a question, and without a rule they are asked about", async (t) => {
  const place = await friends(t);
  const { far, near, inbox, source, ruled } = place;
  const data = tree(source, "data", MEGABYTE);
  const receiving = await headless(t, place);
  await sent(t, near, data, receiving.target, EXIT.declined);
  untouched(inbox);
  assert.deepEqual(await rule(far, "near", "--accept", "--into", ruled), {
    consent: "accept",
    folder: { path: ruled },
    bytes_max: null,
    into_home: "refuse",
  });
  // The running receiver already uses the rule.
  await sent(t, near, data, receiving.target);
  same(data, join(ruled, "data"));
  untouched(inbox);
  const [asked, accepted] = receiving.events.filter((event) => event.event === "offer");
  assert.deepEqual([asked.rule, asked.asked_because, asked.destination.path], ["ask", null, inbox]);
  assert.deepEqual([accepted.rule, accepted.destination.path], ["accept", ruled]);
  const shown = await far.run(["devices"]);
  assert.match(shown.stdout, /OFFERS .*MAY READ\n.*near.*accept, into .*from near/);
  const [device] = (await far.run(["devices", "--json"])).events;
  assert.equal(device.rule.consent, "accept");
});

test("a folder on the command line comes before a rule's, and --yes before a rule's question and size", async (t) => {
  const place = await friends(t);
  const { far, near, inbox, source, ruled } = place;
  const data = tree(source, "data", MEGABYTE);
  await rule(far, "near", "--accept", "--into", ruled, "--max-size", "10K");
  const receiving = await receiver(t, far, inbox, { code: null, args: ["--no-pairing"] });
  await sent(t, near, data, receiving.target);
  assert.equal(await receiving.exit(), EXIT.all, receiving.said());
  same(data, join(inbox, "data"));
  untouched(ruled);
});

test("an offer above a rule's size is asked about, and lands in the rule's folder once accepted", async (t) => {
  const place = await friends(t);
  const { far, near, source, ruled } = place;
  const [small, large] = [tree(source, "small", MEGABYTE), tree(source, "large", 2 * MEGABYTE)];
  await rule(far, "near", "--accept", "--into", ruled, "--max-size", "1M");
  const receiving = await headless(t, place);
  await sent(t, near, small, receiving.target);
  const refused = await sent(t, near, large, receiving.target, EXIT.declined);
  assert.equal(refused.events.find((event) => event.event === "finished").error.code, "declined");
  assert.deepEqual(listing(ruled), ["small", "small/data"]);
  const asked = receiving.events.filter((event) => event.event === "offer").at(-1);
  assert.deepEqual([asked.rule, asked.asked_because.because], ["ask", "too_much"]);
  assert.match(receiving.stderr, /accepts up to 1\.0 MB automatically from that device, counting what earlier attempts brought/);
  assert.equal((await rule(far, "near", "--max-size", "none")).bytes_max, null);
  await sent(t, near, large, receiving.target);
  same(large, join(ruled, "large"));
});

test("a transfer that outgrows its size after acceptance is stopped, reported at both ends, asked about next time, and resumed", async (t) => {
  const place = await friends(t);
  const { base, far, near, source, ruled } = place;
  const many = join(source, "many");
  const grow = (first, files) => {
    for (let folder = 0; folder < 10; folder++) {
      mkdirSync(join(many, `${folder}`), { recursive: true });
      for (let file = first; file < first + files; file++) {
        const path = join(many, `${folder}`, `${file}`);
        writeFileSync(path, Buffer.alloc(20_000, `${file}`));
        // Files that are as new as the first attempt are sent again, because they may have changed
        // since.
        utimesSync(path, HOUR_AGO_S, HOUR_AGO_S);
      }
    }
  };
  // 28 MB: more than the walk is ahead of the lanes, so that it does not know all folders yet when
  // they grow.
  grow(0, 140);
  await rule(far, "near", "--accept", "--into", ruled, "--max-size", "30M");
  const receiving = await headless(t, place);
  const sending = sender(t, near, many, receiving.target, { code: null, args: ["--limit", "10M", "--compress", "off"] });
  await sending.event(({ event, bytes_done: done }) => event === "progress" && done > 0);
  sending.kill("SIGSTOP");
  grow(140, 300);
  sending.kill("SIGCONT");
  assert.equal(await sending.exit(), EXIT.failed, sending.said());
  const there = await receiving.event("finished");
  const here = sending.events.find((event) => event.event === "finished");
  assert.deepEqual([here.error.code, there.error.code], ["too_much", "too_much"]);
  assert.match(here.message, /stopped the transfer at its limit: 30 MB were accepted there, counting what earlier attempts brought/);
  assert.match(there.message, /Stopped at the limit: 30 MB were accepted, counting what earlier attempts brought/);
  assert.deepEqual(listing(ruled).filter((path) => !path.startsWith(".ringway-")), [], "nothing half under its name");
  const kept = listing(ruled).filter((path) => /\/tree\/many\/\d+\/\d+$/.test(path)).length;
  assert.ok(kept > 0, "what was whole is kept");
  await sent(t, near, many, receiving.target, EXIT.declined);
  const asked = receiving.events.filter((event) => event.event === "offer").at(-1);
  assert.deepEqual([asked.rule, asked.asked_because.because], ["ask", "too_much"]);
  receiving.kill("SIGTERM");
  await receiving.exit();
  const allowed = await receiver(t, far, null, { code: null, args: ["--no-pairing"], cwd: base });
  const again = await sent(t, near, many, allowed.target);
  assert.equal(await allowed.exit(), EXIT.all, allowed.said());
  same(many, join(ruled, "many"));
  assert.equal(again.events.find((event) => event.event === "finished").unchanged, kept);
});

test("a refused device is declined whatever the options here, is told only that, and is in the log", async (t) => {
  const place = await friends(t);
  const { far, near, inbox, source } = place;
  const data = tree(source, "data", MEGABYTE);
  await rule(far, "near", "--refuse");
  const receiving = await receiver(t, far, inbox, { once: false, code: null, args: ["--no-pairing"] });
  const refused = await sent(t, near, data, receiving.target, EXIT.declined);
  assert.match(refused.events.find((event) => event.event === "finished").message, /^far declined the offer\.$/);
  const told = await receiving.event("refused");
  assert.deepEqual([told.from, told.names], ["near", [{ path: "data" }]]);
  assert.ok(!receiving.events.some((event) => event.event === "offer"), receiving.said());
  untouched(inbox);
  await rule(far, "near", "--accept");
  await sent(t, near, data, receiving.target);
  same(data, join(inbox, "data"));
});

test("a missing folder of a rule is reported and not created, and offers accepted then land in the default folder", async (t) => {
  const place = await friends(t);
  const { far, near, inbox, source, ruled } = place;
  const data = tree(source, "data", MEGABYTE);
  await rule(far, "near", "--accept", "--into", ruled);
  rmSync(ruled, { recursive: true });
  const receiving = await headless(t, place);
  await sent(t, near, data, receiving.target, EXIT.declined);
  const asked = await receiving.event("offer");
  assert.deepEqual([asked.asked_because.because, asked.destination.path], ["no_folder", inbox]);
  assert.match(receiving.stderr, /Ringway cannot use .*from near, the folder for that device/);
  receiving.kill("SIGTERM");
  await receiving.exit();
  const allowed = await receiver(t, far, null, { code: null, args: ["--no-pairing"], cwd: inbox });
  await sent(t, near, data, allowed.target);
  assert.equal(await allowed.exit(), EXIT.all, allowed.said());
  same(data, join(inbox, "data"));
  assert.deepEqual(listing(place.base).filter((path) => path === "from near"), []);
});

test("each device has its own rule, which goes when it is forgotten", async (t) => {
  const place = await friends(t);
  const { base, far, near, inbox, source } = place;
  const other = new Device(base, "other");
  const pairing = await receiver(t, far, inbox, { once: false });
  await pairs(other, pairing);
  pairing.kill("SIGTERM");
  await pairing.exit();
  await rule(far, "near", "--accept");
  const [one, two] = [tree(source, "one", 1_000), tree(source, "two", 1_000)];
  const receiving = await headless(t, place);
  await sent(t, near, one, receiving.target);
  await sent(t, other, two, receiving.target, EXIT.declined);
  assert.deepEqual(listing(inbox), ["one", "one/data"]);
  receiving.kill("SIGTERM");
  await receiving.exit();
  assert.equal((await far.run(["devices", "forget", "near"])).status, EXIT.all);
  const anew = await receiver(t, far, inbox, { yes: false, once: false });
  await pairs(near, anew);
  assert.equal((await rule(far, "near")).consent, "ask");
  assert.equal(readFileSync(join(inbox, "one/data")).length, 1_000);
});

test("an invalid rule is refused before anything is stored", async (t) => {
  const { far, base } = await friends(t);
  for (const [args, status] of [
    [["--ask", "--accept"], EXIT.usage],
    [["--max-size", "much"], EXIT.usage],
    [["--into", join(base, "not there")], EXIT.failed],
    [["--into", join(base, "device-far/code")], EXIT.failed],
  ]) {
    const set = await far.run(["devices", "rule", "near", ...args]);
    assert.equal(set.status, status, set.said());
  }
  assert.equal((await rule(far, "near")).consent, "ask");
  assert.equal((await far.run(["devices", "rule", "nobody", "--accept"])).status, EXIT.failed);
});

test("a rule that accepts answers the offers that wait at the service, except those above its size", async (t) => {
  const place = await friends(t);
  const { far, near, inbox, source, ruled } = place;
  const target = `127.0.0.1:${await freePort()}`;
  const serving = far.start(["serve", "--listen", target, "--no-announce", "--json"]);
  t.after(() => serving.kill());
  await serving.event("listening");
  await eventually("the socket", () => existsSync(join(far.env.XDG_RUNTIME_DIR, "ringway/control.sock")));
  const waiting = async () => (await asked(far, ["offers"])).length;
  const trees = ["one", "two", "three"].map((name) => tree(source, name, MEGABYTE));
  const small = trees.map((path) => sender(t, near, path, target, { code: null }));
  const large = sender(t, near, tree(source, "large", 3 * MEGABYTE), target, { code: null });
  await eventually("four questions", async () => (await asked(far, ["offers"])).filter(({ totals_final: final }) => final).length === 4);
  await rule(far, "near", "--accept", "--into", ruled, "--max-size", "2M");
  await eventually("one question", async () => (await waiting()) === 1);
  for (const sending of small) assert.equal(await sending.exit(), EXIT.all, sending.said());
  for (const path of trees) same(path, join(ruled, path.slice(source.length + 1)));
  await rule(far, "near", "--refuse");
  assert.equal(await large.exit(), EXIT.declined, large.said());
  assert.equal(await waiting(), 0);
  assert.deepEqual(listing(ruled).filter((name) => name.startsWith("large")), []);
  untouched(inbox);
  serving.kill();
  await serving.exit();
});
