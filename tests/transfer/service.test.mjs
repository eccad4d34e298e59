// `ringway serve` without any window: driven by the commands that query it, over the socket that
// only its user reaches.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { freePort } from "../setup/devices.mjs";
import { capture, run, which } from "../setup/process.mjs";
import { EXIT, asked, eventually, isRoot, oddTree, same, sameInside, sender, strangers } from "./harness.mjs";
import { sharing } from "./sharing.mjs";

/**
 * The memory limit of a service that runs all the time; for a debug build, of which the program is
 * the larger part.
 */
const MEMORY_MIB_MAX = 40;

const socketOf = (device) => join(device.env.XDG_RUNTIME_DIR, "ringway/control.sock");

/** Starts `ringway serve` on `device`, and waits until it listens. It is killed with the test. */
async function service(t, device, inbox, { args = [], port } = {}) {
  port ??= await freePort();
  const target = `127.0.0.1:${port}`;
  const running = device.start(["serve", ...(inbox === null ? [] : [inbox]), "--listen", target, "--no-announce", "--json", ...args]);
  t.after(() => running.kill());
  await running.event("listening");
  await eventually("the socket", () => existsSync(socketOf(device)));
  return Object.assign(running, { target, port });
}

/** The waiting offer, once there is one. */
const waiting = (device) => eventually("an offer", async () => (await asked(device, ["offers"]))[0]);

test("a device without a code is in the service's events, in status and offers, until it has paired", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  oddTree(tree);
  const serving = await service(t, far, inbox);
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const sending = sender(t, near, tree, serving.target, { code: null });
    assert.equal(await sending.exit(), EXIT.notAuthenticated, sending.said());
  }
  const request = await serving.event("pairing_requested");
  assert.deepEqual([request.name, request.from, request.allowed], ["near", "127.0.0.1", false]);
  const requests = (events) => events.filter(({ event }) => event === "pairing_requested");
  assert.equal(requests(serving.events).length, 1, "each device is said once");
  for (const command of ["status", "offers"]) {
    assert.deepEqual(requests(await asked(far, [command])).map(({ id }) => id), [request.id]);
    const shown = await far.run([command]);
    assert.match(shown.stdout, /^"near" \([0-9a-f-]+\) at 127\.0\.0\.1 wants to connect\./m);
  }
  const [{ code }] = await asked(far, ["code"]);
  const paired = await near.run(["pair", serving.target, "--code-file", near.codeFile(code)]);
  assert.equal(paired.status, EXIT.all, paired.said());
  assert.deepEqual(requests(await asked(far, ["status"])), []);
});

test("an offer into the default folder, which is made when the first one is accepted, is all new", async (t) => {
  const { source, near, far } = strangers(t);
  const tree = join(source, "tree");
  oddTree(tree);
  const serving = await service(t, far, null);
  const [{ code }] = await asked(far, ["code"]);
  const sending = sender(t, near, tree, serving.target, { code });
  const offer = await eventually("a comparison", async () => (await asked(far, ["offers"])).find(({ comparison, totals_final: final }) => final && comparison?.state === "done"));
  const { new: added, unchanged, at_least: more } = offer.comparison;
  assert.deepEqual([added, unchanged, more], [offer.entries_so_far, 0, false]);
  const inbox = offer.destination.path;
  assert.equal(existsSync(inbox), false, "comparing makes nothing");
  await asked(far, ["accept", offer.id]);
  assert.equal(await sending.exit(), EXIT.all, sending.said());
  same(tree, join(inbox, "tree"));
});

