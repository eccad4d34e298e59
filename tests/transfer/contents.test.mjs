// The promises of the documents about contents and existing files. These tests were written with
// only the documents at hand.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  closeSync, existsSync, linkSync, lstatSync, mkdirSync, openSync, readFileSync, readdirSync,
  rmSync, statSync, symlinkSync, utimesSync, writeFileSync, writeSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { run } from "../setup/process.mjs";
import { entries, unlikeTrees } from "./entries.mjs";
import { EXIT, receiver, sameInside, sender, strangers } from "./harness.mjs";

const OLD = 1_600_000_000;
const POLICIES = ["replace", "keep", "rename", "update"];
const finished = (end) => end.events.find(({ event }) => event === "finished");
const failures = (end) => end.events.filter(({ event }) => event === "entry_failed");
const failedPaths = (end) => failures(end).map(({ path }) => path).sort();
const hidden = (inbox) => readdirSync(inbox).filter((name) => name.startsWith(".ringway-"));

/** A file with a fixed time, so that only contents can differ between two of the same size. */
function put(path, contents, time = OLD) {
  writeFileSync(path, contents);
  utimesSync(path, time, time);
}

/** The same size and time, other contents. */
function falsify(path) {
  const { size, atime, mtime } = statSync(path);
  const file = openSync(path, "r+");
  writeSync(file, Buffer.from("~"), 0, 1, Math.floor(size / 2));
  closeSync(file);
  utimesSync(path, atime, mtime);
}

/** One transfer to its end. Returns both ends, however they ended. */
async function transfer(t, { near, far, inbox }, paths, { recv = [], send = [], from = near, ...how } = {}) {
  const receiving = await receiver(t, far, inbox, { args: recv, ...how });
  const sending = sender(t, from, paths, receiving.target, { args: send });
  const statuses = [await sending.exit(), await receiving.exit()];
  return { sending, receiving, statuses, said: `${brief(sending)}${brief(receiving)}` };
}

/** The events of an end without its progress: enough to see why a test fails. */
function brief(end) {
  const events = end.events.filter(({ event }) => ["entry_failed", "entry_kept", "finished", "error"].includes(event));
  const lines = events.map((event) => {
    const { path, reason, message, beside, outcome, error, code, files, links, unchanged, skipped, edited, failed, proven, left_behind } = event;
    if (event.event !== "finished") return `  ${event.event} ${path ?? code}: ${beside?.path ?? reason ?? ""} ${message ?? ""}`;
    return `  ${JSON.stringify({ outcome, error, files, links, unchanged, skipped, edited, failed, proven, left_behind })}`;
  });
  return `${end.title}: ${end.signal ?? end.status}\n${lines.slice(0, 40).join("\n")}\n${end.stderr.slice(-600)}\n`;
}

/** The entries, without the information which names belong to one file. */
function unlinked(top) {
  const found = entries(top);
  for (const one of found.values()) delete one.sameAs;
  return found;
}

/** Contents of every regular file below `top`, by path. */
function contentsOf(top) {
  const found = new Map();
  for (const [path, { kind }] of entries(top)) if (kind === "file") found.set(path, readFileSync(join(top, path)));
  return found;
}

/** A name with its number: `a.txt` as `a (1).txt`, `a (2).txt`. */
function isNumbered(name, of) {
  const dot = of.lastIndexOf(".");
  const [stem, end] = dot > 0 ? [of.slice(0, dot), of.slice(dot)] : [of, ""];
  return name.startsWith(`${stem} (`) && name.endsWith(`)${end}`) && /^\d+$/.test(name.slice(stem.length + 2, name.length - 1 - end.length));
}

/** Whether these contents are in `folder` under the name or a numbered one. */
function isThere(folder, name, contents) {
  if (!lstatSync(folder, { throwIfNoEntry: false })?.isDirectory()) return false;
  return readdirSync(folder)
    .filter((found) => found === name || isNumbered(found, name))
    .some((found) => lstatSync(join(folder, found)).isFile() && readFileSync(join(folder, found)).equals(contents));
}

// --verify, and what exists already

const SIZES = { small: 4_000, middle: 600_000, large: 9_000_000 };

