// Two devices on one machine: the real `ringway` command, each with its own XDG folders. Its JSON
// lines are read as they arrive.
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { RINGWAY } from "./build.mjs";
import { capture } from "./process.mjs";
import { fault } from "./schema.mjs";

/**
 * How long a test waits for anything before it fails with the output so far, ms: enough for a debug
 * build on two busy cores.
 */
export const PATIENCE_MS = 120_000;

/** An option of `events.once` that ends the wait in time. */
export const inTime = () => ({ signal: AbortSignal.timeout(PATIENCE_MS) });

/** How long a command may run that a test runs to its end. */
const RUN_MS_MAX = 600_000;

/** A device: a folder with its own configuration, data, state and runtime folders. */
export class Device {
  /** `program` is the command that it runs: the built one, unless another is installed. */
  constructor(folder, name, { program = RINGWAY } = {}) {
    this.name = name;
    this.program = program;
    this.folder = join(folder, `device-${name}`);
    const own = (part) => {
      const path = join(this.folder, part);
      mkdirSync(path, { recursive: true, mode: 0o700 });
      return path;
    };
    this.env = {
      ...process.env,
      HOME: own("home"),
      XDG_CONFIG_HOME: own("config"),
      XDG_DATA_HOME: own("data"),
      XDG_STATE_HOME: own("state"),
      XDG_RUNTIME_DIR: own("runtime"),
    };
    delete this.env.RINGWAY_CODE;
    // The name of this device. Two devices with one name would collide on one machine.
    mkdirSync(join(this.env.XDG_CONFIG_HOME, "ringway"), { recursive: true });
    writeFileSync(join(this.env.XDG_CONFIG_HOME, "ringway/config.toml"), `name = "${name}"\n`);
  }

  /** A file with the code, 0600, as `--code-file` requires it. */
  codeFile(code) {
    const path = join(this.folder, "code");
    writeFileSync(path, `${code}\n`, { mode: 0o600 });
    return path;
  }

  /**
   * Starts `ringway ARGS`. With `described: false` its lines are not checked, because nothing is
   * tested and npm's modules may be missing.
   */
  start(args, { env = {}, input, cwd, wrap = [], described = args.includes("--json") } = {}) {
    const [command, ...rest] = [...wrap, this.program, ...args];
    return new Running(`${this.name}: ringway ${args[0]}`, command, rest, {
      env: { ...this.env, ...env },
      cwd,
      input,
      described,
    });
  }

  /** Runs `ringway ARGS` to its end. */
  async run(args, options) {
    const running = this.start(args, options);
    await running.exit(RUN_MS_MAX);
    return running;
  }
}

/**
 * A running program whose standard output is one JSON object per line. If it is `described`, its
 * lines are checked against docs/json.schema.json. A line that does not match fails the running
 * test.
 */
export class Running {
  stdout = "";
  stderr = "";
  events = [];
  status = undefined;
  #waiting = [];
  #described;

  constructor(title, command, args, { env, cwd, input, described = false }) {
    this.title = title;
    this.#described = described;
    this.child = spawn(command, args, { env, cwd, stdio: ["pipe", "pipe", "pipe"] });
    this.pid = this.child.pid;
    // A program may end before it has read its input.
    this.child.stdin.on("error", () => {});
    // `input: null` keeps standard input open, for `tell`.
    if (input !== null) this.child.stdin.end(input ?? "");
    this.child.stderr.setEncoding("utf8").on("data", (text) => (this.stderr += text));
    const lines = createInterface({ input: this.child.stdout, crlfDelay: Infinity });
    lines.on("line", (line) => this.#line(line));
    this.ended = new Promise((resolve, reject) => {
      this.child.on("error", reject);
      this.child.on("close", (status, signal) => {
        this.status = status;
        this.signal = signal;
        this.#settle();
        resolve(this);
      });
    });
    this.ended.catch(() => {});
  }

  #line(line) {
    this.stdout += `${line}\n`;
    if (!line.startsWith("{")) return;
    try {
      this.events.push(JSON.parse(line));
    } catch {
      this.events.push({ event: "not JSON", line });
    }
    this.#settle();
    // No test has to ask for it: an error thrown here fails the running test.
    const wrong = this.#described && fault(this.events.at(-1));
    if (wrong) throw new Error(`${this.title}: docs/json.schema.json does not describe ${line}\n${wrong}`);
  }

  #settle() {
    this.#waiting = this.#waiting.filter((attempt) => !attempt());
  }

  /** The first event, past or future, for which `wanted` (a name, or a predicate) holds. */
  event(wanted) {
    const matches = typeof wanted === "string" ? (event) => event.event === wanted : wanted;
    return new Promise((resolve, reject) => {
      const fail = (why) => reject(new Error(`${this.title}: ${why} while waiting for ${wanted}\n${this.said()}`));
      const timer = setTimeout(() => fail(`nothing for ${PATIENCE_MS / 1000} s`), PATIENCE_MS);
      const attempt = () => {
        const found = this.events.find(matches);
        if (!found && this.status === undefined) return false;
        clearTimeout(timer);
        if (found) resolve(found);
        else fail(`ended with ${this.signal ?? this.status}`);
        return true;
      };
      if (!attempt()) this.#waiting.push(attempt);
    });
  }

  /** Its exit status, within the time limit. It is killed if it does not end by itself. */
  async exit(limitMs = PATIENCE_MS) {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => {
        this.kill();
        reject(new Error(`${this.title}: no end after ${limitMs / 1000} s\n${this.said()}`));
      }, limitMs);
    });
    try {
      await Promise.race([this.ended, late]);
    } finally {
      clearTimeout(timer);
    }
    return this.status;
  }

  /** Writes a line to its standard input. */
  tell(line) {
    this.child.stdin.write(`${line}\n`);
  }

  kill(signal = "SIGKILL") {
    this.child.kill(signal);
  }

  /** All of its output, for messages. */
  said() {
    return `--- ${this.title}, stdout\n${this.stdout.slice(-4000)}--- stderr\n${this.stderr.slice(-4000)}`;
  }
}

/** Whether an event has a code that the receiver drew. Other events have codes too, of errors. */
export function drawn(event) {
  return ["listening", "code"].includes(event.event) && typeof event.code === "string";
}

/**
 * Below the range from which Linux assigns ports (ip_local_port_range), where any outgoing
 * connection may take one meanwhile.
 */
const PORTS = { from: 20_000, to: 32_000 };

/** A TCP port on which nothing listens, and that no outgoing connection will get. */
export async function freePort() {
  for (;;) {
    const port = PORTS.from + Math.floor(Math.random() * (PORTS.to - PORTS.from));
    const free = await new Promise((resolve) => {
      const server = createServer().on("error", () => resolve(false));
      server.listen(port, () => server.close(() => resolve(true)));
    });
    if (free) return port;
  }
}

/**
 * The differences that an independent program sees between two folders' contents, one line each:
 * bytes, modes, times, links, hard links, extended attributes, and names that only one has. Empty
 * if they are the same.
 */
export function differences(from, to) {
  const args = ["-aHAXn", "--delete", "--checksum", "--itemize-changes", "--modify-window=-1", `${from}/`, `${to}/`];
  const seen = capture("rsync", args);
  if (seen.status !== 0) return [`rsync: ${seen.err.trim()}`];
  return seen.out.split("\n").filter(Boolean);
}
