// A limit on open descriptors (RLIMIT_NOFILE: `ulimit -n`, LimitNOFILE=), also the hard one:
// everything arrives as without it, or nothing begins.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { linkSync, mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Device, Running, freePort } from "../setup/devices.mjs";
import { onDisk } from "../setup/memory.mjs";
import { capture, run } from "../setup/process.mjs";
import { EXIT, asked, ends, hasAttributes, inMemory, receiver, same, sender, strangers } from "./harness.mjs";
import { getter, service, sharing } from "./sharing.mjs";

/** More than 128 descriptors hold. What a comparison costs grows with the square of it. */
const LEVELS = 150;
/** More than a copy's share of 1,024, counting both ends of each folder. */
const SOURCES = 600;
/**
 * The fewest with which a copy begins, and the fewest for sending and receiving
 * (docs/environments.md).
 */
const COPY_MIN = 32;
const MIN = 64;

/** What the trees of one test and their copies take at most. */
const TREES_BYTES_MAX = 512 << 20;

/** The plain cases with the fewest descriptors run on a disk. */
const parentOf = (isPlain) => (isPlain ? onDisk() : inMemory(TREES_BYTES_MAX));

/** A file of this size is sent in ranges, to the end of which it is open. */
const RANGED_BYTES = 600_000;

const under = (limit) => ["prlimit", `--nofile=${limit}:${limit}`, "--"];

/** A tree that is `LEVELS` deep, with files, links and attributes at each level. */
function deep(path) {
  let at = path;
  for (let level = 0; level < LEVELS; level += 1) {
    mkdirSync(at);
    writeFileSync(join(at, "file"), `level ${level}`);
    linkSync(join(at, "file"), join(at, "another name"));
    symlinkSync("file", join(at, "link"));
    if (level % 20 === 0) writeFileSync(join(at, "large"), randomBytes(RANGED_BYTES));
    at = join(at, "d");
  }
  mkdirSync(at);
  if (hasAttributes(path)) run("setfattr", ["-n", "user.ringway", "-v", "kept", join(path, "d/d"), join(path, "d/d/file")]);
  utimesSync(join(path, "d/d/d"), 1_000_000_000, 1_000_000_000);
  return path;
}

/** Many folders with many small files, and some that are sent in ranges. */
function wide(path) {
  for (let folder = 0; folder < 150; folder += 1) {
    mkdirSync(join(path, `${folder}`), { recursive: true });
    for (let file = 0; file < 6; file += 1) writeFileSync(join(path, `${folder}/${file}`), `${folder} ${file}`);
  }
  for (let file = 0; file < 24; file += 1) writeFileSync(join(path, `large ${file}`), randomBytes(RANGED_BYTES));
  return path;
}

/** How many descriptors a service has that is asked much at once. */
const FEW = 256;

const OPTIONS = [
  [],
  ["--atomic"],
  ["--verify"],
  ["-u"],
  ["-n"],
  ["--jobs", "16"],
  ["--io", "uring", "--jobs", "16"],
  ["--reflink=never", "--jobs", "8"],
];

for (const limit of [COPY_MIN, 64, 1024]) {
  // With the fewest descriptors by every way; with more by those ways that need most.
  for (const args of limit === COPY_MIN ? OPTIONS : OPTIONS.filter((options) => options.includes("--jobs"))) {
    test(`copy with ${limit} descriptors gives the whole tree (${args.join(" ") || "plain"})`, async (t) => {
      const { base, source, near } = strangers(t, parentOf(args.length === 0));
      for (const tree of [deep(join(source, "deep")), wide(join(source, "wide"))]) {
        const to = join(base, "copy of it");
        const done = await near.run(["copy", tree, to, ...args, "--json"], { wrap: under(limit) });
        assert.equal(done.status, EXIT.all, done.said());
        same(tree, to);
        const again = await near.run(["copy", "-T", tree, to, ...args, "--json"], { wrap: under(limit) });
        assert.equal(again.status, EXIT.all, again.said());
        same(tree, to);
        run("rm", ["-r", to]);
      }
    });
  }

  test(`copy with ${limit} descriptors takes ${SOURCES} sources`, async (t) => {
    const { base, source, near } = strangers(t);
    const sources = Array.from({ length: SOURCES }, (_, number) => join(source, `${number}`));
    sources.forEach((path, number) => (number % 2 ? mkdirSync(path) : writeFileSync(path, `${number}`)));
    const to = join(base, "copies");
    mkdirSync(to);
    const done = await near.run(["copy", ...sources, to, "--jobs", "16", "--json"], { wrap: under(limit) });
    assert.equal(done.status, EXIT.all, done.said());
    assert.deepEqual(readdirSync(to).sort(), readdirSync(source).sort());
  });
}

