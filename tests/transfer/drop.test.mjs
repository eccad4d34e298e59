// Drop boxes: shared folders into which paired devices may also send, with nobody there.
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { freePort } from "../setup/devices.mjs";
import { IN_FLIGHT_BYTES, missingBytes } from "../setup/wire.mjs";
import { BOUND_BY_MODES, Device, EXIT, asked, eventually, harmfulNetwork, listing, oddTree, receiver, same, sender, strangers, untouched } from "./harness.mjs";
import { filled, mounting } from "./mounts.mjs";
import { TAKEN_BACK_MS } from "./sharing.mjs";

/** The harm is done after this many bytes, long before the end of the tree's 40 MB. */
const MIDWAY_BYTES = 20_000_000;

/** The link's rate in tests that act on what runs: a few seconds for the whole tree. */
const SLOW = ["--limit", "8M", "--compress", "off"];

const MEGABYTE = 1_000_000;

/** Starts `ringway serve` on `device`, and waits until it listens. It is killed with the test. */
async function service(t, device, inbox, port, how = {}) {
  port ??= await freePort();
  const target = `127.0.0.1:${port}`;
  const running = device.start(["serve", inbox, "--listen", target, "--no-announce", "--json"], how);
  t.after(() => running.kill());
  await running.event("listening");
  await eventually("the socket", () => existsSync(join(device.env.XDG_RUNTIME_DIR, "ringway/control.sock")));
  return Object.assign(running, { target, port });
}

/** Has `device` pair with the service of `far`. */
async function pairs(far, device, serving) {
  const [{ code }] = await asked(far, ["code", "--new"]);
  const paired = await device.run(["pair", serving.target, "--code-file", device.codeFile(code)]);
  assert.equal(paired.status, EXIT.all, paired.said());
}

/**
 * Two paired devices: the service of `far` runs, with the drop box `box` for `near` under the name
 * `box`.
 */
async function dropping(t, { args = [], box: made } = {}) {
  const all = strangers(t);
  const box = made ? made(all) : join(all.base, "box");
  if (box === null) return null;
  mkdirSync(box, { recursive: true });
  const serving = await service(t, all.far, all.inbox);
  await pairs(all.far, all.near, serving);
  await asked(all.far, ["share", "add", box, "--name", "box", "--with", "near", "--drop", ...args]);
  return { ...all, box, serving };
}

/** Starts to send `paths` into a place of `far`. */
function sends(t, device, paths, serving, place, { args = [], ...how } = {}) {
  return sender(t, device, paths, `${serving.target}:${place}`, { code: null, args, ...how });
}

/** Sends, and must end with the expected status. */
async function sent(t, device, paths, serving, place, { wanted = EXIT.all, ...how } = {}) {
  const sending = sends(t, device, paths, serving, place, how);
  assert.equal(await sending.exit(), wanted, sending.said());
  return sending;
}

const finished = (end) => end.events.find(({ event }) => event === "finished");
const fault = (end) => end.events.at(-1).error;
const moving = (end) => eventually("the first bytes", () => end.events.some(({ event, bytes_done: bytes }) => event === "progress" && bytes > 0));

const sameFile = (one, other) => assert.ok(readFileSync(one).equals(readFileSync(other)), `${one} and ${other} differ`);

/** A file of this many bytes in the sender's folder. */
function file(source, name, bytes) {
  const path = join(source, name);
  writeFileSync(path, Buffer.alloc(bytes, name));
  return path;
}

