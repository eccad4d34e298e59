// `ringway get` with a service that shares folders at the other end: this end asks, dials and
// receives, and nobody is at the other end.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, readdirSync, readlinkSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { capture, run } from "../setup/process.mjs";
import { IN_FLIGHT_BYTES, missingBytes } from "../setup/wire.mjs";
import { BOUND_BY_MODES, EXIT, asked, countingNetwork, endsUnread, eventually, harmfulNetwork, listing, receiver, same, sameInside } from "./harness.mjs";
import { SLOW, TAKEN_BACK_MS, finished, getter, got, moving, service, sharing } from "./sharing.mjs";

/** The harm is done after this many bytes to who gets, long before the end of the tree's 40 MB. */
const MIDWAY_BYTES = 20_000_000;

for (const [io, lanes, tls] of [
  ["uring", "1", "auto"],
  ["sync", "1", "user"],
  ["auto", "4", "auto"],
]) {
  test(`an odd tree is got identical, --io ${io}, ${lanes} lanes, --tls ${tls}`, async (t) => {
    const { near, inbox, shared, serving } = await sharing(t, { tree: [] });
    const getting = await got(t, near, [`${serving.target}:runs/tree`, inbox], { args: ["--io", io, "--lanes", lanes, "--tls", tls] });
    same(join(shared, "tree"), join(inbox, "tree"));
    assert.deepEqual(readdirSync(inbox), ["tree"]);
    assert.equal(finished(getting).outcome, "complete", getting.said());
    const there = await eventually("the end there", () => finished(serving));
    assert.deepEqual([there.direction, there.outcome, there.peer], ["sending", "complete", "near"], serving.said());
  });
}

test("a whole share, its contents, and several paths at once", async (t) => {
  const { base, near, inbox, shared, serving } = await sharing(t);
  for (const path of ["by name/inner", "by contents/inner"]) mkdirSync(join(shared, path), { recursive: true });
  for (const path of ["by name/inner/a", "by contents/b", "by contents/inner/c", "single file"]) writeFileSync(join(shared, path), path);
  const at = (path) => `${serving.target}:runs/${path}`;
  await got(t, near, [at("by name"), at("by contents/"), at("single file"), inbox]);
  assert.deepEqual(listing(inbox), ["b", "by name", "by name/inner", "by name/inner/a", "inner", "inner/c", "single file"]);
  same(join(shared, "by name"), join(inbox, "by name"));
  const [whole, contents] = ["whole", "contents"].map((name) => join(base, name));
  for (const path of [whole, contents]) mkdirSync(path);
  await got(t, near, [`${serving.target}:runs`, whole]);
  assert.deepEqual(readdirSync(whole), ["runs"]);
  sameInside(shared, join(whole, "runs"));
  await got(t, near, [`${serving.target}:runs/`, contents]);
  sameInside(shared, contents);
  // Both of one folder, in either order: each is listed whole.
  for (const [number, both] of [["runs", "runs/"], ["runs/", "runs"], ["runs/by name", "runs/by name/"], ["runs/by name/", "runs/by name"]].entries()) {
    const into = join(base, `both ${number}`);
    mkdirSync(into);
    const words = both.map((path) => `${serving.target}:${path}`);
    const dry = await got(t, near, [...words, into], { args: ["--dry-run"] });
    const done = await got(t, near, [...words, into]);
    const [name, folder] = both[0].includes(" ") ? ["by name", join(shared, "by name")] : ["runs", shared];
    sameInside(folder, join(into, name));
    assert.deepEqual(listing(into).filter((path) => path !== name && !path.startsWith(`${name}/`)), listing(folder));
    assert.deepEqual([finished(dry).files, finished(dry).failed], [finished(done).files, 0], both.join());
  }
});

test("by the device's name, into the current folder, and again without sending what is there", async (t) => {
  const { near, inbox, shared, serving } = await sharing(t, { tree: [] });
  await got(t, near, [`${serving.target}:runs/tree`, inbox]);
  const again = await got(t, near, "far:runs/tree", { cwd: inbox });
  const { moved, unchanged, outcome } = finished(again);
  assert.ok(moved === 0 && unchanged > 0 && outcome === "complete", again.said());
  same(join(shared, "tree"), join(inbox, "tree"));
});

for (const [mode, wanted] of [
  ["replace", { "a file": "new there" }],
  ["keep", { "a file": "old" }],
  ["rename", { "a file": "old", "a file (1)": "new there" }],
]) {
  test(`a file that exists and differs, --on-conflict ${mode}`, async (t) => {
    const { near, inbox, shared, serving } = await sharing(t);
    writeFileSync(join(shared, "a file"), "new there");
    writeFileSync(join(inbox, "a file"), "old");
    utimesSync(join(inbox, "a file"), 1_000_000_000, 1_000_000_000);
    await got(t, near, [`${serving.target}:runs/`, inbox], { args: ["--on-conflict", mode] });
    const found = Object.fromEntries(listing(inbox).map((name) => [name, readFileSync(join(inbox, name), "utf8")]));
    assert.deepEqual(found, wanted);
  });
}