test("a send with the code that `ringway code` shows is accepted, the next one declined, a third goes into another folder", async (t) => {
  const { base, inbox, source, near, far } = strangers(t);
  const elsewhere = join(base, "elsewhere");
  mkdirSync(elsewhere);
  const tree = join(source, "tree");
  oddTree(tree);
  const serving = await service(t, far, inbox);
  const [{ code }] = await asked(far, ["code"]);
  const [renewed] = await asked(far, ["code", "--new"]);
  assert.match(renewed.code, /^\d+-\w+-\w+$/);
  assert.notEqual(renewed.code, code);

  const first = sender(t, near, tree, serving.target, { code: renewed.code });
  const offer = await waiting(far);
  assert.deepEqual([offer.from, offer.names, offer.destination], ["near", [{ path: "tree" }], { path: inbox }]);
  assert.deepEqual(readdirSync(inbox), [], "nothing lands before it is accepted");
  const [accepted] = await asked(far, ["accept", offer.id.slice(0, 8)]);
  assert.deepEqual([accepted.event, accepted.direction], ["transfer", "receiving"]);
  assert.notEqual(accepted.id, offer.id, "the sender draws the transfer's id, and this machine the offer's");
  assert.equal(await first.exit(), EXIT.all, first.said());
  same(tree, join(inbox, "tree"));

  // The two are paired now.
  const second = sender(t, near, tree, serving.target, { code: null });
  await waiting(far);
  await asked(far, ["decline", "near"]);
  assert.equal(await second.exit(), EXIT.declined, second.said());

  const third = sender(t, near, tree, serving.target, { code: null });
  await waiting(far);
  await asked(far, ["accept", "near", "--into", elsewhere]);
  assert.equal(await third.exit(), EXIT.all, third.said());
  same(tree, join(elsewhere, "tree"));
  assert.deepEqual(await asked(far, ["offers"]), []);
  const gone = await far.run(["accept", "near"]);
  assert.equal(gone.status, EXIT.failed);
  assert.match(gone.stderr, /No offer “near” is waiting/);

  const said = serving.events.map(({ event }) => event).filter((event) => ["offer_waits", "answered", "started", "finished"].includes(event));
  const received = ["offer_waits", "answered", "started", "finished"];
  assert.deepEqual(said.toSorted(), [...received, "offer_waits", "answered", ...received].toSorted(), serving.said());
  assert.deepEqual(serving.events.filter(({ event }) => event === "answered").map(({ accepted }) => accepted), [true, false, true]);
  assert.ok(!serving.said().includes(renewed.code), "a code does not belong into a log");
});

test("no code is in the service's log, be it shown, renewed, guessed at or used", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  oddTree(tree);
  const serving = await service(t, far, inbox);
  const [{ code: first }] = await asked(far, ["code"]);
  const [{ code: second }] = await asked(far, ["code", "--new"]);
  const wrong = `${second.split("-")[0]}-zebra-zebra`;
  const guessing = sender(t, near, tree, serving.target, { code: wrong });
  assert.equal(await guessing.exit(), EXIT.notAuthenticated, guessing.said());
  const sending = sender(t, near, tree, serving.target, { code: second });
  await waiting(far);
  await asked(far, ["accept", "near"]);
  assert.equal(await sending.exit(), EXIT.all, sending.said());
  await asked(far, ["stop"]);
  await serving.exit();
  const words = [first, second, wrong].flatMap((code) => [code, code.split("-").slice(1).join("-")]);
  assert.deepEqual(words.filter((word) => serving.said().includes(word)), [], serving.said());
  assert.ok(serving.events.some(({ event }) => event === "finished"), "it does log");
});

test("the service stays small, before and after a transfer", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  oddTree(tree, "--bulk-mib", "64", "--small", "2000");
  const serving = await service(t, far, inbox);
  /** The service's memory, and its private and proportional part, in MiB (proc(5)). */
  const measured = () => {
    const of = (file, name) => Number(readFileSync(`/proc/${serving.pid}/${file}`, "utf8").match(new RegExp(`^${name}:\\s+(\\d+) kB`, "m"))[1]) / 1024;
    return { rss: of("status", "VmRSS"), pss: of("smaps_rollup", "Pss"), highest: of("status", "VmHWM") };
  };
  const [{ code }] = await asked(far, ["code"]);
  const idle = measured();
  const sending = sender(t, near, tree, serving.target, { code });
  await waiting(far);
  await asked(far, ["accept", "near"]);
  assert.equal(await sending.exit(), EXIT.all, sending.said());
  const after = measured();
  const said = ({ rss, pss, highest }) => `${rss.toFixed(1)} MiB resident, ${pss.toFixed(1)} its share, ${highest.toFixed(1)} at its highest`;
  t.diagnostic(`idle: ${said(idle)}; after a transfer: ${said(after)}`);
  for (const { rss } of [idle, after]) assert.ok(rss < MEMORY_MIB_MAX, `${rss} MiB`);
});

