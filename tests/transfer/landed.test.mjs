// A receiver that is killed while it updates a folder: what it had received by then is updated
// later, and what its owner changes meanwhile stays.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { ends, inMemory, receiver, sender, strangers } from "./harness.mjs";

const FILES = 300;
const SIZE = 8_192;
/** Of these, a receiver that is killed forgets at most the last ones that it wrote. */
const LANDED_MIN = 100;
const FORGOTTEN_MAX = 64;
/** So slow that a receiver is killed half way. */
const LIMIT = ["--limit", "300K", "--compress", "off"];
const LANDED_WITHIN_MS = 120_000;
const UPDATE = ["--on-conflict", "update"];

const names = [...Array(FILES).keys()].map((number) => `file ${number}`);
const secondsOf = (version) => 1_600_000_000 + version;

function write(album, version) {
  mkdirSync(join(album, "sub"), { recursive: true });
  names.forEach((name, number) => {
    const path = join(album, number % 2 ? "sub" : "", name);
    writeFileSync(path, `${name} ${version} `.padEnd(SIZE, "x"));
    utimesSync(path, secondsOf(version), secondsOf(version));
  });
}

/** The paths of the files that are there in this version. */
function inVersion(album, version) {
  const paths = names.map((name, number) => join(number % 2 ? "sub" : "", name));
  return paths.filter((path) => statSync(join(album, path)).mtimeMs === secondsOf(version) * 1000 && readFileSync(join(album, path), "utf8").includes(` ${version} `));
}

const numbered = (album) => readdirSync(album, { recursive: true }).filter((path) => /\(\d+\)/.test(path)).sort();

/** An album that was received in version 1, and then in version 2 until enough files had landed. */
async function killed(t, sendArgs) {
  const place = strangers(t, inMemory(100_000_000));
  const [album, there] = [join(place.source, "album"), join(place.inbox, "album")];
  const receive = (how) => receiver(t, place.far, place.inbox, { ...how, args: UPDATE });
  const send = async (version) => {
    write(album, version);
    const receiving = await receive();
    const sending = sender(t, place.near, album, receiving.target);
    await ends(sending, receiving);
  };
  await send(1);
  write(album, 2);
  const receiving = await receive();
  const sending = sender(t, place.near, album, receiving.target, { args: [...LIMIT, ...sendArgs] });
  const until = Date.now() + LANDED_WITHIN_MS;
  while (inVersion(there, 2).length < LANDED_MIN) {
    assert.ok(Date.now() < until, sending.said());
    await setTimeout(20);
  }
  receiving.kill("SIGKILL");
  await receiving.exit();
  const landed = inVersion(there, 2);
  t.diagnostic(`${landed.length} of ${FILES} files had landed`);
  assert.ok(landed.length < FILES, "it was killed too late");
  return { there, landed, send, receive, sending, port: receiving.port };
}

/** Of the files that had landed, nearly all are updated; what else was sent is updated, too. */
function updated(t, { there, landed }, version, kept = []) {
  const now = new Set(inVersion(there, version));
  const forgotten = names.map((name, number) => join(number % 2 ? "sub" : "", name)).filter((path) => !now.has(path) && !kept.includes(path));
  t.diagnostic(`${forgotten.length} files were forgotten`);
  assert.ok(forgotten.length <= FORGOTTEN_MAX, `${forgotten.length} of ${landed.length} were forgotten`);
  assert.deepEqual(forgotten.filter((path) => !landed.includes(path)), []);
}

test("files that landed before a receiver was killed are updated, and one that its owner has edited since stays", async (t) => {
  const place = await killed(t, ["--retry", "no"]);
  const { there, landed, send, sending } = place;
  await sending.exit();
  const [edited, saved] = landed;
  writeFileSync(join(there, edited), "my edit");
  // As an editor saves that sets the time back.
  writeFileSync(join(there, saved), "mine".padEnd(SIZE, "x"));
  utimesSync(join(there, saved), secondsOf(2), secondsOf(2));
  await send(2);
  const beside = (path, number) => `${path} (${number})`;
  assert.deepEqual(numbered(there), [beside(edited, 1)], "the edit that has the size and time of what was sent counts as unchanged");
  for (const version of [3, 4]) {
    await send(version);
    updated(t, place, version, [edited, saved]);
    assert.equal(readFileSync(join(there, edited), "utf8"), "my edit");
    assert.match(readFileSync(join(there, saved), "utf8"), /^mine/);
    const [newer, other] = [beside(edited, version - 1), beside(saved, version - 2)].map((path) => readFileSync(join(there, path), "utf8"));
    assert.match(newer, new RegExp(` ${version} `));
    assert.match(other, new RegExp(` ${version} `));
  }
});

test("files that landed before a receiver was killed are updated after the same send has resumed", async (t) => {
  const place = await killed(t, ["--retry", "2m"]);
  const receiving = await place.receive({ port: place.port });
  await ends(place.sending, receiving);
  assert.deepEqual(numbered(place.there), []);
  assert.equal(inVersion(place.there, 2).length, FILES);
  await place.send(3);
  updated(t, place, 3);
});
