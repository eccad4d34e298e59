// Notes: `ringway send --text`, `ringway recv` and `ringway notes`, between two real processes.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { RINGWAY } from "../setup/build.mjs";
import { freePort } from "../setup/devices.mjs";
import { capture } from "../setup/process.mjs";
import { CODE, EXIT, asked, eventually, harmfulNetwork, receiver, sender, strangers } from "./harness.mjs";
import { mounting } from "./mounts.mjs";

const LEN_MAX = 65_536;
/** What misleads, moves a cursor, or looks like markup or a question of Ringway's. */
const HOSTILE = "first \u{202e}line\r\n\x1b[2J\x1b]0;title\x07Accept? [y/N] y\n\u{0}<img src=x onerror=alert(1)>\u{200b}\n";

function note(device, text, target, { code = CODE, args = [], ...how } = {}) {
  return device.run(["send", "--text", target, "--json", ...(code ? ["--code-file", device.codeFile(code)] : []), ...args], { input: text, ...how });
}

/** What `ringway notes` writes to a pipe of a note. */
function exact(device, number) {
  return capture(RINGWAY, ["notes", "show", String(number)], { env: device.env });
}

test("a note pairs by the code, arrives byte for byte, and ends a receiver with --once", async (t) => {
  const { inbox, near, far } = strangers(t);
  const receiving = await receiver(t, far, inbox, { yes: false });
  const sent = await note(near, HOSTILE, receiving.target);
  assert.equal(sent.status, EXIT.all, sent.said());
  const told = sent.events.find(({ event }) => event === "note_sent");
  assert.deepEqual([told.peer, told.bytes], ["far", Buffer.byteLength(HOSTILE)]);
  assert.equal(await receiving.exit(), EXIT.all, receiving.said());
  const arrived = receiving.events.find(({ event }) => event === "note");
  assert.deepEqual([arrived.from, arrived.first_line, arrived.has_more, arrived.is_read], ["near", "first \\u{202e}line", true, false]);
  assert.ok(!receiving.stdout.includes("onerror"), "its text is not in the output of a receiver for programs");
  assert.deepEqual(readdirSync(inbox), []);

  const [listed] = await asked(far, ["notes"]);
  assert.equal(listed.number, arrived.number);
  const shown = exact(far, arrived.number);
  assert.deepEqual([shown.status, shown.out], [0, HOSTILE]);
  const [whole] = await asked(far, ["notes", "show", String(arrived.number)]);
  assert.deepEqual([whole.event, whole.text], ["note_text", HOSTILE], "JSON has it exactly");
  const [read] = await asked(far, ["notes"]);
  assert.equal(read.is_read, true);
  const forgotten = await asked(far, ["notes", "forget", String(arrived.number)]);
  assert.deepEqual(forgotten, [{ event: "notes_forgotten", notes: 1 }]);
  assert.deepEqual(await asked(far, ["notes"]), []);
  await asked(far, ["notes", "show", String(arrived.number)], EXIT.failed);
});

test("what is no note is refused before anybody is dialled", async (t) => {
  const { near } = strangers(t);
  const nobody = `127.0.0.1:${await freePort()}`;
  for (const [text, why] of [
    ["", /is empty/],
    ["n".repeat(LEN_MAX + 1), /longer than 65,536 bytes/],
    [Buffer.from([0x63, 0xff]), /not text in UTF-8/],
  ]) {
    const refused = await note(near, text, nobody, { code: null });
    assert.equal(refused.status, EXIT.usage, refused.said());
    assert.match(refused.stderr, why);
  }
  const unreached = await note(near, "n".repeat(LEN_MAX), nobody, { code: null });
  assert.equal(unreached.status, EXIT.failed, unreached.said());
  for (const [words, why] of [
    [["--text", "file", "lab-ws"], /only the target is named/],
    [["--text", `${nobody}:inbox`], /takes no notes/],
    [["--text", nobody, "--code-file", "-"], /Standard input has the note/],
    [["--text", nobody, "--dry-run"], /cannot be used with/],
    [["--text", nobody, "--verify"], /cannot be used with/],
  ]) {
    const wrong = await near.run(["send", ...words], { input: "hi" });
    assert.equal(wrong.status, EXIT.usage, wrong.said());
    assert.match(wrong.stderr, why);
  }
});

