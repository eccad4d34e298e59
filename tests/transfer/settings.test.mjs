// `ringway settings` beside a running service: changes take effect at once, and impossible ones are
// reported and change nothing.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, connect } from "node:net";
import { basename, join } from "node:path";
import { test } from "node:test";
import { freePort } from "../setup/devices.mjs";
import { EXIT, asked, eventually, oddTree, same, sender, strangers } from "./harness.mjs";

const configOf = (device) => join(device.env.XDG_CONFIG_HOME, "ringway/config.toml");

/** Two devices. `far` serves with its settings alone. */
async function serving(t, { receiving = true } = {}) {
  const both = strangers(t);
  const { far, inbox } = both;
  const port = await freePort();
  const lines = ['name = "far"', `receive_folder = "${inbox}"`, `port = ${port}`, "announce = false # here", ""];
  writeFileSync(configOf(far), `${lines.join("\n")}${receiving ? "" : "receiving = false\n"}`);
  const running = await serve(t, far, receiving);
  return { ...both, port, running, target: `127.0.0.1:${port}` };
}

async function serve(t, device, receives = true) {
  const running = device.start(["serve", "--json"]);
  t.after(() => running.kill());
  if (receives) await running.event("listening");
  else await eventually("the service", async () => (await device.run(["status"])).status === EXIT.all);
  return running;
}

const settings = async (device, ...args) => (await asked(device, ["settings", ...args])).at(-1);
const status = async (device) => (await asked(device, ["status"]))[0];
const waiting = (device) => eventually("an offer", async () => (await asked(device, ["offers"]))[0]);

function listens(port) {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    }).on("error", () => resolve(false));
  });
}

test("a new port, folder or name takes effect at once; running transfers continue, and offers that can no longer be received are declined", async (t) => {
  const { base, inbox, source, near, far, running, port, target } = await serving(t);
  const [tree, other] = [join(source, "tree"), join(source, "other")];
  oddTree(tree, "--bulk-mib", "12");
  mkdirSync(other);
  writeFileSync(join(other, "file"), "content");
  const { code } = await status(far);
  const slow = sender(t, near, tree, target, { code, args: ["--limit", "4M", "--retry", "no"] });
  await waiting(far);
  await asked(far, ["accept", "near"]);
  await slow.event(({ event, bytes_done: done }) => event === "progress" && done > 1_000_000);

  // A changed folder does not affect a waiting offer: it lands in the folder that was shown.
  const elsewhere = join(base, "elsewhere");
  mkdirSync(elsewhere);
  const first = sender(t, near, other, target, { code: null });
  const shown = await waiting(far);
  assert.equal(shown.destination.path, inbox);
  assert.equal((await settings(far, "--receive-folder", elsewhere, "--name", "renamed")).receive_folder.path, elsewhere);
  assert.deepEqual(await asked(far, ["offers"]), [shown]);
  await asked(far, ["accept", shown.id]);
  assert.equal(await first.exit(), EXIT.all, first.said());
  same(other, join(inbox, basename(other)));
  const now = await status(far);
  assert.deepEqual([now.name, now.destination.path, now.port, now.code], ["renamed", elsewhere, port, null]);

  const late = sender(t, near, other, target, { code: null });
  const { id } = await waiting(far);
  const moved = await freePort();
  assert.equal((await settings(far, "--port", String(moved))).port, moved);
  assert.equal(await late.exit(), EXIT.declined, late.said());
  assert.equal((await running.event(({ event, id: gone }) => event === "answered" && gone === id)).accepted, false);
  assert.deepEqual(await asked(far, ["offers"]), []);
  assert.deepEqual([await listens(port), await listens(moved)], [false, true]);
  assert.equal((await status(far)).port, moved);

  assert.equal(slow.status, undefined, `it still runs: ${slow.said()}`);
  assert.equal(await slow.exit(), EXIT.all, slow.said());
  same(tree, join(inbox, basename(tree)));
  const next = sender(t, near, other, `127.0.0.1:${moved}`, { code: null });
  await asked(far, ["accept", (await waiting(far)).id]);
  assert.equal(await next.exit(), EXIT.all, next.said());
  same(other, join(elsewhere, basename(other)));
});

