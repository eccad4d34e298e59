// What is selected: patterns and lists of `send` and `copy`, their dry runs, and what arrives.
import assert from "node:assert/strict";
import { existsSync, linkSync, mkdirSync, readFileSync, readlinkSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { EXIT, asked, ends, harmfulNetwork, listing, receiver, sender, strangers } from "./harness.mjs";

const finished = (end) => end.events.find(({ event }) => event === "finished");
const counts = ({ files, folders, links, bytes, excluded, failed }) => ({ files, folders, links, bytes, excluded, failed });
const planned = (events) => events.filter(({ event }) => event === "planned").map(({ path }) => path).sort();

/** A tree with everything that the selections below tell apart. */
function project(path) {
  for (const folder of ["src/cache", "build/deep", "notes", "empty"]) mkdirSync(join(path, folder), { recursive: true });
  for (const file of ["main.o", "src/main.c", "src/keep.o", "src/other.o", "src/cache/x", "build/deep/y", "notes/a.txt", "notes/b.tmp", "#hash"]) {
    writeFileSync(join(path, file), file);
  }
  linkSync(join(path, "notes/b.tmp"), join(path, "notes/b.txt"));
  symlinkSync("notes/b.tmp", join(path, "latest"));
}

const SELECTION = ["--exclude", "*.o", "--include", "keep.o", "--exclude", "/build", "--exclude", "cache/", "--exclude", "*.tmp"];
const TAKEN = ["#hash", "empty", "latest", "notes", "notes/a.txt", "notes/b.txt", "src", "src/keep.o", "src/main.c"];

test("a dry run of a send connects to nobody and tells exactly what then arrives; the report counts what was left out", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  const tree = join(source, "project");
  project(tree);
  const dry = await asked(near, ["send", tree, "no-such-device", "--dry-run", ...SELECTION]);
  const told = finished({ events: dry });
  assert.equal(told.dry_run, true);
  assert.ok(!existsSync(join(near.env.XDG_DATA_HOME, "ringway")), "no identity is made for it");
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, tree, receiving.target, { args: SELECTION });
  await ends(sending, receiving);
  assert.deepEqual(listing(join(inbox, "project")), TAKEN);
  assert.deepEqual(planned(dry), listing(inbox));
  assert.deepEqual(counts(finished(sending)), counts(told));
  assert.equal(told.excluded, 5);
  assert.equal(finished(receiving).excluded, 0, "the receiver does not know");
  assert.equal(readlinkSync(join(inbox, "project/latest")), "notes/b.tmp", "a link is sent as it is");
  assert.equal(statSync(join(inbox, "project/notes/b.txt")).nlink, 1);
  assert.equal(String(readFileSync(join(inbox, "project/notes/b.txt"))), "notes/b.tmp", "its other name is left out");
  const [number] = (await asked(near, ["inbox", "--sent"])).map(({ number }) => number);
  const said = (await near.run(["inbox", "show", String(number)])).stdout;
  assert.match(said, /Left out: +5 entries, as asked/);

  // Sent again, the same is left out.
  const again = await receiver(t, far, inbox, { code: null, port: receiving.port });
  const repeated = near.start(["send", "--again", String(number), "--json"]);
  t.after(() => repeated.kill());
  await ends(repeated, again);
  assert.deepEqual([finished(repeated).excluded, finished(repeated).unchanged], [5, 6], repeated.said());
  assert.deepEqual(listing(join(inbox, "project")), TAKEN);
});

