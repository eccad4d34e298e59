// POSIX access control lists: kept where that is asked for and possible, and otherwise counted.
import assert from "node:assert/strict";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { capture } from "../setup/process.mjs";
import { EXIT, asked, ends, eventually, isRoot, receiver, sender, strangers } from "./harness.mjs";
import { mounting } from "./mounts.mjs";
import { finished, got, sharing } from "./sharing.mjs";

const ACCESS = "system.posix_acl_access";
const DEFAULT = "system.posix_acl_default";

/** A list as the kernel has it: tag, permissions and id of each entry. */
function list(...entries) {
  const bytes = Buffer.alloc(4 + entries.length * 8);
  bytes.writeUInt32LE(2, 0);
  entries.forEach(([tag, permissions, id = 0xffffffff], at) => {
    bytes.writeUInt16LE(tag, 4 + at * 8);
    bytes.writeUInt16LE(permissions, 6 + at * 8);
    bytes.writeUInt32LE(id, 8 + at * 8);
  });
  return `0x${bytes.toString("hex")}`;
}

/** The owner reads and writes, user 1000 does everything, the group reads, others do nothing. */
const NAMED = list([1, 6], [2, 7, 1000], [4, 4], [0x10, 7], [0x20, 0]);

const set = (path, name, value) => capture("setfattr", ["-n", name, "-v", value, path]).status === 0;

/** A list of an entry, in hexadecimal; null without one. */
function listOf(path, name) {
  const { status, out } = capture("getfattr", ["--absolute-names", "-e", "hex", "-n", name, path]);
  return status === 0 ? /=(0x[0-9a-f]+)/.exec(out)[1] : null;
}

const mode = (path) => (statSync(path).mode & 0o7777).toString(8);

/** A tree with a file and a folder that have lists; false where they cannot. */
function listedTree(source) {
  const tree = join(source, "tree");
  mkdirSync(join(tree, "folder"), { recursive: true });
  writeFileSync(join(tree, "folder/file"), "x");
  writeFileSync(join(tree, "plain"), "x");
  return [ACCESS, DEFAULT].every((name) => set(join(tree, "folder"), name, NAMED)) && set(join(tree, "folder/file"), ACCESS, NAMED) && tree;
}

test("access control lists arrive with --acls, and are counted at both ends without", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  const tree = listedTree(source);
  if (!tree) return t.skip("the filesystem has no access control lists");
  for (const [args, lost, group] of [[[], 2, "640"], [["--acls"], 0, "670"]]) {
    const into = join(inbox, args.join("") || "without");
    mkdirSync(into);
    const receiving = await receiver(t, far, into, { args });
    const sending = sender(t, near, tree, receiving.target);
    await ends(sending, receiving);
    for (const end of [sending, receiving]) {
      assert.equal(end.events.find(({ event }) => event === "finished").acls_lost, lost, end.said());
    }
    const there = (path) => join(into, "tree", path);
    for (const path of ["folder", "folder/file"]) {
      assert.deepEqual([mode(there(path)), listOf(there(path), ACCESS)], [group, lost ? null : NAMED], path);
    }
    assert.equal(listOf(there("folder"), DEFAULT), lost ? null : NAMED);
    assert.equal(listOf(there("plain"), ACCESS), null);
  }
});

test("a service with --acls keeps access control lists, accepted by a person, a rule or a drop box", async (t) => {
  const { base, source, near, far, inboxThere, serving } = await sharing(t, { args: ["--acls"], share: false });
  const tree = listedTree(source);
  if (!tree) return t.skip("the filesystem has no access control lists");
  const box = join(base, "box");
  mkdirSync(box);
  await asked(far, ["share", "add", box, "--name", "box", "--with", "near", "--drop"]);
  const arrives = async (place, into, accept = () => {}) => {
    const sending = sender(t, near, tree, `${serving.target}${place}`, { code: null });
    await accept();
    assert.equal(await sending.exit(), EXIT.all, sending.said());
    assert.equal(finished(sending).acls_lost, 0, sending.said());
    assert.deepEqual([listOf(join(into, "folder/file"), ACCESS), listOf(join(into, "folder"), DEFAULT)], [NAMED, NAMED]);
  };
  await arrives("", join(inboxThere, "tree"), async () => {
    await eventually("the offer", async () => (await asked(far, ["offers"])).length > 0);
    await asked(far, ["accept", "near"]);
  });
  await arrives(":box", join(box, "tree"));
  await asked(far, ["devices", "rule", "near", "--accept"]);
  rmSync(join(inboxThere, "tree"), { recursive: true });
  await arrives("", join(inboxThere, "tree"));
});