/** A tree with a file of each size for each change that may have happened to it at the receiver. */
function manifold(path) {
  mkdirSync(path);
  for (const [size, bytes] of Object.entries(SIZES)) {
    for (const what of ["equal", "silent", "older", "new", "edited"]) put(join(path, `${what} ${size}.bin`), randomBytes(bytes));
    put(join(path, `linked ${size}`), randomBytes(bytes));
    linkSync(join(path, `linked ${size}`), join(path, `second name ${size}`));
    linkSync(join(path, `linked ${size}`), join(path, `third name ${size}`));
  }
  for (const what of ["folder", "fifo", "link to file", "link to folder"]) put(join(path, `${what} in the way`), `sent ${what}`);
  mkdirSync(join(path, "sent folder"));
  put(join(path, "sent folder/inside"), "inside");
  mkdirSync(join(path, "folder for link"));
  put(join(path, "folder for link/inside"), "inside");
  symlinkSync("equal small.bin", join(path, "a link"));
  symlinkSync("sent target", join(path, "another link"));
}

/**
 * Changes the files with these names at the receiver. `outside` is a folder that nothing may reach.
 */
function meddle(there, outside) {
  for (const size of Object.keys(SIZES)) {
    falsify(join(there, `silent ${size}.bin`));
    put(join(there, `older ${size}.bin`), `something older, of ${size}`, OLD - 1000);
    rmSync(join(there, `new ${size}.bin`));
    writeFileSync(join(there, `edited ${size}.bin`), `an edit of ${size}`);
    // The second name is a separate file by now, and the third one has another, private name
    // elsewhere.
    const contents = readFileSync(join(there, `linked ${size}`));
    rmSync(join(there, `second name ${size}`));
    put(join(there, `second name ${size}`), contents);
    rmSync(join(there, `third name ${size}`));
    put(join(outside, `private ${size}`), contents);
    falsify(join(outside, `private ${size}`));
    linkSync(join(outside, `private ${size}`), join(there, `third name ${size}`));
  }
  for (const what of ["folder", "fifo", "link to file", "link to folder"]) rmSync(join(there, `${what} in the way`));
  mkdirSync(join(there, "folder in the way"));
  put(join(there, "folder in the way/mine"), "mine");
  execFileSync("mkfifo", [join(there, "fifo in the way")]);
  put(join(outside, "mine"), "mine outside");
  symlinkSync(join(outside, "mine"), join(there, "link to file in the way"));
  symlinkSync(outside, join(there, "link to folder in the way"));
  rmSync(join(there, "sent folder"), { recursive: true });
  put(join(there, "sent folder"), "a file of mine");
  rmSync(join(there, "folder for link"), { recursive: true });
  symlinkSync(outside, join(there, "folder for link"));
  rmSync(join(there, "another link"));
  symlinkSync("my target", join(there, "another link"));
}

/** Entries that `replace` may not replace with a file or link, because they are of another kind. */
const IN_THE_WAY = ["folder in the way", "folder in the way/mine", "fifo in the way", "sent folder", "folder for link"];