test("what is sent into a drop box lands there with nobody asked, and in folders that are made", async (t) => {
  const { near, far, inbox, source, box, serving } = await dropping(t, { args: ["--max-size", "1G"] });
  const tree = join(source, "tree");
  oddTree(tree);
  await sent(t, near, tree, serving, "box");
  same(tree, join(box, "tree"));
  await sent(t, near, tree, serving, "BOX/runs/2026-11/");
  same(tree, join(box, "runs/2026-11/tree"));
  await sent(t, near, join(tree, "/"), serving, "box/contents");
  assert.deepEqual(listing(join(box, "contents")), listing(tree));
  untouched(inbox);
  assert.ok(!serving.events.some(({ event }) => event === "offer_waits"), serving.said());
  // Both ends remember the place, and `send --again` keeps it.
  const [past] = (await asked(near, ["inbox", "--sent"])).filter(({ in_share: place }) => place?.path === "BOX/runs/2026-11");
  assert.equal(past.target, serving.target);
  const there = await asked(far, ["inbox"]);
  assert.deepEqual(there.map(({ in_share: place }) => place.path).sort(), ["box", "box/contents", "box/runs/2026-11"]);
  rmSync(join(box, "runs"), { recursive: true });
  const again = await near.run(["send", "--again", `${past.number}`, "--json"]);
  assert.equal(again.status, EXIT.all, again.said());
  same(tree, join(box, "runs/2026-11/tree"));
  untouched(inbox);
  // What may be sent into can be read as well, and both sides show that it is a drop box.
  const [seen] = (await asked(near, ["ls", "far"])).filter(({ event }) => event === "share_there");
  assert.deepEqual(seen, { event: "share_there", name: "box", drop: true, unavailable: null, drop_trouble: null });
  assert.match((await near.run(["ls", "far"])).stdout, /box +drop box/);
  assert.match((await far.run(["share"])).stdout, /box +near +\/.*box +drop box, up to 1.0 GB/);
  assert.match((await far.run(["devices"])).stdout, /near.*box \(drop box\)/);
  assert.deepEqual((await asked(far, ["devices"])).map(({ name, shares }) => [name, shares]), [["near", [{ name: "box", drop: true, unavailable: null, drop_trouble: null, refused: false }]]]);
  // Both outputs say which drop boxes the device cannot send into. It reads them all the same.
  await asked(far, ["devices", "rule", "near", "--refuse"]);
  assert.deepEqual((await asked(far, ["share", "add", source, "--name", "plain", "--with", "near"]))[0].drop, null);
  assert.deepEqual((await asked(far, ["devices"]))[0].shares.map(({ name, refused }) => [name, refused]), [["box", true], ["plain", false]]);
  assert.match((await far.run(["devices"])).stdout, /near.*box \(drop box, sending refused by its rule\), plain$/m);
  assert.equal((await near.run(["ls", "far:box"])).status, EXIT.all);
  await asked(far, ["share", "remove", "plain"]);
  renameSync(box, `${box} moved`);
  assert.deepEqual((await asked(far, ["devices"]))[0].shares, [{ name: "box", drop: true, unavailable: "missing", drop_trouble: null, refused: true }]);
  assert.match((await far.run(["devices"])).stdout, /near.*box \(drop box, unavailable, sending refused by its rule\)/);
});

test("a folder into which this user may not write cannot be a drop box, and one that becomes so is listed as such", async (t) => {
  const { base, near, far } = strangers(t);
  const [box, inbox] = ["box", "inbox there"].map((name) => join(base, name));
  for (const path of [box, inbox]) mkdirSync(path);
  const serving = await service(t, far, inbox, undefined, { wrap: BOUND_BY_MODES });
  await pairs(far, near, serving);
  const add = () => far.run(["share", "add", box, "--with", "near", "--drop", "--json"], { wrap: BOUND_BY_MODES });
  chmodSync(box, 0o555);
  const refused = await add();
  assert.deepEqual([refused.status, refused.events[0].reason], [EXIT.usage, "drop_not_writable"], refused.said());
  assert.match(refused.stderr, /box cannot be a drop box, because this user may not write into it\.\s+Give this user write permission/);
  assert.deepEqual(await asked(far, ["share"]), []);
  chmodSync(box, 0o755);
  assert.equal((await add()).status, EXIT.all);
  const troubles = async () => {
    const here = await far.run(["share", "--json"], { wrap: BOUND_BY_MODES });
    const there = await asked(near, ["ls", serving.target]);
    return [...here.events, ...there].filter(({ name }) => name === "box").map(({ unavailable, drop_trouble }) => [unavailable, drop_trouble]);
  };
  assert.deepEqual(await troubles(), [[null, null], [null, null]]);
  chmodSync(box, 0o555);
  assert.deepEqual(await troubles(), [[null, "not_writable"], [null, "not_writable"]]);
  const listed = await far.run(["share"], { wrap: BOUND_BY_MODES });
  assert.match(listed.stdout, /drop box; unavailable for sending: it is not writable/);
  assert.match((await near.run(["ls", serving.target])).stdout, /box +drop box; unavailable for sending: it is not writable/);
});

test("a share is made a drop box and read only again by options, and stays what it is without", async (t) => {
  const { far, base } = await dropping(t);
  const folder = join(base, "other");
  mkdirSync(folder);
  const add = async (...args) => (await asked(far, ["share", "add", folder, ...args]))[0].drop;
  assert.equal(await add("--with-all"), null);
  assert.deepEqual(await add("--drop"), { bytes_max: null });
  assert.deepEqual(await add("--max-size", "2G"), { bytes_max: 2_000_000_000 });
  assert.deepEqual(await add("--with", "near"), { bytes_max: 2_000_000_000 });
  assert.deepEqual(await add("--drop"), { bytes_max: 2_000_000_000 });
  assert.deepEqual(await add("--drop", "--max-size", "none"), { bytes_max: null });
  assert.equal(await add("--no-drop"), null);
  const bad = await far.run(["share", "add", folder, "--max-size", "2G"]);
  assert.equal(bad.status, EXIT.usage, bad.said());
  for (const home of [far.env.HOME, "/"]) {
    const refused = await far.run(["share", "add", home, "--name", "x", "--drop", "--allow-home", "--json"]);
    assert.deepEqual([refused.status, refused.events[0].reason], [EXIT.usage, "drop_in_home"], refused.said());
  }
});

