// What must be undone however the run ends: processes, mounts, folders; last made, first undone,
// also on Ctrl-C.
import { say } from "../setup/process.mjs";

const pending = new Set();
/** 128 + the signal's number, as shells say it. */
const STATUS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

/** Registers `action`; returns a function that does it now, once, and forgets it. */
export function undoLater(action) {
  const once = () => {
    if (pending.delete(once)) action();
  };
  pending.add(once);
  return once;
}

/** Does everything that is still pending; one failure does not keep the others from being done. */
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