test("status shows the receiver, waiting offers and running transfers; stop ends the service", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  oddTree(tree, "--bulk-mib", "24");
  const nobody = await far.run(["status", "--json"]);
  assert.equal(nobody.status, EXIT.failed);
  assert.deepEqual(nobody.events[0], { event: "service", running: false });
  assert.match(nobody.stderr, /The background service is not running.*\n.*ringway serve/);

  const serving = await service(t, far, inbox);
  const [status] = await asked(far, ["status"]);
  assert.deepEqual([status.running, status.name, status.port, status.destination.path], [true, "far", serving.port, inbox]);
  assert.deepEqual(status.addresses, [serving.target]);
  assert.equal(status.pid, serving.pid);

  const sending = sender(t, near, tree, serving.target, { code: status.code, args: ["--limit", "2M"] });
  const offer = await waiting(far);
  assert.equal((await asked(far, ["status"]))[1].id, offer.id);
  const [accepted] = await asked(far, ["accept", "near"]);
  const running = await eventually("bytes", async () =>
    (await asked(far, ["status"])).find(({ event, bytes_done: done }) => event === "transfer" && done > 0),
  );
  assert.deepEqual([running.id, running.peer, running.stage], [accepted.id, "near", "running"]);
  const plain = await far.run(["status"]);
  for (const part of ["far (Ringway", serving.target, inbox, "Under way", "near"]) assert.ok(plain.stdout.includes(part), plain.said());

  await asked(far, ["cancel", accepted.id.slice(0, 6)]);
  assert.equal(await sending.exit(), EXIT.failed, sending.said());
  await eventually("its end", async () => (await asked(far, ["status"])).length === 1);
  await asked(far, ["stop"]);
  assert.equal(await serving.exit(), EXIT.all, serving.said());
  assert.ok(!existsSync(socketOf(far)));
  await asked(far, ["status"], EXIT.failed);
});

test("a second service is refused by name, and `ringway recv` at its port reports who listens there", async (t) => {
  const { inbox, far } = strangers(t);
  const serving = await service(t, far, inbox);
  const second = await far.run(["serve", inbox, "--listen", ":0"]);
  assert.equal(second.status, EXIT.failed, second.said());
  assert.match(second.stderr, new RegExp(`The service of this user runs already, as process ${serving.pid}\\.`));
  const receiving = await far.run(["recv", inbox, "--listen", serving.target]);
  assert.equal(receiving.status, EXIT.failed, receiving.said());
  assert.match(receiving.stderr, new RegExp(`receives at that port already, as process ${serving.pid}`));
  assert.match(receiving.stderr, /ringway accept/);
  // A killed service leaves a socket behind, which the next one replaces.
  serving.kill();
  await serving.exit();
  assert.ok(existsSync(socketOf(far)));
  const next = await service(t, far, inbox);
  const [status] = await asked(far, ["status"]);
  assert.equal(status.pid, next.pid);
});

test("an offer that nobody answered is remembered once, until the same is received", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  oddTree(tree);
  const serving = await service(t, far, inbox);
  const [{ code }] = await asked(far, ["code"]);
  const missed = async () => (await asked(far, ["inbox"])).filter(({ event }) => event === "past");
  for (const known of [code, null]) {
    const sending = sender(t, near, tree, serving.target, { code: known });
    await waiting(far);
    sending.kill();
    await eventually("it to be gone", async () => (await asked(far, ["offers"])).length === 0);
  }
  const [past, ...others] = await missed();
  assert.deepEqual([past.outcome, past.error.code, past.peer, past.title.path, others], ["failed", "unanswered", "near", "tree", []]);
  const told = await far.run(["inbox"]);
  assert.match(told.said(), /near +tree .* not answered$/m);
  assert.match((await far.run(["inbox", "show", String(past.number)])).said(), /Nobody answered this offer\./);

  const sending = sender(t, near, tree, serving.target, { code: null });
  await waiting(far);
  await asked(far, ["accept", "near"]);
  assert.equal(await sending.exit(), EXIT.all, sending.said());
  assert.deepEqual((await missed()).map(({ outcome }) => outcome), ["complete"]);
});

