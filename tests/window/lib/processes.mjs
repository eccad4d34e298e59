// The processes of the window and of the service that it starts, found in /proc by the device as
// which they run.
import { readFileSync, readdirSync } from "node:fs";

/** comm(5) keeps 15 letters. */
const COMM = "ringway-desktop".slice(0, 15);

function read(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    // It has ended meanwhile.
    return "";
  }
}

/**
 * Parent and times of every process. Times are in clock ticks; the start's is since boot (proc(5),
 * stat).
 */
export function processes() {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      // The name in brackets may contain anything, so the fields are counted from after it.
      const fields = read(pid, "stat").replace(/^.*\) /s, "").split(" ");
      return { pid: Number(pid), parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]), started: Number(fields[19]) };
    })
    .filter(({ parent }) => Number.isFinite(parent));
}

/** The process of the window that runs with `env`, or undefined. */
export function windowProcess(env) {
  const variable = `XDG_DATA_HOME=${env.XDG_DATA_HOME}\0`;
  return processes().find(({ pid }) => read(pid, "comm").trim() === COMM && `${read(pid, "environ")}`.includes(variable));
}

/** The process of the service that runs with `env`, or undefined. */
export function serviceProcess(env) {
  const variable = `XDG_DATA_HOME=${env.XDG_DATA_HOME}\0`;
  return processes().find(({ pid }) => read(pid, "cmdline").includes("\0serve\0") && read(pid, "environ").includes(variable));
}

/** The window's process and all below it. */
export function family(env) {
  const all = processes();
  const found = [windowProcess(env)].filter(Boolean);
  for (const parent of found) found.push(...all.filter((process) => process.parent === parent.pid));
  return found;
}
