// `ringway copy` as a process: what it does where cp(1) refuses, and how it ends when a signal
// comes at once.
import assert from "node:assert/strict";
import { linkSync, lstatSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { capture, which } from "../setup/process.mjs";
import { EXIT, strangers } from "./harness.mjs";

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

for (const [signal, status] of [["SIGINT", EXIT.failed], ["SIGTERM", EXIT.terminated], ["SIGHUP", EXIT.hungUp]]) {
  const skip = which("strace") ? false : "no strace here to send a signal at the first call";
  test(`${signal} before copy has read its arguments ends it as one later does`, { skip }, async (t) => {
    const { base, source, near } = strangers(t);
    for (let file = 0; file < 16; file += 1) writeFileSync(join(source, `${file}`), Buffer.alloc(4 << 20, "large"));
    // The first thing that the command itself does is to forbid core dumps.
    const wrap = ["strace", "-qq", "-o", "/dev/null", "-e", "trace=prctl", "-e", `inject=prctl:signal=${signal}:when=1`];
    const done = await near.run(["copy", source, join(base, "copy"), "--json"], { wrap });
    assert.deepEqual([done.status, done.signal], [status, null], done.said());
    const finished = done.events.find(({ event }) => event === "finished");
    assert.equal(finished?.error?.code, "cancelled", done.said());
  });
}