test("a port in use and an unusable folder are reported, and the old state stays", async (t) => {
  const { base, far, port } = await serving(t);
  const [before, file] = [await status(far), readFileSync(configOf(far), "utf8")];
  const taken = createServer();
  await new Promise((resolve) => taken.listen(0, "::", resolve));
  t.after(() => taken.close());
  const plain = join(base, "file");
  writeFileSync(plain, "");
  for (const [args, said] of [
    [["--port", String(taken.address().port), "--name", "other"], /port/],
    [["--receive-folder", join(base, "gone")], /gone/],
    [["--receive-folder", plain], /file/],
  ]) {
    const done = await far.run(["settings", ...args]);
    assert.equal(done.status, EXIT.failed, done.said());
    assert.match(done.stderr, said);
  }
  const odd = await far.run(["settings", "--name", "two\nlines"]);
  assert.equal(odd.status, EXIT.usage, odd.said());
  assert.deepEqual(await status(far), before);
  assert.equal(readFileSync(configOf(far), "utf8"), file);
  assert.ok(await listens(port));
});

test("receiving is switched off by a command, stays off over a restart, and is switched on again", async (t) => {
  const { inbox, source, near, far, running, port, target } = await serving(t);
  const { code } = await status(far);
  mkdirSync(join(source, "set"));
  const late = sender(t, near, join(source, "set"), target, { code });
  await waiting(far);
  assert.equal((await settings(far, "--receiving", "off")).receiving, false);
  assert.equal(await late.exit(), EXIT.declined, late.said());
  assert.equal(await listens(port), false);
  const refused = await far.run(["code", "--new"]);
  assert.equal(refused.status, EXIT.failed, refused.said());
  assert.match(refused.stderr, /settings --receiving on/);
  assert.match((await far.run(["status"])).stdout, /settings --receiving on/);
  await asked(far, ["stop"]);
  assert.equal(await running.exit(), EXIT.all, running.said());

  await serve(t, far, false);
  assert.deepEqual([(await status(far)).port, await listens(port)], [null, false]);
  await settings(far, "--receiving", "on");
  assert.ok(await listens(port));
  const sending = sender(t, near, join(source, "set"), target, { code: null });
  await waiting(far);
  await asked(far, ["accept", "near"]);
  assert.equal(await sending.exit(), EXIT.all, sending.said());
  assert.ok(existsSync(join(inbox, "set")));
});

test("an edit by hand takes effect with the next change, and is not lost", async (t) => {
  const { far, port } = await serving(t);
  const moved = await freePort();
  writeFileSync(configOf(far), readFileSync(configOf(far), "utf8").replace(`port = ${port}`, `port = ${moved} # mine`));
  await settings(far, "--name", "renamed");
  assert.deepEqual([(await status(far)).port, await listens(port), await listens(moved)], [moved, false, true]);
  const file = readFileSync(configOf(far), "utf8");
  for (const kept of ["# mine", "# here", '"renamed"']) assert.ok(file.includes(kept), file);
});

test("without a service the command stores settings by the same rules, and a service that starts uses them", async (t) => {
  const { base, near } = strangers(t);
  const folder = join(base, "incoming");
  const missing = await near.run(["settings", "--receive-folder", folder]);
  assert.equal(missing.status, EXIT.failed, missing.said());
  mkdirSync(folder);
  const port = await freePort();
  await settings(near, "--receive-folder", folder, "--port", String(port), "--announce", "off");
  const { destination } = await serve(t, near).then(() => status(near));
  assert.deepEqual(destination, { path: folder });
  assert.ok(await listens(port));
  // Another device of this user, with the same place for its socket, is not told of settings that
  // are not its own.
  const other = { ...near.env, XDG_CONFIG_HOME: join(base, "c"), XDG_DATA_HOME: join(base, "d"), XDG_STATE_HOME: join(base, "s") };
  const done = await near.run(["settings", "--name", "stranger"], { env: other });
  assert.equal(done.status, EXIT.all, done.said());
  assert.equal((await status(near)).name, "near");
  assert.match(readFileSync(join(base, "c/ringway/config.toml"), "utf8"), /"stranger"/);
});