test("SIGTERM during a transfer: waiting offers are declined, the socket is removed, and the same send again brings the rest", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  const [tree, other] = [join(source, "tree"), join(source, "other")];
  oddTree(tree, "--bulk-mib", "40");
  // Files that are as young as the first attempt are sent again.
  run("find", [tree, "-depth", "-type", "f", "-newermt", "1 hour ago", "-exec", "touch", "-d", "2 days ago", "{}", "+"]);
  mkdirSync(other);
  const serving = await service(t, far, inbox, { args: ["--grace", "1s"] });
  const [{ code }] = await asked(far, ["code"]);
  const slow = sender(t, near, tree, serving.target, { code, args: ["--limit", "8M", "--retry", "no"] });
  await waiting(far);
  await asked(far, ["accept", "near"]);
  // Some files are whole, and one is under way.
  await eventually("bytes", async () =>
    (await asked(far, ["status"])).some(({ event, bytes_done: done }) => event === "transfer" && done > 30_000_000),
  );
  const late = sender(t, near, other, serving.target, { code: null });
  await waiting(far);
  serving.kill("SIGTERM");
  assert.equal(await late.exit(), EXIT.declined, late.said());
  assert.match(late.events.find(({ event }) => event === "finished").message, /^far has stopped receiving/, "nobody there said no");
  assert.equal(await serving.exit(), EXIT.all, serving.said());
  assert.deepEqual(serving.events.at(-1), { event: "stopping", left: 1 });
  assert.equal(await slow.exit(), EXIT.failed, slow.said());
  assert.ok(!existsSync(socketOf(far)));
  assert.ok(readdirSync(inbox).every((name) => name.startsWith(".ringway-")), "nothing half-written has its name");

  const again = await service(t, far, inbox);
  const sent = sender(t, near, tree, again.target, { code: null });
  await waiting(far);
  await asked(far, ["accept", "near"]);
  assert.equal(await sent.exit(), EXIT.all, sent.said());
  same(tree, join(inbox, "tree"));
  const { unchanged } = sent.events.find(({ event }) => event === "finished");
  assert.ok(unchanged > 0, sent.said());
  assert.deepEqual(readdirSync(inbox), ["tree"]);
});

test("an orderly end waits for running transfers", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  oddTree(tree, "--bulk-mib", "8");
  const serving = await service(t, far, inbox, { args: ["--grace", "2m"] });
  const [{ code }] = await asked(far, ["code"]);
  const sending = sender(t, near, tree, serving.target, { code, args: ["--limit", "4M"] });
  await waiting(far);
  await asked(far, ["accept", "near"]);
  await eventually("bytes", async () => (await asked(far, ["status"])).some(({ bytes_done: done }) => done > 0));
  await asked(far, ["stop"]);
  assert.equal(await sending.exit(), EXIT.all, sending.said());
  assert.equal(await serving.exit(), EXIT.all, serving.said());
  same(tree, join(inbox, "tree"));
  assert.deepEqual(serving.events.slice(-2).map(({ event }) => event).toSorted(), ["finished", "stopping"]);
});

/** Bytes of a line that the service reads before it closes the connection (`control::protocol`). */
const LONGEST_REQUEST = 32 << 20;

test("garbage at the socket ends its own connection only", async (t) => {
  const { inbox, far } = strangers(t);
  await service(t, far, inbox);
  const say = (bytes) =>
    new Promise((resolve, reject) => {
      const socket = connect(socketOf(far));
      let said = "";
      socket.setTimeout(60_000, () => reject(new Error(`it was not closed after ${bytes.length} bytes`)));
      socket.on("data", (data) => (said += data));
      socket.on("error", () => {});
      socket.on("close", () => resolve(said));
      socket.write(bytes);
    });
  for (const nonsense of ["GET / HTTP/1.1\r\n\r\n", "{}\n", '{"number":1,"call":"begin"}\n', Buffer.alloc(LONGEST_REQUEST + 1024, 0xff), "[".repeat(500_000) + "\n"]) {
    const said = await say(nonsense);
    assert.match(said, /^\{"hello":\{"ringway":"[\d.]+","protocol":\d+,"pid":\d+\}\}\n/);
  }
  // Many clients that send nothing take places from each other, and the service continues.
  const idle = Array.from({ length: 20 }, () => connect(socketOf(far)).on("error", () => {}));
  assert.equal((await asked(far, ["status"]))[0].running, true);
  idle.forEach((socket) => socket.destroy());
});

