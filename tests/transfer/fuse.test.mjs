// Receiving into a FUSE filesystem, such as ntfs-3g for USB disks. There, and on NFS, a file that
// is removed while open keeps a hidden name until it is closed.
import assert from "node:assert/strict";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { capture, run, which } from "../setup/process.mjs";
import { EXIT, differences, eventually, receiver, sender, strangers } from "./harness.mjs";
import { mounting } from "./mounts.mjs";

/** Mounts a view of a folder by bindfs at `at`; false if this machine cannot do that. */
function viewed(mount, base, at) {
  const behind = join(base, "behind");
  mkdirSync(behind);
  return Boolean(which("bindfs")) && mount(at, "-t", "fuse.bindfs", "-o", "direct_io", behind);
}

/** Files of all sizes: the last is large enough for the journal. */
function tree(source) {
  const path = join(source, "tree");
  mkdirSync(join(path, "below"), { recursive: true });
  for (let number = 0; number < 300; number += 1) writeFileSync(join(path, "below", `${number}`), `${number}`);
  writeFileSync(join(path, "large"), Buffer.alloc(80 << 20, "large"));
  // bindfs keeps times to the microsecond.
  capture("find", [path, "-exec", "touch", "-h", "-d", "@1600000000", "{}", "+"]);
  return path;
}

/**
 * Like `same`, without the attribute that marks a received folder on a filesystem without birth
 * times.
 */
function arrived(from, to) {
  assert.deepEqual(differences(from, to).filter((line) => line !== ".d........x ./"), []);
}

for (const args of [[], ["--verify"]]) {
  mounting(`a tree that is sent into a FUSE filesystem arrives, and nothing else is there: ${args.join(" ") || "plain"}`, async (t, { mount }) => {
    const { base, inbox, source, near, far } = strangers(t);
    if (!viewed(mount, base, inbox)) return t.skip("mounting takes root and bindfs");
    const sent = tree(source);
    const receiving = await receiver(t, far, inbox, { once: false });
    for (let time = 0; time < 2; time += 1) {
      const sending = sender(t, near, sent, receiving.target, { code: time ? null : undefined, args });
      assert.equal(await sending.exit(), EXIT.all, `${sending.said()}\n${receiving.said()}`);
      arrived(sent, join(inbox, "tree"));
      assert.deepEqual(readdirSync(inbox), ["tree"]);
    }
  });
}

mounting("a staging folder that cannot be removed after everything arrived is a warning, and a later transfer removes it", async (t, { mount }) => {
  const { base, inbox, source, near, far } = strangers(t);
  if (!viewed(mount, base, inbox)) return t.skip("mounting takes root and bindfs");
  const sent = tree(source);
  const receiving = await receiver(t, far, inbox, { once: false });
  // Slow enough to be observed while it runs.
  const sending = sender(t, near, sent, receiving.target, { args: ["--limit", "40M", "--compress", "off"] });
  const staging = () => readdirSync(inbox).find((name) => name.startsWith(".ringway-"));
  const held = await eventually("the staging folder", () => {
    const begun = join(inbox, staging() ?? "", "begun");
    return existsSync(begun) && openSync(begun, "r");
  });
  let isHeld = true;
  const letGo = () => {
    if (isHeld) closeSync(held);
    isHeld = false;
  };
  t.after(letGo);
  assert.equal(await sending.exit(), EXIT.all, `${sending.said()}\n${receiving.said()}`);
  arrived(sent, join(inbox, "tree"));
  const { outcome, left_behind } = await receiving.event("finished");
  assert.deepEqual([outcome, left_behind], ["complete", { path: join(inbox, staging()) }]);
  letGo();
  // Until then it may belong to a transfer that is about to begin.
  await eventually("the end of the hidden name", () => readdirSync(join(inbox, staging())).length === 0);
  utimesSync(join(inbox, staging()), new Date(Date.now() - 120_000), new Date(Date.now() - 120_000));
  writeFileSync(join(source, "other"), "other");
  const again = sender(t, near, join(source, "other"), receiving.target, { code: null });
  assert.equal(await again.exit(), EXIT.all, `${again.said()}\n${receiving.said()}`);
  assert.deepEqual(readdirSync(inbox).toSorted(), ["other", "tree"]);
});