test("send and copy select the same, from options, files and lists", async (t) => {
  const { base, inbox, source, near, far } = strangers(t);
  const tree = join(source, "project");
  project(tree);
  const ignore = join(base, "ignore");
  writeFileSync(ignore, "# as in git\n\n*.o\n!keep.o\r\n/build\ncache/\n*.tmp\n\\#hash\n");
  const nul = join(base, "nul");
  writeFileSync(nul, ["./notes", "src/main.c", "src//main.c", join(tree, "empty"), "gone", ""].join("\0"));
  const cases = [
    [["--exclude-from", ignore, "--include", "#hash"], TAKEN, 5],
    [["--exclude", "*", "--include", "/notes"], ["notes"], 9],
    [["--files-from", nul, "--exclude", "*.tmp"], ["empty", "notes", "notes/a.txt", "notes/b.txt", "src", "src/main.c"], 1],
  ];
  for (const [number, [args, wanted, excluded]] of cases.entries()) {
    const [there, here] = [`sent ${number}`, `copied ${number}`].map((name) => join(inbox, name));
    for (const path of [there, here]) mkdirSync(path);
    const missing = args.includes("--files-from");
    const status = missing ? EXIT.partial : EXIT.all;
    const receiving = await receiver(t, far, there);
    const sending = sender(t, near, tree, receiving.target, { args });
    await ends(sending, receiving, status, status);
    const copied = await asked(near, ["copy", tree, here, ...args], status);
    for (const [path, end] of [[there, sending], [here, { events: copied }]]) {
      assert.deepEqual(listing(join(path, "project")), wanted, `${args} ${path}`);
      assert.equal(finished(end).excluded, excluded, `${args} ${path}`);
      const failed = end.events.filter(({ event }) => event === "entry_failed").map(({ path: name }) => name);
      assert.equal(failed.length, missing ? 1 : 0);
      assert.ok(failed.every((name) => name.endsWith("project/gone")), `${failed}`);
    }
  }
});

test("a transfer that is interrupted goes on without what is left out, whatever appears meanwhile", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  const tree = join(source, "project");
  project(tree);
  writeFileSync(join(tree, "large"), Buffer.alloc(30_000_000, "contents that do not end "));
  const receiving = await receiver(t, far, inbox);
  const network = await harmfulNetwork(t, receiving.target, "--cut-after", 10_000_000);
  const sending = sender(t, near, tree, network.target, { args: [...SELECTION, "--compress", "off", "--retry", "60s"] });
  await network.event("cut");
  writeFileSync(join(tree, "src/late.o"), "late");
  await ends(sending, receiving);
  assert.ok(finished(sending).reconnected >= 1, sending.said());
  assert.deepEqual(listing(join(inbox, "project")), [...TAKEN, "large"].sort());
  assert.ok([5, 6].includes(finished(sending).excluded), sending.said());
});

test("selections that make no sense are refused before anybody is asked", async (t) => {
  const { base, source, near } = strangers(t);
  const tree = join(source, "tree");
  mkdirSync(tree);
  const file = (text) => {
    writeFileSync(join(base, "list"), text);
    return join(base, "list");
  };
  const refused = async (args, said) => {
    for (const command of [["send", tree, "lab"], ["send", "--dry-run", tree, "lab"], ["copy", tree, join(base, "copy")]]) {
      const done = await near.run([...command, ...args]);
      assert.equal(done.status, EXIT.usage, `${command} ${args}: ${done.said()}`);
      assert.match(done.stderr, said);
    }
  };
  await refused(["--exclude", "a[b"], /The pattern “a\[b” is not understood/);
  await refused(["--exclude", ""], /empty/);
  await refused(["--exclude", "x".repeat(100_000)], /longer than a path/);
  await refused(["--exclude-from", file("fine\n\na[b\n")], /list, line 3: The pattern “a\[b” is not understood/);
  await refused(["--exclude-from", file("a\0b")], /line 1: /);
  await refused(["--exclude-from", file("a\n".repeat(100_000))], /10,000 patterns/);
  await refused(["--exclude-from", file(Buffer.alloc(2_000_000, "a\n"))], /too long/);
  await refused(["--files-from", file("a\n../b\n")], /list, line 2: .*\.\./);
  await refused(["--files-from", file("/etc/passwd\n")], /line 1: \/etc\/passwd does not lie in the source/);
  for (const command of [["send", tree, tree, "lab"], ["copy", tree, base, join(base, "copy")]]) {
    const done = await near.run([...command, "--files-from", file("a")]);
    assert.equal(done.status, EXIT.usage, done.said());
    assert.match(done.stderr, /one source, a folder/);
  }
  assert.ok(!existsSync(join(base, "copy")));
});