for (const [sends, receives] of [[MIN, 1024], [1024, MIN], [MIN, MIN], [128, 128]]) {
  for (const args of [[], ["--lanes", "16", "--verify"], ["--io", "uring", "--lanes", "4"]]) {
    test(`sending with ${sends} descriptors, receiving with ${receives}: everything arrives (${args.join(" ") || "plain"})`, async (t) => {
      const { inbox, source, near, far } = strangers(t, parentOf(args.length === 0 && sends === MIN && receives === MIN));
      const trees = [deep(join(source, "deep")), wide(join(source, "wide"))];
      const receiving = await receiver(t, far, inbox, { wrap: under(receives) });
      await ends(sender(t, near, trees, receiving.target, { args, wrap: under(sends) }), receiving);
      for (const tree of trees) same(tree, join(inbox, tree.slice(source.length + 1)));
    });
  }
}

for (const onConflict of ["replace", "keep", "rename"]) {
  test(`with ${MIN} descriptors at both ends a tree is merged into one that is there (${onConflict})`, async (t) => {
    const { inbox, source, near, far } = strangers(t, parentOf(false));
    const tree = deep(join(source, "deep"));
    const merged = ["--on-conflict", onConflict];
    const first = await receiver(t, far, inbox, { wrap: under(MIN), args: merged });
    await ends(sender(t, near, tree, first.target, { wrap: under(MIN) }), first);
    same(tree, join(inbox, "deep"));
    let at = tree;
    for (let level = 0; level < LEVELS; level += 1, at = join(at, "d")) writeFileSync(join(at, "more"), `${level}`);
    const second = await receiver(t, far, inbox, { code: null, wrap: under(MIN), args: merged });
    const sending = sender(t, near, tree, second.target, { code: null, wrap: under(MIN) });
    assert.equal(await sending.exit(), EXIT.all, sending.said());
    assert.equal(await second.exit(), EXIT.all, second.said());
    let there = join(inbox, "deep");
    for (let level = 0; level < LEVELS; level += 1, there = join(there, "d")) {
      assert.ok(readdirSync(there).includes("more"), `level ${level}`);
    }
  });
}

test(`a send that was killed goes on with ${MIN} descriptors at both ends`, async (t) => {
  const { inbox, source, near, far } = strangers(t, parentOf(false));
  const trees = [deep(join(source, "deep")), wide(join(source, "wide"))];
  const receiving = await receiver(t, far, inbox, { once: false, wrap: under(MIN) });
  const killed = sender(t, near, trees, receiving.target, { wrap: under(MIN), args: ["--limit", "8M", "--compress", "off"] });
  await killed.event((event) => event.event === "progress" && event.bytes_done > 4_000_000);
  killed.kill("SIGKILL");
  await killed.exit();
  const again = sender(t, near, trees, receiving.target, { code: null, wrap: under(MIN) });
  assert.equal(await again.exit(), EXIT.all, again.said());
  for (const tree of trees) same(tree, join(inbox, tree.slice(source.length + 1)));
});

test(`a receiver with ${MIN} descriptors takes one device after the other`, async (t) => {
  const { base, inbox, source, far } = strangers(t, parentOf(false));
  const port = await freePort();
  const code = "a standing secret of some laptops";
  const receiving = await receiver(t, far, inbox, { code, once: false, port, wrap: under(MIN) });
  const devices = Array.from({ length: 4 }, (_, number) => new Device(base, `laptop-${number}`));
  const trees = devices.map((_, number) => wide(join(source, `wide ${number}`)));
  const sending = devices.map((device, at) => sender(t, device, trees[at], receiving.target, { code, wrap: under(MIN) }));
  for (const one of sending) assert.equal(await one.exit(), EXIT.all, one.said());
  for (const tree of trees) same(tree, join(inbox, tree.slice(source.length + 1)));
});

