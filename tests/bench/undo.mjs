// Actions that must be undone however the run ends: processes, mounts, folders. The last is undone
// first, also on Ctrl-C.
import { say } from "../setup/process.mjs";

const pending = new Set();
/** 128 + the signal's number, as in shells. */
const STATUS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

/** Registers `action`. Returns a function that runs it now, once, and forgets it. */
export function undoLater(action) {
  const once = () => {
    if (pending.delete(once)) action();
  };
  pending.add(once);
  return once;
}

/** Runs all pending actions; a failing one does not keep the others from running. */
export function undoAll() {
  for (const action of [...pending].reverse()) {
    try {
      action();
    } catch (error) {
      process.stderr.write(`bench: not cleaned up: ${error.message}\n`);
      process.exitCode = 1;
    }
  }
}

export function undoOnSignals() {
  for (const signal of Object.keys(STATUS)) {
    process.on(signal, () => {
      say(`\nbench: ${signal}: cleaning up`);
      undoAll();
      process.exit(STATUS[signal]);
    });
  }
}