test("what was got is read back and compared with --verify", async (t) => {
  const { near, inbox, shared, serving } = await sharing(t, { tree: ["--bulk-mib", "8"] });
  const getting = await got(t, near, [`${serving.target}:runs/tree`, inbox], { args: ["--verify"] });
  assert.ok(finished(getting).proven?.files > 0, getting.said());
  same(join(shared, "tree"), join(inbox, "tree"));
});

test("no more bytes a second than --limit, and no more than the other device's settings allow", async (t) => {
  const { near, far, inbox, shared, serving } = await sharing(t);
  writeFileSync(join(shared, "bulk"), Buffer.alloc(6_000_000, 7));
  const took = async (args) => {
    rmSync(join(inbox, "bulk"), { force: true });
    return finished(await got(t, near, [`${serving.target}:runs/bulk`, inbox], { args: ["--compress", "off", ...args] })).seconds;
  };
  const limited = await took(["--limit", "3M"]);
  assert.ok(limited > 1.2, `${limited} s`);
  const set = await far.run(["settings", "--limit", "3M"]);
  assert.equal(set.status, EXIT.all, set.said());
  const there = await took([]);
  assert.ok(there > 1.2, `${there} s`);
});

test("of a file that has changed only new parts are got, with --delta on", async (t) => {
  const { near, inbox, shared, serving } = await sharing(t);
  const old = randomBytes(24 << 20);
  const changed = Buffer.from(old);
  for (const at of [1 << 20, 11 << 20]) randomBytes(4_096).copy(changed, at + 12_345);
  writeFileSync(join(inbox, "large"), old);
  writeFileSync(join(shared, "large"), changed);
  const network = await countingNetwork(t, serving.target);
  const getting = await got(t, near, [`${network.target}:runs/large`, inbox], { args: ["--delta", "on", "--compress", "off"] });
  assert.ok(readFileSync(join(inbox, "large")).equals(changed));
  const there = await eventually("the end there", () => finished(serving));
  for (const { bytes, reused } of [finished(getting), there]) {
    assert.equal(bytes, changed.length, getting.said());
    assert.ok(reused > changed.length - (2 << 20) && reused <= changed.length, `${reused} were there`);
  }
  assert.ok(network.back < 2 << 20, `${network.back} bytes came for two edits of 4 KiB`);
});

test("what compresses is got compressed over a slow line, and both ends have the same", async (t) => {
  const { near, inbox, shared, serving } = await sharing(t);
  const text = "the same line again and again\n".repeat(200_000);
  writeFileSync(join(shared, "text"), text);
  const network = await countingNetwork(t, serving.target);
  const getting = await got(t, near, [`${network.target}:runs/text`, inbox], { args: ["--limit", "6M"] });
  assert.ok(readFileSync(join(inbox, "text"), "utf8") === text);
  assert.equal(finished(getting).bytes, text.length, getting.said());
  // The end that compresses is the one that sends.
  const { packed } = await eventually("the end there", () => finished(serving));
  assert.ok(packed.contents > 1_000_000 && packed.wire < packed.contents / 10, JSON.stringify(packed));
  assert.ok(network.back < text.length / 2, `${network.back} bytes came`);
});

test("lanes take new connections before their keys are used up", async (t) => {
  const { near, inbox, shared, serving } = await sharing(t, { tree: ["--bulk-mib", "40"] });
  await got(t, near, [`${serving.target}:runs/tree`, inbox], { args: ["--records-per-key", "300", "--compress", "off"] });
  same(join(shared, "tree"), join(inbox, "tree"));
});

test("a connection that is lost is made again by who gets, and both ends count one transfer", async (t) => {
  const { near, inbox, shared, serving } = await sharing(t, { tree: ["--bulk-mib", "40"] });
  const network = await harmfulNetwork(t, serving.target, "--cut-after", MIDWAY_BYTES, "--back");
  const getting = await got(t, near, [`${network.target}:runs/tree`, inbox], { args: ["--retry", "60s", "--compress", "off"] });
  same(join(shared, "tree"), join(inbox, "tree"));
  assert.deepEqual(readdirSync(inbox), ["tree"]);
  const there = await eventually("the end there", () => finished(serving));
  for (const [end, events] of [[finished(getting), getting.events], [there, serving.events]]) {
    assert.deepEqual([end.outcome, end.reconnected], ["complete", 1], JSON.stringify(end));
    assert.equal(events.filter(({ event }) => event === "started").length, 1);
  }
});

