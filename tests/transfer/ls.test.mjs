// `ringway ls`: what another device shares, listed like `ls` and `find` do, with typed errors.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CODE, EXIT, asked, eventually, isRoot, oddTree, receiver, strangers } from "./harness.mjs";
import { capture } from "../setup/process.mjs";

/** `near` may read the folder `runs` of `far`, which serves. */
async function friends(t) {
  const place = strangers(t);
  const serving = await receiver(t, place.far, place.inbox, { once: false });
  const paired = await place.near.run(["pair", serving.target, "--code-file", place.near.codeFile(CODE), "--json"]);
  assert.equal(paired.status, EXIT.all, paired.said());
  const runs = join(place.base, "runs");
  mkdirSync(runs);
  await asked(place.far, ["share", "add", runs, "--with", "near"]);
  return { ...place, serving, runs, at: `${serving.target}:runs` };
}

async function refused(device, what, status, code, words) {
  const listed = await device.run(["ls", what, "--json"]);
  assert.equal(listed.status, status, listed.said());
  assert.equal(listed.events.at(-1).code, code, listed.said());
  assert.match(listed.stderr, words);
}

test("a folder is listed sorted by name, with what ls -l shows of each entry", async (t) => {
  const { near, runs, at } = await friends(t);
  for (const name of ["b", "a", "B", "a!"]) mkdirSync(join(runs, name));
  writeFileSync(join(runs, "data.bin"), "12345");
  chmodSync(join(runs, "data.bin"), 0o640);
  utimesSync(join(runs, "data.bin"), 1_700_000_000.25, 1_700_000_000.25);
  symlinkSync("../nowhere\n", join(runs, "link"));
  const entries = await asked(near, ["ls", at]);
  assert.deepEqual(entries.map(({ event, path }) => `${event} ${path}`), ["B", "a", "a!", "b", "data.bin", "link"].map((name) => `entry ${name}`));
  const file = entries[4];
  assert.deepEqual(file, { event: "entry", path: "data.bin", kind: "file", size: 5, mode: 0o640, modified_seconds: 1_700_000_000, modified_nanos: 250_000_000, target: null });
  assert.deepEqual([entries[5].kind, entries[5].target.path], ["link", "../nowhere\\n"]);
  const words = await near.run(["ls", at]);
  assert.equal(words.stdout, "B/\na/\na!/\nb/\ndata.bin\nlink\n");
  const long = await near.run(["ls", "-l", at]);
  assert.match(long.stdout, /^-rw-r----- +5 B +2023-11-14T22:13:20Z +data\.bin$/m);
  assert.match(long.stdout, /^lrwxrwxrwx .* link -> \.\.\/nowhere\\n$/m);
  // A file is listed itself, and with -d a folder as well.
  assert.equal((await near.run(["ls", `${at}/data.bin`])).stdout, "runs/data.bin\n");
  assert.equal((await near.run(["ls", "-d", `${at}/a`])).stdout, "runs/a/\n");
  assert.equal((await near.run(["ls", `${at}/a`])).stdout, "");
});

test("a whole tree is listed as find lists it, odd names included", async (t) => {
  const { near, runs, at } = await friends(t);
  oddTree(join(runs, "odd"));
  const entries = await asked(near, ["ls", "-R", at]);
  const bytes = ({ path, path_bytes }) => Buffer.from(path_bytes ?? Buffer.from(path).toString("hex"), "hex").toString("latin1");
  const shown = entries.map((entry) => `${bytes(entry)} ${entry.kind[0]} ${entry.mode.toString(8)} ${entry.modified_seconds}`);
  const kinds = { f: "f", d: "f", l: "l", p: "f", s: "s", c: "c", b: "b" };
  const found = spawnSync("find", [runs, "-mindepth", "1", "-printf", "%P\\0%y\\0%m\\0%Ts\\0"], { maxBuffer: 1 << 28 });
  const fields = found.stdout.toString("latin1").split("\0");
  const wanted = [];
  for (let at = 0; at + 4 <= fields.length; at += 4) {
    const [path, kind, mode, time] = fields.slice(at, at + 4);
    wanted.push(`${path} ${kinds[kind]} ${mode} ${time}`);
  }
  assert.ok(wanted.length > 50, `${wanted.length}`);
  assert.deepEqual([...shown].sort(), wanted.sort());
  assert.deepEqual(shown, [...shown].sort((one, other) => compare(one, other)));
});