test("nothing that is there is replaced, but what the same device brought and nobody has changed", async (t) => {
  const { base, near, far, source, box, serving } = await dropping(t);
  const other = new Device(base, "other");
  await pairs(far, other, serving);
  await asked(far, ["share", "add", box, "--name", "box", "--with", "near", "other"]);
  writeFileSync(join(box, "results"), "of this machine");
  mkdirSync(join(box, "runs"));
  writeFileSync(join(box, "runs/a"), "of this machine");
  const [results, runs] = ["results", "runs"].map((name) => join(source, name));
  writeFileSync(results, "first");
  mkdirSync(runs);
  writeFileSync(join(runs, "a"), "first");
  const text = (path) => readFileSync(join(box, path), "utf8");
  await sent(t, near, [results, runs], serving, "box");
  assert.deepEqual([text("results"), text("runs/a")], ["of this machine", "of this machine"]);
  assert.deepEqual([text("results (1)"), text("runs (1)/a")], ["first", "first"]);
  // Its own folder is updated, and another device's is not.
  const mine = join(source, "mine");
  mkdirSync(mine);
  writeFileSync(join(mine, "a"), "one");
  await sent(t, near, mine, serving, "box");
  writeFileSync(join(mine, "a"), "two, longer");
  await sent(t, near, mine, serving, "box");
  assert.equal(text("mine/a"), "two, longer");
  writeFileSync(join(mine, "a"), "by another device");
  await sent(t, other, mine, serving, "box");
  assert.deepEqual([text("mine/a"), text("mine (1)/a")], ["two, longer", "by another device"]);
});

test("two devices send into one drop box at once", async (t) => {
  const { base, near, far, source, box, serving } = await dropping(t);
  const other = new Device(base, "other");
  await pairs(far, other, serving);
  await asked(far, ["share", "add", box, "--name", "box", "--with-all"]);
  const tree = join(source, "tree");
  oddTree(tree, "--bulk-mib", "8");
  const both = [near, other].map((device) => sends(t, device, tree, serving, "box/sub", { args: SLOW }));
  for (const sending of both) assert.equal(await sending.exit(), EXIT.all, sending.said());
  assert.deepEqual(readdirSync(join(box, "sub")).sort(), ["tree", "tree (1)"]);
  for (const name of ["tree", "tree (1)"]) assert.deepEqual(listing(join(box, "sub", name)), listing(tree), name);
});

test("a folder that got a number in a drop box is updated there, and another device's is not", async (t) => {
  const { base, near, far, source, inbox, box, serving } = await dropping(t);
  const other = new Device(base, "other");
  await pairs(far, other, serving);
  await asked(far, ["share", "add", box, "--name", "box", "--with-all"]);
  const runs = (device) => join(source, device.name, "runs");
  const changes = async (device, text, to = serving) => {
    mkdirSync(runs(device), { recursive: true });
    writeFileSync(join(runs(device), "log"), `${text} of ${device.name}`);
    await sent(t, device, runs(device), to, "box");
  };
  const has = (folder) => readFileSync(join(box, folder, "log"), "utf8");
  await changes(near, "first");
  await changes(other, "first");
  await changes(other, "the second");
  await changes(near, "the third one");
  assert.deepEqual(readdirSync(box).sort(), ["runs", "runs (1)"]);
  assert.deepEqual([has("runs"), has("runs (1)")], ["the third one of near", "the second of other"]);
  // What the owner puts there is nobody's, and a program that starts anew knows that as well.
  await asked(far, ["stop"]);
  await serving.exit();
  renameSync(join(box, "runs (1)"), join(base, "away"));
  mkdirSync(join(box, "runs (1)"));
  writeFileSync(join(box, "runs (1)", "log"), "of this machine");
  const anew = await service(t, far, inbox);
  await changes(other, "fourth", anew);
  await changes(other, "the fifth one", anew);
  assert.deepEqual(readdirSync(box).sort(), ["runs", "runs (1)", "runs (2)"]);
  assert.deepEqual([has("runs"), has("runs (1)"), has("runs (2)")], ["the third one of near", "of this machine", "the fifth one of other"]);
});