test("a requester that is killed: the same again sends hardly more than what is missing", async (t) => {
  const { near, inbox, shared, serving } = await sharing(t, { tree: ["--bulk-mib", "40"] });
  run("find", [shared, "-depth", "-exec", "touch", "-h", "-d", "2 days ago", "{}", "+"]);
  const network = await harmfulNetwork(t, serving.target, "--hold-after", MIDWAY_BYTES, "--back");
  const first = getter(t, near, [`${network.target}:runs/tree`, inbox], { args: ["--compress", "off"] });
  await network.event("holding");
  await first.kill();
  assert.ok(readdirSync(inbox).every((name) => name.startsWith(".ringway-")), `${readdirSync(inbox)}`);
  const missing = missingBytes(join(shared, "tree"), inbox);
  const again = await got(t, near, [`${serving.target}:runs/tree`, inbox], { args: ["--compress", "off"] });
  same(join(shared, "tree"), join(inbox, "tree"));
  assert.deepEqual(readdirSync(inbox), ["tree"]);
  const { moved } = finished(again);
  assert.ok(moved < missing + IN_FLIGHT_BYTES, `${moved} bytes moved for ${missing} that were missing`);
});

test("a serving device that is killed and started again: the same command goes on by itself", async (t) => {
  const { near, far, inbox, inboxThere, shared, serving } = await sharing(t, { tree: ["--bulk-mib", "40"] });
  const getting = getter(t, near, [`${serving.target}:runs/tree`, inbox], { args: ["--retry", "60s", ...SLOW] });
  await moving(getting);
  await serving.kill();
  await service(t, far, inboxThere, { port: serving.port });
  assert.equal(await getting.exit(), EXIT.all, getting.said());
  same(join(shared, "tree"), join(inbox, "tree"));
  assert.deepEqual([finished(getting).outcome, finished(getting).reconnected > 0], ["complete", true], getting.said());
});

for (const [what, args] of [
  ["is not shared any more", ["share", "remove", "runs"]],
  ["belongs to a device that was forgotten", ["devices", "forget", "near"]],
]) {
  test(`what ${what} ends within a second, and is not got again`, async (t) => {
    const { near, far, inbox, serving } = await sharing(t, { tree: ["--bulk-mib", "40"] });
    const getting = getter(t, near, [`${serving.target}:runs/tree`, inbox], { args: ["--retry", "60s", ...SLOW] });
    await moving(getting);
    const done = await far.run(args);
    const takenBack = Date.now();
    assert.equal(done.status, EXIT.all, done.said());
    const there = await eventually("the end there", () => finished(serving));
    const after = there.ended_at * 1_000 - takenBack;
    assert.ok(Math.abs(after) <= TAKEN_BACK_MS, `${after} ms: ${serving.said()}`);
    const status = await getting.exit();
    assert.notEqual(status, EXIT.all, getting.said());
    const again = await near.run(["get", `${serving.target}:runs/tree`, inbox, "--json"]);
    assert.notEqual(again.status, EXIT.all, again.said());
    assert.ok(!existsSync(join(inbox, "tree")));
  });
}

test("a person at the serving device pauses, resumes and cancels", async (t) => {
  const { near, far, inbox, shared, serving } = await sharing(t, { tree: ["--bulk-mib", "24"] });
  const getting = getter(t, near, [`${serving.target}:runs/tree`, inbox], { args: ["--retry", "60s", ...SLOW] });
  await moving(getting);
  const [{ id }] = (await asked(far, ["status"])).filter(({ event }) => event === "transfer");
  await asked(far, ["pause", id]);
  await eventually("the pause", () => getting.events.some(({ stage }) => stage === "paused"));
  await asked(far, ["resume", id]);
  assert.equal(await getting.exit(), EXIT.all, getting.said());
  same(join(shared, "tree"), join(inbox, "tree"));
  rmSync(join(inbox, "tree"), { recursive: true });
  const second = getter(t, near, [`${serving.target}:runs/tree`, inbox], { args: ["--retry", "60s", ...SLOW] });
  await moving(second);
  const [{ id: other }] = (await asked(far, ["status"])).filter(({ event }) => event === "transfer");
  await asked(far, ["cancel", other]);
  assert.equal(await second.exit(), EXIT.failed, second.said());
  assert.equal(second.events.at(-1).error.code, "cancelled", second.said());
  const past = await asked(far, ["inbox", "--sent"]);
  assert.equal(past.filter(({ peer }) => peer === "near").length, 2, JSON.stringify(past));
});

