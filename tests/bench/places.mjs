// Where trees lie while they are measured: tmpfs, and ext4 fresh on a loop image over tmpfs; more kinds join here.
import { closeSync, mkdirSync, mkdtempSync, openSync, ftruncateSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { capture, which } from "../setup/process.mjs";
import { lastLine } from "../setup/packages.mjs";
import { undoLater } from "./undo.mjs";

const TMPFS_MAGIC = 0x01021994;
const MIB = 1024 * 1024;
/** An image holds source and destination, what was deleted between rounds, and the filesystem's own tables. */
const IMAGE_FACTOR = 3;
const IMAGE_SPARE = 512 * MIB;
/** 100,000 small files want more inodes than mkfs gives an image of their size. */
const BYTES_PER_INODE = 4096;
/** Memory that a dataset of one byte takes: source and destination, doubled where cached pages lie over an image in memory. */
const MEMORY_FACTOR = { tmpfs: 2, ext4: 5 };
const MEMORY_SPARE = 1024 * MIB;

function must(command, args) {
  const done = capture(command, args);
  if (done.status !== 0) throw new Error(`${command}: ${lastLine(done.err)}`);
}

function memoryAvailable() {
  return Number(readFileSync("/proc/meminfo", "utf8").match(/^MemAvailable:\s+(\d+) kB/m)[1]) * 1024;
}

export const KINDS = ["tmpfs", "ext4"];

/** Why nothing can be measured on `kind` here, or null. */
export function unavailable(kind, base) {
  if (kind === "ext4" && process.getuid() !== 0) return "mounting an image takes root";
  if (kind === "ext4" && !which("mkfs.ext4")) return "there is no mkfs.ext4";
  if (kind === "tmpfs" && statfsSync(base).type !== TMPFS_MAGIC) return `${base} is no tmpfs`;
  return null;
}

/** Why `bytes` of data do not fit, or null. */
export function tooLarge(kind, base, bytes) {
  const wanted = bytes * MEMORY_FACTOR[kind] + MEMORY_SPARE;
  const { bavail, bsize } = statfsSync(base);
  const there = Math.min(bavail * bsize, memoryAvailable());
  if (wanted <= there) return null;
  return `wants ${Math.round(wanted / MIB)} MiB of memory, ${Math.round(there / MIB)} MiB are free`;
}

/** A fresh, empty folder on a filesystem of `kind` for `bytes` of data; `close` takes it away with all that is in it. */
export function open(kind, base, bytes) {
  const folder = mkdtempSync(join(base, `${kind}-`));
  const removed = undoLater(() => rmSync(folder, { recursive: true, force: true }));
  if (kind === "tmpfs") return { folder, close: removed };
  const image = join(folder, "image");
  const file = openSync(image, "w");
  ftruncateSync(file, Math.round(bytes * IMAGE_FACTOR) + IMAGE_SPARE);
  closeSync(file);
  // Tables are written now, or the kernel would do it in the background of the first rounds.
  const eager = "lazy_itable_init=0,lazy_journal_init=0,nodiscard";
  must("mkfs.ext4", ["-q", "-F", "-i", String(BYTES_PER_INODE), "-m", "0", "-E", eager, image]);
  const mount = join(folder, "mount");
  mkdirSync(mount);
  must("mount", ["-o", "loop,nodiscard,noatime", image, mount]);
  const unmounted = undoLater(() => {
    // A killed end may hold the mount a moment longer; lazily it goes when that is gone.
    if (capture("umount", [mount]).status !== 0) must("umount", ["--lazy", mount]);
  });
  return { folder: mount, close: () => (unmounted(), removed()) };
}

/** Waits until `folder`'s filesystem has nothing left to write, so that one run does not pay for another's. */
export function settle(folder) {
  must("sync", ["-f", folder]);
}
