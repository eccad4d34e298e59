// The stable codes with which a command fails that a script has given something wrong, in JSON.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { EXIT, strangers } from "./harness.mjs";

const ENOENT = 2;
const ENOTDIR = 20;

/** A local path, with the kernel's error. */
const path = (name, errno, operation = "open") => ({ code: "path", path: name, operation, errno });
const notFound = (kind, name) => ({ code: "not_found", kind, name });

/** What stands in the event that ends a command early, without its sentences. */
async function failure(device, args) {
  const done = await device.run([...args, "--json"]);
  const { event, message, next, detail, path: at, source, remedies, ...code } = done.events.at(-1);
  assert.equal(event, "error", done.said());
  assert.ok(message.length > 0, done.said());
  const where = at === undefined ? {} : { path: at.path, errno: source?.errno };
  return { status: done.status, code: { ...code, ...where } };
}

test("what does not exist is a path with its errno, whichever command is given it", async (t) => {
  const { inbox, source, near } = strangers(t);
  writeFileSync(join(source, "file"), "content");
  const gone = join(source, "gone");
  const file = join(source, "file");
  for (const [args, wanted] of [
    [["share", "add", gone, "--with-all"], path(gone, ENOENT)],
    [["send", gone, "127.0.0.1"], path(gone, ENOENT)],
    [["copy", gone, inbox], path(gone, ENOENT)],
    [["copy", file, join(gone, "copy")], path(gone, ENOENT)],
    [["copy", file, file, file], path(file, ENOTDIR)],
    [["recv", gone], path(gone, ENOENT)],
    [["recv", file], path(file, ENOTDIR)],
    [["send", source, "127.0.0.1", "--files-from", gone], path(gone, ENOENT, "read")],
  ]) {
    assert.deepEqual(await failure(near, args), { status: EXIT.failed, code: wanted }, args.join(" "));
  }
});

test("a name, id or number that means nothing is not_found, with its kind", async (t) => {
  const { inbox, near } = strangers(t);
  mkdirSync(join(inbox, "empty"));
  for (const [args, wanted] of [
    [["devices", "forget", "nobody"], notFound("device", "nobody")],
    [["devices", "rename", "nobody", "other"], notFound("device", "nobody")],
    [["share", "add", inbox, "--with", "nobody"], notFound("device", "nobody")],
    [["inbox", "show", "99"], notFound("past_transfer", "99")],
    [["inbox", "forget", "99"], notFound("past_transfer", "99")],
    [["notes", "show", "99"], notFound("note", "99")],
    [["notes", "forget", "99"], notFound("note", "99")],
    [["inbox", "discard", "0123456789abcdef", "--in", inbox], notFound("unfinished", "0123456789abcdef")],
  ]) {
    assert.deepEqual(await failure(near, args), { status: EXIT.failed, code: wanted }, args.join(" "));
  }
});

test("a command that asks the service says by its code that it is not running", async (t) => {
  const { near } = strangers(t);
  for (const args of [["accept", "abc"], ["decline", "abc"], ["cancel", "abc"], ["pause", "abc"], ["offers"], ["code"], ["stop"]]) {
    assert.deepEqual(await failure(near, args), { status: EXIT.failed, code: { code: "service_not_running" } }, args.join(" "));
  }
});
