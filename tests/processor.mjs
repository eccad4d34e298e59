// The processor time of a program and of all that it starts.
import { mkdirSync, readFileSync, rmdirSync } from "node:fs";
import { join } from "node:path";

/**
 * Where the kernel counts the time of groups of processes, in cgroups of version 1. In those of
 * version 2 a group would also change where systemd makes its own.
 */
const GROUPS = "/sys/fs/cgroup/cpuacct";

/**
 * A shell that enters the group, if there is one, starts the program, writes what `times` (POSIX)
 * prints to the descriptor 3, and ends as the program did.
 */
const SHELL = `
  [ -z "$1" ] || echo "$$" > "$1/cgroup.procs"
  shift
  "$@" 3>&-
  status=$?
  times >&3
  exit "$status"
`;

let groups = 0;

/** Counts one program's time, from before its start until after its end. */
export class Meter {
  #group;

  /** A new group, if this process may make one. */
  constructor() {
    groups += 1;
    const path = join(GROUPS, `ringway-test-${process.pid}-${groups}`);
    try {
      mkdirSync(path);
      this.#group = path;
    } catch {
      // There is none, or it is not this user's.
    }
  }

  /** Words to start the program with. */
  get words() {
    return ["sh", "-c", SHELL, "sh", this.#group ?? ""];
  }

  /**
   * The time, in ms. `times` are the lines at the descriptor 3. They lack what processes took that
   * outlived their parents, as those that draw a window's page do. The group has that, too.
   */
  end(times) {
    if (!this.#group) return inTimes(times);
    const ms = Number(readFileSync(join(this.#group, "cpuacct.usage"), "utf8")) / 1e6;
    try {
      rmdirSync(this.#group);
    } catch {
      // A process in it has not ended.
    }
    return ms;
  }
}

/** The time in what `times` prints: of the shell, and of its children. */
function inTimes(times) {
  const found = [...times.join(" ").matchAll(/(\d+)m([\d.]+)s/g)];
  return found.reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60_000 + Number(seconds) * 1000, 0);
}