test("nothing is got that is not shared, not there or not allowed, and each has its reason", async (t) => {
  const { base, near, far, inbox, shared, serving } = await sharing(t);
  const secret = join(base, "secret");
  mkdirSync(secret);
  writeFileSync(join(secret, "key"), "secret");
  symlinkSync(secret, join(shared, "a way out"));
  symlinkSync(join(secret, "key"), join(shared, "a key"));
  execFileSync("mkfifo", [join(shared, "a fifo")]);
  mkdirSync(join(shared, "plain"));
  writeFileSync(join(shared, "plain/file"), "x");
  const other = await far.run(["share", "add", secret, "--name", "private"]);
  assert.equal(other.status, EXIT.all, other.said());
  for (const [what, code] of [
    ["nothing", "not_shared"],
    ["private", "not_shared"],
    ["private/key", "not_shared"],
    ["runs/missing", "path_there"],
    ["runs/a way out/key", "path_there"],
    ["runs/a way out/", "path_there"],
    ["runs/plain/file/below", "path_there"],
  ]) {
    const getting = await got(t, near, [`${serving.target}:${what}`, inbox], { wanted: EXIT.failed });
    assert.equal(getting.events.at(-1).error.code, code, `${what}: ${getting.said()}`);
    assert.deepEqual(readdirSync(inbox), [], what);
  }
  for (const what of ["runs/../secret/key", "/etc/passwd", "runs/a\u001bb"]) {
    const refused = await near.run(["get", `${serving.target}:${what}`, inbox]);
    assert.notEqual(refused.status, EXIT.all, what);
  }
  // Links are got as links, and a FIFO is reported.
  const whole = await got(t, near, [`${serving.target}:runs/`, inbox], { wanted: EXIT.partial });
  assert.deepEqual(readdirSync(inbox).sort(), ["a key", "a way out", "plain"]);
  assert.deepEqual(["a key", "a way out"].map((name) => readlinkSync(join(inbox, name))), [join(secret, "key"), secret]);
  assert.deepEqual(readdirSync(join(inbox, "plain")), ["file"]);
  const failed = whole.events.filter(({ event }) => event === "entry_failed");
  assert.deepEqual(failed.map(({ path, reason }) => [path, reason]), [["a fifo", "special_file"]], whole.said());
});

test("neither the private key nor settings are got, whatever name they have in a share", async (t) => {
  const { near, far, inbox, shared, serving } = await sharing(t);
  const own = (home, name) => join(far.env[home], "ringway", name);
  const ours = { key: own("XDG_DATA_HOME", "identity.pem"), trust: own("XDG_DATA_HOME", "ringway.db"), settings: own("XDG_CONFIG_HOME", "config.toml") };
  mkdirSync(join(shared, "deep"));
  writeFileSync(join(shared, "deep/theirs"), "shared");
  for (const [name, path] of Object.entries(ours)) {
    if (!existsSync(path)) writeFileSync(path, "");
    for (const place of [name, `deep/${name}`]) linkSync(path, join(shared, place));
  }
  const mounted = join(shared, "mounted");
  writeFileSync(mounted, "");
  const mounts = process.getuid() === 0 && capture("mount", ["--bind", ours.key, mounted]).status === 0;
  if (!mounts) rmSync(mounted);
  try {
    await got(t, near, [`${serving.target}:runs`, inbox]);
    assert.deepEqual([readdirSync(inbox), readdirSync(join(inbox, "runs"))], [["runs"], ["deep"]]);
    assert.deepEqual(readdirSync(join(inbox, "runs/deep")), ["theirs"]);
    await got(t, near, [`${serving.target}:runs/`, inbox]);
    for (const path of ["key", "deep/trust", "settings", "mounted"]) {
      await got(t, near, [`${serving.target}:runs/${path}`, inbox], { wanted: EXIT.failed });
    }
    assert.deepEqual(readdirSync(inbox).sort(), ["deep", "runs"]);
  } finally {
    if (mounts) execFileSync("umount", [mounted]);
  }
});

test("`ringway recv` shares nothing", async (t) => {
  const { near, far, inbox, inboxThere, serving } = await sharing(t);
  await asked(far, ["stop"]);
  await serving.exit();
  const receiving = await receiver(t, far, inboxThere, { code: null, port: serving.port });
  const getting = await got(t, near, [`${receiving.target}:runs`, inbox], { wanted: EXIT.failed });
  assert.equal(getting.events.at(-1).error.code, "not_served", getting.said());
});

test("a device that is not paired gets nothing, and is asked for a code", async (t) => {
  const { base, far, inbox, serving } = await sharing(t);
  const { Device } = await import("./harness.mjs");
  const stranger = new Device(base, "stranger");
  const getting = await got(t, stranger, [`${serving.target}:runs`, inbox], { wanted: EXIT.notAuthenticated });
  assert.equal(getting.events.at(-1).error.code, "pairing_needed", getting.said());
  assert.ok(far);
});

/** The paths below a folder, sorted. */
const below = (folder) => readdirSync(folder, { recursive: true }).map(String).sort();

