// Owners by name: two devices whose databases give the same names other numbers.
import assert from "node:assert/strict";
import { lchownSync, lstatSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { capture } from "../setup/process.mjs";
import { EXIT, ends, folder, isRoot, receiver, sender, strangers } from "./harness.mjs";
import { etcWith } from "./mounts.mjs";
import { finished, got, sharing } from "./sharing.mjs";

const ROOT = "root:x:0:0::/root:/bin/sh\n";
const users = (all) => ROOT + Object.entries(all).map(([name, id]) => `${name}:x:${id}:${id}::/nonexistent:/bin/false\n`).join("");
const groups = (all) => `root:x:0:\n${Object.entries(all).map(([name, id]) => `${name}:x:${id}:\n`).join("")}`;

/** Words to start a program with that has these users and groups and no others. */
function database(t, names, namedGroups = names) {
  const files = { passwd: users(names), group: groups(namedGroups), "nsswitch.conf": "passwd: files\ngroup: files\n" };
  return etcWith(folder(t), files);
}

/** What `alice` is at the sender, and at the receiver; `carol` is known at the sender alone. */
const THERE = { alice: 61_001, carol: 61_002, "EXAMPLE\\bob": 61_003, toor: 61_004 };
const HERE = { alice: 62_001, dave: 61_001, "EXAMPLE\\bob": 62_003, toor: 0 };
/** Numbers at the sender, and what they become. */
const MAPPED = { 61_001: 62_001, 61_002: 61_002, 61_003: 62_003, 61_004: 61_004, 61_005: 61_005, 0: 0 };

/** A folder, file, large file and link of each owner, with a hard link of the file. */
function owned(tree) {
  mkdirSync(tree);
  for (const id of Object.keys(MAPPED)) {
    const of = join(tree, id);
    mkdirSync(of);
    writeFileSync(join(of, "small"), id);
    writeFileSync(join(of, "large"), Buffer.alloc(3 << 20, id));
    symlinkSync("small", join(of, "link"));
    for (const path of ["small", "large", "link", "."]) lchownSync(join(of, path), Number(id), Number(id));
  }
}

function ownersAre(tree, mapped) {
  for (const [id, wanted] of Object.entries(mapped)) {
    for (const path of ["small", "large", "link", "."]) {
      const { uid, gid } = lstatSync(join(tree, id, path));
      assert.deepEqual([uid, gid], [wanted, wanted], `${id}/${path}`);
    }
  }
}

const AS_SENT = Object.fromEntries(Object.keys(MAPPED).map((id) => [id, Number(id)]));

/** Two databases; null where this machine cannot have them. */
function databases(t) {
  const [there, here] = [database(t, THERE), database(t, HERE)];
  const works = isRoot && capture(here[0], [...here.slice(1), "id", "-u", "alice"]).out.trim() === String(HERE.alice);
  return works ? { there, here } : null;
}

test("a receiver that keeps owners gives files to the users and groups of the same names", async (t) => {
  const both = databases(t);
  if (!both) return t.skip("a user database of one's own takes root");
  const { base, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  owned(tree);
  // "carol" and "toor" are unknown here: nobody becomes root by a name.
  for (const [args, mapped, byNumber] of [
    [["--owner"], MAPPED, 8],
    [["--owner", "--numeric-ids"], AS_SENT, 0],
  ]) {
    const into = join(base, args.join(""));
    mkdirSync(into);
    for (const time of ["the first time", "again"]) {
      const receiving = await receiver(t, far, into, { args, wrap: both.here });
      const sending = sender(t, near, tree, receiving.target, { wrap: both.there });
      await ends(sending, receiving);
      ownersAre(join(into, "tree"), mapped);
      for (const end of [sending, receiving]) {
        // Symbolic links are not listed, and are sent again.
        const counted = finished(end).owners_by_number;
        assert.equal(counted, byNumber, `${time}: ${end.said()}`);
      }
    }
    // What has the numbers of before follows the names.
    for (const path of ["small", "."]) lchownSync(join(into, "tree/61001", path), 1, 1);
    const receiving = await receiver(t, far, into, { args, wrap: both.here });
    await ends(sender(t, near, tree, receiving.target, { wrap: both.there }), receiving);
    ownersAre(join(into, "tree"), mapped);
  }
});

test("numbers alone are refused, since nothing that has an owner is kept", async (t) => {
  const { near, inbox } = strangers(t);
  for (const command of [["recv", inbox], ["get", "far:runs", inbox]]) {
    const refused = await near.run([...command, "--numeric-ids"]);
    assert.equal(refused.status, EXIT.usage, refused.said());
    assert.match(refused.stderr, /--numeric-ids has no effect without --owner or --acls\./);
  }
});

test("a receiver that does not keep owners is told no names", async (t) => {
  const both = databases(t);
  if (!both) return t.skip("a user database of one's own takes root");
  const { inbox, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  owned(tree);
  const receiving = await receiver(t, far, inbox, { wrap: both.here });
  const sending = sender(t, near, tree, receiving.target, { wrap: both.there });
  await ends(sending, receiving);
  ownersAre(join(inbox, "tree"), Object.fromEntries(Object.keys(MAPPED).map((id) => [id, 0])));
  assert.equal(finished(sending).owners_by_number, 0);
});

test("what is got belongs to the users and groups of the same names", async (t) => {
  const both = databases(t);
  if (!both) return t.skip("a user database of one's own takes root");
  const { near, base, shared, serving } = await sharing(t, { wrap: both.there });
  owned(join(shared, "tree"));
  for (const [args, mapped, byNumber] of [
    [["--owner"], MAPPED, 8],
    [["--owner", "--numeric-ids"], AS_SENT, 0],
  ]) {
    const into = join(base, args.join(""));
    mkdirSync(into);
    const getting = await got(t, near, [`${serving.target}:runs/tree`, into], { args, wrap: both.here });
    ownersAre(join(into, "tree"), mapped);
    assert.equal(finished(getting).owners_by_number, byNumber, getting.said());
  }
});

test("access control lists name the users and groups of the same names", async (t) => {
  const both = databases(t);
  if (!both) return t.skip("a user database of one's own takes root");
  const { inbox, base, source, near, far } = strangers(t);
  const file = join(source, "file");
  writeFileSync(file, "x");
  const list = (id) => {
    const bytes = Buffer.alloc(4 + 5 * 8);
    bytes.writeUInt32LE(2, 0);
    [[1, 6, -1], [2, 7, id], [4, 4, -1], [0x10, 7, -1], [0x20, 0, -1]].forEach(([tag, permissions, of], at) => {
      bytes.writeUInt16LE(tag, 4 + at * 8);
      bytes.writeUInt16LE(permissions, 6 + at * 8);
      bytes.writeInt32LE(of, 8 + at * 8);
    });
    return `0x${bytes.toString("hex")}`;
  };
  const name = "system.posix_acl_access";
  if (capture("setfattr", ["-n", name, "-v", list(THERE.alice), file]).status !== 0) return t.skip("the filesystem has no access control lists");
  const numeric = join(base, "numeric");
  mkdirSync(numeric);
  for (const [into, args, id] of [
    [inbox, ["--acls"], HERE.alice],
    [numeric, ["--acls", "--numeric-ids"], THERE.alice],
  ]) {
    const receiving = await receiver(t, far, into, { args, wrap: both.here });
    await ends(sender(t, near, file, receiving.target, { wrap: both.there }), receiving);
    const { out } = capture("getfattr", ["--absolute-names", "-e", "hex", "-n", name, join(into, "file")]);
    assert.equal(/=(0x[0-9a-f]+)/.exec(out)?.[1], list(id), args.join(" "));
  }
});
