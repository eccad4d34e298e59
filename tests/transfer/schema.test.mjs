// Every line of `--json` matches docs/json.schema.json. Each test checks the lines that it reads
// (tests/setup/devices.mjs). Here, a wrong line must fail, and every event of the schema must
// occur.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import Ajv from "ajv/dist/2020.js";
import { drawn } from "../setup/devices.mjs";
import { ROOT, run } from "../setup/process.mjs";
import { described, eventNames, fault, linesOf } from "../setup/schema.mjs";
import { CODE, EXIT, asked, eventually, oddTree, receiver, sender, strangers } from "./harness.mjs";
import { twoMachines } from "./networks.mjs";

/** So little of each kind of file that measuring takes seconds. */
const TINY = ["--small", "5", "--medium", "2", "--huge", "300K", "--rounds", "1", "--lanes", "1"];

const RULE = { consent: "ask", folder: null, bytes_max: null, into_home: "refuse" };
const PAIRED = { event: "paired", name: "far", id: "ab".repeat(32), looks_like: null, paired_at: 1_790_000_000, last_seen: null, last_address: null, rule: RULE };

test("the schema is valid, and describes whole lines as well as events", () => {
  const ajv = new Ajv({ validateFormats: false, allowUnionTypes: true, strictTypes: false });
  assert.equal(ajv.validateSchema(described()), true, ajv.errorsText());
  const validate = ajv.compile(described());
  assert.equal(validate(PAIRED), true, ajv.errorsText(validate.errors));
  assert.equal(validate({ ...PAIRED, more: 1 }), false);
  assert.equal(new Set(eventNames()).size, eventNames().length, "each event is described once");
});

test("a line that the schema does not describe is found, whatever is wrong with it", () => {
  const error = { event: "error", code: "declined", reason: "no_room", needed: 9, free: 4, entries: 0, message: "No.", next: null };
  for (const right of [PAIRED, { ...PAIRED, looks_like: { name: "far", id: PAIRED.id } }, { event: "stopped" }, error]) {
    assert.equal(fault(right), null, JSON.stringify(right));
  }
  const { id: _, ...nameless } = PAIRED;
  const { needed: __, ...unsaid } = error;
  for (const wrong of [
    { ...PAIRED, more: 1 },
    nameless,
    { ...PAIRED, name: 7 },
    { ...PAIRED, id: "ab" },
    { ...PAIRED, looks_like: { name: "far", id: PAIRED.id, more: 1 } },
    { ...PAIRED, event: "unheard_of" },
    { event: "stopped", id: PAIRED.id },
    { ...error, needed_bytes: 9 },
    { ...error, code: "unheard_of" },
    unsaid,
    {},
    null,
    [],
  ]) {
    assert.notEqual(fault(wrong), null, JSON.stringify(wrong));
  }
  assert.throws(() => linesOf('{"event":"stopped"}\n{"event":"stopped","more":1}\n'), /does not describe .*"more":1/);
});

test("a wrong line fails the test during which a program prints it, although no test reads it", () => {
  const reads = (line) => `import { Running } from ${JSON.stringify(join(ROOT, "tests/setup/devices.mjs"))};
    const program = new Running("program", "echo", [${JSON.stringify(line)}], { described: true });
    await program.exit();`;
  const status = (line) => spawnSync(process.execPath, ["--input-type=module", "-e", reads(line)], { encoding: "utf8" });
  assert.equal(status('{"event":"stopped"}').status, 0);
  for (const wrong of ['{"event":"stopped","more":1}', '{"event":"stopped"', '{"event":1}']) {
    const { status: found, stderr } = status(wrong);
    assert.notEqual(found, 0, wrong);
    assert.match(stderr, /docs\/json\.schema\.json does not describe/);
  }
});

