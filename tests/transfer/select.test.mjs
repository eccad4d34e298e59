// What is selected: patterns and lists of `send` and `copy`, their dry runs, and what arrives.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, readlinkSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { BOUND_BY_MODES, EXIT, asked, ends, endsUnread, eventually, harmfulNetwork, listing, receiver, sender, strangers } from "./harness.mjs";

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
  const { base, inbox, source, near, far } = strangers(t);
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
  assert.match(said, /Patterns: +\*\.o\n +!keep\.o\n +\/build\n/);

  // Sent again, the same is left out.
  const again = await receiver(t, far, inbox, { code: null, port: receiving.port });
  const repeated = near.start(["send", "--again", String(number), "--json"]);
  t.after(() => repeated.kill());
  await ends(repeated, again);
  assert.deepEqual([finished(repeated).excluded, finished(repeated).unchanged], [5, 6], repeated.said());
  assert.deepEqual(listing(join(inbox, "project")), TAKEN);

  // What is given now stands behind what is remembered.
  const list = join(base, "list");
  writeFileSync(list, "notes\r\nmain.o\r\n");
  for (const [args, wanted] of [
    [["--exclude", "/notes"], TAKEN.filter((path) => !path.startsWith("notes"))],
    [["--include", "/notes/b.tmp"], [...TAKEN, "notes/b.tmp"].sort()],
    [["--files-from", list], ["notes", "notes/a.txt", "notes/b.txt"]],
  ]) {
    const told = await asked(near, ["send", "--again", String(number), "--dry-run", ...args]);
    assert.deepEqual(planned(told), ["project", ...wanted.map((path) => `project/${path}`)], `${args}`);
  }

  // A list is not remembered, which is said.
  const third = await receiver(t, far, inbox, { code: null, port: receiving.port });
  const byList = near.start(["send", tree, receiving.target, "--files-from", list, "--json"]);
  t.after(() => byList.kill());
  await ends(byList, third);
  const [last] = (await asked(near, ["inbox", "--sent"])).map(({ number }) => number);
  assert.ok(last > number);
  const refused = await near.run(["send", "--again", String(last)]);
  assert.equal(refused.status, EXIT.usage, refused.said());
  assert.match(refused.stderr, /was sent by a list \(--files-from\)/);
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
  for (const pattern of ["./x", "../x", "a//b", "x/..", "/.."]) await refused(["--exclude", pattern], /The pattern “.*” matches nothing: .*\n.*Write “x” for that name at any depth, or “\/x”/);
  await refused(["--exclude-from", file("fine\n!../x\n")], /list, line 2: The pattern “\.\.\/x” matches nothing/);
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

test("a stop ends a command that waits for a list or for patterns", { timeout: 60_000 }, async (t) => {
  const { base, source, near } = strangers(t);
  const pipe = join(base, "pipe");
  execFileSync("mkfifo", [pipe]);
  const statuses = { SIGINT: EXIT.failed, SIGTERM: EXIT.terminated };
  for (const command of [["copy", "-T", source, join(base, "copy")], ["send", source, "lab"], ["send", "--dry-run", source, "lab"]]) {
    for (const option of ["--files-from", "--exclude-from"]) {
      for (const [signal, status] of Object.entries(statuses)) {
        const running = near.start([...command, option, pipe]);
        t.after(() => running.kill());
        // As soon as it has taken the signals over.
        await eventually("its handler of signals", () => {
          const caught = /SigCgt:\t(\w+)/.exec(readFileSync(`/proc/${running.pid}/status`, "utf8"))[1];
          return BigInt(`0x${caught}`) & (1n << 14n);
        });
        running.child.kill(signal);
        assert.equal(await running.exit(), status, `${command} ${option} ${signal}: ${running.said()}`);
      }
    }
  }
  assert.ok(!existsSync(join(base, "copy")));
});

test("a listed path that is not there has failed although a folder above it is listed, in any order", async (t) => {
  const { base, source, near } = strangers(t);
  const tree = join(source, "tree");
  mkdirSync(join(tree, "a"), { recursive: true });
  for (const file of ["a/one", "other"]) writeFileSync(join(tree, file), file);
  const list = join(base, "list");
  const paths = ["./a", "./a/two", "./a/one"];
  for (const listed of [paths, [...paths].reverse(), [".", "other", ...paths], ["a/two", "./"]]) {
    writeFileSync(list, listed.join("\n"));
    for (const command of [["send", "--dry-run", tree, "lab"], ["copy", "--dry-run", "-T", tree, join(base, "copy")], ["copy", "-T", tree, join(base, "copy")]]) {
      const done = await near.run([...command, "--files-from", list, "--json"]);
      const failed = done.events.filter(({ event }) => event === "entry_failed");
      assert.deepEqual([done.status, failed.length], [EXIT.partial, 1], `${command} ${listed}: ${done.said()}`);
      assert.match(failed[0].path, /(^|\/)a\/two$/);
      assert.equal(failed[0].errno, 2, done.said());
    }
    assert.equal(existsSync(join(base, "copy/other")), listed.some((path) => /^\.\/?$/.test(path)));
    rmSync(join(base, "copy"), { recursive: true });
  }
});

