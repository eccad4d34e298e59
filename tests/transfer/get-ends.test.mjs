// What ends a get, or keeps it from beginning, by the word of a person at the serving device or by
// the want of something: each with its own reason, and nothing that arrived is removed by the other
// end.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { TESTTOOLS } from "../setup/build.mjs";
import { Device, Running } from "../setup/devices.mjs";
import { EXIT, asked, eventually, harmfulNetwork, receiver, same, soon } from "./harness.mjs";
import { mounting } from "./mounts.mjs";
import { SLOW, finished, getter, got, moving, service, sharing } from "./sharing.mjs";

const MIB = 1 << 20;

/** The only transfer that `device` has under way. */
const transferOf = async (device) => (await asked(device, ["status"])).find(({ event }) => event === "transfer");

const last = (end) => end.events.at(-1);

/** What the history of `device` says of the latest transfer. */
const latest = async (device, args = []) => (await asked(device, ["inbox", ...args, "-n1"]))[0];

const unfinished = (inbox) => readdirSync(inbox).filter((name) => name.startsWith(".ringway-"));

mounting("what shows the kernel is not got, wherever it is mounted in a share", async (t, { mount }) => {
  const { near, inbox, shared, serving } = await sharing(t);
  mkdirSync(join(shared, "chroot/proc"), { recursive: true });
  writeFileSync(join(shared, "chroot/file"), "shared");
  writeFileSync(join(shared, "chroot/version"), "");
  const mounted = mount(join(shared, "chroot/proc"), "-t", "proc", "proc") && mount(join(shared, "chroot/version"), "--bind", "/proc/version");
  if (!mounted) return t.skip("mounting takes root");
  for (const path of ["chroot/proc", "chroot/proc/", "chroot/proc/version", "chroot/proc/sys/kernel", "chroot/version"]) {
    const refused = await got(t, near, [`${serving.target}:runs/${path}`, inbox], { wanted: EXIT.failed });
    const { error } = last(refused);
    assert.deepEqual([error.code, error.source.errno], ["path_there", 95], `${path}: ${refused.said()}`);
    assert.deepEqual(readdirSync(inbox), [], path);
  }
  const around = await got(t, near, [`${serving.target}:runs/chroot`, inbox], { wanted: EXIT.partial });
  assert.deepEqual(readdirSync(join(inbox, "chroot")), ["file"]);
  const failed = around.events.filter(({ event }) => event === "entry_failed").map(({ path }) => path);
  assert.deepEqual(failed.sort(), ["chroot/proc", "chroot/version"], around.said());
  const listed = await near.run(["ls", `${serving.target}:runs/chroot/proc`, "--json"]);
  assert.notEqual(listed.status, EXIT.all, listed.said());
});

test("a cancel at the serving device holds although the other one cannot hear it", async (t) => {
  const { near, far, inbox, serving } = await sharing(t, { tree: ["--bulk-mib", "24"] });
  const network = await harmfulNetwork(t, serving.target);
  const getting = getter(t, near, [`${network.target}:runs/tree`, inbox], { args: ["--retry", "60s", ...SLOW] });
  await moving(getting);
  await network.kill();
  await eventually("the loss", () => getting.events.some(({ stage }) => stage === "reconnecting"));
  const { id } = await eventually("the transfer there", () => transferOf(far));
  const said = await far.run(["cancel", id, "--remove"]);
  assert.match(said.said(), /is cancelled\. What arrived at near stays there\.$/m);
  const repaired = new Running("network", TESTTOOLS, ["proxy", network.target, serving.target], { input: null });
  t.after(() => repaired.kill());
  assert.equal(await getting.exit(), EXIT.failed, getting.said());
  const { error } = last(getting);
  assert.deepEqual([error.code, error.by, error.kept], ["cancelled", "there", true], getting.said());
  assert.equal((await latest(far, ["--sent"])).error.kept, true, "both ends say that it is kept");
  assert.ok(!existsSync(join(inbox, "tree")));
  assert.equal(unfinished(inbox).length, 1, "what arrived is this device's");
  assert.equal((await latest(far, ["--sent"])).error?.code, "cancelled");
  // The same command is another request.
  await got(t, near, [`${serving.target}:runs/tree`, inbox]);
});