/** By components and bytes, a folder before what it contains. */
function compare(one, other) {
  const parts = (line) => line.split(" ").slice(0, -3).join(" ").split("/");
  const [a, b] = [parts(one), parts(other)];
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    if (a[at] === undefined) return -1;
    if (b[at] === undefined) return 1;
    if (a[at] !== b[at]) return a[at] < b[at] ? -1 : 1;
  }
  return 0;
}

test("what is not shared, not there or no path is refused with its own error", async (t) => {
  const { near, far, base, runs, serving, at } = await friends(t);
  mkdirSync(join(base, "secret"));
  symlinkSync("../secret", join(runs, "out"));
  writeFileSync(join(runs, "file"), "");
  capture("mkfifo", [join(runs, "fifo")]);
  await asked(far, ["share", "add", join(base, "secret"), "--name", "others"]);
  for (const share of ["others", "nothing"]) {
    await refused(near, `${serving.target}:${share}`, EXIT.failed, "not_shared", /far does not share a folder “(others|nothing)” with this device/);
  }
  await refused(near, `${at}/nowhere`, EXIT.failed, "path_there", /runs\/nowhere could not be read on far: No such file/);
  await refused(near, `${at}/a\nb`, EXIT.failed, "path_there", /runs\/a\\nb could not be read/);
  await refused(near, base, EXIT.failed, "unknown_target", /Say DEVICE, DEVICE:SHARE or DEVICE:SHARE\/PATH/);
  assert.equal((await near.run(["ls", `${serving.target}:`])).stdout, "runs\n");
  await refused(near, `${at}/out/x`, EXIT.failed, "path_there", /Too many levels of symbolic links/);
  await refused(near, `${at}/file/x`, EXIT.failed, "path_there", /Not a directory/);
  for (const bad of [`${at}/..`, `${at}/a/../b`, `${serving.target}:/etc`, ""]) {
    const listed = await near.run(["ls", bad, "--json"]);
    assert.equal(listed.status, EXIT.usage, `${JSON.stringify(bad)}\n${listed.said()}`);
  }
  // A slash at its end says that it is a folder.
  symlinkSync("file", join(runs, "link"));
  for (const [path, words] of [["link/", "Too many levels of symbolic links"], ["file/", "Not a directory"], ["fifo/", "Not a directory"]]) {
    const said = new RegExp(`runs/${path.slice(0, -1)} could not be opened on far: ${words}`);
    for (const args of [[], ["-d"], ["-R"]]) {
      const listed = await near.run(["ls", `${at}/${path}`, ...args]);
      assert.deepEqual([listed.status, listed.stdout], [EXIT.failed, ""], listed.said());
      assert.match(listed.stderr, said);
    }
  }
  // It is shown, not opened.
  const [fifo] = await asked(near, ["ls", `${at}/fifo`]);
  assert.deepEqual([fifo.kind, fifo.path], ["fifo", ""]);
  const nobody = await near.run(["ls", "nobody-here:runs", "--json"]);
  assert.notEqual(nobody.status, EXIT.all);
});

test("a device is named by its name as well, and a stranger is told to pair", async (t) => {
  const { near, far, base, serving, runs } = await friends(t);
  writeFileSync(join(runs, "file"), "");
  assert.equal((await near.run(["ls", "far"])).stdout, "runs\n");
  assert.equal((await near.run(["ls", "far:RUNS/"])).stdout, "file\n");
  const { Device } = await import("./harness.mjs");
  const stranger = new Device(base, "stranger");
  const asked = await stranger.run(["ls", serving.target, "--json"]);
  assert.deepEqual([asked.status, asked.events.at(-1).code], [EXIT.notAuthenticated, "pairing_needed"], asked.said());
});

test("a folder that cannot be read is named, the rest is listed, and the status says so", { skip: isRoot && "root reads every folder" }, async (t) => {
  const { near, runs, at } = await friends(t);
  for (const name of ["a", "closed", "z"]) mkdirSync(join(runs, name));
  chmodSync(join(runs, "closed"), 0);
  const listed = await near.run(["ls", "-R", at, "--json"]);
  chmodSync(join(runs, "closed"), 0o700);
  assert.equal(listed.status, EXIT.partial, listed.said());
  assert.deepEqual(listed.events.filter(({ event }) => event === "entry").map(({ path }) => path), ["a", "closed", "z"]);
  const [failed] = listed.events.filter(({ event }) => event === "error");
  assert.deepEqual([failed.code, failed.path.path], ["path_there", "runs/closed"]);
});