test("what is no drop box for the device has one answer, and says what to do", async (t) => {
  const { base, near, far, inbox, source, box, serving } = await dropping(t);
  const [readable, others] = ["readable", "others"].map((name) => join(base, name));
  for (const path of [readable, others]) mkdirSync(path);
  await asked(far, ["share", "add", readable, "--with", "near"]);
  await asked(far, ["share", "add", others, "--drop"]);
  const data = file(source, "data", 1_000);
  for (const place of ["readable", "others", "nothing", "nothing/sub"]) {
    const refused = await sent(t, near, data, serving, place, { wanted: EXIT.failed });
    assert.deepEqual(fault(refused).code, "no_drop_box", refused.said());
    assert.match(refused.stderr, /far has no drop box “\w+” for this device/);
  }
  await asked(far, ["devices", "rule", "near", "--refuse"]);
  const refused = await sent(t, near, data, serving, "box", { wanted: EXIT.declined });
  assert.equal(fault(refused).code, "declined", refused.said());
  await asked(far, ["devices", "rule", "near", "--ask"]);
  await sent(t, near, data, serving, "box");
  const stranger = new Device(base, "stranger");
  await sent(t, stranger, data, serving, "box", { wanted: EXIT.notAuthenticated });
  for (const folder of [readable, others, inbox]) untouched(folder);
  assert.deepEqual(readdirSync(box), ["data"]);
  // What the refusal advises: to look, and to make a shared folder a drop box there.
  const shares = await asked(near, ["ls", "far"]);
  assert.deepEqual(shares.filter(({ drop }) => drop).map(({ name }) => name), ["box"]);
  await asked(far, ["share", "add", readable, "--drop", "--with", "near"]);
  await sent(t, near, data, serving, "readable");
  assert.deepEqual(readdirSync(readable), ["data"]);
});

mounting("no folder of a place is made for what is declined because it does not fit", async (t, { mount }) => {
  const dropped = await dropping(t, {
    box: ({ base }) => {
      const small = join(base, "box");
      mkdirSync(small);
      return mount(small, "-t", "tmpfs", "-o", "size=4m", "tmpfs") ? small : null;
    },
  });
  if (!dropped) return t.skip("mounting takes root");
  const { near, source, box, serving } = dropped;
  const data = file(source, "data", 8 * MEGABYTE);
  const refused = await sent(t, near, data, serving, "box/a/b", { wanted: EXIT.declined, args: ["--retry", "no"] });
  assert.deepEqual([fault(refused).code, fault(refused).reason], ["declined", "no_room"], refused.said());
  assert.match(refused.events.at(-1).next, /^Ask its owner to free up space.* drop box, name another one, or none\.$/);
  assert.deepEqual(readdirSync(box), []);
  await sent(t, near, file(source, "less", MEGABYTE), serving, "box/a/b");
  assert.deepEqual(readdirSync(join(box, "a/b")), ["less"]);
});

test("a person who accepts what cannot land in a drop box any more hears of this device's folder", async (t) => {
  const { far, near, source, box, serving } = await dropping(t, { args: ["--max-size", "10"] });
  const sending = sends(t, near, file(source, "data", 1_000), serving, "box/sub");
  const { id } = await eventually("the offer", async () => (await asked(far, ["status"])).find(({ event }) => event === "offer_waits"));
  renameSync(box, `${box} elsewhere`);
  const accepted = await far.run(["accept", id]);
  assert.notEqual(accepted.status, EXIT.all, accepted.said());
  assert.ok(accepted.stderr.includes(`${box} could not be opened: No such file or directory`), accepted.said());
  assert.doesNotMatch(accepted.stderr, /other device/);
  assert.equal(await sending.exit(), EXIT.failed, sending.said());
  assert.match(sending.stderr, /“box” is unavailable on far: it does not exist/);
});

test("a place whose path is too long says so, and nothing of it is made", async (t) => {
  const { near, source, box, serving } = await dropping(t);
  const data = file(source, "data", 1_000);
  const long = Array(20).fill("n".repeat(200)).join("/");
  const rest = 4_096 - `${box}/${long}/`.length;
  for (const more of [0, 1, 10]) {
    const refused = await sent(t, near, data, serving, `box/${long}/${"x".repeat(rest + more)}`, { wanted: EXIT.failed });
    assert.deepEqual([fault(refused).code, fault(refused).source.errno], ["path_there", 36], refused.said());
    assert.match(refused.stderr, /File name too long\.\s+Choose a shorter name\./);
  }
  untouched(box);
});