test("the socket is its user's own", async (t) => {
  const { base, inbox, far } = strangers(t);
  await service(t, far, inbox);
  const mode = (path) => statSync(path).mode & 0o777;
  assert.deepEqual([mode(join(far.env.XDG_RUNTIME_DIR, "ringway")), mode(socketOf(far))], [0o700, 0o600]);
  if (!isRoot || !which("setpriv")) return t.skip("only root can be somebody else");
  const nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
  // In a folder that is not below another user's folder.
  const asNobody = (script) => capture("setpriv", [...nobody, process.execPath, "-e", script, socketOf(far)]);
  const reach = `
    const socket = require("node:net").connect(process.argv[1]);
    let said = "";
    socket.on("data", (data) => (said += data));
    socket.on("error", (error) => (said += error.code));
    socket.on("close", () => console.log(said));
    setTimeout(() => socket.destroy(), 3000);`;
  assert.equal(asNobody(reach).out.trim(), "EACCES");
  // Even if all of these folders are opened to everybody, the kernel reports who connects.
  assert.ok(socketOf(far).startsWith(`${base}/`), "only folders of this test are opened");
  for (let path = socketOf(far); path !== join(base, ".."); path = join(path, "..")) chmodSync(path, 0o777);
  const said = asNobody(reach).out.trim();
  assert.ok(!said.includes("hello"), said);
  assert.equal((await asked(far, ["status"]))[0].running, true);
});

test("a service that a window started ends without clients if receiving in the background is off; its log is a file", async (t) => {
  const { inbox, far } = strangers(t);
  const log = join(far.env.XDG_STATE_HOME, "ringway/service.log");
  const args = ["serve", inbox, "--listen", `127.0.0.1:${await freePort()}`, "--no-announce", "--with-window", "--log", log];
  const staying = far.start(args);
  t.after(() => staying.kill());
  await eventually("the socket", () => existsSync(socketOf(far)));
  await new Promise((resolve) => setTimeout(resolve, 4500));
  assert.equal((await asked(far, ["status"]))[0].running, true);
  await asked(far, ["stop"]);
  assert.equal(await staying.exit(), EXIT.all, staying.said());
  assert.equal(staying.stdout, "");
  assert.match(readFileSync(log, "utf8"), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ receives into /);
  await asked(far, ["settings", "--background", "off"]);
  const leaving = far.start(args);
  t.after(() => leaving.kill());
  assert.equal(await leaving.exit(), EXIT.all, leaving.said());
});

test("systemd is told when it is ready and when it stops, and its journal gets levels instead of times", async (t) => {
  if (!which("python3")) return t.skip("no Python here to be told by");
  const { base, inbox, near, far } = strangers(t);
  const path = join(base, "notify");
  const hear = `
import socket, sys
told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
told.bind(sys.argv[1])
while True: print(told.recv(4096).decode(), flush=True)`;
  const listener = spawn("python3", ["-c", hear, path], { stdio: ["ignore", "pipe", "ignore"] });
  t.after(() => listener.kill());
  let told = "";
  listener.stdout.setEncoding("utf8").on("data", (text) => (told += text));
  await eventually("the socket", () => existsSync(path));
  const journal = join(base, "journal");
  writeFileSync(journal, "");
  const { dev, ino } = statSync(journal);
  const env = { NOTIFY_SOCKET: path, JOURNAL_STREAM: `${dev}:${ino}` };
  const wrap = ["sh", "-c", `exec "$0" "$@" > '${journal}'`];
  const target = `127.0.0.1:${await freePort()}`;
  const running = far.start(["serve", inbox, "--listen", target, "--no-announce"], { env, wrap });
  t.after(() => running.kill());
  await eventually("its readiness", () => told === "READY=1\n");
  const guess = await near.run(["pair", target, "--code-file", near.codeFile("1-zebra-zebra")]);
  assert.equal(guess.status, EXIT.notAuthenticated, guess.said());
  running.kill("SIGTERM");
  assert.equal(await running.exit(), EXIT.all, running.said());
  await eventually("its end", () => told === "READY=1\nSTOPPING=1\n");
  assert.match(readFileSync(journal, "utf8"), /^<6>receives into [^\n]+\n<4>Wrong code from 127\.0\.0\.1\. [^\n]+\n<6>ends\n$/);
});

