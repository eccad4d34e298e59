// Existing entries at the destination: replaced, kept or numbered as requested, and never deleted.
import assert from "node:assert/strict";
import { linkSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { EXIT, ends, listing, receiver, sender, strangers } from "./harness.mjs";

const text = (...parts) => readFileSync(join(...parts), "utf8");

/**
 * A tree to send into an inbox that has one of the same name, with a differing, an equal and an
 * additional file.
 */
function overlapping(t) {
  const all = strangers(t);
  const tree = join(all.source, "tree");
  const there = join(all.inbox, "tree");
  for (const path of [tree, there]) mkdirSync(join(path, "inner"), { recursive: true });
  writeFileSync(join(tree, "file"), "new content");
  writeFileSync(join(tree, "inner/fresh"), "fresh");
  writeFileSync(join(there, "file"), "old");
  writeFileSync(join(there, "inner/extra"), "extra");
  return { ...all, tree, there };
}

for (const [policy, args] of [
  ["replace", []],
  ["replace", ["--on-conflict", "replace"]],
]) {
  test(`${args.length ? "asked for" : "by default"}: a differing file is replaced, and other files stay`, async (t) => {
    const { inbox, tree, there, near, far } = overlapping(t);
    const receiving = await receiver(t, far, inbox, { args });
    await ends(sender(t, near, tree, receiving.target), receiving);
    assert.deepEqual(readdirSync(inbox), ["tree"], policy);
    assert.deepEqual(listing(there), ["file", "inner", "inner/extra", "inner/fresh"]);
    assert.equal(text(there, "file"), "new content");
    assert.equal(text(there, "inner/extra"), "extra");
  });
}

test("--on-conflict keep: the existing file stays as it is, and new ones arrive", async (t) => {
  const { inbox, tree, there, near, far } = overlapping(t);
  const before = statSync(join(there, "file"), { bigint: true });
  const receiving = await receiver(t, far, inbox, { args: ["--on-conflict", "keep"] });
  await ends(sender(t, near, tree, receiving.target), receiving);
  assert.equal(text(there, "file"), "old");
  const after = statSync(join(there, "file"), { bigint: true });
  assert.deepEqual([after.ino, after.mtimeNs], [before.ino, before.mtimeNs]);
  assert.equal(text(there, "inner/fresh"), "fresh");
});

for (const size of [4_000, 600_000]) {
  test(`--on-conflict keep: hard links to a file of ${size} bytes count alike whether they arrive or are kept`, async (t) => {
    const { inbox, source, near, far } = strangers(t);
    const tree = join(source, "tree");
    mkdirSync(tree);
    writeFileSync(join(tree, "file"), Buffer.alloc(size, 7));
    for (const name of ["link", "more"]) linkSync(join(tree, "file"), join(tree, name));
    const counts = { files: 1, folders: 1, links: 2, bytes: size };
    for (const [skipped, skippedBytes] of [[0, 0], [3, size]]) {
      const receiving = await receiver(t, far, inbox, { args: ["--on-conflict", "keep"] });
      const sending = sender(t, near, tree, receiving.target);
      await ends(sending, receiving);
      for (const end of [sending, receiving]) {
        const { files, folders, links, bytes, skipped: stayed, skipped_bytes } = end.events.find(({ event }) => event === "finished");
        const expected = { ...counts, skipped, skipped_bytes: skippedBytes };
        assert.deepEqual({ files, folders, links, bytes, skipped: stayed, skipped_bytes }, expected, end.said());
      }
    }
  });
}

test("--on-conflict rename: both are there, the new one numbered", async (t) => {
  const { inbox, tree, there, near, far } = overlapping(t);
  const receiving = await receiver(t, far, inbox, { args: ["--on-conflict", "rename"] });
  await ends(sender(t, near, tree, receiving.target), receiving);
  assert.equal(text(there, "file"), "old");
  const numbered = readdirSync(there).filter((name) => name.startsWith("file") && name !== "file");
  assert.equal(numbered.length, 1, readdirSync(there).join(" "));
  assert.match(numbered[0], /\d/);
  assert.equal(text(there, numbered[0]), "new content");
});

test("the same tree sent twice changes nothing the second time", async (t) => {
  const { inbox, tree, there, near, far } = overlapping(t);
  const first = await receiver(t, far, inbox);
  await ends(sender(t, near, tree, first.target), first);
  const before = statSync(join(there, "file"), { bigint: true });
  const second = await receiver(t, far, inbox);
  await ends(sender(t, near, tree, second.target), second);
  assert.deepEqual(statSync(join(there, "file"), { bigint: true }).ino, before.ino);
});

test("a symbolic link in the destination is not followed out of it", async (t) => {
  const { base, inbox, tree, near, far } = overlapping(t);
  const outside = join(base, "outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "fresh"), "precious");
  const other = join(inbox, "second");
  mkdirSync(join(other, "tree"), { recursive: true });
  symlinkSync(outside, join(other, "tree/inner"));
  const receiving = await receiver(t, far, other);
  const sending = sender(t, near, tree, receiving.target);
  assert.ok([EXIT.all, EXIT.partial].includes(await sending.exit()), sending.said());
  await receiving.exit();
  assert.equal(text(outside, "fresh"), "precious");
  assert.deepEqual(readdirSync(outside), ["fresh"]);
});

test("a folder where a file should go, and a file where a folder should go, are reported and stay", async (t) => {
  const { inbox, tree, there, near, far } = overlapping(t);
  mkdirSync(join(tree, "folder here"));
  writeFileSync(join(tree, "folder here/inside"), "x");
  writeFileSync(join(there, "folder here"), "a file there");
  writeFileSync(join(tree, "file here"), "a file");
  mkdirSync(join(there, "file here"));
  writeFileSync(join(there, "file here/precious"), "precious");
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, tree, receiving.target);
  await ends(sending, receiving, EXIT.partial);
  assert.equal(text(there, "folder here"), "a file there");
  assert.equal(text(there, "file here/precious"), "precious");
  assert.equal(text(there, "file"), "new content");
  assert.ok(sending.stdout.includes("file here"), sending.said());
});
