// Folders to which their owner may not write, as in Go's module cache: if existing files are
// replaced, they are made writable for that, and get their mode back.
import assert from "node:assert/strict";
import { chmodSync, existsSync, linkSync, mkdirSync, readdirSync, renameSync, statSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { capture, which } from "../setup/process.mjs";
import { BOUND_BY_MODES, Device, EXIT, asked, ends, eventually, isRoot, receiver, same, sender, strangers } from "./harness.mjs";

const wrap = BOUND_BY_MODES;
const EACCES = 13;
const SECRET = "a standing secret of two laptops";
const mode = (path) => (statSync(path).mode & 0o7777).toString(8);

/** Gives everything below `path` the modes of the module cache: files 0444, folders 0555. */
function close(path) {
  capture("chmod", ["-R", "a-w", path]);
}

function cache(source) {
  const path = join(source, "cache");
  for (const folder of ["mod", "mod/below", "mod/same"]) mkdirSync(join(path, folder), { recursive: true });
  writeFileSync(join(path, "mod/file"), "first");
  writeFileSync(join(path, "mod/large"), Buffer.alloc(1 << 20, "first"));
  writeFileSync(join(path, "mod/below/file"), "first");
  writeFileSync(join(path, "mod/same/file"), "first");
  symlinkSync("file", join(path, "mod/link"));
  close(path);
  return path;
}

/** Changes entries of a folder in every way. */
function change(path) {
  capture("chmod", ["-R", "u+w", path]);
  writeFileSync(join(path, "mod/file"), "second one");
  writeFileSync(join(path, "mod/large"), Buffer.alloc(2 << 20, "second"));
  writeFileSync(join(path, "mod/below/file"), "second one");
  writeFileSync(join(path, "mod/new"), "new");
  linkSync(join(path, "mod/new"), join(path, "mod/below/linked"));
  mkdirSync(join(path, "mod/below/new"));
  writeFileSync(join(path, "mod/below/new/file"), "new");
  unlinkSync(join(path, "mod/link"));
  symlinkSync("large", join(path, "mod/link"));
  symlinkSync("new", join(path, "mod/link-new"));
  close(path);
}

/** The records of folders that were made writable, in staging folders. */
function records(inbox) {
  const staging = readdirSync(inbox).filter((name) => name.startsWith(".ringway-"));
  return staging.flatMap((name) => readdirSync(join(inbox, name))).filter((name) => name.startsWith("opened-"));
}

for (const args of [[], ["--verify"]]) {
  test(`a read-only folder is updated by a receiver that is not root, and stays read-only: ${args.join(" ") || "plain"}`, async (t) => {
    const { inbox, source, near, far } = strangers(t);
    const sent = cache(source);
    const receiving = await receiver(t, far, inbox, { once: false, wrap });
    assert.equal(await sender(t, near, sent, receiving.target).exit(), EXIT.all, receiving.said());
    const untouched = statSync(join(inbox, "cache/mod/same"), { bigint: true }).ctimeNs;
    change(sent);
    const sending = sender(t, near, sent, receiving.target, { code: null, args });
    assert.equal(await sending.exit(), EXIT.all, `${sending.said()}\n${receiving.said()}`);
    same(sent, join(inbox, "cache"));
    assert.deepEqual(readdirSync(inbox), ["cache"]);
    assert.equal(statSync(join(inbox, "cache/mod/same"), { bigint: true }).ctimeNs, untouched, "nothing in it changes, so it is not opened");
  });
}

test("a read-only folder is not made writable if existing entries are kept or numbered", async (t) => {
  for (const conflict of ["keep", "rename"]) {
    const { inbox, source, near, far } = strangers(t);
    const sent = cache(source);
    const receiving = await receiver(t, far, inbox, { once: false, wrap, args: ["--on-conflict", conflict] });
    assert.equal(await sender(t, near, sent, receiving.target).exit(), EXIT.all, receiving.said());
    change(sent);
    const sending = sender(t, near, sent, receiving.target, { code: null });
    assert.equal(await sending.exit(), EXIT.partial, sending.said());
    await eventually("the receiver's report", () => receiving.events.filter(({ event }) => event === "finished").length === 2);
    const failed = receiving.events.filter(({ event }) => event === "entry_failed");
    assert.ok(failed.length > 0 && failed.every(({ errno, reason }) => errno === EACCES || reason === "link_target_missing"), receiving.said());
    assert.equal(mode(join(inbox, "cache/mod")), "555");
    receiving.kill();
  }
});

/** A receiver that is killed by its first rename in a folder that it has made writable. */
async function killed(t, { inbox, source, near, far }) {
  const sent = cache(source);
  const first = await receiver(t, far, inbox, { wrap });
  assert.equal(await sender(t, near, sent, first.target).exit(), EXIT.all, first.said());
  await first.exit();
  change(sent);
  const refusal = ["-e", "trace=renameat2", "-e", "inject=renameat2:signal=SIGKILL"];
  const strace = ["strace", "-f", "-qq", "-o", "/dev/null", ...refusal, "setpriv", "--pdeathsig", "KILL"];
  const second = await receiver(t, far, inbox, { wrap: [...wrap, ...strace], code: null });
  const sending = sender(t, near, sent, second.target, { code: null, args: ["--retry", "no"] });
  assert.notEqual(await sending.exit(), EXIT.all, sending.said());
  await second.exit();
  assert.ok(records(inbox).length > 0, `it was killed while it had a folder open\n${sending.said()}\n${second.said()}`);
  return sent;
}

for (const meanwhile of ["nothing", "a new mode", "a new name", "another folder"]) {
  test(`a receiver that was killed leaves no folder open once it runs again; meanwhile ${meanwhile}`, async (t) => {
    if (!isRoot || !which("strace")) return t.skip("tracing a receiver takes root and strace");
    const ground = strangers(t);
    const { inbox, near, far } = ground;
    const sent = await killed(t, ground);
    const folders = ["cache/mod", "cache/mod/below"].map((name) => join(inbox, name));
    const opened = folders.filter((folder) => mode(folder) !== "555");
    assert.ok(opened.length > 0 && opened.every((folder) => mode(folder) === "755"), "the owner's write permission and no other");
    for (const folder of opened.toReversed()) {
      if (meanwhile === "a new mode") chmodSync(folder, 0o750);
      if (meanwhile === "a new name" || meanwhile === "another folder") renameSync(folder, `${folder}-old`);
      if (meanwhile === "another folder") mkdirSync(folder, { mode: 0o755 });
    }
    const receiving = await receiver(t, far, inbox, { wrap, code: null, once: false });
    await eventually("the end of the records", () => records(inbox).length === 0);
    const left = opened.filter((folder) => existsSync(folder)).map(mode);
    const wanted = { nothing: "555", "a new mode": "750", "another folder": "755" }[meanwhile];
    assert.ok(left.every((found) => found === wanted), `${left}`);
    if (meanwhile !== "nothing") return;
    const sending = sender(t, near, sent, receiving.target, { code: null });
    assert.equal(await sending.exit(), EXIT.all, `${sending.said()}\n${receiving.said()}`);
    same(sent, join(inbox, "cache"));
  });
}

/** Read-only folders below `tree`, this many, with this many files in each. */
function closedFolders(tree, folders, files, text) {
  for (let folder = 0; folder < folders; folder += 1) {
    mkdirSync(join(tree, `${folder}`), { recursive: true });
    for (let file = 0; file < files; file += 1) writeFileSync(join(tree, `${folder}`, `${text}-${file}`), text);
  }
  close(tree);
}

test("a receiver that SIGTERM ends leaves no read-only folder open", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  closedFolders(tree, 60, 1, "first");
  const first = await receiver(t, far, inbox, { wrap });
  assert.equal(await sender(t, near, tree, first.target).exit(), EXIT.all, first.said());
  capture("chmod", ["-R", "u+w", tree]);
  closedFolders(tree, 60, 60, "second");
  for (let round = 0; round < 4; round += 1) {
    const receiving = await receiver(t, far, inbox, { wrap, code: null, once: false });
    const sending = sender(t, near, tree, receiving.target, { code: null, args: ["--retry", "no"] });
    // One that is over before anybody looks has not told that it started.
    await receiving.event(({ event }) => event === "started" || event === "finished");
    await new Promise((over) => setTimeout(over, 40 * round));
    receiving.kill("SIGTERM");
    await receiving.exit();
    await sending.exit();
    const open = readdirSync(join(inbox, "tree")).filter((name) => mode(join(inbox, "tree", name)) !== "555");
    assert.deepEqual(open, [], receiving.said());
  }
});