mounting("a copy into a FUSE filesystem arrives, at once or under its final name only when all of it is there", async (t, { mount }) => {
  const { base, inbox, source, near } = strangers(t);
  if (!viewed(mount, base, inbox)) return t.skip("mounting takes root and bindfs");
  const sent = tree(source);
  for (const args of [[], ["--verify"], ["--atomic"]]) {
    const name = `tree${args.join("")}`;
    const copied = await near.run(["copy", sent, join(inbox, name), ...args]);
    assert.equal(copied.status, EXIT.all, copied.said());
    arrived(sent, join(inbox, name));
  }
  assert.deepEqual(readdirSync(inbox).toSorted(), ["tree", "tree--atomic", "tree--verify"]);
});

for (const args of [[], ["--verify"], ["--kernel-copy", "never"], ["--io", "uring"], ["back"], ["back", "--verify"]]) {
  mounting(`a copy of a folder to itself by way of a FUSE filesystem leaves its files as they are: ${args.join(" ") || "plain"}`, async (t, { mount }) => {
    const { base, inbox, near } = strangers(t);
    if (!viewed(mount, base, inbox)) return t.skip("mounting takes root and bindfs");
    const [there, view] = [join(base, "behind/folder"), join(inbox, "folder")];
    mkdirSync(there);
    const files = { small: "contents", middle: "m".repeat(100_000), large: "l".repeat(5_000_000) };
    for (const [name, contents] of Object.entries(files)) writeFileSync(join(there, name), contents);
    // For a second it may return what it has just returned.
    run("stat", [view, ...Object.keys(files).map((name) => join(view, name))]);
    const [way, ...options] = args[0] === "back" ? args : [null, ...args];
    for (const [name, contents] of Object.entries(files)) writeFileSync(join(there, name), contents);
    const done = await near.run(["copy", "-T", ...(way ? [view, there] : [there, view]), "--json", ...options]);
    assert.ok([EXIT.all, EXIT.partial].includes(done.status), done.said());
    for (const [name, contents] of Object.entries(files)) assert.equal(readFileSync(join(there, name), "utf8"), contents, `${name}\n${done.said()}`);
    assert.deepEqual(readdirSync(there).sort(), Object.keys(files).sort());
  });
}

for (const back of [false, true]) {
  mounting(`a copy between an overlay and the folder that it shows leaves the files as they are: ${back ? "into the folder" : "into the overlay"}`, async (t, { mount }) => {
    const { base, near } = strangers(t);
    const [lower, upper, work, merged] = ["lower", "upper", "work", "merged"].map((name) => join(base, name));
    for (const folder of [lower, upper, work, merged, join(upper, "folder")]) mkdirSync(folder);
    const files = { small: "contents", middle: "m".repeat(100_000), large: "l".repeat(5_000_000) };
    for (const [name, contents] of Object.entries(files)) writeFileSync(join(upper, "folder", name), contents);
    if (!mount(merged, "-t", "overlay", "overlay", "-o", `lowerdir=${lower},upperdir=${upper},workdir=${work}`)) return t.skip("no overlay can be mounted here");
    const ways = [upper, merged].map((at) => join(at, "folder"));
    const done = await near.run(["copy", "-T", ...(back ? ways.toReversed() : ways), "--json"]);
    assert.ok([EXIT.all, EXIT.partial].includes(done.status), done.said());
    for (const [name, contents] of Object.entries(files)) assert.equal(readFileSync(join(upper, "folder", name), "utf8"), contents, `${name}\n${done.said()}`);
  });
}
