// `ringway copy` as a process: what it does where cp(1) refuses, and how it ends if a signal
// arrives at once.
import assert from "node:assert/strict";
import { chmodSync, linkSync, lstatSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { RINGWAY } from "../setup/build.mjs";
import { capture, which } from "../setup/process.mjs";
import { entries, unlikeTrees } from "./entries.mjs";
import { BOUND_BY_MODES, EXIT, isRoot, strangers } from "./harness.mjs";

test("no name of a hard link takes the place of a link to a folder, as with cp -a", async (t) => {
  const { base, source, near } = strangers(t);
  const tree = join(source, "tree");
  mkdirSync(tree);
  const names = ["one", "two", "three"];
  writeFileSync(join(tree, "one"), "contents");
  for (const name of names.slice(1)) linkSync(join(tree, "one"), join(tree, name));
  for (const name of names) {
    for (const by of ["cp", "ringway"]) {
      const there = join(base, `${by} ${name}`);
      mkdirSync(join(there, "folder"), { recursive: true });
      mkdirSync(join(there, "tree"));
      symlinkSync("../folder", join(there, "tree", name));
      const done = by === "cp" ? capture("cp", ["-a", tree, there]) : await near.run(["copy", tree, there, "--json"]);
      assert.equal(done.status, by === "cp" ? 1 : EXIT.partial, `${by} ${name}`);
      assert.ok(lstatSync(join(there, "tree", name)).isSymbolicLink(), `${by} ${name}: the link is still there`);
      assert.deepEqual(readdirSync(join(there, "folder")), []);
      const others = names.filter((other) => other !== name);
      const inodes = others.map((other) => lstatSync(join(there, "tree", other)).ino);
      assert.equal(inodes[0], inodes[1], `${by} ${name}: the other names are one file`);
      if (by === "cp") continue;
      const failed = done.events.filter(({ event }) => event === "entry_failed");
      assert.deepEqual(failed.map(({ path, reason }) => [path, reason]), [[join(there, "tree", name), "in_the_way"]], done.said());
    }
  }
});

for (const mode of [0o311, 0o300, 0o111, 0o000]) {
  test(`a folder at the destination of mode ${mode.toString(8).padStart(3, "0")}, which may not be listed, gets what cp -a gives it`, async (t) => {
    const { base, source, near } = strangers(t);
    const tree = join(source, "tree");
    for (const folder of ["", "closed", "closed/below", "closed/new"]) mkdirSync(join(tree, folder));
    for (const file of ["beside", "closed/file", "closed/below/file", "closed/new/file"]) writeFileSync(join(tree, file), `${file} of the source`);
    const into = (name) => {
      const at = join(base, name);
      mkdirSync(join(at, "tree/closed/below"), { recursive: true });
      writeFileSync(join(at, "tree/closed/file"), "here before");
      chmodSync(join(at, "tree/closed"), mode);
      return at;
    };
    // Files that fail keep the time at which this test made them.
    const found = (at) => new Map([...entries(at)].map(([path, { time: _, ...entry }]) => [path, entry]));
    const there = into("cp");
    const [command, ...words] = [...BOUND_BY_MODES, "cp", "-a", tree, there];
    const { status } = capture(command, words);
    for (const args of [[], ["--verify"], ["--io", "sync"]]) {
      const at = into(`ringway ${args}`);
      const done = await near.run(["copy", tree, at, "--json", ...args], { wrap: BOUND_BY_MODES });
      assert.equal(done.status, status === 0 ? EXIT.all : EXIT.partial, done.said());
      assert.deepEqual(unlikeTrees(found(there), found(at)), [], done.said());
    }
  });
}

test("--dry-run predicts what is in the way of another name of a file, and which one stays", async (t) => {
  const { base, source, near } = strangers(t);
  const tree = join(source, "tree");
  mkdirSync(tree);
  writeFileSync(join(tree, "a"), "contents");
  linkSync(join(tree, "a"), join(tree, "b"));
  const ways = {
    folder: (path) => mkdirSync(path),
    "link to a folder": (path) => symlinkSync(base, path),
    newer: (path) => writeFileSync(path, "newer"),
  };
  let number = 0;
  for (const options of [[], ["-u"], ["-n"]]) {
    for (const [what, make] of Object.entries(ways)) {
      // Which of the names comes first depends on chance.
      for (const name of ["a", "b"]) {
        const at = join(base, `${(number += 1)}`);
        mkdirSync(at);
        make(join(at, name));
        const run = async (...more) => near.run(["copy", "-T", tree, at, "--json", ...options, ...more]);
        const [foretold, done] = [await run("--dry-run"), await run()];
        const told = ({ status, events }) => {
          const { files, links, skipped } = events.find(({ event }) => event === "finished");
          const failed = events.filter(({ event }) => event === "entry_failed").map(({ path, reason }) => [path, reason]);
          return { status, failed, files, links, skipped };
        };
        assert.deepEqual(told(foretold), told(done), `${what} ${name} ${options}\n${foretold.said()}\n${done.said()}`);
      }
    }
  }
});

for (const workers of [1, 2, 8]) {
  test(`-u with ${workers} threads makes all names of a file one again, as with cp -au`, async (t) => {
    const { base, source, near } = strangers(t);
    const [tree, names] = [join(source, "tree"), 300];
    for (const folder of ["", "a", "b"]) mkdirSync(join(tree, folder));
    for (let name = 0; name < names; name += 1) {
      writeFileSync(join(tree, "a", `${name}`), `${name}`);
      linkSync(join(tree, "a", `${name}`), join(tree, "b", `${name}`));
    }
    const at = join(base, "there");
    const copy = async (...args) => {
      const done = await near.run(["copy", "-T", tree, at, "--json", ...args]);
      assert.equal(done.status, EXIT.all, done.said());
      return done.events.find(({ event }) => event === "finished");
    };
    await copy();
    for (let name = 0; name < names; name += 1) if (name % 3) rmSync(join(at, name % 3 === 1 ? "a" : "b", `${name}`));
    const update = ["-u", "-j", `${workers}`];
    const foretold = await copy(...update, "--dry-run");
    await copy(...update);
    for (let name = 0; name < names; name += 1) {
      const [one, other] = ["a", "b"].map((folder) => lstatSync(join(at, folder, `${name}`)));
      assert.deepEqual([one.ino, one.nlink], [other.ino, 2], `${name}`);
    }
    const { files, links, unchanged } = await copy(...update);
    assert.deepEqual([files, links, unchanged], [0, 0, 2 * names], "nothing is left to do");
    assert.equal(foretold.unchanged + foretold.files + foretold.links, 2 * names);
  });
}

test("a user's copy of another's folder keeps what its mode restricts, as with cp -a", async (t) => {
  if (!isRoot) return t.skip("only root can be somebody else");
  const { base, source, near } = strangers(t);
  const tree = join(source, "tree");
  for (const [name, mode] of [["", 0o755], ["sticky", 0o1777], ["group", 0o3777], ["set", 0o6755]]) {
    mkdirSync(join(tree, name));
    chmodSync(join(tree, name), mode);
  }
  writeFileSync(join(tree, "program"), "");
  chmodSync(join(tree, "program"), 0o7755);
  const into = ["cp", "ringway"].map((by) => join(base, by));
  for (const at of into) {
    mkdirSync(at);
    chmodSync(at, 0o777);
  }
  for (const path of [base, source]) chmodSync(path, 0o755);
  const wrap = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups"];
  capture(wrap[0], [...wrap.slice(1), "cp", "-a", tree, into[0]]);
  chmodSync(near.env.HOME, 0o777);
  capture(wrap[0], [...wrap.slice(1), RINGWAY, "copy", tree, into[1]], { env: { ...near.env, HOME: base } });
  const modes = (at) => ["sticky", "group", "set", "program"].map((name) => (lstatSync(join(at, "tree", name)).mode & 0o7777).toString(8));
  assert.deepEqual(modes(into[1]), modes(into[0]));
  assert.deepEqual(modes(into[0]), ["1777", "1777", "755", "755"]);
});

for (const [signal, status] of [["SIGINT", EXIT.failed], ["SIGTERM", EXIT.terminated], ["SIGHUP", EXIT.hungUp]]) {
  const skip = which("strace") ? false : "no strace here to send a signal at the first call";
  test(`${signal} before copy has read its arguments ends it as one later does`, { skip }, async (t) => {
    const { base, source, near } = strangers(t);
    for (let file = 0; file < 16; file += 1) writeFileSync(join(source, `${file}`), Buffer.alloc(4 << 20, "large"));
    // The command's own first action is to forbid core dumps.
    const wrap = ["strace", "-qq", "-o", "/dev/null", "-e", "trace=prctl", "-e", `inject=prctl:signal=${signal}:when=1`];
    const done = await near.run(["copy", source, join(base, "copy"), "--json"], { wrap });
    assert.deepEqual([done.status, done.signal], [status, null], done.said());
    const finished = done.events.find(({ event }) => event === "finished");
    assert.equal(finished?.error?.code, "cancelled", done.said());
  });
}