test("no path leads out of a drop box, or to what is Ringway's own", async (t) => {
  const { base, near, far, source, box, serving } = await dropping(t);
  const outside = join(base, "outside");
  mkdirSync(outside);
  symlinkSync(outside, join(box, "a way out"));
  symlinkSync("inside", join(box, "a link"));
  mkdirSync(join(box, "inside"));
  writeFileSync(join(box, "a file"), "x");
  const data = file(source, "data", 1_000);
  for (const [path, errno] of [
    ["a way out", 40],
    ["a way out/below", 40],
    ["a link", 40],
    ["a file", 20],
    ["a file/below", 20],
    [".ringway-0123456789abcdef", 2],
    [".Ringway-x/below", 2],
  ]) {
    const refused = await sent(t, near, data, serving, `box/${path}`, { wanted: EXIT.failed });
    const { code, path: shown, source: said } = fault(refused);
    assert.deepEqual([code, shown.path, said.errno], ["path_there", `box/${path}`, errno], refused.said());
  }
  for (const path of ["box/../x", "box/a/../../x", "/etc"]) {
    const refused = await near.run(["send", data, `${serving.target}:${path}`]);
    assert.equal(refused.status, EXIT.usage, refused.said());
  }
  untouched(outside);
  assert.deepEqual(readdirSync(box).sort(), ["a file", "a link", "a way out", "inside"]);
  // Ringway's own folders in a drop box are not there for its devices.
  await asked(far, ["share", "add", far.env.XDG_DATA_HOME, "--name", "data", "--with", "near", "--drop"]);
  for (const path of ["data/ringway", "data/ringway/below"]) {
    const refused = await sent(t, near, data, serving, path, { wanted: EXIT.failed });
    assert.equal(fault(refused).code, "path_there", refused.said());
  }
  assert.ok(!existsSync(join(far.env.XDG_DATA_HOME, "ringway/data")) && !existsSync(join(far.env.XDG_DATA_HOME, "ringway/below")));
  await sent(t, near, data, serving, "data");
});

test("a name in another case is another folder", async (t) => {
  const { near, source, box, serving } = await dropping(t);
  const data = file(source, "data", 1_000);
  mkdirSync(join(box, "Sub"));
  await sent(t, near, data, serving, "box/sub");
  assert.deepEqual(listing(box), ["Sub", "sub", "sub/data"]);
});

test("more than the drop box takes is asked about, also if its sender says less", async (t) => {
  const { near, far, source, box, serving } = await dropping(t, { args: ["--max-size", "2M"] });
  const small = file(source, "small", MEGABYTE);
  const large = file(source, "large", 3 * MEGABYTE);
  await sent(t, near, small, serving, "box");
  const sending = sends(t, near, large, serving, "box/sub");
  const [offer] = await eventually("the question", async () => {
    const waiting = (await asked(far, ["offers"])).filter(({ event }) => event === "offer_waits");
    return waiting.length > 0 && waiting;
  });
  assert.deepEqual(offer.asked_because, { because: "too_much", bytes_max: 2_000_000 });
  assert.deepEqual([offer.in_share.path, offer.destination.path], ["box/sub", join(box, "sub")]);
  await asked(far, ["accept", "near"]);
  assert.equal(await sending.exit(), EXIT.all, sending.said());
  sameFile(large, join(box, "sub/large"));
  // A receiver without a person declines.
  await asked(far, ["stop"]);
  await serving.exit();
  const receiving = await receiver(t, far, null, { yes: false, once: false, code: null, args: ["--no-pairing"], port: serving.port });
  await sent(t, near, large, receiving, "box/other", { wanted: EXIT.declined });
  await sent(t, near, small, receiving, "box/other");
  assert.deepEqual(listing(box), ["other", "other/small", "small", "sub", "sub/large"]);
});

test("recv takes in what is sent into a drop box, carefully, whatever its own folder and options are", async (t) => {
  const { base, near, far, inbox, source, box, serving } = await dropping(t);
  await asked(far, ["stop"]);
  await serving.exit();
  writeFileSync(join(box, "data"), "of this machine");
  const data = file(source, "data", 1_000);
  const elsewhere = join(base, "elsewhere");
  mkdirSync(elsewhere);
  const receiving = await receiver(t, far, elsewhere, { once: false, code: null, args: ["--on-conflict", "replace"] });
  await sent(t, near, data, receiving, "box");
  assert.equal(readFileSync(join(box, "data"), "utf8"), "of this machine");
  sameFile(data, join(box, "data (1)"));
  await sent(t, near, data, receiving, "nothing", { wanted: EXIT.failed });
  for (const folder of [elsewhere, inbox]) untouched(folder);
  const offer = receiving.events.find(({ event }) => event === "offer");
  assert.deepEqual([offer.rule, offer.in_share.path, offer.destination.path], ["accept", "box", box]);
});

