// Shared folders: added, listed and removed by command, and what becomes of them while the service
// runs.
import assert from "node:assert/strict";
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CODE, EXIT, asked, eventually, receiver, strangers } from "./harness.mjs";
import { mounting } from "./mounts.mjs";
import { TAKEN_BACK_MS } from "./sharing.mjs";

/** `near` and `far` are paired; `far` has a folder `runs`. A receiver of `far` runs. */
async function friends(t) {
  const place = strangers(t);
  const serving = await receiver(t, place.far, place.inbox, { once: false });
  const paired = await place.near.run(["pair", serving.target, "--code-file", place.near.codeFile(CODE), "--json"]);
  assert.equal(paired.status, EXIT.all, paired.said());
  const runs = join(place.base, "runs");
  mkdirSync(join(runs, "first"), { recursive: true });
  writeFileSync(join(runs, "first", "data"), "contents");
  return { ...place, serving, runs };
}

/** What `device` sees of the shares of the other one. */
async function seen(device, target) {
  return (await asked(device, ["ls", target])).filter(({ event }) => event === "share_there");
}

async function shared(device, ...args) {
  const [share] = await asked(device, ["share", "add", ...args]);
  assert.equal(share.event, "share");
  return share;
}

test("a new share is for no device until one is named", async (t) => {
  const { near, far, runs, serving } = await friends(t);
  assert.deepEqual(await seen(near, serving.target), []);
  const share = await shared(far, runs);
  assert.deepEqual(share, { event: "share", name: "runs", folder: { path: runs }, with: "devices", devices: [], drop: null, unavailable: null, drop_trouble: null });
  assert.deepEqual(await seen(near, serving.target), []);
  const { devices } = await shared(far, runs, "--with", "near");
  assert.equal(devices.length, 1);
  assert.deepEqual(await seen(near, serving.target), [{ event: "share_there", name: "runs", drop: false, unavailable: null, drop_trouble: null }]);
  const listed = await far.run(["share"]);
  assert.match(listed.stdout, /NAME +WITH +FOLDER\nruns +near +\/.*runs\n/);
  assert.deepEqual(await asked(far, ["share", "remove", "RUNS"]), [{ event: "unshared", name: "RUNS" }]);
  assert.deepEqual(await seen(near, serving.target), []);
  assert.deepEqual(await asked(far, ["share", "list"]), []);
});

test("sharing again without naming devices keeps those that may read", async (t) => {
  const { far, runs } = await friends(t);
  const { devices } = await shared(far, runs, "--with", "near");
  assert.deepEqual((await shared(far, runs)).devices, devices);
  assert.deepEqual((await shared(far, runs, "--nobody")).devices, []);
  assert.equal((await shared(far, runs, "--with-all")).with, "all");
  assert.equal((await shared(far, runs)).with, "all");
});

test("sharing again under the same name sets who may read, and another folder needs another name", async (t) => {
  const { far, runs, base } = await friends(t);
  await shared(far, runs, "--name", "Results", "--with", "near");
  assert.equal((await shared(far, runs, "--name", "results", "--with-all")).with, "all");
  const other = join(base, "other");
  mkdirSync(other);
  const taken = await far.run(["share", "add", other, "--name", "RESULTS", "--json"]);
  assert.equal(taken.status, EXIT.usage, taken.said());
  assert.deepEqual([taken.events[0].code, taken.events[0].reason], ["invalid", "share_name_taken"]);
  assert.match(taken.stderr, /Another shared folder has the name “results”/);
  const stranger = await far.run(["share", "add", other, "--with", "nobody"]);
  assert.equal(stranger.status, EXIT.failed, stranger.said());
  assert.match(stranger.stderr, /No paired device is called “nobody”/);
  assert.equal((await asked(far, ["share"])).length, 1);
});

test("homes, Ringway's own folders and what shows the kernel are not shared", async (t) => {
  const { far, near, base, serving } = await friends(t);
  const { HOME: home, XDG_DATA_HOME: data } = far.env;
  const refused = async (folder, reason, name = "x") => {
    const args = reason === "shared_home_folder" ? [] : ["--allow-home"];
    const tried = await far.run(["share", "add", folder, "--name", name, "--with-all", ...args, "--json"]);
    assert.equal(tried.status, reason === null ? EXIT.failed : EXIT.usage, tried.said());
    if (reason) assert.equal(tried.events[0].reason, reason);
  };
  await refused(home, "shared_home_folder");
  await refused("/", "shared_home_folder");
  await refused(join(data, "ringway"), "shared_own_folder");
  await refused("/proc", null);
  await refused(join(base, "nowhere"), null);
  await refused(base, "share_name", "a/b");
  // The key of a device lies in what is shared on purpose, and is not there for anybody.
  await shared(far, far.folder, "--name", "all", "--with", "near", "--allow-home");
  const all = (await asked(near, ["ls", "-R", `${serving.target}:all`])).map(({ path }) => path);
  assert.ok(all.includes("data") && all.includes("home"), all.join());
  assert.ok(!all.some((path) => /ringway|identity/.test(path)), all.join());
  const key = await near.run(["ls", `${serving.target}:all/data/ringway/identity.pem`, "--json"]);
  assert.deepEqual([key.status, key.events[0].code, key.events[0].source.errno], [EXIT.failed, "path_there", 2], key.said());
});