const planned = (end) => end.events.filter(({ event }) => event === "planned");

test("patterns and lists select what is got, and the other device applies them", async (t) => {
  const { near, base, inbox, shared, serving } = await sharing(t);
  mkdirSync(join(shared, "src/cache/deep"), { recursive: true });
  for (const file of ["main.o", "src/main.c", "src/keep.o", "src/cache/deep/x", "cache"]) writeFileSync(join(shared, file), file);
  const source = `${serving.target}:runs/`;
  await got(t, near, [source, inbox], { args: ["--exclude", "*.o", "--include", "keep.o", "--exclude", "cache/"] });
  assert.deepEqual(below(inbox), ["cache", "src", "src/keep.o", "src/main.c"]);
  const from = join(base, "patterns");
  writeFileSync(from, "# what is made\n*.o\n!keep.o\ncache/\n");
  const again = join(base, "again");
  mkdirSync(again);
  await got(t, near, [source, again], { args: ["--exclude-from", from] });
  assert.deepEqual(below(again), below(inbox));
  const list = join(base, "list");
  writeFileSync(list, "src/cache\0gone\0");
  const some = join(base, "some");
  mkdirSync(some);
  const listed = await got(t, near, [source, some], { args: ["--files-from", list], wanted: EXIT.partial });
  assert.deepEqual(below(some), ["src", "src/cache", "src/cache/deep", "src/cache/deep/x"]);
  assert.deepEqual(listed.events.filter(({ event }) => event === "entry_failed").map(({ path }) => path), ["gone"]);
  const two = await near.run(["get", `${source}src`, `${source}cache`, some, "--files-from", list]);
  assert.equal(two.status, EXIT.usage, two.said());
  const bad = await near.run(["get", source, some, "--exclude", "["]);
  assert.equal(bad.status, EXIT.usage, bad.said());
});

test("a listed path that is not there has failed, also in a listed folder, and what is Ringway's own is as little there", async (t) => {
  const { near, far, base, inbox, shared, serving } = await sharing(t);
  mkdirSync(join(shared, "a"));
  writeFileSync(join(shared, "a/one"), "one");
  linkSync(join(far.env.XDG_DATA_HOME, "ringway/identity.pem"), join(shared, "a/key"));
  const list = join(base, "list");
  const failed = async (paths, args) => {
    writeFileSync(list, paths.join("\0") + "\0");
    const ended = await got(t, near, [`${serving.target}:runs/`, inbox], { args: ["--files-from", list, ...args], wanted: EXIT.partial });
    const { files, excluded, failed: count } = finished(ended);
    const failures = ended.events.filter(({ event }) => event === "entry_failed");
    return [files, excluded, count, failures.map(({ path, errno, operation }) => [path, errno, operation])];
  };
  for (const args of [["--dry-run"], ["--exclude", "key", "--exclude", "two", "--dry-run"], []]) {
    for (const paths of [["./a", "./a/two", "./a/one"], ["a/one", "a/two", "a"], ["a/two", "."]]) {
      const missing = await failed(paths, args);
      assert.deepEqual(missing.slice(1), [0, 1, [["a/two", 2, "open"]]], `${paths} ${args}`);
      // With the name of the key instead, nothing but that name differs.
      const own = await failed(paths.map((path) => path.replace("two", "key")), args);
      if (args.includes("--dry-run")) assert.equal(own[0], missing[0]);
      assert.deepEqual(own.slice(1), [0, 1, [["a/key", 2, "open"]]], `${paths} ${args}`);
    }
  }
  assert.deepEqual(below(inbox), ["a", "a/one"]);
});

test("what getting says and nobody reads does not keep a signal from ending it", { timeout: 120_000 }, async (t) => {
  const { near, base, inbox, shared, serving } = await sharing(t);
  for (let file = 0; file < 6_000; file += 1) writeFileSync(join(shared, `${"name".repeat(20)} ${file}`), "");
  const command = ["get", `${serving.target}:runs/`, inbox];
  const list = join(base, "list");
  writeFileSync(list, Array.from({ length: 6_000 }, (_, number) => `${"none".repeat(20)} ${number}\n`).join(""));
  for (const args of [["--dry-run"], ["--dry-run", "--json"], ["--json", "--files-from", list]]) await endsUnread(t, near, [...command, ...args]);
});