for (const [what, args, wanted] of [
  ["is not shared any more", ["share", "remove", "runs"], "no_longer_shared"],
  ["is for no device any more", ["share", "add", null, "--name", "runs", "--nobody"], "no_longer_shared"],
  ["belongs to a device that was forgotten", ["devices", "forget", "near"], "peer_forgotten"],
]) {
  test(`what ${what} ends with that reason, and what arrived stays`, async (t) => {
    const { near, far, inbox, shared, serving } = await sharing(t, { tree: ["--bulk-mib", "24"] });
    const getting = getter(t, near, [`${serving.target}:runs/tree`, inbox], { args: ["--retry", "60s", ...SLOW] });
    await moving(getting);
    const done = await far.run(args.map((word) => word ?? shared));
    assert.equal(done.status, EXIT.all, done.said());
    assert.equal(await getting.exit(), EXIT.failed, getting.said());
    const { error, next } = last(getting);
    assert.deepEqual([error.code, error.by], ["no_longer_shared", "there"], getting.said());
    assert.match(next, /^What arrived is kept\./);
    assert.equal(unfinished(inbox).length, 1, `${readdirSync(inbox)}`);
    const past = await eventually("the history there", () => latest(far, ["--sent"]));
    assert.equal(past.error.code, wanted, JSON.stringify(past));
    assert.equal((await latest(near)).error.code, "no_longer_shared");
  });
}

test("a get of what is paused there waits for that, and begins when it is resumed", async (t) => {
  const { near, far, inbox, shared, serving } = await sharing(t, { tree: ["--bulk-mib", "24"] });
  const words = [`${serving.target}:runs/tree`, inbox];
  const first = getter(t, near, words, { args: ["--retry", "60s", ...SLOW] });
  await moving(first);
  const { id } = await transferOf(far);
  await asked(far, ["pause", id]);
  await eventually("the pause", () => first.events.some(({ stage }) => stage === "paused"));
  // Nobody hears of that, as of a cancel.
  first.kill("SIGKILL");
  await first.exit();
  const second = getter(t, near, words, { args: ["--retry", "60s"] });
  await eventually("the pause", () => second.events.some(({ stage, interruption }) => stage === "paused" && interruption?.by === "there"));
  await asked(far, ["resume", id]);
  assert.equal(await second.exit(), EXIT.all, second.said());
  same(join(shared, "tree"), join(inbox, "tree"));
});

test("a get that waits for the end of a pause there ends with the transfer that is cancelled there", async (t) => {
  const { near, far, inbox, serving } = await sharing(t, { tree: ["--bulk-mib", "24"] });
  const words = [`${serving.target}:runs/tree`, inbox];
  const first = getter(t, near, words, { args: ["--retry", "60s", ...SLOW] });
  await moving(first);
  const { id } = await transferOf(far);
  await asked(far, ["pause", id]);
  await eventually("the pause", () => first.events.some(({ stage }) => stage === "paused"));
  first.kill("SIGKILL");
  await first.exit();
  const waits = getter(t, near, words, { args: ["--retry", "60s"] });
  await eventually("the pause", () => waits.events.some(({ stage }) => stage === "paused"));
  await asked(far, ["cancel", id]);
  assert.equal(await waits.exit(), EXIT.failed, waits.said());
  const { error } = last(waits);
  assert.deepEqual([error.code, error.by, error.kept], ["cancelled", "there", true], waits.said());
  assert.ok(!existsSync(join(inbox, "tree")));
  // The same command is another request.
  await got(t, near, words);
});