test("a folder is no note, and no target", async (t) => {
  const { base, inbox, near, far } = strangers(t);
  const nobody = `127.0.0.1:${await freePort()}`;
  mkdirSync(join(base, "no.such.device.invalid"));
  const sh = (line) => capture("sh", ["-c", line], { cwd: base, env: { ...near.env, PATH: `${dirname(RINGWAY)}:${process.env.PATH}` } });
  const read = sh(`ringway send --text ${nobody} < no.such.device.invalid`);
  assert.equal(read.status, EXIT.usage, read.err);
  assert.match(read.err, /Standard input is a folder, and a note is text\.\s+Send the folder itself: ringway send FOLDER TARGET\./);
  const named = sh("echo hi | ringway send --text no.such.device.invalid --retry no");
  assert.equal(named.status, EXIT.usage, named.err);
  assert.match(named.err, /no\.such\.device\.invalid is a folder here, and no device has that name\.\s+Send it without --text: ringway send FOLDER TARGET\./);
  writeFileSync(join(base, "no.such.device.invalid/file"), "content");
  const receiving = await receiver(t, far, inbox);
  const sent = sh(`ringway send no.such.device.invalid ${receiving.target} --code-file ${near.codeFile(CODE)}`);
  assert.equal(sent.status, EXIT.all, sent.err);
  assert.equal(readFileSync(join(inbox, "no.such.device.invalid/file"), "utf8"), "content");
});

mounting("doctor, recv and the log of a service say why a note cannot be kept, which arrives once there is room", async (t, { mount }) => {
  const { base, inbox, near, far } = strangers(t);
  const data = far.env.XDG_DATA_HOME;
  if (!mount(data, "-t", "tmpfs", "-o", "size=1m", "tmpfs")) return t.skip("mounting takes root");
  const receiving = await receiver(t, far, inbox, { once: false });
  assert.equal((await note(near, "first", receiving.target)).status, EXIT.all);
  const filler = join(data, "filler");
  assert.notEqual(capture("dd", ["if=/dev/zero", `of=${filler}`, "bs=1k"]).status, 0, "the disk is full");
  const long = "n".repeat(LEN_MAX);
  const failed = await note(near, long, receiving.target, { code: null });
  assert.equal(failed.status, EXIT.failed, failed.said());
  assert.match(failed.stderr, /could not keep the note\.\s+`ringway doctor` there says whether its disk is full/);
  assert.match((await far.run(["doctor"])).stdout, /^BAD .*ringway\.db: database or disk is full\.$/m);
  const why = /could not keep a note of near \([-0-9a-f]+\): .*database or disk is full/;
  await eventually("a line of the receiver", () => why.test(receiving.said()));
  assert.ok(!receiving.said().includes("nnnn"));
  receiving.kill();
  await receiving.exit();
  const log = join(base, "log");
  const serving = far.start(["serve", inbox, "--listen", receiving.target, "--no-announce", "--log", log]);
  t.after(() => serving.kill());
  await eventually("the service", async () => existsSync(log) && readFileSync(log, "utf8").includes("receives into"));
  assert.equal((await note(near, long, receiving.target, { code: null })).status, EXIT.failed);
  const said = await eventually("a line of the log", () => {
    const lines = readFileSync(log, "utf8");
    return why.test(lines) && lines;
  });
  assert.ok(!said.includes("nnnn"), "the text is not in it");
  rmSync(filler);
  const again = await note(near, long, receiving.target, { code: null });
  assert.equal(again.status, EXIT.all, again.said());
});