test("a share whose folder is gone or replaced is unavailable, with the reason, until it is back", async (t) => {
  const { near, far, base, runs, serving } = await friends(t);
  await shared(far, runs, "--with", "near");
  const aside = join(base, "aside");
  const unavailable = async (why, words) => {
    assert.equal((await asked(far, ["share"]))[0].unavailable, why);
    assert.equal((await seen(near, serving.target))[0].unavailable, why);
    if (!why) return;
    const listed = await near.run(["ls", `${serving.target}:runs`, "--json"]);
    assert.deepEqual([listed.status, listed.events[0].code, listed.events[0].trouble], [EXIT.failed, "share_unavailable", why]);
    assert.match(listed.stderr, words);
  };
  renameSync(runs, aside);
  await unavailable("missing", /“runs” is unavailable on far: it does not exist/);
  mkdirSync(runs);
  await unavailable("replaced", /something else has its path/);
  rmSync(runs, { recursive: true });
  writeFileSync(runs, "a file");
  await unavailable("replaced", /something else has its path/);
  rmSync(runs);
  symlinkSync(aside, runs);
  await unavailable(null);
  rmSync(runs);
  renameSync(aside, runs);
  await unavailable(null);
});

test("removing a share ends a listing of it within a second, and forgetting a device takes its right", async (t) => {
  const { near, far, base, runs, serving } = await friends(t);
  const many = join(base, "many");
  mkdirSync(many);
  for (let number = 0; number < 30_000; number++) writeFileSync(join(many, `${number}`.padStart(100, "0")), "");
  await shared(far, many, "--with", "near");
  const listing = near.start(["ls", `${serving.target}:many`, "--json"]);
  t.after(() => listing.kill());
  // Nobody reads its output, so that it cannot end.
  listing.child.stdout.pause();
  await eventually("a listing", () => listing.child.stdout.readableLength > 0);
  await asked(far, ["share", "remove", "many"]);
  await new Promise((resolve) => setTimeout(resolve, TAKEN_BACK_MS));
  listing.child.stdout.resume();
  assert.equal(await listing.exit(), EXIT.failed, listing.stderr);
  assert.equal(listing.events.at(-1).code, "not_shared");
  await shared(far, runs, "--with", "near");
  await asked(far, ["devices", "forget", "near"]);
  assert.deepEqual((await asked(far, ["share"]))[0].devices, []);
  const forgotten = await near.run(["ls", `${serving.target}:runs`]);
  assert.equal(forgotten.status, EXIT.notAuthenticated, forgotten.said());
});

test("the same folder by another spelling of its path is the same share", async (t) => {
  const { base, far, runs } = await friends(t);
  await shared(far, runs, "--with", "near");
  symlinkSync(runs, join(base, "link"));
  for (const path of [`${runs}/`, `${runs}/first/..`, join(base, "link"), `${join(base, "link")}/.`]) {
    const share = await shared(far, path, "--name", "runs", "--with-all");
    assert.deepEqual([share.folder, share.with], [{ path: runs }, "all"], path);
    assert.equal((await asked(far, ["share", "list"])).length, 1, path);
    await shared(far, runs, "--with", "near");
  }
  mkdirSync(join(base, "other/runs"), { recursive: true });
  const taken = await far.run(["share", "add", join(base, "other/runs")]);
  assert.equal(taken.status, EXIT.usage, taken.said());
});

test("names of shares that differ in case alone are one in any script", async (t) => {
  const { base, far, runs } = await friends(t);
  await shared(far, runs, "--name", "Übung");
  assert.equal((await shared(far, runs, "--name", "übung", "--with-all")).with, "all");
  assert.equal((await asked(far, ["share", "list"])).length, 1);
  mkdirSync(join(base, "other"));
  const taken = await far.run(["share", "add", join(base, "other"), "--name", "ÜBUNG"]);
  assert.equal(taken.status, EXIT.usage, taken.said());
  await asked(far, ["share", "remove", "ÜBUNG"]);
  assert.deepEqual(await asked(far, ["share", "list"]), []);
});

mounting("a folder in one of Ringway's own is not shared, wherever it is mounted", async (t, { mount }) => {
  const { base, far } = await friends(t);
  const within = join(far.env.XDG_DATA_HOME, "ringway/within/deeper");
  mkdirSync(within, { recursive: true });
  const elsewhere = join(base, "elsewhere");
  mkdirSync(elsewhere);
  if (!mount(elsewhere, "--bind", within)) return t.skip("mounting takes root");
  const refused = await far.run(["share", "add", elsewhere]);
  assert.equal(refused.status, EXIT.usage, refused.said());
});