for (const [signal, what] of [["SIGTERM", "is terminated"], ["SIGHUP", "loses its terminal"]]) {
  test(`a get that ${what} while folders get their names gives all of them`, async (t) => {
    const { near, inbox, shared, serving } = await sharing(t);
    for (let number = 0; number < 2_000; number += 1) mkdirSync(join(shared, `${number}`));
    const getting = getter(t, near, [`${serving.target}:runs/`, inbox]);
    const named = () => readdirSync(inbox).filter((name) => !name.startsWith(".ringway-"));
    await soon("a name", () => named().length > 0);
    getting.kill(signal);
    assert.equal(await getting.exit(), EXIT.all, getting.said());
    assert.equal(named().length, 2_000);
    assert.equal((await latest(near)).outcome, "complete");
  });
}

test("a get that goes on and is stopped then tells as much as its progress did", async (t) => {
  const { near, inbox, serving } = await sharing(t, { tree: ["--bulk-mib", "24"] });
  const words = [`${serving.target}:runs/tree`, inbox];
  const done = ({ events }) => events.findLast(({ event }) => event === "progress")?.bytes_done ?? 0;
  const first = getter(t, near, words, { args: SLOW });
  await eventually("a part", () => done(first) > 4 * MIB);
  first.kill("SIGKILL");
  await first.exit();
  const second = getter(t, near, words, { args: SLOW });
  await eventually("more", () => done(second) > done(first) + MIB);
  second.kill("SIGINT");
  assert.equal(await second.exit(), EXIT.failed, second.said());
  const { bytes, moved } = finished(second);
  assert.ok(bytes >= done(second) && moved < bytes, `${bytes} of which ${moved} moved, after ${done(second)}`);
  assert.equal((await latest(near)).bytes, bytes);
});

test("a pause ends with a requester that has gone for longer than it said", async (t) => {
  const { near, far, inbox, serving } = await sharing(t, { tree: ["--bulk-mib", "24"] });
  const getting = getter(t, near, [`${serving.target}:runs/tree`, inbox], { args: ["--retry", "2s", ...SLOW] });
  await moving(getting);
  const { id } = await transferOf(far);
  await asked(far, ["pause", id]);
  await eventually("the pause", () => getting.events.some(({ stage }) => stage === "paused"));
  await getting.kill();
  await eventually("the end there", () => finished(serving));
  assert.equal(await transferOf(far), undefined);
});

test("a get that is paused there does not go on when its share was removed and is shared again", async (t) => {
  const { near, far, inbox, shared, serving } = await sharing(t, { tree: ["--bulk-mib", "24"] });
  const words = [`${serving.target}:runs/tree`, inbox];
  const getting = getter(t, near, words, { args: ["--retry", "60s", ...SLOW] });
  await moving(getting);
  const { id } = await transferOf(far);
  await asked(far, ["pause", id]);
  await eventually("the pause", () => getting.events.some(({ stage }) => stage === "paused"));
  // Whether it asks before or after the share is back is chance.
  await asked(far, ["share", "remove", "runs"]);
  await asked(far, ["share", "add", shared, "--name", "runs", "--with", "near"]);
  await eventually("the end there", () => finished(serving));
  assert.equal(await getting.exit(), EXIT.failed, getting.said());
  assert.deepEqual([last(getting).error.code, last(getting).error.by], ["no_longer_shared", "there"], getting.said());
  assert.equal(unfinished(inbox).length, 1, "what arrived stays");
  // The same command is another request.
  await got(t, near, words);
  same(join(shared, "tree"), join(inbox, "tree"));
});

test("a cancel says what it does to a get at both ends, and that it is not sent again from there", async (t) => {
  const { near, far, inbox, serving } = await sharing(t, { tree: ["--bulk-mib", "24"] });
  const getting = near.start(["get", `${serving.target}:runs/tree`, inbox, "--retry", "60s", ...SLOW]);
  t.after(() => getting.kill());
  const { id } = await eventually("the first bytes", async () => {
    const transfer = await transferOf(far);
    return transfer?.bytes_done > 0 && transfer;
  });
  const cancelled = await far.run(["cancel", id]);
  assert.match(cancelled.stdout, /is cancelled\. What arrived at near stays there\.$/m);
  assert.equal(await getting.exit(), EXIT.failed, getting.said());
  assert.match(getting.stderr, /Cancelled by far\.\s+What arrived is kept\. Get the same again to resume\./);
  const past = await eventually("the history there", () => latest(far, ["--sent"]));
  const again = await far.run(["send", "--again", `${past.number}`]);
  assert.equal(again.status, EXIT.usage, again.said());
  assert.match(again.stderr, /was not sent from here: the other device got it from a shared folder\.\s+It can get the same again there\./);
});

