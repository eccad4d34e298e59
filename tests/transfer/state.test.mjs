// A device's own files (settings, identity, database), damaged, full or read-only: each problem is
// reported with its remedy, and sending works without writing.
import assert from "node:assert/strict";
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { capture } from "../setup/process.mjs";
import { BOUND_BY_MODES, EXIT, asked, ends, eventually, oddTree, receiver, same, sender, strangers } from "./harness.mjs";
import { filled, mounting } from "./mounts.mjs";

const configOf = (device) => join(device.env.XDG_CONFIG_HOME, "ringway/config.toml");
const kept = (device, name = "") => join(device.env.XDG_DATA_HOME, "ringway", name);

/** Two paired devices: something was sent from `near` to `far`. */
async function acquainted(t) {
  const both = strangers(t);
  const tree = join(both.source, "tree");
  oddTree(tree);
  const receiving = await receiver(t, both.far, both.inbox);
  await ends(sender(t, both.near, tree, receiving.target), receiving);
  rmSync(join(both.inbox, "tree"), { recursive: true });
  return { ...both, tree };
}

/** Sends without a code, which works only between paired devices. */
async function sends(t, { near, far, inbox, tree }) {
  const receiving = await receiver(t, far, inbox, { code: null });
  const sending = sender(t, near, tree, receiving.target, { code: null });
  await ends(sending, receiving);
  same(tree, join(inbox, "tree"));
  return sending;
}

for (const [title, text, line, said] of [
  ["a misspelt setting", 'name = "near"\n\nrecieve_folder = "/in"\n', 3, /there is no setting recieve_folder\.\n +Did you mean receive_folder\?/],
  ["a bad value", "port = 70000\n", 1, /port is a whole number from 1 to 65535\.\n +Correct that line/],
  ["what is not TOML", 'name = "near"\nport 5\n', 2, /this is not TOML/],
]) {
  test(`${title} ends commands and the service with status 2, and is named with its file and line`, async (t) => {
    const { base, near } = strangers(t);
    writeFileSync(configOf(near), text);
    for (const args of [["serve"], ["devices"], ["settings"], ["recv", base], ["send", base, "127.0.0.1:1"]]) {
      const done = await near.run(args);
      assert.equal(done.status, EXIT.usage, done.said());
      assert.ok(done.stderr.includes(`${configOf(near)}, line ${line}: `), done.stderr);
      assert.match(done.stderr, said);
      assert.doesNotMatch(done.stderr, /away|identity/);
    }
    const [error] = (await near.run(["devices", "--json"])).events;
    assert.deepEqual([error.event, error.code], ["error", "config"]);
    const checks = await asked(near, ["doctor"]);
    const problem = checks.find(({ check }) => check === "settings");
    assert.equal(problem.state, "problem");
    assert.ok(problem.message.includes(`line ${line}: `), problem.message);
    for (const check of ["kernel", "io_uring", "kernel_tls", "port", "firewall"]) {
      assert.ok(checks.some((found) => found.check === check), `doctor looks at ${check} all the same`);
    }
    assert.equal(readFileSync(configOf(near), "utf8"), text);
  });
}

test("doctor names every problem of a device's own files, not only the first", async (t) => {
  const { near } = strangers(t);
  await asked(near, ["devices"]);
  writeFileSync(configOf(near), "prot = 5\n");
  writeFileSync(kept(near, "ringway.db"), "no database".repeat(1000));
  writeFileSync(kept(near, "identity.pem"), "no key");
  const problems = (await asked(near, ["doctor"])).filter(({ state }) => state === "problem");
  assert.equal(problems.length, 3, JSON.stringify(problems));
  for (const file of ["identity.pem", "config.toml, line 1", "ringway.db"]) {
    const found = problems.filter(({ message }) => message.includes(file));
    assert.equal(found.length, 1, file);
    assert.ok(found[0].next, file);
  }
  // And without a place for any of these files.
  const env = Object.fromEntries(Object.keys(near.env).filter((name) => name.startsWith("XDG_")).map((name) => [name, ""]));
  const lost = await asked({ run: (args) => near.run(args, { env: { ...env, HOME: "relative" } }) }, ["doctor"]);
  assert.ok(lost.some(({ check }) => check === "kernel"), JSON.stringify(lost));
});

test("a damaged database is distinguished from the identity, and the advised command leaves the identity", async (t) => {
  const { near } = strangers(t);
  const { id } = (await asked(near, ["settings"])).at(-1);
  const database = kept(near, "ringway.db");
  writeFileSync(database, "no database".repeat(1000));
  const done = await near.run(["devices"]);
  assert.equal(done.status, EXIT.failed, done.said());
  const [, command] = done.stderr.match(/move only this file away \(`(mv .*?)`\)/);
  assert.ok(!command.includes("identity"), command);
  assert.equal(capture("sh", ["-c", command]).status, 0, command);
  assert.equal((await asked(near, ["settings"])).at(-1).id, id);
});