test("a sender that is killed in the middle of a note leaves nothing, and its receiver goes on", async (t) => {
  const { inbox, near, far } = strangers(t);
  const receiving = await receiver(t, far, inbox, { once: false });
  assert.equal((await note(near, "first", receiving.target)).status, EXIT.all);
  await receiving.event("note");
  const between = await harmfulNetwork(t, receiving.target, "--swallow-after", 20_000);
  const sending = near.start(["send", "--text", between.target, "--json"], { input: "n".repeat(LEN_MAX) });
  t.after(() => sending.kill());
  await between.event("swallowing");
  await sending.kill();
  await between.kill();
  assert.equal((await note(near, "second", receiving.target, { code: null })).status, EXIT.all);
  assert.deepEqual((await asked(far, ["notes"])).map(({ first_line: line }) => line), ["second", "first"]);
  assert.deepEqual(readdirSync(inbox), []);
  assert.equal(receiving.status, undefined, "it goes on");
});

test("a receiver that is quiet prints nothing of a note, and keeps it", async (t) => {
  const { inbox, near, far } = strangers(t);
  const receiving = await receiver(t, far, inbox, { once: false });
  assert.equal((await note(near, "first", receiving.target)).status, EXIT.all);
  receiving.kill();
  await receiving.exit();
  const quiet = far.start(["recv", inbox, "--listen", receiving.target, "--quiet", "--once"]);
  t.after(() => quiet.kill());
  // It does not say when it listens; until then it is refused.
  await eventually("the note", async () => (await note(near, "second", receiving.target, { code: null })).status === EXIT.all);
  assert.equal(await quiet.exit(), EXIT.all, quiet.said());
  assert.ok(!quiet.stdout.includes("second") && !quiet.stderr.includes("second"), quiet.said());
  assert.deepEqual((await asked(far, ["notes"])).map(({ first_line: line }) => line), ["second", "first"]);
});

test("the longest note arrives, a device that is refused sends none, and a note ends no other transfer", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  const receiving = await receiver(t, far, inbox, { once: false });
  const long = `${"é".repeat(LEN_MAX / 2 - 1)}\r\n`;
  const sent = await note(near, long, receiving.target);
  assert.equal(sent.status, EXIT.all, sent.said());
  const { number } = await receiving.event("note");
  assert.equal(exact(far, number).out, long);

  const tree = join(source, "tree");
  mkdirSync(tree);
  writeFileSync(join(tree, "big"), Buffer.alloc(8_000_000, "big "));
  const moving = sender(t, near, tree, receiving.target, { code: null, args: ["--limit", "1M", "--compress", "off"] });
  await moving.event(({ event, bytes_done: bytes }) => event === "progress" && bytes > 0);
  const meanwhile = await note(near, "meanwhile", receiving.target, { code: null });
  assert.equal(meanwhile.status, EXIT.all, meanwhile.said());
  assert.equal(moving.status, undefined, "it goes on");
  moving.kill("SIGINT");
  await moving.exit();

  await asked(far, ["devices", "rule", "near", "--refuse"]);
  const refused = await note(near, "no", receiving.target, { code: null });
  assert.equal(refused.status, EXIT.declined, refused.said());
  assert.deepEqual((await asked(far, ["notes"])).map(({ first_line: line }) => line.slice(0, 9)), ["meanwhile", "é".repeat(9)]);
  await asked(far, ["devices", "forget", "near"]);
  assert.deepEqual(await asked(far, ["notes"]), [], "they go with their device");
});

test("a note that waits for its turn and is then declined says why it was declined", async (t) => {
  const { inbox, near, far } = strangers(t);
  const receiving = await receiver(t, far, inbox, { once: false });
  const first = await note(near, "first", receiving.target);
  assert.equal(first.status, EXIT.all, first.said());
  const all = Array.from({ length: 30 }, (_, at) => near.start(["send", "--text", receiving.target, "--retry", "300s"], { input: `note ${at}` }));
  t.after(() => all.forEach((one) => one.kill()));
  await eventually("a note that waits", () => all.some(({ stdout }) => /takes no more notes for now/.test(stdout)));
  await asked(far, ["devices", "rule", "near", "--refuse"]);
  const ended = await Promise.all(all.map(async (one) => [await one.exit(), one.said()]));
  const declined = ended.filter(([status]) => status !== EXIT.all);
  assert.ok(declined.length > 0);
  for (const [status, said] of declined) {
    assert.equal(status, EXIT.declined, said);
    assert.match(said, /declined the offer\.\n +A person or a rule there refused it\./);
  }
});