test("the history of a get that broke off tells each end its own next step", async (t) => {
  const { near, far, inbox, inboxThere, serving } = await sharing(t, { tree: ["--bulk-mib", "24"] });
  const shown = async (device, args, found) => {
    const { number } = await eventually("the end", () => latest(device, args));
    const { stdout } = await device.run(["inbox", "show", `${number}`]);
    assert.match(stdout, found);
    assert.doesNotMatch(stdout, /send the same/i);
    const { next } = (await asked(device, ["inbox", "show", `${number}`]))[0];
    assert.doesNotMatch(next, /send the same/i);
  };
  const getting = getter(t, near, [`${serving.target}:runs/tree`, inbox], { args: ["--retry", "no", ...SLOW] });
  await moving(getting);
  await serving.kill();
  assert.equal(await getting.exit(), EXIT.failed, getting.said());
  await shown(near, [], /Get the same again to complete it\./);
  await service(t, far, inboxThere, { port: serving.port });
  await shown(far, ["--sent"], /It can get the same again to resume\./);
});

mounting("what plainly does not fit is refused before the first byte, each time", async (t, { mount }) => {
  const { base, near, far, shared, serving } = await sharing(t);
  const small = join(base, "small");
  mkdirSync(small);
  if (!mount(small, "-t", "tmpfs", "-o", "size=30m", "tmpfs")) return t.skip("mounting takes root");
  mkdirSync(join(shared, "tree"));
  for (let number = 0; number < 65; number += 1) writeFileSync(join(shared, "tree", `${number}`), Buffer.alloc(MIB, number));
  for (let time = 0; time < 6; time += 1) {
    const refused = await got(t, near, [`${serving.target}:runs/tree`, small], { wanted: EXIT.declined });
    const { error, next } = last(refused);
    assert.deepEqual([error.code, error.reason, error.needed], ["declined", "no_room", 65 * MIB], refused.said());
    assert.match(next, /then get the same again\.$/);
    assert.deepEqual(readdirSync(small), []);
  }
  await eventually("nothing that waits there", async () => (await asked(far, ["status"])).every(({ event }) => event !== "transfer"));
});

test("who runs `ringway recv` is told apart from who does not share", async (t) => {
  const { near, far, inbox, inboxThere, serving } = await sharing(t);
  await asked(far, ["stop"]);
  await serving.exit();
  const receiving = await receiver(t, far, inboxThere, { code: null, port: serving.port });
  const getting = await got(t, near, [`${receiving.target}:runs`, inbox], { wanted: EXIT.failed });
  const { error, next } = last(getting);
  assert.equal(error.code, "not_served", getting.said());
  assert.match(next, /`ringway serve`/);
  await receiving.kill();
  await service(t, far, inboxThere, { port: serving.port });
  await got(t, near, [`${serving.target}:runs`, inbox]);
});

test("where nothing listens, get and ls name `ringway serve`, which lets them through", async (t) => {
  const { near, far, inbox, inboxThere, serving } = await sharing(t);
  await asked(far, ["stop"]);
  await serving.exit();
  for (const args of [["get", `${serving.target}:runs`, inbox, "--retry", "no"], ["ls", serving.target]]) {
    const refused = await near.run(args);
    assert.match(refused.said(), /Start `ringway serve` there/, refused.said());
  }
  await service(t, far, inboxThere, { port: serving.port });
  await got(t, near, [`${serving.target}:runs`, inbox]);
});