test("access control lists are got with --acls, and without it counted, with what keeps them", async (t) => {
  const { base, shared, near } = await sharing(t);
  const tree = listedTree(shared);
  if (!tree) return t.skip("the filesystem has no access control lists");
  for (const [args, lost] of [[[], 2], [["--acls"], 0]]) {
    const into = join(base, args.join("") || "without");
    mkdirSync(into);
    const getting = await got(t, near, ["far:runs/tree", into], { args });
    assert.equal(finished(getting).acls_lost, lost, getting.said());
    for (const path of ["folder", "folder/file"]) {
      assert.equal(listOf(join(into, "tree", path), ACCESS), lost ? null : NAMED, path);
    }
    assert.equal(listOf(join(into, "tree/folder"), DEFAULT), lost ? null : NAMED);
  }
  const said = await near.run(["get", "far:runs/tree", "--on-conflict", "replace", mkdtempSync(join(base, "again-"))]);
  assert.match(said.said(), /2 items were left without access control lists: --acls keeps them, if the filesystem can\./);
});

test("the setting has a running service keep access control lists until it is turned off", async (t) => {
  const { source, near, far, inboxThere, serving } = await sharing(t, { share: false });
  const tree = listedTree(source);
  if (!tree) return t.skip("the filesystem has no access control lists");
  await asked(far, ["devices", "rule", "near", "--accept"]);
  for (const [turned, lost] of [[null, 2], ["on", 0], ["off", 2]]) {
    if (turned) assert.equal((await asked(far, ["settings", "--acls", turned])).at(-1).acls, turned === "on");
    const sending = sender(t, near, tree, serving.target, { code: null });
    assert.equal(await sending.exit(), EXIT.all, sending.said());
    assert.equal(finished(sending).acls_lost, lost, sending.said());
    assert.equal(listOf(join(inboxThere, "tree/folder/file"), ACCESS), lost ? null : NAMED);
    rmSync(join(inboxThere, "tree"), { recursive: true });
  }
});

test("a file has the receiver's own group where its folder passes on one that may not be given", async (t) => {
  if (!isRoot) return t.skip("only root may have groups made up");
  const { inbox, source, near, far } = strangers(t);
  const [mine, anothers] = [54_321, 54_322];
  mkdirSync(join(source, "tree"));
  writeFileSync(join(source, "tree/file"), "x");
  mkdirSync(join(inbox, "tree"));
  for (const [path, group] of [[inbox, mine], [join(inbox, "tree"), anothers]]) {
    chownSync(path, 0, group);
    chmodSync(path, 0o2775);
  }
  const receiving = await receiver(t, far, inbox, { wrap: ["setpriv", "--bounding-set=-chown", `--groups=${mine}`] });
  const sending = sender(t, near, join(source, "tree"), receiving.target);
  await ends(sending, receiving);
  assert.equal(statSync(join(inbox, "tree/file")).gid, process.getegid());
});

mounting("a list that the receiver's filesystem cannot keep is counted, and lets nobody in", async (t, { mount }) => {
  const { inbox, source, near, far } = strangers(t);
  const tree = listedTree(source);
  if (!tree) return t.skip("the filesystem has no access control lists");
  const disk = join(inbox, "disk");
  mkdirSync(disk);
  // ramfs has modes and no extended attributes.
  if (!mount(disk, "-t", "ramfs", "ramfs")) return t.skip("mounting takes root");
  const receiving = await receiver(t, far, disk, { args: ["--acls"] });
  const sending = sender(t, near, tree, receiving.target);
  await ends(sending, receiving, EXIT.all);
  for (const end of [sending, receiving]) {
    assert.equal(end.events.find(({ event }) => event === "finished").acls_lost, 2, end.said());
  }
  assert.deepEqual([mode(join(disk, "tree/folder")), mode(join(disk, "tree/folder/file"))], ["640", "640"]);
});