test("a listing whose reader goes away ends", async (t) => {
  const { near, runs, at } = await friends(t);
  for (let number = 0; number < 5_000; number++) writeFileSync(join(runs, `${number}`.padStart(200, "0")), "");
  const piped = spawnSync("sh", ["-c", `'${near.program}' ls '${at}' | head -n 1`], { env: near.env, encoding: "utf8", timeout: 60_000 });
  assert.equal(piped.stdout, `${"0".repeat(200)}\n`, piped.stderr);
  assert.equal(piped.stderr, "");
});

/** Long names without a common beginning, which a page would hold once. */
const named = (number) => `${number}`.padStart(5, "0").padEnd(200, "-");

/** Files of which the listing takes much more than pipes, connections and this end hold. */
function fill(folder) {
  for (let number = 0; number < 12_000; number++) writeFileSync(join(folder, named(number)), "");
}

/** A listing that nobody reads yet. */
function unread(t, near, args) {
  const child = spawn(near.program, ["ls", ...args], { env: near.env, stdio: ["ignore", "pipe", "pipe"] });
  t.after(() => child.kill("SIGKILL"));
  let said = "";
  child.stderr.on("data", (data) => (said += data));
  const ended = once(child, "exit").then(([status, signal]) => ({ status, signal, said }));
  return { child, ended };
}

const after = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

test("a listing that nobody reads ends at once by Ctrl-C and SIGTERM", { timeout: 60_000 }, async (t) => {
  const { near, runs, at } = await friends(t);
  fill(runs);
  for (const [signal, status] of [["SIGINT", EXIT.failed], ["SIGTERM", 143]]) {
    const { child, ended } = unread(t, near, ["-R", at]);
    await after(1_500);
    const asked = Date.now();
    child.kill(signal);
    assert.equal((await ended).status, status, signal);
    assert.ok(Date.now() - asked < 3_000, `${signal}: ${Date.now() - asked} ms`);
  }
});

test("a reader that pauses gets the whole listing", { timeout: 90_000 }, async (t) => {
  const { near, runs, at } = await friends(t);
  fill(runs);
  const script = `'${near.program}' ls '${at}' | (head -c 1000 > /dev/null; sleep 20; tail -n 1)`;
  const piped = spawn("sh", ["-c", script], { env: near.env });
  let [out, said] = ["", ""];
  piped.stdout.on("data", (data) => (out += data));
  piped.stderr.on("data", (data) => (said += data));
  await once(piped, "close");
  assert.deepEqual([out, said], [`${named(11_999)}\n`, ""]);
});

test("a listing that was stopped for too long, or whose other end was killed, says so", { timeout: 120_000 }, async (t) => {
  const { near, runs, at, serving } = await friends(t);
  fill(runs);
  const stopped = unread(t, near, [at]);
  await after(1_500);
  stopped.child.kill("SIGSTOP");
  await after(25_000);
  stopped.child.kill("SIGCONT");
  stopped.child.stdout.resume();
  const { status, said } = await stopped.ended;
  assert.equal(status, EXIT.failed, said);
  assert.match(said, /This program was stopped for 2\d s, so far ended the connection/);
  const lost = unread(t, near, [at]);
  await after(1_500);
  serving.child.kill("SIGKILL");
  lost.child.stdout.resume();
  const end = await lost.ended;
  assert.equal(end.status, EXIT.failed, end.said);
  assert.match(end.said, /The connection to far was lost before it had answered/);
});

test("a listing beyond those that a device answers at once waits for its turn", { timeout: 120_000 }, async (t) => {
  const { near, runs, at } = await friends(t);
  fill(runs);
  const held = Array.from({ length: 3 }, () => unread(t, near, [at]));
  const waits = await eventually("a listing that waits", async () => {
    const one = near.start(["ls", "-d", at]);
    t.after(() => one.kill());
    while (one.status === undefined && !/far is busy\. Trying again in 1 s\./.test(one.stderr)) await after(50);
    return one.status === undefined && one;
  });
  held.forEach(({ child }) => child.kill("SIGKILL"));
  assert.equal(await waits.exit(), EXIT.all, waits.said());
});
