// Follows advice: cuts the command out of a program's output, and runs it unchanged in a shell.
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { RINGWAY } from "../../setup/build.mjs";
import { Running, freePort } from "../../setup/devices.mjs";
import { capture, which } from "../../setup/process.mjs";
import { CODE, EXIT, eventually, isRoot, receiver, strangers } from "../harness.mjs";
import { commandsIn } from "./recommended.mjs";

/**
 * Whether a command that begins with `sudo` can be run: root needs no password, and other users
 * must not be asked for one.
 */
export const maySudo = isRoot || capture("sudo", ["-n", "true"]).status === 0;

/** Whether this user, or root by `sudo`, may read the kernel's log: a container's root may not. */
export const mayReadLog = maySudo && capture(isRoot ? "dmesg" : "sudo", isRoot ? [] : ["-n", "dmesg"]).status === 0;

/**
 * Why strace cannot select calls by their paths: Ringway's are hidden from all but root
 * (PR_SET_DUMPABLE).
 */
export const needsPaths =
  (!which("strace") && "no strace here to have a call fail") || (!isRoot && "only root sees which paths a call of Ringway is about");

/** Text as one word of a shell. */
export const word = (text) => `'${String(text).replaceAll("'", "'\\''")}'`;

/** Whether a key is a call that composes a command, which is read in the message around it. */
export const isCall = (key) => key.startsWith("advised::");

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** A text of the source as it is printed. Any text may replace a placeholder. */
function printed(key) {
  const parts = key.split(/\{[^{}]*\}/).map(escaped);
  return new RegExp(parts.join("(?:.+?)") + (/\{[^{}]*\}$/.test(key) ? ".*" : ""));
}

/** Follows the advice of one situation, and records what was read and run. */
export class Follower {
  #t;
  #read = new Map();
  #ran = new Set();
  #isSkipped = false;

  constructor(t) {
    this.#t = t;
  }

  /**
   * The commands that a message recommends. `key` is that message in the source, or enough of it.
   * If it inserts commands without backticks, `where` finds them in the output, with a group for
   * each.
   */
  reads(said, key, where) {
    const [found] = said.match(printed(key)) ?? [];
    assert.ok(found, `"${key}" was not said, but:\n${said}`);
    const commands = where ? found.match(where)?.slice(1) : commandsIn(found).map(({ command }) => command);
    assert.ok(commands?.length > 0, `there is no command in "${found}"`);
    this.#read.set(key, commands);
    return commands;
  }

  /**
   * Starts a command as it was printed, with the parts that a person has to fill in, and `words`
   * after it. `before` is the part that a message has only once for several commands, `then` what
   * the same shell does next.
   */
  starts(device, command, { before = "", fill = {}, words = [], then = "", wrap = [], env = {}, cwd, input } = {}) {
    this.#ran.add(command);
    let line = `${before}${command}`;
    for (const [name, value] of Object.entries(fill)) {
      const place = new RegExp(`(?<![\\w.])${escaped(name)}(?![\\w.])`);
      assert.match(line, place);
      line = line.replace(place, () => word(value));
    }
    line = [line, ...words.map(word)].join(" ");
    const bin = join(device.folder, "bin");
    mkdirSync(bin, { recursive: true });
    if (isRoot) {
      writeFileSync(join(bin, "sudo"), '#!/bin/sh\nexec "$@"\n');
      chmodSync(join(bin, "sudo"), 0o755);
    }
    const [program, ...rest] = [...wrap, "sh", "-c", line.startsWith("ringway ") && !then ? `exec ${line}` : `${line}${then}`];
    const PATH = [bin, dirname(RINGWAY), process.env.PATH, "/usr/sbin", "/sbin"].join(":");
    const running = new Running(`${device.name}: ${line}`, program, rest, { env: { ...device.env, PATH, ...env }, cwd, input });
    this.#t.after(() => running.kill());
    return running;
  }

  /** The same, to the command's end. */
  async runs(device, command, { status = EXIT.all, ...how } = {}) {
    const running = this.starts(device, command, how);
    assert.equal(await running.exit(), status, `${command}\n${running.said()}`);
    return running;
  }

  /** Starts a receiver or service as advised, and waits until it shows where it can be reached. */
  async listens(device, command, how = {}) {
    const running = this.starts(device, command, { input: null, ...how });
    const address = await eventually("an address", () => {
      assert.equal(running.status, undefined, running.said());
      return running.stdout.match(/Address: +(\S+)/)?.[1];
    });
    return Object.assign(running, { address });
  }

  /** Ends a started program, and returns its output. */
  async ends(running) {
    running.kill("SIGTERM");
    await running.exit();
    return running.said();
  }

  /** The situation cannot be produced here. */
  skips(why) {
    this.#isSkipped = true;
    this.#t.skip(why);
  }

  /** Checks that every message of the situation was read, and that every command in it was run. */
  isDone(keys) {
    if (this.#isSkipped) return;
    for (const key of keys.filter((key) => !isCall(key))) assert.ok(this.#read.has(key), `nobody read "${key}"`);
    for (const [key, commands] of this.#read) {
      for (const command of commands) assert.ok(this.#ran.has(command), `nobody ran "${command}" of "${key}"`);
    }
  }
}

/**
 * Two paired devices: `far` accepts what `near` sends, at the port of its settings and into its
 * `inbox`.
 */
export async function known(t, { accepts = true, name = "far" } = {}) {
  const all = strangers(t);
  const { near, far, inbox, source } = all;
  const port = await freePort();
  const config = [`name = "${name}"`, `port = ${port}`, "announce = false", `receive_folder = "${inbox}"`, ""].join("\n");
  writeFileSync(join(far.env.XDG_CONFIG_HOME, "ringway/config.toml"), config);
  const pairing = await receiver(t, far, inbox, { once: false, port, yes: false });
  const paired = await near.run(["pair", pairing.target, "--code-file", near.codeFile(CODE)]);
  assert.equal(paired.status, EXIT.all, paired.said());
  pairing.kill();
  await pairing.exit();
  if (accepts) assert.equal((await far.run(["devices", "rule", "near", "--accept"])).status, EXIT.all);
  const tree = join(source, "tree");
  mkdirSync(tree);
  writeFileSync(join(tree, "file"), "content");
  return { ...all, tree, port, target: pairing.target };
}

/** The output of a command, as people read it. */
export async function says(device, args, status = EXIT.all, how = {}) {
  const done = await device.run(args, how);
  assert.equal(done.status, status, done.said());
  return done.stdout + done.stderr;
}

/**
 * A command that strace has stopped at a call. Returns a function that continues it, after `signal`
 * if one is given, and returns its output for errors.
 */
export async function stoppedAfter(t, device, args, injection) {
  const log = join(device.folder, "strace");
  rmSync(log, { force: true });
  const running = device.start(args, { wrap: ["strace", "-qq", "-o", log, ...injection] });
  t.after(() => running.kill());
  // Its state says no more than that strace looks at a call, as it does at each.
  await eventually("the call", () => existsSync(log) && readFileSync(log, "utf8").includes("--- stopped by SIGSTOP ---"));
  const [pid] = readFileSync(`/proc/${running.pid}/task/${running.pid}/children`, "utf8").split(" ").filter(Boolean);
  const stopped = Number(pid);
  t.after(() => running.status === undefined && process.kill(stopped, "SIGKILL"));
  return async (signal) => {
    if (signal) process.kill(stopped, signal);
    process.kill(stopped, "SIGCONT");
    await running.exit();
    return running.stderr;
  };
}
