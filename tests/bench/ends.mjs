// One end of a transfer as a measured process. GNU time reports the CPU seconds and peak memory of
// it and of all processes that it waited for.
import { spawn } from "node:child_process";
import { openSync, closeSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { which } from "../setup/process.mjs";
import { undoLater } from "./undo.mjs";

/** A server that does not listen after this time never will, ms. */
const LISTEN_MS = 10_000;
/** Children of a server that outlive the client by more than this are stuck, ms. */
const SETTLE_MS = 20_000;
/** A transfer that takes longer than this has hung, ms. */
const HANG_MS = 900_000;
const LISTENING = "0A";
let count = 0;

/**
 * The processes below `pid`, deepest last, including those that have ended and were not waited for.
 */
export function descendants(pid) {
  const parents = new Map();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const text = readFileSync(`/proc/${name}/stat`, "utf8");
      // The second field is a name in parentheses, and may hold anything.
      const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
      parents.set(Number(name), Number(fields[1]));
    } catch {
      // It ended meanwhile.
    }
  }
  const found = [pid];
  for (let at = 0; at < found.length; at++) {
    for (const [child, parent] of parents) if (parent === found[at]) found.push(child);
  }
  return found.slice(1);
}

/**
 * Whether a process listens on TCP `port`, without connecting: some receivers take the first
 * connection for the transfer.
 */
function listened(port) {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return ["/proc/net/tcp", "/proc/net/tcp6"].some((table) => {
    const lines = readFileSync(table, "utf8").trim().split("\n").slice(1);
    return lines.some((line) => {
      const [, local, , state] = line.trim().split(/\s+/);
      return state === LISTENING && local.endsWith(wanted);
    });
  });
}

/**
 * A started end. Its output goes to a file, because with a pipe this program would be part of the
 * measurement.
 */
export class End {
  constructor(name, folder, command, args, { env } = {}) {
    this.name = name;
    this.figures = join(folder, `end-${++count}.time`);
    this.log = join(folder, `end-${count}.log`);
    const log = openSync(this.log, "w");
    const wrapped = ["-q", "-o", this.figures, "-f", "%U %S %M", command, ...args];
    this.started = performance.now();
    // A session of its own keeps the terminal's Ctrl-C away, so that cleaning up happens in one
    // place, in order.
    const child = spawn(which("time"), wrapped, { env, stdio: ["ignore", log, log], detached: true });
    closeSync(log);
    this.pid = child.pid;
    this.ended = new Promise((resolve) => {
      const done = (status) => {
        this.finished = performance.now();
        this.status = status;
        this.forget();
        resolve(this);
      };
      child.on("error", (error) => ((this.failure = error.message), done(127)));
      child.on("exit", (status, signal) => done(status ?? signal));
    });
    this.forget = undoLater(() => this.kill());
  }

  /** Sends `signal` to the measured program itself, not to GNU time around it. */
  signal(signal) {
    const program = descendants(this.pid)[0];
    if (program) process.kill(program, signal);
  }

  kill() {
    for (const pid of [...descendants(this.pid).reverse(), this.pid]) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended already.
      }
    }
  }

  async listening(port) {
    for (const start = performance.now(); !listened(port); await pause(5)) {
      if (this.status !== undefined) throw new Error(`${this.name} ended: ${this.said()}`);
      if (performance.now() - start > LISTEN_MS) throw new Error(`${this.name} does not listen: ${this.said()}`);
    }
  }

  /** Waits for its end, with a limit. */
  async end() {
    const timer = setTimeout(() => this.kill(), HANG_MS);
    await this.ended;
    clearTimeout(timer);
    return this;
  }

  /**
   * Ends a server that would keep running, once its children are gone, so that its sums include
   * them.
   */
  async stop() {
    const start = performance.now();
    while (descendants(this.pid).length > 1 && performance.now() - start < SETTLE_MS) await pause(5);
    this.signal("SIGTERM");
    return this.end();
  }

  said() {
    return this.failure ?? readFileSync(this.log, "utf8").trim().slice(-600);
  }

  /** Its output as JSON lines. */
  events() {
    const lines = readFileSync(this.log, "utf8").split("\n");
    return lines.filter((line) => line.startsWith("{")).flatMap((line) => {
      try {
        return [JSON.parse(line)];
      } catch {
        return [];
      }
    });
  }

  usage() {
    // A line about the exit status may precede the figures.
    const last = readFileSync(this.figures, "utf8").trim().split("\n").at(-1);
    const [user, system, peak] = last.split(" ").map(Number);
    for (const file of [this.figures, this.log]) rmSync(file, { force: true });
    return { end: this.name, user_s: user, system_s: system, peak_rss_bytes: peak * 1024 };
  }
}
