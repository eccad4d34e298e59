// Shared by the two-process tests: a temporary folder, a receiver that is ready, a sender, and
// trees to send.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { TESTTOOLS } from "../setup/build.mjs";
import { Device, Running, differences, freePort } from "../setup/devices.mjs";
import { inMemory } from "../setup/memory.mjs";
import { capture, run } from "../setup/process.mjs";
import { counting } from "../setup/wire.mjs";

export { Device, differences, inMemory };

/**
 * A code in the form that a receiver draws. Both ends get it by file or environment, never as an
 * argument.
 */
export const CODE = "7-river-canal";
export const EXIT = { all: 0, failed: 1, usage: 2, partial: 3, declined: 4, notAuthenticated: 5, hungUp: 129, terminated: 143 };
export const isRoot = process.getuid() === 0;
/** Words to start a program with so that permissions apply to it even if the tests run as root. */
export const BOUND_BY_MODES = isRoot ? ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] : [];

/**
 * A temporary folder in `parent` that is removed with the test, whatever modes the trees in it
 * have.
 */
export function folder(t, parent = tmpdir()) {
  const path = mkdtempSync(join(parent, "ringway-test-"));
  t.after(() => {
    // In half of the time that node takes. Only a user other than root needs the modes.
    if (capture("rm", ["-rf", path]).status === 0) return;
    capture("chmod", ["-R", "u+rwX", path]);
    // A program may still write into it. If this fails, node skips the test's other hooks, and a
    // program that one of them would have ended runs for ever.
    rmSync(path, { recursive: true, force: true, maxRetries: 20 });
  });
  return path;
}

/**
 * Two devices that are not paired, a destination folder, and a folder for sources, all below one
 * temporary folder.
 */
export function strangers(t, parent = tmpdir()) {
  const base = folder(t, parent);
  const inbox = join(base, "inbox");
  const source = join(base, "source");
  for (const path of [inbox, source]) mkdirSync(path);
  return { base, inbox, source, near: new Device(base, "near"), far: new Device(base, "far") };
}

/**
 * Starts `ringway recv` on `device`, and waits until it listens. It is killed with the test.
 * Without a destination, `recv` uses its default.
 */
export async function receiver(t, device, destination, { code = CODE, args = [], yes = true, once = true, host = "127.0.0.1", port = 0, ...how } = {}) {
  port ||= await freePort();
  const target = `${host}:${port}`;
  const running = device.start(
    [
      "recv",
      ...(destination === null ? [] : [destination]),
      "--listen",
      target,
      "--json",
      ...(yes ? ["--yes"] : []),
      ...(once ? ["--once"] : []),
      ...(code ? ["--code-file", device.codeFile(code)] : []),
      ...args,
    ],
    how,
  );
  t.after(() => running.kill());
  await running.event("listening");
  return Object.assign(running, { target, port });
}

/** Starts `ringway send` on `device`. It is killed with the test. */
export function sender(t, device, paths, target, { code = CODE, args = [], ...how } = {}) {
  const running = device.start(
    [
      "send",
      ...[paths].flat(),
      target,
      "--json",
      ...(code ? ["--code-file", device.codeFile(code)] : []),
      ...args,
    ],
    how,
  );
  t.after(() => running.kill());
  return running;
}

/**
 * A network before `target` that does harm once, after a number of bytes: `--flip-after`,
 * `--cut-after` or `--hold-after`. `--hold-one-after` and `--swallow-after` permanently stop one
 * connection.
 */
export async function harmfulNetwork(t, target, ...harm) {
  const address = `127.0.0.1:${await freePort()}`;
  const network = new Running("network", TESTTOOLS, ["proxy", address, target, ...harm.map(String)], { input: null });
  t.after(() => network.kill());
  await network.event("listening");
  return Object.assign(network, { target: address });
}

/** A network before `target` that counts the bytes sent to it, in `bytes`, and those `back`. */
export async function countingNetwork(t, target) {
  const network = await counting(target);
  t.after(network.close);
  return network;
}

/** Waits for both ends, which must end with the expected statuses. */
export async function ends(sending, receiving, wanted = EXIT.all, wantedThere = wanted) {
  assert.equal(await sending.exit(), wanted, sending.said());
  assert.equal(await receiving.exit(), wantedThere, receiving.said());
}

/** Ends a command by each signal while nobody reads what it prints, more than pipes hold. */
export async function endsUnread(t, device, args) {
  for (const [signal, status] of [["SIGINT", EXIT.failed], ["SIGTERM", EXIT.terminated], ["SIGHUP", EXIT.hungUp]]) {
    const child = spawn(device.program, args, { env: device.env, stdio: ["ignore", "pipe", "inherit"] });
    t.after(() => child.kill("SIGKILL"));
    const ended = once(child, "exit");
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    assert.equal(child.exitCode, null, `${args} waits for who reads it`);
    const asked = Date.now();
    child.kill(signal);
    const late = setTimeout(() => child.kill("SIGKILL"), 10_000);
    assert.deepEqual(await ended, [status, null], `${args} ${signal}`);
    clearTimeout(late);
    assert.ok(Date.now() - asked < 3_000, `${args} ${signal}: ${Date.now() - asked} ms`);
  }
}

export function same(from, to) {
  const found = differences(from, to);
  assert.ok(found.length === 0, `${from} and ${to} differ:\n${found.slice(0, 40).join("\n")}`);
}

/** Like `same`, but only for what is inside the folders: an inbox keeps its own times. */
export function sameInside(from, to) {
  const found = differences(from, to).filter((line) => !line.endsWith(" ./"));
  assert.ok(found.length === 0, `${from}/ and ${to}/ differ:\n${found.slice(0, 40).join("\n")}`);
}

/** Nothing arrived: neither under a final name nor in a staging folder. */
export function untouched(inbox) {
  assert.deepEqual(readdirSync(inbox), []);
}

/** An odd tree at `path`; see tests/tools. */
export function oddTree(path, ...options) {
  run(TESTTOOLS, ["tree", path, ...options]);
}

/** The Rust toolchain's folder: a real tree. */
export function sysroot() {
  return capture("rustc", ["--print", "sysroot"]).out.trim();
}

/** Whether extended attributes work where the tests keep their trees. */
export function hasAttributes(path) {
  return capture("setfattr", ["-n", "user.ringway", "-v", "x", path]).status === 0;
}

/** Every entry below `path`, sorted, as paths relative to it. */
export function listing(path) {
  return existsSync(path) ? readdirSync(path, { recursive: true }).sort() : [];
}

/** The result of `wanted`, once there is one. */
export async function eventually(what, wanted) {
  for (const until = Date.now() + 60_000; Date.now() < until; await new Promise((resolve) => setTimeout(resolve, 50))) {
    const found = await wanted();
    if (found) return found;
  }
  throw new Error(`${what} did not come`);
}

/** The same for what does not last: it looks without a pause. */
export async function soon(what, wanted) {
  for (const until = Date.now() + 60_000; Date.now() < until; await setImmediate()) {
    const found = wanted();
    if (found) return found;
  }
  throw new Error(`${what} did not come`);
}

/** Runs a command of a device, and returns its events. */
export async function asked(device, args, wanted = EXIT.all) {
  const done = await device.run([...args, "--json"]);
  assert.equal(done.status, wanted, done.said());
  return done.events;
}
