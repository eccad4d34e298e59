// Trees with everything that copying programs get wrong, by every path that the engine can take.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT, capture } from "../setup/process.mjs";
import {
  BOUND_BY_MODES,
  EXIT,
  ends,
  hasAttributes,
  isRoot,
  listing,
  oddTree,
  receiver,
  same,
  sameInside,
  sender,
  strangers,
  sysroot,
} from "./harness.mjs";

/** Bytes that a path takes on disk. */
const allocated = (path) => lstatSync(path).blocks * 512;

for (const [io, lanes] of [
  ["uring", "1"],
  ["sync", "1"],
  ["auto", "4"],
]) {
  test(`an odd tree arrives identical, --io ${io}, ${lanes} lanes`, async (t) => {
    const { inbox, source, near, far } = strangers(t);
    if (!hasAttributes(source)) return t.skip("the temporary folder's file system has no user attributes");
    const odd = join(source, "odd");
    oddTree(odd, ...(isRoot ? ["--all-modes"] : []));
    const receiving = await receiver(t, far, inbox, { args: ["--io", io] });
    await ends(sender(t, near, odd, receiving.target, { args: ["--io", io, "--lanes", lanes] }), receiving);
    same(odd, join(inbox, "odd"));
    for (const name of ["sparse", "only a hole"]) {
      const [from, to] = [odd, join(inbox, "odd")].map((root) => allocated(join(root, "holes", name)));
      assert.ok(to <= from + 65_536, `${name}: ${from} bytes on disk became ${to}`);
    }
  });
}

test("several paths at once, one of them by its contents; devices that know each other need no code", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  mkdirSync(join(source, "by name/inner"), { recursive: true });
  mkdirSync(join(source, "by contents/inner"), { recursive: true });
  writeFileSync(join(source, "by name/inner/a"), "a");
  writeFileSync(join(source, "by contents/b"), "b");
  writeFileSync(join(source, "by contents/inner/c"), "c");
  writeFileSync(join(source, "single file"), "d");
  const paths = ["by name", "by contents/", "single file"].map((name) => `${source}/${name}`);
  const first = await receiver(t, far, inbox);
  await ends(sender(t, near, paths, first.target), first);
  assert.deepEqual(listing(inbox), ["b", "by name", "by name/inner", "by name/inner/a", "inner", "inner/c", "single file"]);
  same(join(source, "by name"), join(inbox, "by name"));
  // The second time neither end needs a code.
  writeFileSync(join(source, "single file"), "changed, and longer");
  const second = await receiver(t, far, inbox, { code: null });
  await ends(sender(t, near, `${source}/single file`, second.target, { code: null }), second);
  assert.equal(readFileSync(join(inbox, "single file"), "utf8"), "changed, and longer");
  assert.equal(readFileSync(join(inbox, "by name/inner/a"), "utf8"), "a", "what was there and not sent stays");
});

test("real trees: node_modules with its links, and the toolchain's documentation", async (t) => {
  const trees = [join(ROOT, "node_modules"), join(sysroot(), "share/doc/rust/html/std")].filter(existsSync);
  if (trees.length === 0) return t.skip("neither node_modules nor the Rust documentation is here");
  const { inbox, near, far } = strangers(t);
  const receiving = await receiver(t, far, inbox);
  await ends(sender(t, near, trees, receiving.target), receiving);
  for (const tree of trees) same(tree, join(inbox, tree.split("/").at(-1)));
});

test("the code from the environment, at both ends", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  writeFileSync(join(source, "file"), "content");
  const env = { RINGWAY_CODE: "19-orbit-velvet" };
  const receiving = await receiver(t, far, inbox, { code: null, env });
  await ends(sender(t, near, `${source}/file`, receiving.target, { code: null, env }), receiving);
  sameInside(source, inbox);
});

test("the code from standard input", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  writeFileSync(join(source, "file"), "content");
  const how = { code: null, args: ["--code-file", "-"], input: "19-orbit-velvet\n" };
  const receiving = await receiver(t, far, inbox, how);
  await ends(sender(t, near, `${source}/file`, receiving.target, how), receiving);
  sameInside(source, inbox);
});

for (const [args, kept] of [
  [[], 0o1777],
  [["--setuid"], 0o7777],
]) {
  test(`setuid and setgid are ${args.length ? "kept when asked" : "dropped"}, sticky and the rest stay`, async (t) => {
    const { inbox, source, near, far } = strangers(t);
    const modes = [0o4755, 0o2755, 0o6777, 0o1644];
    for (const mode of modes) {
      const path = join(source, mode.toString(8));
      writeFileSync(path, "x");
      chmodSync(path, mode);
    }
    const receiving = await receiver(t, far, inbox, { args });
    await ends(sender(t, near, `${source}/`, receiving.target), receiving);
    for (const mode of modes) {
      const arrived = statSync(join(inbox, mode.toString(8))).mode & 0o7777;
      assert.equal(arrived.toString(8), (mode & kept).toString(8));
    }
  });
}