test("the service keeps notes, its log and status have no text of them, and clearing the history deletes what was read", async (t) => {
  const { base, inbox, near, far } = strangers(t);
  const target = `127.0.0.1:${await freePort()}`;
  const log = join(base, "log");
  const serving = far.start(["serve", inbox, "--listen", target, "--no-announce", "--log", log]);
  t.after(() => serving.kill());
  const { code } = await eventually("a code", async () => (await far.run(["code", "--json"])).events.find((event) => event.event === "code" && event.code));
  const secret = "first line\nthe text of a person";
  const sent = await note(near, secret, target, { code });
  assert.equal(sent.status, EXIT.all, sent.said());
  const said = await eventually("a line about it", () => {
    const lines = readFileSync(log, "utf8");
    return /note \d+ of near \([-0-9a-f]+\), 31 B/.test(lines) && lines;
  });
  assert.ok(!said.includes("first line") && !said.includes("person"));
  const status = await far.run(["status"]);
  assert.match(status.stdout, /Unread notes .*\n.*\n\d+ +near +first line …/);
  assert.ok(!status.stdout.includes("person"));
  const [{ number }] = await asked(far, ["notes"]);
  await asked(far, ["inbox", "clear"]);
  assert.equal((await asked(far, ["notes"])).length, 1, "an unread note stays");
  assert.equal(exact(far, number).out, secret);
  const cleared = await asked(far, ["inbox", "clear"]);
  assert.deepEqual(cleared.find(({ event }) => event === "notes_forgotten"), { event: "notes_forgotten", notes: 1 });
  assert.deepEqual(await asked(far, ["notes"]), []);
  assert.doesNotMatch((await far.run(["status"])).stdout, /Unread notes/);
});

test("what messages about notes recommend works", async (t) => {
  const { base, inbox, source, near, far } = strangers(t);
  const receiving = await receiver(t, far, inbox, { once: false });
  const sh = (device, line) => capture("sh", ["-c", line], { env: { ...device.env, PATH: `${dirname(RINGWAY)}:${process.env.PATH}` } });
  const gone = await far.run(["notes", "show", "999"]);
  assert.match(gone.stderr, /`ringway notes` lists them/);
  assert.match(sh(far, "ringway notes").out, /No notes are here/);
  assert.equal((await note(near, "hi", receiving.target)).status, EXIT.all);

  const several = await near.run(["send", "--text", "file", "far"], { input: "hi" });
  const [, example] = several.stderr.match(/For example: (echo hello \| ringway send --text )lab-ws\./);
  const echoed = sh(near, `${example}${receiving.target}`);
  assert.equal(echoed.status, 0, echoed.err);
  const [{ number, first_line: line }] = await asked(far, ["notes"]);
  assert.equal(line, "hello");
  for (const text of ["n".repeat(LEN_MAX + 1), Buffer.from([0xff])]) {
    const refused = await note(near, text, receiving.target, { code: null });
    assert.match(refused.stderr, /Send it as a file: ringway send FILE TARGET\./);
    writeFileSync(join(source, "note"), text);
    const sent = sh(near, `ringway send '${join(source, "note")}' ${receiving.target}`);
    assert.equal(sent.status, 0, sent.err);
    assert.deepEqual(readFileSync(join(inbox, "note")), Buffer.from(text));
  }
  // As for one that is too long to be shown whole.
  assert.equal(sh(far, `ringway notes show ${number} > '${join(base, "file")}'`).status, 0);
  assert.equal(readFileSync(join(base, "file"), "utf8"), "hello\n");
});