for (const policy of POLICIES) {
  for (const received of [true, false]) {
    test(`send --verify, --on-conflict ${policy}, into a tree that ${received ? "was received and edited" : "is the receiver's own"}: files reported as proven are equal, and nothing changes beyond the policy`, async (t) => {
      const both = strangers(t);
      const { base, inbox, source } = both;
      const [tree, there, outside] = [join(source, "tree"), join(inbox, "tree"), join(base, "outside")];
      mkdirSync(outside);
      manifold(tree);
      const recv = ["--on-conflict", policy];
      if (received) {
        const first = await transfer(t, both, tree, { recv: ["--on-conflict", "update"] });
        assert.deepEqual(first.statuses, [0, 0], first.said);
      } else run("cp", ["-a", tree, inbox]);
      meddle(there, outside);
      const [before, beforeOutside] = [unlinked(there), unlinked(outside)];
      const { sending, receiving, statuses, said } = await transfer(t, both, tree, { recv, send: ["--verify"] });
      const failed = new Set(failedPaths(sending));
      assert.deepEqual(statuses, failed.size ? [EXIT.partial, EXIT.partial] : [0, 0], said);
      assert.deepEqual(failedPaths(receiving), [...failed].sort(), said);
      assert.deepEqual(unlikeTrees(beforeOutside, unlinked(outside)), [], `outside of the destination\n${said}`);
      assert.deepEqual(hidden(inbox), [], said);
      // Entries that existed before, apart from those that the policy changes.
      const after = unlinked(there);
      const sent = contentsOf(tree);
      const may = (path) => policy === "replace" && !IN_THE_WAY.includes(path) && (sent.has(path) || ["a link", "another link", ""].includes(path));
      const own = (path) => before.has(path) && !may(path);
      assert.deepEqual(unlikeTrees(before, after, (path) => !own(path)), [], said);
      // Everything that was sent is there, or was reported as missing.
      const top = existsSync(join(inbox, "tree (1)")) ? join(inbox, "tree (1)") : there;
      assert.equal(top !== there, policy === "update" && !received, said);
      let equal = 0;
      for (const [path, contents] of sent) {
        const [folder, name] = [join(top, path.split("/").slice(0, -1).join("/")), path.split("/").at(-1)];
        const has = isThere(folder, name, contents);
        if (has) equal += 1;
        const stays = policy === "keep" && before.has(path);
        const isNamed = [...failed].some((one) => `tree/${path}/`.startsWith(`${one}/`));
        if (!stays && !isNamed) assert.ok(has, `${path} is not there as it was sent, and nothing is said of it\n${said}`);
      }
      for (const end of [sending, receiving]) assert.ok(finished(end).proven.files <= equal, `${finished(end).proven.files} proven, ${equal} equal\n${said}`);
      for (const way of IN_THE_WAY.filter((path) => path !== "folder in the way/mine")) {
        // With `rename` a file is put beside the entry that is in its way.
        const isNumbered = policy === "rename" && /^(folder|fifo) in/.test(way);
        assert.equal(failed.has(`tree/${way}`), top === there && !isNumbered, `${way} is in the way\n${said}`);
      }
      // Sending it once more changes nothing. (Except that folders with a number are not the
      // sender's, and this is reported.)
      if (top !== there) return;
      const settled = entries(inbox);
      const again = await transfer(t, both, tree, { recv, send: ["--verify"] });
      assert.deepEqual(again.statuses, statuses, again.said);
      assert.deepEqual(unlikeTrees(settled, entries(inbox), (path) => path === "" || path === "tree"), [], again.said);
      assert.deepEqual(failedPaths(again.sending), [...failed].sort(), again.said);
    });
  }
}

test("--on-conflict rename: a folder or FIFO in the way of a file stays, and the file is put beside it under a number", async (t) => {
  const both = strangers(t);
  const [tree, there] = [join(both.source, "tree"), join(both.inbox, "tree")];
  for (const path of [tree, there]) mkdirSync(path);
  for (const what of ["folder", "fifo"]) put(join(tree, what), what);
  mkdirSync(join(there, "folder"));
  execFileSync("mkfifo", [join(there, "fifo")]);
  const { statuses, said } = await transfer(t, both, tree, { recv: ["--on-conflict", "rename"] });
  assert.deepEqual(statuses, [0, 0], said);
  assert.deepEqual(readdirSync(there).sort(), ["fifo", "fifo (1)", "folder", "folder (1)"], said);
  assert.ok(lstatSync(join(there, "folder")).isDirectory() && lstatSync(join(there, "fifo")).isFIFO());
  for (const what of ["folder", "fifo"]) assert.equal(readFileSync(join(there, `${what} (1)`), "utf8"), what);
});

// Many names in one send, and ends that are killed