test("a transfer is paused and resumed by commands at the receiver, and its sender is told who it was", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  writeFileSync(join(source, "file"), Buffer.alloc(12_000_000, 7));
  const serving = await service(t, far, inbox);
  const [{ code }] = await asked(far, ["code"]);
  const sending = sender(t, near, join(source, "file"), serving.target, { code, args: ["--limit", "3M", "--compress", "off"] });
  const offer = await waiting(far);
  const [{ id }] = await asked(far, ["accept", offer.id]);
  await sending.event(({ event, bytes_done: done }) => event === "progress" && done > 1_000_000);
  const limited = await eventually("what limits it", async () => (await asked(far, ["status"])).find(({ limited_by: by }) => by));
  assert.deepEqual([limited.limited_by, limited.interruption], ["limit", null]);
  assert.deepEqual(await asked(far, ["pause", id]), [{ event: "paused", id }]);
  const paused = await sending.event(({ event, stage }) => event === "progress" && stage === "paused");
  assert.deepEqual([paused.interruption.why, paused.interruption.by], ["paused", "there"], sending.said());
  const shown = await eventually("the pause", async () =>
    (await asked(far, ["status"])).find(({ event, stage }) => event === "transfer" && stage === "paused"),
  );
  assert.equal(shown.id, id);
  assert.deepEqual([shown.interruption.why, shown.interruption.by], ["paused", "here"]);
  assert.ok(shown.interruption.gives_up_seconds > 0, JSON.stringify(shown));
  assert.deepEqual(await asked(far, ["resume", id]), [{ event: "resumed", id }]);
  assert.equal(await sending.exit(), EXIT.all, sending.said());
  await eventually("its end", async () => !(await asked(far, ["status"])).some(({ event }) => event === "transfer"));
  sameInside(source, inbox);
});

/** Sends `names` to a service that accepts them, at a rate that leaves time to check. */
async function slowly(t, names, { retry = "1h", ...how } = {}) {
  const all = await sharing(t, { share: false, ...how });
  await asked(all.far, ["devices", "rule", "near", "--accept"]);
  const send = (name) => {
    writeFileSync(join(all.source, name), Buffer.alloc(3_000_000, name));
    return sender(t, all.near, join(all.source, name), all.serving.target, { code: null, args: ["--retry", retry, "--limit", "100K", "--compress", "off"] });
  };
  return { ...all, send, sending: names.map(send) };
}

const moves = (sending) => sending.event(({ event, bytes_done: done }) => event === "progress" && done > 0);

const underWay = async (device) => (await asked(device, ["status"])).filter(({ event }) => event === "transfer");

/** What the history of `device` says of what has that name. */
const ended = (device, name) => eventually("its end there", async () => (await asked(device, ["inbox", "--all"])).find(({ title }) => title?.path === name));

test("a sender that is cancelled while it is paused there is heard although all its places there are taken", async (t) => {
  const { far, send, sending } = await slowly(t, ["first"]);
  await moves(sending[0]);
  const [{ id }] = await underWay(far);
  await asked(far, ["pause", id]);
  await sending[0].event(({ stage }) => stage === "paused");
  for (const other of Array.from({ length: 8 }, (_, number) => send(`other ${number}`))) await moves(other);
  sending[0].kill("SIGINT");
  assert.equal(await sending[0].exit(), EXIT.failed, sending[0].said());
  const { error, next } = await ended(far, "first");
  assert.deepEqual([error.code, error.by, error.kept], ["cancelled", "there", true]);
  assert.match(next, /^What arrived is kept here\. Have the same sent again to resume, or remove it/);
});

