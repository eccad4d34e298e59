// Where the suites that are not about a disk keep their trees.
import { chmodSync, mkdtempSync, readFileSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { capture } from "./process.mjs";

export const MEMORY = "/dev/shm";

/** What the tests that run at once have there at most, and what programs need beside it. */
const TREES_BYTES_MAX = 6 * 1024 ** 3;
const PROGRAMS_BYTES_MAX = 4 * 1024 ** 3;

function available() {
  const [, kib] = /^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync("/proc/meminfo", "utf8")) ?? [];
  return Number(kib) * 1024;
}

/** Whether so many bytes fit there now. */
function fits(bytes) {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize > bytes;
  } catch {
    return false;
  }
}

/**
 * Where a test keeps trees that are not about a disk: in memory if it has enough space, because on
 * a disk each synchronisation waits for what other tests write.
 */
export const inMemory = (bytes) => (fits(bytes) ? MEMORY : tmpdir());

/**
 * A folder in memory for the temporary files of tests, removed with this process; undefined if
 * there is too little memory. On a disk, each synchronisation and each removal waits for what the
 * other tests write.
 */
export function memoryForTests() {
  if (!fits(TREES_BYTES_MAX) || available() < TREES_BYTES_MAX + PROGRAMS_BYTES_MAX) return undefined;
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