test(`strangers who connect take no descriptor from a transfer to a receiver that has ${MIN}`, async (t) => {
  const { inbox, source, near, far } = strangers(t, parentOf(false));
  const receiving = await receiver(t, far, inbox, { once: false, wrap: under(MIN) });
  writeFileSync(join(source, "first"), "paired by this");
  const first = sender(t, near, join(source, "first"), receiving.target);
  assert.equal(await first.exit(), EXIT.all, first.said());
  const flood = new Running(
    "flood",
    process.execPath,
    [fileURLToPath(new URL("flood.mjs", import.meta.url)), receiving.port, 400, 8].map(String),
    { env: process.env, input: null },
  );
  t.after(() => flood.kill());
  await flood.event("all dialled");
  const tree = deep(join(source, "deep"));
  const sending = sender(t, near, tree, receiving.target, { code: null, wrap: under(MIN) });
  assert.equal(await sending.exit(), EXIT.all, sending.said());
  same(tree, join(inbox, "deep"));
});

test("a limit that is too low is named before anything begins", async (t) => {
  const { base, inbox, source, near } = strangers(t);
  writeFileSync(join(source, "file"), "contents");
  const to = join(base, "copy");
  const few = (least) => (done) => {
    assert.equal(done.status, EXIT.failed, done.said());
    const { code, error } = done.events.find(({ event }) => ["error", "finished"].includes(event));
    assert.equal(code ?? error.code, "few_descriptors", done.said());
    assert.match(done.said(), new RegExp(`${least - 1} open files are allowed, ${least} are needed`));
  };
  const wrap = under(MIN - 1);
  few(COPY_MIN)(await near.run(["copy", source, to, "--json"], { wrap: under(COPY_MIN - 1) }));
  few(MIN)(await near.run(["recv", inbox, "--json"], { wrap }));
  few(MIN)(await near.run(["send", source, "127.0.0.1:9", "--json"], { wrap }));
  few(MIN)(await near.run(["serve", inbox, "--json"], { wrap }));
  assert.deepEqual([readdirSync(inbox), readdirSync(base).includes("copy")], [[], false]);
});

const raising = capture("bash", ["-c", "ulimit -n 100; prlimit --pid $$ --nofile=200:200"]);
const cannotRaise = raising.status !== 0 && "raising a hard limit takes root with CAP_SYS_RESOURCE";

test("the advised command raises a limit that is too low", { skip: cannotRaise }, async (t) => {
  const { base, source, near } = strangers(t);
  writeFileSync(join(source, "file"), "contents");
  const to = join(base, "copy");
  const refused = await near.run(["copy", source, to], { wrap: under(COPY_MIN - 1) });
  const advised = refused.stderr.match(/`sudo (prlimit [^`]*)`/)[1];
  const shell = new Running("shell", "bash", ["-c", `ulimit -Sn ${COPY_MIN - 1}; ulimit -Hn ${COPY_MIN - 1}; ${advised} && exec "$0" copy "$1" "$2" --json`, near.program, source, to], { env: near.env });
  assert.equal(await shell.exit(), EXIT.all, shell.said());
  same(source, to);
});

test(`a service with ${FEW} descriptors lets listings wait while much is got from it`, async (t) => {
  const { base, near, inboxThere, shared, far, serving } = await sharing(t);
  await asked(far, ["stop"]);
  await serving.exit();
  for (let folder = 0; folder < 200; folder += 1) {
    mkdirSync(join(shared, `many/${folder}`), { recursive: true });
    writeFileSync(join(shared, `many/${folder}/file`), `${folder}`);
  }
  await service(t, far, inboxThere, { port: serving.port, wrap: under(FEW) });
  const gets = Array.from({ length: 16 }, (_, number) => {
    const to = join(base, `to ${number}`);
    mkdirSync(to);
    return [to, getter(t, near, [`${serving.target}:runs/many`, to])];
  });
  const listings = Array.from({ length: 8 }, () => near.start(["ls", "-R", `${serving.target}:runs`]));
  for (const listing of listings) {
    t.after(() => listing.kill());
    assert.equal(await listing.exit(), EXIT.all, listing.said());
    assert.equal(listing.stdout.trim().split("\n").length, 401, listing.stderr);
  }
  for (const [to, getting] of gets) {
    assert.equal(await getting.exit(), EXIT.all, getting.said());
    same(join(shared, "many"), join(to, "many"));
  }
});