test("a pause at the receiver ends with a sender that has gone for longer than it said", async (t) => {
  const { far, sending } = await slowly(t, ["file"], { retry: "2s" });
  await moves(sending[0]);
  const [{ id }] = await underWay(far);
  await asked(far, ["pause", id]);
  await sending[0].event(({ stage }) => stage === "paused");
  sending[0].kill("SIGKILL");
  const { error, next } = await ended(far, "file");
  assert.equal(error.code, "connection_lost", JSON.stringify(error));
  assert.match(next, /Have the same sent again to complete it\.$/);
  assert.deepEqual(await underWay(far), []);
});

test("a send of what is paused there waits for that and says so, unless it does not retry", async (t) => {
  const { near, far, source, inboxThere, serving, sending } = await slowly(t, ["file"]);
  await moves(sending[0]);
  const [{ id }] = await underWay(far);
  await asked(far, ["pause", id]);
  await sending[0].event(({ stage }) => stage === "paused");
  // Nobody hears of that, as of a cancel.
  sending[0].kill("SIGKILL");
  await sending[0].exit();
  const again = (...args) => sender(t, near, join(source, "file"), serving.target, { code: null, args });
  const impatient = again("--retry", "no");
  assert.equal(await impatient.exit(), EXIT.declined, impatient.said());
  const waits = again("--retry", "60s");
  const paused = await waits.event(({ stage }) => stage === "paused");
  assert.deepEqual([paused.interruption.why, paused.interruption.by], ["paused", "there"], waits.said());
  const [there] = await underWay(far);
  assert.deepEqual([there.id, there.stage, there.interruption.by], [id, "paused", "here"]);
  await asked(far, ["resume", id]);
  assert.equal(await waits.exit(), EXIT.all, waits.said());
  sameInside(source, inboxThere);
});

test("a send that waits for the end of a pause there ends with the transfer that is cancelled there", async (t) => {
  const { near, far, source, inboxThere, serving, sending } = await slowly(t, ["file"]);
  await moves(sending[0]);
  const [{ id }] = await underWay(far);
  await asked(far, ["pause", id]);
  await sending[0].event(({ stage }) => stage === "paused");
  sending[0].kill("SIGKILL");
  await sending[0].exit();
  const again = () => sender(t, near, join(source, "file"), serving.target, { code: null, args: ["--retry", "60s"] });
  const waits = [again(), again()];
  await Promise.all(waits.map((one) => one.event(({ stage }) => stage === "paused")));
  await asked(far, ["cancel", id]);
  for (const one of waits) {
    assert.equal(await one.exit(), EXIT.failed, one.said());
    const { error } = one.events.find(({ event }) => event === "finished");
    assert.deepEqual([error.code, error.by, error.kept], ["cancelled", "there", true], one.said());
  }
  assert.deepEqual(await underWay(far), []);
  assert.ok(!existsSync(join(inboxThere, "file")));
});

test("a transfer that was cancelled where it is paused is reported as one that was cancelled while it ran", async (t) => {
  for (const pauses of [false, true]) {
    const { far, sending } = await slowly(t, ["file"]);
    await moves(sending[0]);
    const [{ id }] = await underWay(far);
    if (pauses) {
      await asked(far, ["pause", id]);
      await sending[0].event(({ stage }) => stage === "paused");
    }
    const cancelled = await far.run(["cancel", id]);
    assert.match(cancelled.stdout, /is cancelled\. What arrived is kept here\. Have the same sent again to resume/);
    assert.equal(await sending[0].exit(), EXIT.failed, sending[0].said());
    const { error } = sending[0].events.find(({ event }) => event === "finished");
    assert.deepEqual([error.code, error.by, error.kept], ["cancelled", "there", true], sending[0].said());
  }
});