test("every event of the schema occurs", async (t) => {
  const place = strangers(t);
  const { base, inbox, source, near, far } = place;
  const met = new Set();
  const meet = (events) => {
    for (const { event } of events) met.add(event);
    return events;
  };
  const ask = async (device, args, wanted) => meet(await asked(device, args, wanted));

  // Two devices meet: a wrong code first, then the right one, and a tree with an entry that cannot
  // be sent.
  const album = join(source, "album");
  mkdirSync(album);
  const write = (name, text) => writeFileSync(join(album, name), text);
  write("one", "first");
  write("two", "first");
  run("mkfifo", [join(album, "pipe")]);
  const receiving = await receiver(t, far, inbox, { once: false, args: ["--on-conflict", "update"] });
  await ask(near, ["send", album, receiving.target], EXIT.notAuthenticated);
  await receiving.event("pairing_requested");
  await ask(near, ["pair", receiving.target, "--code-file", near.codeFile("7-river-zebra")], EXIT.notAuthenticated);
  await ask(near, ["pair", receiving.target, "--code-file", near.codeFile(CODE)]);
  const send = async (wanted, ...args) => {
    const sending = sender(t, near, album, receiving.target, { code: null, args });
    assert.equal(await sending.exit(), wanted, sending.said());
    meet(sending.events);
  };
  await send(EXIT.partial);
  // Received files are edited, and sent again. Their size changes, because both versions may get
  // the same time.
  writeFileSync(join(inbox, "album/one"), "edited here");
  write("one", "second");
  await send(EXIT.partial);
  await ask(far, ["devices", "rule", "near", "--refuse"]);
  await send(EXIT.declined);
  await ask(far, ["devices", "rule", "near", "--ask"]);

  // A transfer that is cut off on both sides leaves a staging folder.
  const bulk = join(source, "bulk");
  oddTree(bulk, "--bulk-mib", "16", "--small", "5");
  const cut = sender(t, near, bulk, receiving.target, { code: null, args: ["--limit", "4M", "--retry", "no"] });
  await receiving.event(({ stage, bytes_done: bytes }) => stage === "running" && bytes > 4_000_000);
  cut.kill("SIGKILL");
  receiving.kill("SIGTERM");
  await Promise.all([cut.exit(), receiving.exit()]);
  meet(cut.events);
  meet(receiving.events);
  const [left] = await ask(far, ["inbox", "unfinished", "--in", inbox]);
  await ask(far, ["inbox", "discard", left.id, "--in", inbox]);

  // The history, and the stored devices.
  const [{ number }] = await ask(near, ["inbox", "--sent"]);
  await ask(near, ["inbox", "show", String(number)]);
  await ask(near, ["inbox", "forget", String(number)]);
  await ask(far, ["devices"]);
  await ask(far, ["devices", "rename", "near", "laptop"]);

  // Notes.
  const noting = await receiver(t, far, inbox, { once: true });
  meet((await near.run(["send", "--text", noting.target, "--json"], { input: "hi" })).events);
  await noting.exit();
  meet(noting.events);
  await ask(far, ["notes", "show", String((await ask(far, ["notes"]))[0].number)]);
  await ask(far, ["notes", "clear"]);

  // The service and the commands that query it. It corrects an entry that names a program which is
  // gone.
  const entry = join(far.env.XDG_CONFIG_HOME, "autostart/org.ringway.Ringway.desktop");
  mkdirSync(join(far.env.XDG_CONFIG_HOME, "autostart"), { recursive: true });
  writeFileSync(entry, "[Desktop Entry]\nType=Application\nName=Ringway\nExec=/nowhere/ringway serve\n");
  await ask(far, ["status"], EXIT.failed);
  const serving = far.start(["serve", inbox, "--listen", receiving.target, "--no-announce", "--json"]);
  t.after(() => serving.kill());
  await serving.event("listening");
  await serving.event("notice");
  await ask(far, ["code"]);
  await ask(far, ["settings", "--name", "other"]);
  await serving.event("settings_changed");
  await ask(far, ["share", "add", album, "--with", "laptop"]);
  await ask(near, ["ls", receiving.target]);
  await ask(near, ["ls", `${receiving.target}:album`]);
  await ask(far, ["share", "remove", "album"]);
  const offering = (...args) => sender(t, near, bulk, receiving.target, { code: null, args });
  const waiting = () => eventually("an offer", async () => (await ask(far, ["offers"]))[0]);
  // Something is in the way of the offer, and told before it is answered.
  writeFileSync(join(inbox, "bulk"), "in the way");
  const declined = offering();
  const { id } = await waiting();
  await eventually("what differs", async () => (await ask(far, ["offers", id, "--on-conflict", "replace"])).find(({ event }) => event === "difference"));
  await ask(far, ["decline", id]);
  rmSync(join(inbox, "bulk"));
  await declined.exit();
  meet(declined.events);
  const accepted = offering("--limit", "4M");
  await ask(far, ["accept", (await waiting()).id]);
  const shown = await eventually("bytes", async () => (await ask(far, ["status"])).find(({ stage, bytes_done: bytes }) => stage === "running" && bytes > 0));
  await ask(far, ["pause", shown.id]);
  await ask(far, ["resume", shown.id]);
  await ask(far, ["cancel", shown.id]);
  await accepted.exit();
  meet(accepted.events);
  // A device that is not paired any more wants to connect again: it is allowed, sent away and
  // blocked. To pair ends what holds against its address.
  const asks = async (name) => {
    await ask(far, ["devices", "forget", name]);
    await ask(near, ["send", album, receiving.target], EXIT.notAuthenticated);
    return eventually("a request", async () => (await ask(far, ["offers"])).find(({ event }) => event === "pairing_requested"));
  };
  const pairs = (events) => ask(near, ["pair", receiving.target, "--code-file", near.codeFile(events.find(({ event }) => event === "code").code)]);
  await pairs(await ask(far, ["allow", (await asks("laptop")).id]));
  await asks("near");
  await ask(far, ["dismiss", "near"]);
  await pairs(await ask(far, ["code", "--new"]));
  await ask(far, ["block", (await asks("near")).id.slice(0, 8)]);
  assert.deepEqual(await ask(far, ["offers"]), [], "nothing is shown of a blocked device");
  const { stdout: status } = await far.run(["status"]);
  const [, blocked] = status.match(/Blocked until the service ends \(`ringway block --undo ID`\):\n(\S+) +near +\S+$/m) ?? [];
  assert.ok(blocked, status);
  await ask(far, ["block", "--undo", blocked]);
  assert.deepEqual((await ask(far, ["offers"])).map(({ event }) => event), ["pairing_requested"], "the request is shown again");
  for (const name of ["pairing_allowed", "pairing_dismissed", "pairing_blocked", "pairing_unblocked"]) assert.ok(met.has(name), name);
  await ask(far, ["stop"]);
  await serving.exit();
  meet(serving.events);

  // Commands that need no second device.
  await ask(near, ["copy", "--dry-run", album, join(base, "copy")]);
  await ask(near, ["doctor"]);
  await ask(near, ["bench", "modes", "--at", base, ...TINY]);

  const machines = twoMachines(t);
  if (machines) {
    const [here, there] = machines;
    const announced = far.start(["recv", inbox, "--json"], { wrap: there.wrap });
    t.after(() => announced.kill());
    assert.ok(drawn(await announced.event("listening")));
    meet((await near.run(["devices", "--nearby", "--json"], { wrap: here.wrap })).events);
  } else {
    t.diagnostic("skipped: nearby: network namespaces take root");
    met.add("nearby");
  }
  // Only what the window sends waits its turn: tests/window/queue.test.mjs.
  met.add("transfer_waits");
  assert.deepEqual(eventNames().filter((name) => !met.has(name)), []);
});