for (const [what, args, here, there] of [
  ["a drop box that is not shared any more", ["share", "remove", "box"], "no_longer_shared", "no_longer_shared"],
  ["a drop box that is read only", ["share", "add", "BOX", "--name", "box", "--no-drop"], "no_longer_shared", "no_longer_shared"],
  ["a drop box that is for others", ["share", "add", "BOX", "--name", "box", "--nobody"], "no_longer_shared", "no_longer_shared"],
  ["a device whose offers are refused", ["devices", "rule", "near", "--refuse"], "cancelled", "cancelled"],
  ["a device that was forgotten", ["devices", "forget", "near"], "cancelled", "peer_forgotten"],
]) {
  test(`what is sent ends within a second: ${what}`, async (t) => {
    const { near, far, source, box, serving } = await dropping(t);
    const tree = join(source, "tree");
    oddTree(tree, "--bulk-mib", "40");
    writeFileSync(join(box, "there before"), "x");
    const sending = sends(t, near, tree, serving, "box", { args: ["--retry", "60s", ...SLOW] });
    await moving(sending);
    const done = await far.run(args.map((word) => (word === "BOX" ? box : word)));
    const takenBack = Date.now();
    assert.equal(done.status, EXIT.all, done.said());
    assert.notEqual(await sending.exit(), EXIT.all, sending.said());
    const { error } = sending.events.at(-1);
    assert.deepEqual([error.code, error.by], [here, "there"], sending.said());
    const past = await eventually("the history there", async () => (await asked(far, ["inbox", "-n1"]))[0]);
    assert.equal(past.error.code, there, JSON.stringify(past));
    const after = past.ended_at * 1_000 - takenBack;
    assert.ok(Math.abs(after) <= TAKEN_BACK_MS, `${after} ms: ${JSON.stringify(past)}`);
    const again = sends(t, near, tree, serving, "box");
    assert.notEqual(await again.exit(), EXIT.all, again.said());
    assert.ok(!existsSync(join(box, "tree")) && existsSync(join(box, "there before")));
  });
}

test("a connection that is lost is made again, and the transfer goes on in its place", async (t) => {
  const { near, inbox, source, box, serving } = await dropping(t);
  const tree = join(source, "tree");
  oddTree(tree, "--bulk-mib", "40");
  const network = await harmfulNetwork(t, serving.target, "--cut-after", MIDWAY_BYTES);
  const sending = await sent(t, near, tree, network, "box/sub", { args: ["--retry", "60s", "--compress", "off"] });
  same(tree, join(box, "sub/tree"));
  assert.deepEqual(readdirSync(join(box, "sub")), ["tree"]);
  assert.deepEqual([finished(sending).outcome, finished(sending).reconnected], ["complete", 1], sending.said());
  untouched(inbox);
});

test("a sender that is killed: the same again, also by the share's new name, sends hardly more than what is missing", async (t) => {
  const { near, far, source, box, serving } = await dropping(t);
  const tree = join(source, "tree");
  oddTree(tree, "--bulk-mib", "40");
  const network = await harmfulNetwork(t, serving.target, "--hold-after", MIDWAY_BYTES);
  const first = sends(t, near, tree, network, "box/sub", { args: ["--compress", "off"] });
  await network.event("holding");
  await first.kill();
  const sub = join(box, "sub");
  await eventually("the end there", () => !serving.events.some(({ event }) => event === "progress") || readdirSync(sub).length > 0);
  assert.ok(readdirSync(sub).every((name) => name.startsWith(".ringway-")), `${readdirSync(sub)}`);
  // It is found among what is unfinished.
  const unfinished = await eventually("what is left", async () => {
    const found = (await asked(far, ["inbox", "unfinished"])).filter(({ event }) => event === "unfinished");
    return found.length > 0 && found;
  });
  assert.equal(unfinished[0].folder.path, sub);
  await asked(far, ["share", "remove", "box"]);
  await eventually("the end there", async () => (await asked(far, ["status"])).every(({ event }) => event !== "transfer"));
  await asked(far, ["share", "add", box, "--name", "renamed", "--with", "near", "--drop"]);
  await sent(t, near, tree, serving, "box/sub", { wanted: EXIT.failed });
  const missing = missingBytes(tree, sub);
  const again = await sent(t, near, tree, serving, "renamed/sub", { args: ["--compress", "off"] });
  same(tree, join(sub, "tree"));
  assert.deepEqual(readdirSync(sub), ["tree"]);
  assert.ok(finished(again).moved < missing + IN_FLIGHT_BYTES, `${finished(again).moved} bytes moved for ${missing}`);
});