test("a service that is stopped with a paused transfer does not wait for it, and the next one goes on with it", async (t) => {
  // Longer than any test may take.
  const { far, inboxThere, serving, sending } = await slowly(t, ["file"], { args: ["--grace", "24h"] });
  await moves(sending[0]);
  const [{ id }] = await underWay(far);
  await asked(far, ["pause", id]);
  await sending[0].event(({ stage }) => stage === "paused");
  await asked(far, ["stop"]);
  assert.equal(await serving.exit(), EXIT.all, serving.said());
  assert.deepEqual(serving.events.at(-1), { event: "stopping", left: 1 });
  const { error } = await ended(far, "file");
  assert.equal(error.code, "program_ended");
  const before = sending[0].events.length;
  await service(t, far, inboxThere, { port: serving.port });
  await eventually("more of it", () => sending[0].events.slice(before).some(({ stage }) => stage === "running"));
});

test("as many transfers of one device as a person likes are paused at once, and one that waits for its turn says so", async (t) => {
  const names = Array.from({ length: 12 }, (_, number) => `file ${number}`);
  const { far, sending } = await slowly(t, names);
  const waits = await eventually("a transfer that waits", async () => (await underWay(far)).find(({ stage }) => stage === "queued"));
  const refused = await far.run(["pause", waits.id]);
  assert.equal(refused.status, EXIT.usage, refused.said());
  assert.match(refused.said(), /does not run yet, so it cannot be paused\.\s+Pause it once it runs, or cancel it\./);
  await eventually("the pause of all", async () => {
    const running = (await underWay(far)).filter(({ stage }) => stage !== "paused");
    await Promise.all(running.map(({ id }) => far.run(["pause", id])));
    return running.length === 0;
  });
  assert.equal((await underWay(far)).length, names.length);
  for (const one of sending) await one.event(({ stage, interruption }) => stage === "paused" && interruption.by === "there");
});

test("an offer whose receiver is killed before anybody answered is made again to the one that comes after it", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  writeFileSync(join(source, "file"), "contents");
  const serving = await service(t, far, inbox);
  const [{ code }] = await asked(far, ["code"]);
  const sending = sender(t, near, join(source, "file"), serving.target, { code });
  const first = await waiting(far);
  serving.kill("SIGKILL");
  await serving.exit();
  const { interruption } = await sending.event(({ stage }) => stage === "reconnecting");
  assert.equal(interruption.why, "broken");
  await service(t, far, inbox, { port: serving.port });
  const again = await waiting(far);
  assert.deepEqual([again.from, again.names], [first.from, first.names]);
  assert.deepEqual(readdirSync(inbox), [], "nothing lands before it is accepted");
  await asked(far, ["accept", again.id]);
  assert.equal(await sending.exit(), EXIT.all, sending.said());
  assert.equal(readFileSync(join(inbox, "file"), "utf8"), "contents");
});

test("an offer whose receiver is killed before anybody answered ends the send with --retry no", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  writeFileSync(join(source, "file"), "contents");
  const serving = await service(t, far, inbox);
  const [{ code }] = await asked(far, ["code"]);
  const sending = sender(t, near, join(source, "file"), serving.target, { code, args: ["--retry", "no"] });
  await waiting(far);
  serving.kill("SIGKILL");
  assert.equal(await sending.exit(), EXIT.failed, sending.said());
  assert.equal(sending.events.at(-1).error.code, "connection_lost", sending.said());
});

test("a service that ends, or stops receiving, tells the senders that wait for an answer", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  writeFileSync(join(source, "file"), "contents");
  for (const stop of [(serving) => serving.kill("SIGTERM"), () => asked(far, ["settings", "--receiving", "off"])]) {
    const serving = await service(t, far, inbox);
    const [{ code }] = await asked(far, ["code"]);
    const sending = sender(t, near, join(source, "file"), serving.target, { code });
    await waiting(far);
    await stop(serving);
    assert.equal(await sending.exit(), EXIT.declined, sending.said());
    assert.equal(sending.events.at(-1).error.reason, "stopped", sending.said());
    serving.kill("SIGTERM");
    await serving.exit();
    const [missed] = await asked(far, ["inbox"]);
    assert.equal(missed.from ?? missed.peer, "near", "it is in the history");
  }
});