test("two transfers into one read-only folder do not close it under each other", async (t) => {
  const { base, inbox, source, near, far } = strangers(t);
  const other = new Device(base, "other");
  const [one, two] = ["one", "two"].map((name) => join(source, name, "tree"));
  for (const path of [one, two, join(inbox, "tree")]) mkdirSync(path, { recursive: true });
  close(join(inbox, "tree"));
  for (const [path, name] of [[one, "one"], [two, "two"]]) {
    for (let file = 0; file < 400; file += 1) writeFileSync(join(path, `${name}-${file}`), name);
    close(path);
  }
  const receiving = await receiver(t, far, inbox, { wrap, once: false, code: SECRET });
  const how = { code: SECRET };
  const both = [sender(t, near, one, receiving.target, how), sender(t, other, two, receiving.target, how)];
  for (const sending of both) assert.equal(await sending.exit(), EXIT.all, sending.said());
  assert.equal(readdirSync(join(inbox, "tree")).length, 800);
  assert.equal(mode(join(inbox, "tree")), "555");
});

test("discarding what a killed receiver has left restores the modes of its folders", async (t) => {
  if (!isRoot || !which("strace")) return t.skip("tracing a receiver takes root and strace");
  const ground = strangers(t);
  await killed(t, ground);
  const { inbox, far } = ground;
  const [{ id }] = (await asked(far, ["inbox", "unfinished", "--in", inbox])).filter(({ event }) => event === "unfinished");
  const removed = await far.run(["inbox", "discard", id, "--in", inbox]);
  assert.equal(removed.status, EXIT.all, removed.said());
  assert.deepEqual(["cache/mod", "cache/mod/below"].map((name) => mode(join(inbox, name))), ["555", "555"]);
});

test("a file that its owner may not read, and whose contents are right, gets its mode from a receiver that is not root", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  const [sent, there] = [join(source, "set"), join(inbox, "set")];
  for (const folder of [sent, there]) {
    mkdirSync(folder);
    writeFileSync(join(folder, "file"), "the same");
    utimesSync(join(folder, "file"), 1_500_000_000, 1_500_000_000);
  }
  chmodSync(join(there, "file"), 0o000);
  const receiving = await receiver(t, far, inbox, { wrap });
  await ends(sender(t, near, sent, receiving.target), receiving);
  assert.equal(mode(join(there, "file")), mode(join(sent, "file")));
});
