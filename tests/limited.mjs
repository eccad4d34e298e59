// Runs test programs with a limit. A program that runs longer is killed with all processes that it
// has started, and counts as a failure with its name.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Meter } from "./processor.mjs";

/**
 * After this time, the output of a killed program is not waited for any more, because a process of
 * another group may hold it open.
 */
const OUTPUT_AFTER_MS = 5000;

const SIGNALS = ["SIGINT", "SIGTERM"];

/** The exit status of a shell whose program ended by a signal is this much and its number. */
const SIGNAL_STATUS = 128;

/** Kills what each running command has started. */
const kills = new Set();

/** The terminal's Ctrl+C reaches only this process. */
function interrupted(signal) {
  kills.forEach((kill) => kill());
  process.exit(signal === "SIGINT" ? 130 : 143);
}

/**
 * Runs a command and passes its output on line by line. Resolves to its exit status (null after a
 * signal), whether it reached the limit, and its processor time.
 *
 * @returns {Promise<{ status: number | null, hung: boolean, cpuMs: number }>}
 */
export function runLimited(command, args, options, limitMs, onLine) {
  const meter = new Meter();
  const [shell, ...before] = meter.words;
  // A process group of its own, so that the processes that it started can be killed with it.
  const child = spawn(shell, [...before, command, ...args], { ...options, stdio: ["ignore", "pipe", "pipe", "pipe"], detached: true });
  const kill = () => {
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {
      // It has just ended.
    }
  };
  if (kills.size === 0) SIGNALS.forEach((signal) => process.on(signal, interrupted));
  kills.add(kill);
  const times = [];
  const outputs = [[child.stdout, onLine], [child.stderr, onLine], [child.stdio[3], (line) => times.push(line)]];
  const ends = outputs.map(([output, onLine]) => {
    const lines = createInterface({ input: output, crlfDelay: Infinity });
    lines.on("line", onLine);
    return new Promise((resolve) => lines.on("close", resolve));
  });
  return new Promise((resolve) => {
    let hung = false;
    const limit = setTimeout(() => {
      hung = true;
      kill();
    }, limitMs);
    const end = (status) => {
      clearTimeout(limit);
      kills.delete(kill);
      if (kills.size === 0) SIGNALS.forEach((signal) => process.removeListener(signal, interrupted));
      resolve({ status: status > SIGNAL_STATUS ? null : status, hung, cpuMs: meter.end(times) });
    };
    child.on("error", (error) => {
      onLine(`${command}: ${error.message}`);
      end(127);
    });
    child.on("exit", (status) => {
      const late = new Promise((give_up) => setTimeout(give_up, OUTPUT_AFTER_MS).unref());
      Promise.race([Promise.all(ends), late]).then(() => end(status));
    });
  });
}

/**
 * Runs steps, `atOnce` at a time, each within its limit, and tallies their output. A step that
 * hangs is one failure, with the name of the step and of the test that libtest reported as running.
 * The output of simultaneous steps is shown when they end, one after the other.
 *
 * @param {Iterable<{ name: string, command: string, args: string[], options?: object, limitMs:
 * number }>} steps
 * @returns {Promise<number>} the last status of a step that failed; 0 without one
 */
export async function runSteps(steps, tally, onLine, { atOnce = 1 } = {}) {
  let worst = 0;
  const waiting = [...steps];
  const work = async () => {
    while (waiting.length > 0) worst = (await runStep(waiting.shift(), tally, onLine, atOnce > 1)) || worst;
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return worst;
}

async function runStep({ name, command, args, options, limitMs }, tally, onLine, isKept) {
  const started = Date.now();
  const running = new Set();
  const kept = [];
  const take = (line) => {
    onLine(line);
    tally.take(line);
  };
  const { status, hung, cpuMs } = await runLimited(command, args, options, limitMs, (line) => {
    const long = line.match(/^test (.+) has been running for over \d+ seconds/);
    if (long) running.add(long[1]);
    const ended = line.match(/^test (.+) \.\.\. /);
    if (ended) running.delete(ended[1]);
    if (isKept) kept.push(line);
    else take(line);
  });
  kept.forEach(take);
  tally.took(name, Date.now() - started, cpuMs);
  if (hung) {
    const which = running.size > 0 ? `: ${[...running].join(", ")}` : "";
    onLine(`${name} did not end within ${limitMs / 1000} s and was killed${which}`);
    tally.hung(`${name} did not end within ${limitMs / 1000} s${which}`);
  } else if (status !== 0) {
    tally.broke(name, status);
  }
  return hung ? 0 : status;
}