test("who is not paired gets with the code that `ringway code --new` there shows", async (t) => {
  const { base, far, inbox, shared, serving } = await sharing(t, { share: false });
  const stranger = new Device(base, "stranger");
  writeFileSync(join(shared, "a file"), "shared");
  const added = await far.run(["share", "add", shared, "--name", "runs", "--with-all"]);
  assert.equal(added.status, EXIT.all, added.said());
  const words = [`${serving.target}:runs/a file`, inbox];
  const refused = await got(t, stranger, words, { wanted: EXIT.notAuthenticated });
  assert.match(last(refused).next, /^`ringway code --new` there shows a code\./);
  const [{ code }] = await asked(far, ["code", "--new"]);
  await got(t, stranger, words, { args: ["--code-file", stranger.codeFile(code)] });
  assert.deepEqual(readdirSync(inbox), ["a file"]);
});

test("a limit that was given to get is named as that, at both ends", async (t) => {
  const { near, far, inbox, shared, serving } = await sharing(t);
  writeFileSync(join(shared, "bulk"), Buffer.alloc(4_000_000, 7));
  const words = ["get", `${serving.target}:runs/bulk`, inbox, "--compress", "off"];
  const limited = await near.run([...words, "--limit", "2M"]);
  assert.match(limited.said(), /Limited by --limit\./, limited.said());
  rmSync(join(inbox, "bulk"));
  const set = await far.run(["settings", "--limit", "2M"]);
  assert.equal(set.status, EXIT.all, set.said());
  const theirs = await near.run(words);
  assert.match(theirs.said(), /Limited by the upload limit on far\./, theirs.said());
});

test("a file of the kernel's is no silent success for who sends it", { skip: !existsSync("/proc/version") }, async (t) => {
  const { near, far, inboxThere } = await sharing(t, { share: false });
  const rule = await far.run(["devices", "rule", "near", "--accept"]);
  assert.equal(rule.status, EXIT.all, rule.said());
  const sent = await near.run(["send", "/proc/version", "far"]);
  assert.equal(sent.status, EXIT.partial, sent.said());
  assert.match(sent.said(), /version: could not be read here: Operation not supported/);
  assert.deepEqual(readdirSync(inboxThere), []);
});

for (const [what, end] of [
  ["is stopped", (far) => asked(far, ["stop"])],
  ["gets SIGTERM", (_, serving) => serving.kill("SIGTERM")],
]) {
  test(`what is served when the service ${what} is in its history`, async (t) => {
    const { near, far, inbox, inboxThere, serving } = await sharing(t, { tree: ["--bulk-mib", "24"], args: ["--grace", "0s"] });
    const getting = getter(t, near, [`${serving.target}:runs/tree`, inbox], { args: ["--retry", "60s", ...SLOW] });
    await moving(getting);
    await end(far, serving);
    await serving.exit();
    const past = await latest(far, ["--sent"]);
    assert.equal(past?.error?.code, "program_ended", JSON.stringify(past));
    // The next service goes on with it, and the history has how that ended.
    await service(t, far, inboxThere, { port: serving.port });
    assert.equal(await getting.exit(), EXIT.all, getting.said());
    const whole = await eventually("the history there", async () => {
      const told = await latest(far, ["--sent"]);
      return told.error ? null : told;
    });
    assert.equal(whole.outcome, "complete", JSON.stringify(whole));
  });
}

test("a get that is cancelled while it is paused there has ended there, too, and both histories tell who it was", async (t) => {
  const { near, far, inbox, serving } = await sharing(t, { tree: ["--bulk-mib", "24"] });
  const getting = getter(t, near, [`${serving.target}:runs/tree`, inbox], { args: ["--retry", "1h", ...SLOW] });
  await moving(getting);
  const { id } = await transferOf(far);
  await asked(far, ["pause", id]);
  await eventually("the pause", () => getting.events.some(({ stage }) => stage === "paused"));
  getting.kill("SIGINT");
  await getting.exit();
  await eventually("the end there", () => finished(serving));
  const [here, there] = [await latest(near), await latest(far, ["--sent"])].map(({ error }) => [error?.code, error?.by, error?.kept]);
  assert.deepEqual([here, there], [["cancelled", "here", true], ["cancelled", "there", true]]);
  assert.equal(await transferOf(far), undefined);
});