for (const [how, words] of [["removed", ["share", "remove", "box"]], ["made read-only", ["share", "add", "box", "--no-drop"]]]) {
  test(`what a drop box has of a paused transfer stays when it is ${how}, and nothing of that goes on in another one`, async (t) => {
    const { base, near, far, source, box, serving } = await dropping(t);
    const tree = join(source, "tree");
    oddTree(tree, "--bulk-mib", "24");
    const sending = sends(t, near, tree, serving, "box", { args: ["--retry", "60s", ...SLOW] });
    await eventually("some of it", () => sending.events.some(({ event, bytes_done: bytes }) => event === "progress" && bytes > 8 * MEGABYTE));
    const { id } = (await asked(far, ["status"])).find(({ event }) => event === "transfer");
    await asked(far, ["pause", id]);
    await eventually("the pause", () => sending.events.some(({ stage }) => stage === "paused"));
    const before = missingBytes(tree, box);
    await asked(far, words.map((word) => (word === "box" && words[1] === "add" ? box : word)));
    await eventually("the end there", () => finished(serving));
    const other = join(base, "other");
    mkdirSync(other);
    if (words[1] === "add") await asked(far, ["share", "remove", "box"]);
    await asked(far, ["share", "add", other, "--name", "box", "--with", "near", "--drop"]);
    assert.equal(await sending.exit(), EXIT.failed, sending.said());
    assert.deepEqual([fault(sending).code, fault(sending).by], ["no_longer_shared", "there"], sending.said());
    assert.deepEqual(readdirSync(other), []);
    assert.equal(missingBytes(tree, box), before, "what arrived stays");
    await asked(far, ["share", "remove", "box"]);
    await asked(far, ["share", "add", box, "--name", "box", "--with", "near", "--drop"]);
    const again = await sent(t, near, tree, serving, "box", { args: ["--compress", "off"] });
    same(tree, join(box, "tree"));
    assert.ok(finished(again).moved < before + IN_FLIGHT_BYTES, `${finished(again).moved} bytes moved for ${before}`);
  });
}

for (const [what, end] of [
  ["its sender was refused, and may send again", async ({ far }) => {
    await asked(far, ["devices", "rule", "near", "--refuse"]);
    await eventually("the end there", async () => (await asked(far, ["inbox", "-n1"]))[0]);
    await asked(far, ["devices", "rule", "near", "--ask"]);
  }],
  ["its sender was forgotten, and paired anew", async ({ near, far, box, serving }) => {
    await asked(far, ["devices", "forget", "near"]);
    await eventually("the end there", async () => (await asked(far, ["inbox", "-n1"]))[0]);
    await pairs(far, near, serving);
    await asked(far, ["share", "add", box, "--name", "box", "--with", "near", "--drop"]);
  }],
  ["another folder has its name after a restart", async ({ t, base, far, inbox, serving }) => {
    await asked(far, ["share", "remove", "box"]);
    await eventually("the end there", async () => (await asked(far, ["inbox", "-n1"]))[0]);
    await serving.kill();
    const other = join(base, "other");
    mkdirSync(other);
    await asked(far, ["share", "add", other, "--name", "box", "--with", "near", "--drop"]);
    await service(t, far, inbox, serving.port);
    return other;
  }],
]) {
  test(`a send into a drop box that was paused there does not run on, unpaused, once ${what}`, async (t) => {
    const all = await dropping(t);
    const { near, far, source, box, serving } = all;
    const tree = join(source, "tree");
    oddTree(tree, "--bulk-mib", "24");
    const sending = sends(t, near, tree, serving, "box", { args: ["--retry", "60s", ...SLOW] });
    await moving(sending);
    const { id } = (await asked(far, ["status"])).find(({ event }) => event === "transfer");
    await asked(far, ["pause", id]);
    await eventually("the pause", () => sending.events.some(({ stage }) => stage === "paused"));
    const other = await end({ t, ...all });
    assert.notEqual(await sending.exit(), EXIT.all, sending.said());
    for (const folder of [box, other ?? box]) assert.ok(!existsSync(join(folder, "tree")), `${readdirSync(folder)}`);
  });
}

test("a receiver that is killed and started again: the same command goes on by itself", async (t) => {
  const { near, far, inbox, source, box, serving } = await dropping(t);
  const tree = join(source, "tree");
  oddTree(tree, "--bulk-mib", "40");
  const sending = sends(t, near, tree, serving, "box/sub", { args: ["--retry", "60s", ...SLOW] });
  await moving(sending);
  await serving.kill();
  await service(t, far, inbox, serving.port);
  assert.equal(await sending.exit(), EXIT.all, sending.said());
  same(tree, join(box, "sub/tree"));
  assert.deepEqual(readdirSync(join(box, "sub")), ["tree"]);
  untouched(inbox);
});