test("a dry run that nobody reads ends at once by a signal, with its exit status", { timeout: 120_000 }, async (t) => {
  const { base, source, near } = strangers(t);
  for (let file = 0; file < 6_000; file += 1) writeFileSync(join(source, `${"name".repeat(20)} ${file}`), "");
  for (const command of [["send", "--dry-run", source, "lab"], ["copy", "--dry-run", source, join(base, "copy")]]) {
    for (const args of [command, [...command, "--json"]]) await endsUnread(t, near, args);
  }
});

test("lists that are given twice or empty are told from others, and patterns may begin with a dash", async (t) => {
  const { base, source, near } = strangers(t);
  const tree = join(source, "tree");
  mkdirSync(tree);
  for (const name of ["-x", "y", "z\r"]) writeFileSync(join(tree, name), name);
  const list = (text) => {
    writeFileSync(join(base, "list"), text);
    return join(base, "list");
  };
  for (const command of [["send", "--dry-run", tree, "lab"], ["copy", "--dry-run", "-T", tree, join(base, "copy")]]) {
    const twice = await near.run([...command, "--files-from", list("y"), "--files-from", list("y")]);
    assert.equal(twice.status, EXIT.usage, twice.said());
    assert.match(twice.stderr, /only once/);
    const empty = await near.run([...command, "--files-from", list("")]);
    assert.equal(empty.status, EXIT.all, empty.said());
    assert.match(empty.stderr, new RegExp(`lists no path: there is nothing to ${command[0]}\\.`));
    const names = async (...args) => planned(await asked(near, [...command, ...args])).map((path) => path.replace(/.*\//, "")).slice(1);
    assert.deepEqual(await names("--exclude", "-x"), ["y", "z\\r"]);
    assert.deepEqual(await names("--files-from", list("y\r\n")), ["y"]);
    assert.deepEqual(await names("--files-from", list("z\r\0")), ["z\\r"]);
    const bad = [await near.run([...command, "--exclude-from", list("a[b\n")]), await near.run([...command, "--exclude", "a[b"])];
    const [inFile, given] = bad.map(({ stderr }) => stderr.trim().split("\n").slice(1).join("\n"));
    assert.equal(inFile, given);
    assert.notEqual(given, "", "there is a hint");
  }
});

test("what is listed in a folder that fails or behind a link has its true reason", async (t) => {
  const { base, source, near } = strangers(t);
  const tree = join(source, "tree");
  for (const name of ["closed", "real"]) {
    mkdirSync(join(tree, name), { recursive: true });
    writeFileSync(join(tree, name, "x"), name);
  }
  symlinkSync("real", join(tree, "link"));
  chmodSync(join(tree, "closed"), 0);
  const list = join(base, "list");
  writeFileSync(list, "closed/x\nlink/x\nreal/x\nreal/gone\n");
  for (const command of [["send", "--dry-run", tree, "lab"], ["copy", "--dry-run", "-T", tree, join(base, "dry")], ["copy", "-T", tree, join(base, "copy")]]) {
    const args = [...command, "--files-from", list];
    const { status, events, ...done } = await near.run([...args, "--json"], { wrap: BOUND_BY_MODES });
    assert.equal(status, EXIT.partial, done.stderr);
    const failed = events.filter(({ event }) => event === "entry_failed").map(({ path, errno }) => [path.replace(/.*tree\//, ""), errno]);
    assert.deepEqual(failed.sort(), [["closed", 13], ["link/x", 40], ["real/gone", 2]], command.join(" "));
    assert.match((await near.run(args, { wrap: BOUND_BY_MODES })).stderr, /A list does not follow symbolic links/);
  }
});

test("a dry run of an update compares names of one file as the copy does", async (t) => {
  const { base, source, near } = strangers(t);
  const [tree, there] = [join(source, "tree"), join(base, "there")];
  mkdirSync(join(tree, "d"), { recursive: true });
  writeFileSync(join(tree, "a"), "12345");
  linkSync(join(tree, "a"), join(tree, "d/b"));
  await asked(near, ["copy", "-T", tree, there]);
  writeFileSync(join(there, "a"), "edited there");
  const later = Date.now() / 1000 + 100;
  utimesSync(join(there, "a"), later, later);
  const figures = async (...args) => {
    const { files, links, bytes, unchanged, skipped } = finished({ events: await asked(near, ["copy", "-u", ...args, "-T", tree, there]) });
    return { files, links, bytes, unchanged, skipped };
  };
  const told = await figures("--dry-run");
  assert.deepEqual(told, { files: 0, links: 0, bytes: 0, unchanged: 1, skipped: 1 });
  assert.deepEqual(await figures(), told);
});

test("a copy whose list came through a pipe is not continued by a command that would copy other entries", { timeout: 60_000 }, async (t) => {
  const { base, source, near } = strangers(t);
  const large = join(source, "large");
  writeFileSync(large, Buffer.alloc(256 << 20, "contents"));
  const slowly = ["--reflink=never", "--no-splice", "-j", "1", "-c", "4K"];
  const running = near.start(["copy", ...slowly, "--exclude-from", "-", "-T", source, join(base, "copy")], { input: "*.tmp\n" });
  t.after(() => running.kill());
  while (running.status === undefined && !existsSync(join(base, "copy/large"))) await new Promise((resolve) => setTimeout(resolve, 5));
  running.child.kill("SIGINT");
  assert.equal(await running.exit(), EXIT.failed, running.said());
  assert.match(running.stderr, /run the same command again with .*give it the same again/);
  assert.doesNotMatch(running.stderr, /run: ringway copy/);
});