test("a dry run of getting tells what then moves, writes nothing, and is in no history", async (t) => {
  const { near, far, inbox, shared, serving } = await sharing(t);
  mkdirSync(join(shared, "tree/folder 1"), { recursive: true });
  for (let file = 0; file < 300; file += 1) writeFileSync(join(shared, file % 2 ? "tree" : "tree/folder 1", `${file}`), `${file}`);
  symlinkSync("2", join(shared, "tree/link"));
  linkSync(join(shared, "tree/3"), join(shared, "tree/three"));
  const args = ["--exclude", "*1*", "--include", "*11*"];
  const words = [`${serving.target}:runs/tree`, inbox];
  const dry = await got(t, near, words, { args: [...args, "--dry-run"] });
  assert.deepEqual(readdirSync(inbox), [], "nothing is written");
  for (const device of [near, far]) {
    const { stdout } = await device.run(["inbox", "--all", "--json"]);
    assert.ok(!stdout.includes('"outcome"'), stdout);
  }
  const told = planned(dry).map(({ path }) => path).sort();
  assert.ok(told.length > 20, dry.said());
  const { files, folders, links, excluded, dry_run } = finished(dry);
  assert.deepEqual([files + folders + links, dry_run], [told.length, true]);
  assert.ok(excluded > 0);
  const whole = await got(t, near, words, { args });
  assert.deepEqual([finished(whole).files, finished(whole).folders, finished(whole).links], [files, folders, links]);
  assert.deepEqual(below(inbox), told);
  assert.ok(existsSync(shared));
  // Without --json each entry is a line, and a missing path says so.
  const lines = await near.run(["get", words[0], "--dry-run"]);
  assert.match(lines.stdout, /^dir +tree\/$/m);
  assert.match(lines.said(), /Would get tree: .* Nothing was got\./);
  const missing = await near.run(["get", `${serving.target}:runs/missing`, "--dry-run"]);
  assert.equal(missing.status, EXIT.failed, missing.said());
});

test("a dry run names what this device refuses, as the get itself does", async (t) => {
  const { near, far, inbox, shared, serving } = await sharing(t);
  const tree = join(shared, "tree");
  mkdirSync(join(tree, ".ringway-folder/below"), { recursive: true });
  for (const file of ["file", ".Ringway-file", ".ringway-folder/below/file"]) writeFileSync(join(tree, file), "contents");
  symlinkSync("file", join(tree, ".ringway-link"));
  const words = [`${serving.target}:runs/tree`, inbox];
  const told = (end) => {
    const failed = end.events.filter(({ event }) => event === "entry_failed").map(({ path, side, operation, reason }) => [path, side, operation, reason]);
    const { files, folders, links, bytes, failed: count } = finished(end);
    return { failed: failed.sort(), files, folders, links, bytes, count };
  };
  const dry = await got(t, near, words, { args: ["--dry-run"], wanted: EXIT.partial });
  assert.deepEqual(planned(dry).map(({ path }) => path).sort(), ["tree", "tree/file"], dry.said());
  const whole = await got(t, near, words, { wanted: EXIT.partial });
  assert.deepEqual(told(dry), told(whole));
  assert.equal(told(dry).count, 5, dry.said());
  // What is sent is refused by the other end.
  const sent = await far.run(["send", tree, "near", "--dry-run", "--json"]);
  assert.deepEqual(told(sent).failed, told(dry).failed.map(([path, , ...how]) => [path, "there", ...how]), sent.said());
});

test("getting ends after --timeout if the other device sends nothing", async (t) => {
  const { near, inbox, shared, serving } = await sharing(t);
  writeFileSync(join(shared, "bulk"), randomBytes(40_000_000));
  const getting = getter(t, near, [`${serving.target}:runs/bulk`, inbox], { args: ["--timeout", "3s", "--retry", "no", ...SLOW] });
  await moving(getting);
  serving.kill("SIGSTOP");
  // Its kernel acknowledges what this end says. Its session falls silent only after 15 seconds.
  const status = await getting.exit();
  serving.kill("SIGCONT");
  assert.equal(status, EXIT.failed, getting.said());
  assert.equal(getting.events.at(-1).error.code, "stalled", getting.said());
});