const NAMES = 150;
/** A different number each time, from a seed, so that each run has the same rounds. */
function draw(seed) {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

/**
 * This many names, every third a folder, in version `version`. Every fifth changes from one version
 * to the next.
 */
function manyNames(source, version) {
  const paths = [];
  for (let number = 0; number < NAMES; number += 1) {
    const path = join(source, `name ${number}`);
    paths.push(path);
    const now = number % 5 === 0 ? version : 1;
    const bytes = number % 50 === 0 ? 3_000_000 : 20_000;
    const contents = (part) => Buffer.alloc(bytes, `${number} ${part} in version ${now}\n`);
    if (number % 3) put(path, contents(""), OLD + now);
    else {
      mkdirSync(path, { recursive: true });
      for (const part of ["one", "two.txt"]) put(join(path, part), contents(part), OLD + now);
    }
  }
  return paths;
}

/**
 * Entries that the receiver edits: some of those that change at the sender, and some that do not.
 */
const EDITED = ["name 5", "name 10", "name 7", "name 15/one", "name 30/two.txt", "name 3/one"];

const KILLED = [
  ["update", "receiver", 1], ["update", "receiver", 2], ["update", "receiver", 3], ["update", "sender", 4], ["replace", "receiver", 5], ["keep", "receiver", 6], ["rename", "receiver", 7],
];
for (const [policy, end, seed] of KILLED) {
  test(`${NAMES} names sent again with changes, --on-conflict ${policy}, the ${end} killed at random moments: all equal, edits as promised, no name without need (${seed})`, async (t) => {
    const both = strangers(t);
    const { inbox, source, near, far } = both;
    const random = draw(seed);
    const recv = ["--on-conflict", policy];
    let paths = manyNames(source, 1);
    const took = Date.now();
    const first = await transfer(t, both, paths, { recv, send: ["--retry", "no"] });
    assert.deepEqual(first.statuses, [0, 0], first.said);
    const usual = Date.now() - took;
    sameInside(source, inbox);
    for (const path of EDITED) writeFileSync(join(inbox, path), `my edit of ${path}`);
    const once = new Map(entries(inbox));
    paths = manyNames(source, 2);
    const moments = [];
    for (let round = 0; round < 5; round += 1) {
      const receiving = await receiver(t, far, inbox, { args: recv });
      const sending = sender(t, near, paths, receiving.target, { args: ["--retry", "no"] });
      const moment = random(Math.round(usual * 1.1));
      moments.push(moment);
      await sleep(moment);
      (end === "receiver" ? receiving : sending).kill("SIGKILL");
      if (end === "receiver") await Promise.all([sending.exit(), receiving.exit()]);
      else {
        await sending.exit();
        receiving.kill(round % 2 ? "SIGTERM" : "SIGKILL");
        await receiving.exit();
      }
    }
    t.diagnostic(`killed after ${moments} of ${usual} ms`);
    const last = await transfer(t, both, paths, { recv });
    assert.deepEqual(last.statuses, [0, 0], `${moments}\n${last.said}`);
    assert.deepEqual(hidden(inbox), [], `${moments}`);
    const sent = contentsOf(source);
    const there = contentsOf(inbox);
    const now = entries(inbox);
    const changes = (path) => Number(path.split(/[ /]/)[1]) % 5 === 0;
    const extra = [...there.keys()].filter((path) => !sent.has(path));
    const wanted = {
      update: EDITED,
      rename: [...sent.keys()].filter((path) => EDITED.includes(path) || changes(path)),
    }[policy] ?? [];
    const numbered = (path) => (/[.]txt$/.test(path) ? path.replace(/[.]txt$/, " (1).txt") : `${path} (1)`);
    const beside = wanted.map(numbered);
    assert.deepEqual(extra.sort(), beside.sort(), `killed after ${moments} of ${usual} ms`);
    for (const [path, contents] of sent) {
      const edited = EDITED.includes(path);
      const found = there.get(path);
      if (policy === "replace" || (policy === "update" && !edited)) assert.ok(found.equals(contents), `${path}: ${found.subarray(0, 40)}`);
      else if (edited) assert.equal(String(found), `my edit of ${path}`);
      else assert.deepEqual(unlikeTrees(new Map([[path, once.get(path)]]), new Map([[path, now.get(path)]])), []);
      if (wanted.includes(path)) assert.ok(there.get(numbered(path)).equals(contents), `${path} beside`);
    }
    const again = await transfer(t, both, paths, { recv });
    assert.deepEqual(again.statuses, [0, 0], again.said);
    assert.deepEqual([...contentsOf(inbox).keys()].sort(), [...there.keys()].sort(), again.said);
  });
}