test("a folder that is swapped for a link or another one during the transfer takes nothing", async (t) => {
  for (const [name, swap] of [
    ["link", (sub, elsewhere) => symlinkSync(elsewhere, sub)],
    ["folder", (sub) => mkdirSync(sub)],
  ]) {
    const { base, near, source, box, serving } = await dropping(t);
    const [elsewhere, aside, sub] = [join(base, "elsewhere"), join(base, "aside"), join(box, "sub")];
    mkdirSync(elsewhere);
    const tree = join(source, "tree");
    oddTree(tree, "--bulk-mib", "24");
    const sending = sends(t, near, tree, serving, "box/sub", { args: SLOW });
    await moving(sending);
    renameSync(sub, aside);
    swap(sub, elsewhere);
    assert.equal(await sending.exit(), EXIT.failed, `${name}: ${sending.said()}`);
    untouched(elsewhere);
    if (statSync(sub).isDirectory()) assert.deepEqual(readdirSync(sub), [], name);
  }
});

test("a drop box that is gone or replaced is unavailable, and takes from its devices once it is back", async (t) => {
  const { base, near, source, box, serving } = await dropping(t);
  const data = file(source, "data", 1_000);
  const aside = join(base, "aside");
  renameSync(box, aside);
  const unavailable = async (trouble) => {
    const refused = await sent(t, near, data, serving, "box/sub", { wanted: EXIT.failed });
    assert.deepEqual([fault(refused).code, fault(refused).trouble], ["share_unavailable", trouble], refused.said());
  };
  await unavailable("missing");
  mkdirSync(box);
  await unavailable("replaced");
  untouched(box);
  rmSync(box, { recursive: true });
  renameSync(aside, box);
  await sent(t, near, data, serving, "box/sub");
  sameFile(data, join(box, "sub/data"));
});

mounting("a drop box whose disk is full pauses what is sent until there is room", async (t, { mount }) => {
  const onDisk = ({ base }) => {
    const box = join(base, "disk");
    mkdirSync(box);
    return mount(box, "-t", "tmpfs", "-o", "size=64m", "tmpfs") ? box : null;
  };
  const all = await dropping(t, { box: onDisk });
  if (!all) return t.skip("mounting takes root");
  const { near, source, box, serving } = all;
  const tree = join(source, "tree");
  mkdirSync(tree);
  for (let number = 0; number < 30; number += 1) file(tree, `${number}`, MEGABYTE);
  const sending = sends(t, near, tree, serving, "box/sub", { args: ["--retry", "60s", ...SLOW] });
  await moving(sending);
  const { path } = filled(box, MEGABYTE);
  await eventually("the pause", () => sending.events.some(({ stage }) => stage === "paused"));
  rmSync(path);
  assert.equal(await sending.exit(), EXIT.all, sending.said());
  same(tree, join(box, "sub/tree"));
  assert.deepEqual(readdirSync(join(box, "sub")), ["tree"]);
});

test("what a transfer gathers is shown to no reader, and cannot be planted", async (t) => {
  const { base, near, inbox, box, serving } = await dropping(t);
  const gathers = ".ringway-0123456789abcdef";
  const fill = (folder, text) => {
    mkdirSync(join(folder, gathers, "tree"), { recursive: true });
    for (const path of ["begun", "tree/a"]) writeFileSync(join(folder, gathers, path), text);
  };
  const day = join(base, "day");
  for (const folder of [day, join(day, "below")]) fill(folder, "planted");
  writeFileSync(join(day, "fine"), "fine");
  // A folder that is new there, and then one that is not.
  for (const round of ["new", "there"]) {
    const sending = await sent(t, near, [day], serving, "box", { wanted: EXIT.partial });
    assert.deepEqual(listing(box), ["day", "day/below", "day/fine"], round);
    const refused = sending.events.filter(({ event }) => event === "entry_failed");
    assert.ok(refused.length > 0 && refused.every(({ path, reason }) => path.includes(gathers) && reason === "own_folder"), sending.said());
  }

  // What another transfer has not brought whole yet.
  fill(join(box, "day"), "another's");
  const entries = await asked(near, ["ls", `${serving.target}:box`, "-R"]);
  assert.ok(entries.length >= 3 && !JSON.stringify(entries).includes(gathers), JSON.stringify(entries));
  const get = (path) => near.run(["get", `${serving.target}:box/${path}`, inbox, "--json"]);
  const whole = await get("day");
  assert.equal(whole.status, EXIT.all, whole.said());
  assert.deepEqual(listing(inbox), ["day", "day/below", "day/fine"]);
  for (const path of ["", "/tree", "/tree/a", "/begun"]) {
    const part = await get(`day/${gathers}${path}`);
    assert.ok(part.status === EXIT.failed && /"errno":2|ENOENT|no such/i.test(part.said()), part.said());
  }
});