test("--again gets the last one, or one by its number, with its selection and options, into its folder", async (t) => {
  const { base, near, inbox, shared, serving } = await sharing(t);
  mkdirSync(join(shared, "tree"));
  for (const name of ["a", "b.o", "keep.o"]) writeFileSync(join(shared, "tree", name), name);
  chmodSync(join(shared, "tree/a"), 0o4755);
  const none = await near.run(["get", "--again"]);
  assert.deepEqual([none.status, /Nothing was got yet/.test(none.said())], [EXIT.usage, true], none.said());
  const args = ["--exclude", "*.o", "--include", "keep.o", "--setuid", "--on-conflict", "rename", "--verify"];
  await got(t, near, [`${serving.target}:runs/tree/`, inbox], { args });
  const first = (await asked(near, ["inbox", "-n1"]))[0].number;
  assert.deepEqual(readdirSync(inbox).sort(), ["a", "keep.o"]);
  // It runs elsewhere, and something that was got has changed here.
  writeFileSync(join(inbox, "a"), "mine");
  writeFileSync(join(shared, "tree/c"), "new");
  const again = await got(t, near, ["--again"], { cwd: base });
  assert.deepEqual(readdirSync(inbox).sort(), ["a", "a (1)", "c", "keep.o"]);
  assert.equal(readFileSync(join(inbox, "a"), "utf8"), "mine");
  assert.equal(statSync(join(inbox, "a (1)")).mode & 0o7777, 0o4755);
  assert.ok(finished(again).proven, "it is read back as before");
  // Another one is the last now. The patterns of now decide before those of then.
  const elsewhere = join(base, "elsewhere");
  mkdirSync(elsewhere);
  await got(t, near, [`${serving.target}:runs/tree/c`, elsewhere]);
  rmSync(join(elsewhere, "c"));
  await got(t, near, ["--again", String(first), "--include", "b.o"], { cwd: base });
  assert.ok(existsSync(join(inbox, "b.o")) && !existsSync(join(elsewhere, "c")));
  const shown = await near.run(["inbox", "show", String(first)]);
  assert.match(shown.stdout, new RegExp(`^Again: +ringway get --again ${first}$`, "m"));
  const dry = await got(t, near, ["--again", String(first), "--dry-run"]);
  assert.ok(planned(dry).length > 0, dry.said());
  // What was refused as wrong usage is not the last one.
  const last = async () => planned(await got(t, near, ["--again", "--dry-run"])).map(({ path }) => path);
  const before = await last();
  const twice = await near.run(["get", "far:runs/tree/c", "far:runs/tree/c", inbox]);
  assert.equal(twice.status, EXIT.usage, twice.said());
  assert.ok(before.length > 0);
  assert.deepEqual(await last(), before);
  const word = await near.run(["get", "--again", "far"]);
  assert.equal(word.status, EXIT.usage, word.said());
  assert.match(word.said(), /--again takes the number of an earlier get, as `ringway inbox` lists them.* ringway get DEVICE:SHARE/);
  // A list is not remembered, and no other get takes its place: it is given again, any number of
  // times.
  const list = join(base, "list");
  writeFileSync(list, "a\n");
  await got(t, near, [`${serving.target}:runs/tree`, elsewhere], { args: ["--files-from", list] });
  const listed = await near.run(["get", "--again"]);
  assert.equal(listed.status, EXIT.usage, listed.said());
  const [, advised] = listed.said().match(/was got by a list \(--files-from\).*\n?.*: ringway (get --again \d+ --files-from) LIST/);
  for (const words of [["get", "--again", "--files-from"], advised.split(" "), ["get", "--again", "--files-from"]]) {
    rmSync(join(elsewhere, "tree/a"));
    const done = await near.run([...words, list]);
    assert.equal(done.status, EXIT.all, done.said());
    assert.ok(existsSync(join(elsewhere, "tree/a")));
  }
  assert.match((await near.run(["inbox", "show", advised.match(/\d+/)[0]])).stdout, /^Again: +ringway get --again \d+ --files-from LIST$/m);
  for (const [words, status] of [
    [["--again", "99"], EXIT.usage],
    [["--again", String(first), "--owner"], EXIT.usage],
    [["--again", String(first), "runs"], EXIT.usage],
  ]) {
    const refused = await near.run(["get", ...words]);
    assert.equal(refused.status, status, refused.said());
  }
  // What was received is not got, and a forgotten device is not asked.
  await asked(near, ["devices", "forget", "far"]);
  const forgotten = await near.run(["get", "--again", String(first)]);
  assert.equal(forgotten.status, EXIT.notAuthenticated, forgotten.said());
});

test("an option in the place of a pattern is refused, unless it is written as one", async (t) => {
  const { near, inbox, shared, serving } = await sharing(t);
  writeFileSync(join(shared, "--dry-run"), "x");
  writeFileSync(join(shared, "file"), "x");
  const forgotten = await near.run(["get", `${serving.target}:runs/`, inbox, "--exclude", "--dry-run"]);
  assert.equal(forgotten.status, EXIT.usage, forgotten.said());
  assert.match(forgotten.said(), /--exclude needs a pattern, and --dry-run looks like an option\..*--exclude=--dry-run/s);
  assert.deepEqual(readdirSync(inbox), []);
  await got(t, near, [`${serving.target}:runs/`, inbox], { args: ["--exclude=--dry-run"] });
  assert.deepEqual(readdirSync(inbox), ["file"]);
});