for (const args of [[], ["--owner"]]) {
  test(`owner and group ${args.length ? "are kept when root asks" : "are the receiver's"}`, async (t) => {
    if (!isRoot) return t.skip("giving files away takes root");
    const { inbox, source, near, far } = strangers(t);
    const tree = join(source, "tree");
    mkdirSync(tree);
    writeFileSync(join(tree, "file"), "x");
    symlinkSync("file", join(tree, "link"));
    for (const path of ["file", "link", "."]) lchownSync(join(tree, path), 12_345, 54_321);
    const receiving = await receiver(t, far, inbox, { args });
    await ends(sender(t, near, tree, receiving.target), receiving);
    const wanted = args.length ? [12_345, 54_321] : [process.getuid(), process.getgid()];
    for (const path of ["file", "link", "."]) {
      const { uid, gid } = lstatSync(join(inbox, "tree", path));
      assert.deepEqual([uid, gid], wanted, path);
    }
  });
}

test("an empty folder and an empty file are transfers like any other", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  mkdirSync(join(source, "nothing"));
  writeFileSync(join(source, "empty"), "");
  const receiving = await receiver(t, far, inbox);
  await ends(sender(t, near, [`${source}/nothing`, `${source}/empty`], receiving.target), receiving);
  sameInside(source, inbox);
});

test("special files are reported by name, everything else arrives, and the exit says partial", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  mkdirSync(tree);
  writeFileSync(join(tree, "before"), "1");
  execFileSync("mkfifo", [join(tree, "a fifo")]);
  const listening = createServer().listen(join(tree, "a socket"));
  await once(listening, "listening");
  t.after(() => listening.close());
  writeFileSync(join(tree, "zafter"), "2");
  // Making a device needs root.
  const devices = isRoot ? ["a device", "another device"] : [];
  for (const [number, name] of devices.entries()) execFileSync("mknod", [join(tree, name), "cb"[number], "1", "3"]);
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, tree, receiving.target);
  await ends(sending, receiving, EXIT.partial);
  const failed = sending.events.filter((event) => event.event === "entry_failed").map((event) => event.path);
  assert.deepEqual(failed.sort(), ["a fifo", "a socket", ...devices].map((name) => `tree/${name}`).sort(), sending.said());
  assert.deepEqual(readdirSync(join(inbox, "tree")), ["before", "zafter"]);
});

test("an unreadable file and folder are reported by name, everything else arrives", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  mkdirSync(join(tree, "closed folder"), { recursive: true });
  for (const name of ["closed folder/inside", "closed", "open"]) writeFileSync(join(tree, name), name);
  for (const name of ["closed folder", "closed"]) chmodSync(join(tree, name), 0);
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, tree, receiving.target, { wrap: BOUND_BY_MODES });
  await ends(sending, receiving, EXIT.partial);
  for (const name of ["closed folder", "closed"]) assert.ok(sending.stdout.includes(name), sending.said());
  const arrived = listing(join(inbox, "tree"));
  assert.ok(arrived.includes("open"));
  assert.ok(!arrived.includes("closed") && !arrived.includes("closed folder/inside"), arrived.join(" "));
});

test("a folder whose path is too long for the protocol is named once, and its entries are counted", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  mkdirSync(tree);
  const [name, levels] = ["n".repeat(200), 24];
  const below = `cd "$1" && for level in $(seq ${levels}); do echo $level > file && mkdir ${name} && cd ${name} || exit 1; done`;
  try {
    assert.equal(capture("bash", ["-c", below, "bash", tree]).status, 0);
    const receiving = await receiver(t, far, inbox);
    const dry = await near.run(["send", "--dry-run", "--json", tree, receiving.target]);
    const sending = sender(t, near, tree, receiving.target);
    await ends(sending, receiving, EXIT.partial);
    // The levels below `tree`, of 201 bytes each.
    const arriving = Math.floor((4095 - "tree".length) / (name.length + 1));
    const failed = sending.events.filter(({ event }) => event === "entry_failed");
    assert.deepEqual(
      failed.map(({ path, reason }) => [path, reason]),
      [[["tree", ...Array(arriving + 1).fill(name)].join("/"), "path_too_long"]],
    );
    const { failed: count } = await sending.event("finished");
    // The named folder; below it a file for each folder but the last, and the other folders.
    assert.equal(count, 2 * (levels - arriving) - 1, sending.said());
    const told = (event) => dry.events.filter((one) => one.event === event);
    assert.deepEqual(told("entry_failed").map(({ path, reason }) => [path, reason]), failed.map(({ path, reason }) => [path, reason]));
    assert.equal(told("finished")[0].failed, count, "the dry run counts the same");
    assert.equal(capture("bash", ["-c", `find "$1" -type f | wc -l`, "bash", join(inbox, "tree")]).out.trim(), String(arriving + 1));
  } finally {
    capture("rm", ["-rf", tree, join(inbox, "tree")]);
  }
});
