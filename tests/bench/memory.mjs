// The machine's memory between runs: how much is available, warming pages for the next run, and
// emptying the cache for cold runs.
import { accessSync, constants, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { capture } from "../setup/process.mjs";

const MIB = 1024 * 1024;
/**
 * Memory that is not touched when memory is warmed: for the contenders themselves, and for other
 * programs here.
 */
const FREE_SPARE = 1024 * MIB;
const DROP_CACHES = "/proc/sys/vm/drop_caches";
/** Page cache, and inodes and names (proc(5)). */
const DROP_ALL = "3";

function meminfo(field) {
  return Number(readFileSync("/proc/meminfo", "utf8").match(new RegExp(`^${field}:\\s+(\\d+) kB`, "m"))[1]) * 1024;
}

/** Bytes that a run can use without swapping. */
export function memoryAvailable() {
  return meminfo("MemAvailable");
}

/**
 * Touches `bytes` of free memory through a file in `folder` and frees them again, or fewer if fewer
 * are free. In a virtual machine the host takes free pages back within seconds (free page reporting
 * of virtio-balloon), and the first write to such a page waits until the host has found another.
 * That takes up to ten times as long as writing otherwise. So the same run takes 1 or 5 times as
 * long, depending on what ran just before. Freed pages are given out again first, so a run that
 * starts right now gets warm ones, from blocks as large as those that were freed. The page cache
 * takes blocks as large as filesystem and write allow, tmpfs single pages.
 */
export function heat(folder, bytes) {
  const { bavail, bsize } = statfsSync(folder);
  const count = Math.floor(Math.min(bytes, meminfo("MemFree") - FREE_SPARE, bavail * bsize) / MIB);
  if (count < 1) return;
  const file = join(folder, "heat");
  try {
    capture("dd", ["if=/dev/zero", `of=${file}`, "bs=1M", `count=${count}`, "status=none"]);
  } finally {
    rmSync(file, { force: true });
  }
}

/** Why the kernel's caches cannot be emptied here, or null. */
export function cannotDropCaches() {
  try {
    accessSync(DROP_CACHES, constants.W_OK);
    return null;
  } catch {
    return "emptying the kernel's caches (drop_caches) takes root";
  }
}

/** Empties the kernel's caches. Everything must have been written to disk before. */
export function dropCaches() {
  writeFileSync(DROP_CACHES, DROP_ALL);
}