test("a damaged identity is named, and the advised command makes a new one", async (t) => {
  const { near } = strangers(t);
  const { id } = (await asked(near, ["settings"])).at(-1);
  writeFileSync(kept(near, "identity.pem"), "no key");
  const done = await near.run(["devices"]);
  assert.equal(done.status, EXIT.failed, done.said());
  const [, command] = done.stderr.match(/move only this file away \(`(mv .*?)`\)/);
  assert.equal(capture("sh", ["-c", command]).status, 0, command);
  assert.notEqual((await asked(near, ["settings"])).at(-1).id, id);
});

test("unreadable settings, identity and database are named with the users who may read them", async (t) => {
  const { near } = strangers(t);
  await asked(near, ["devices"]);
  for (const path of [configOf(near), kept(near, "identity.pem")]) {
    const { mode } = statSync(path);
    chmodSync(path, 0o000);
    // As root, permissions apply only to a process that has given up the capability to bypass them.
    const done = await near.run(["devices"], { wrap: BOUND_BY_MODES });
    // The user's own files are opened to the user again, but the key is left as it is.
    if (path.endsWith("identity.pem")) {
      assert.equal(done.status, EXIT.failed, done.said());
      assert.match(done.stderr, /cannot use its own file .*identity\.pem: .*\n.*chown, chmod u\+rw/);
    }
    chmodSync(path, mode);
  }
});

mounting("sending to a known device goes on where nothing can be written: a read-only disk", async (t, { mount }) => {
  const all = await acquainted(t);
  const { near } = all;
  const history = async () => (await asked(near, ["inbox", "--sent"])).length;
  const before = await history();
  const data = near.env.XDG_DATA_HOME;
  if (!mount(data, "--bind", data) || !mount(data, "-o", "remount,bind,ro")) return t.skip("mounting is not allowed here");
  const sending = await sends(t, all);
  assert.match(sending.stderr, /cannot use its own file .*ringway\.db: /);
  assert.match(sending.stderr, /history will not have it/);
  assert.equal(await history(), before);
  const problem = (await asked(near, ["doctor"])).find(({ check }) => check === "state");
  assert.equal(problem.state, "problem");
  assert.match(problem.next, /findmnt -T/);
  // Pairing stores a key, so it needs a place that can be written to.
  const renamed = await near.run(["devices", "rename", "far", "elsewhere"]);
  assert.equal(renamed.status, EXIT.failed, renamed.said());
  assert.match(renamed.stderr, /cannot use its own file/);
  assert.doesNotMatch(renamed.stderr, /away|identity/);
});

/** Moves a device's data folder to a disk of 4 MiB of its own; null if that cannot be mounted. */
function onSmallDisk(device, base, mount) {
  const [data, aside] = [device.env.XDG_DATA_HOME, join(base, "aside")];
  renameSync(data, aside);
  mkdirSync(data, { mode: 0o700 });
  if (!mount(data, "-t", "tmpfs", "-o", "size=4m", "none")) return null;
  cpSync(aside, data, { recursive: true });
  chmodSync(kept(device, "identity.pem"), 0o600);
  return data;
}

mounting("sending to a known device goes on where nothing can be written: a full disk", async (t, { mount }) => {
  const all = await acquainted(t);
  const { near, base } = all;
  const data = onSmallDisk(near, base, mount);
  if (!data) return t.skip("mounting is not allowed here");
  filled(data, 0);
  const sending = await sends(t, all);
  assert.match(sending.stderr, /cannot use its own file .*ringway\.db: /);
  const problem = (await asked(near, ["doctor"])).find(({ check }) => check === "state");
  assert.equal(problem.state, "problem");
  assert.match(problem.message, /is full/);
  assert.match(problem.next, /Free up space/);
  assert.ok(existsSync(kept(near, "identity.pem")));
  rmSync(join(data, "filler"));
  const [good] = (await asked(near, ["doctor"])).filter(({ check }) => check === "state");
  assert.equal(good.state, "good");
});

mounting("a receiver whose data disk is full says so, still knows what it received, and stores that once there is space", async (t, { mount }) => {
  const all = await acquainted(t);
  const { near, far, base, inbox, tree } = all;
  const data = onSmallDisk(far, base, mount);
  if (!data) return t.skip("mounting is not allowed here");
  const receiving = await receiver(t, far, inbox, { code: null, once: false, args: ["--on-conflict", "update"] });
  filled(data, 0);
  const send = async (target) => {
    const sending = sender(t, near, tree, target, { code: null });
    assert.equal(await sending.exit(), EXIT.all, sending.said());
  };
  await send(receiving.target);
  await eventually("a word on that", () => /not in the history\. .*ringway\.db/.test(receiving.stderr));
  writeFileSync(join(tree, "more"), "more");
  await send(receiving.target);
  assert.deepEqual(readdirSync(inbox), ["tree"], "the same folder is no other's");
  rmSync(join(data, "filler"));
  const outcomes = async () => (await asked(far, ["inbox"])).map(({ outcome }) => outcome);
  await eventually("both in the history", async () => String(await outcomes()) === "complete,complete,complete");
  receiving.kill("SIGKILL");
  const again = await receiver(t, far, inbox, { code: null, once: false, args: ["--on-conflict", "update"] });
  writeFileSync(join(tree, "more"), "still more");
  await send(again.target);
  assert.equal(readFileSync(join(inbox, "tree/more"), "utf8"), "still more");
  assert.deepEqual(readdirSync(inbox), ["tree"], "it was noted");
});
