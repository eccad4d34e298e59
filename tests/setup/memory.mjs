// Where the suites that are not about a disk keep their trees.
import { chmodSync, mkdtempSync, readFileSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { capture } from "./process.mjs";

const MEMORY = "/dev/shm";

/** What the tests that run at once have there at most, and what programs need beside it. */
const TREES_BYTES_MAX = 6 * 1024 ** 3;
const PROGRAMS_BYTES_MAX = 4 * 1024 ** 3;

function available() {
  const [, kib] = /^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync("/proc/meminfo", "utf8")) ?? [];
  return Number(kib) * 1024;
}

/**
 * A folder in memory for the temporary files of tests, removed with this process; undefined if
 * there is too little memory. On a disk, each synchronisation and each removal waits for what the
 * other tests write.
 */
export function memoryForTests() {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    if (bavail * bsize < TREES_BYTES_MAX || available() < TREES_BYTES_MAX + PROGRAMS_BYTES_MAX) return undefined;
  } catch {
    return undefined;
  }
  const path = mkdtempSync(join(MEMORY, "ringway-tests-"));
  // As any folder for temporary files: programs of other users have theirs there, too.
  chmodSync(path, 0o1777);
  process.on("exit", () => {
    capture("chmod", ["-R", "u+rwX", path]);
    capture("rm", ["-rf", path]);
  });
  return path;
}

/** A folder on a disk, for tests that are about one, wherever temporary files are. */
export const onDisk = () => process.env.RINGWAY_TEST_DISK ?? tmpdir();