test("output that is not printed whole is reported by the exit status", async (t) => {
  const { near, inbox, shared, serving } = await sharing(t);
  for (let file = 0; file < 20_000; file += 1) writeFileSync(join(shared, `${file}`), "");
  const by = (output) => ({ wrap: ["bash", "-c", `set -o pipefail; "$@" ${output}`, "bash"] });
  for (const [words, output, status, said] of [
    [["ls", `${serving.target}:runs`], "| head -n1", 141, /^[^\n]+\n$/],
    [["ls", `${serving.target}:runs`, "--json"], ">&-", EXIT.failed, /standard output: Bad file descriptor/],
    [["ls", `${serving.target}:runs`], ">/dev/full", EXIT.failed, /standard output: No space left on device/],
    [["get", `${serving.target}:runs/1`, inbox, "--json"], ">&-", EXIT.failed, /standard output: Bad file descriptor/],
    [["get", `${serving.target}:runs/2`, inbox, "--json"], ">/dev/null", EXIT.all, /^$/],
    [["get", `${serving.target}:runs/3`, inbox], ">&-", EXIT.all, /^[^]*$/],
  ]) {
    const ended = await near.run(words, { ...by(output), described: false });
    assert.equal(ended.status, status, `${words} ${output}\n${ended.said()}`);
    assert.match(`${ended.stdout}${ended.stderr}`, said, `${words} ${output}`);
  }
  assert.deepEqual(readdirSync(inbox).sort(), ["1", "2", "3"]);
});

test("what is asked for twice by one name is refused, and says what to do", async (t) => {
  const { near, inbox, shared, serving } = await sharing(t);
  mkdirSync(join(shared, "a"));
  writeFileSync(join(shared, "a/g"), "x");
  const both = [`${serving.target}:runs/a/g`, `${serving.target}:runs/a/`];
  for (const words of [both, both.toReversed()]) {
    const refused = await near.run(["get", ...words, inbox]);
    assert.equal(refused.status, EXIT.usage, refused.said());
    assert.match(refused.said(), /two of these have the same name at the top: get them one after the other/);
  }
});

test("a file is got and listed by way of folders that may be searched and not read", async (t) => {
  const { near, inbox, shared, serving } = await sharing(t, { wrap: BOUND_BY_MODES });
  const way = join(shared, "way");
  mkdirSync(join(way, "deeper/open"), { recursive: true });
  for (const path of ["file", "deeper/file", "deeper/open/file"]) writeFileSync(join(way, path), path);
  for (const path of [join(way, "deeper"), way]) chmodSync(path, 0o111);
  for (const path of ["way/file", "way/deeper/open"]) {
    assert.equal((await near.run(["get", "--dry-run", `${serving.target}:runs/${path}`, inbox])).status, EXIT.all);
    await got(t, near, [`${serving.target}:runs/${path}`, inbox]);
    assert.equal((await near.run(["ls", `${serving.target}:runs/${path}`])).status, EXIT.all);
  }
  assert.deepEqual([readFileSync(join(inbox, "file"), "utf8"), readFileSync(join(inbox, "open/file"), "utf8")], ["file", "deeper/open/file"]);
  for (const words of [["get", `${serving.target}:runs/way`, inbox], ["ls", `${serving.target}:runs/way`], ["get", `${serving.target}:runs/way/`, inbox]]) {
    const refused = await near.run([...words, "--json"]);
    const { code, source } = refused.events.at(-1).error ?? refused.events.at(-1);
    assert.deepEqual([refused.status, code, source?.errno], [EXIT.failed, "path_there", 13], refused.said());
  }
});

test("a listed path that no entry can have has failed, and the others are got", async (t) => {
  const { base, near, inbox, shared, serving } = await sharing(t);
  writeFileSync(join(shared, "file"), "file");
  const long = "x".repeat(256);
  writeFileSync(join(base, "list"), `file\n${long}\n`);
  for (const args of [["--dry-run"], []]) {
    const ended = await got(t, near, [`${serving.target}:runs`, inbox], { args: ["--files-from", join(base, "list"), ...args], wanted: EXIT.partial });
    const failures = ended.events.filter(({ event }) => event === "entry_failed");
    assert.deepEqual([finished(ended).failed, failures.map(({ path, errno }) => [path, errno])], [1, [[long, 36]]], ended.said());
  }
  assert.equal(readFileSync(join(inbox, "runs/file"), "utf8"), "file");
});

test("a folder that cannot be read there has failed once, however often it is got", async (t) => {
  const { near, inbox, shared, serving } = await sharing(t, { wrap: BOUND_BY_MODES });
  mkdirSync(join(shared, "tree/closed"), { recursive: true });
  writeFileSync(join(shared, "tree/file"), "file");
  chmodSync(join(shared, "tree/closed"), 0o000);
  for (let time = 0; time < 3; time += 1) {
    const end = await got(t, near, [`${serving.target}:runs/tree`, inbox], { wanted: EXIT.partial, wrap: BOUND_BY_MODES });
    const failures = end.events.filter(({ event }) => event === "entry_failed");
    assert.deepEqual([finished(end).failed, failures.map(({ path }) => path)], [1, ["tree/closed"]], end.said());
  }
});
