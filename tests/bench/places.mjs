// The places of trees while they are measured: tmpfs; new ext4, btrfs and xfs on loop images over
// tmpfs; and a source on the machine's disk.
import { closeSync, existsSync, ftruncateSync, mkdirSync, mkdtempSync, openSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { lastLine } from "../setup/packages.mjs";
import { capture, which } from "../setup/process.mjs";
import { cannotDropCaches, dropCaches, heat, memoryAvailable } from "./memory.mjs";
import { undoLater } from "./undo.mjs";

const TMPFS_MAGIC = 0x01021994;
const MIB = 1024 * 1024;
/** A file takes whole pages, and memory for its inode and name. */
const FILE_BYTES = 4096 + 1024;
/**
 * An image holds source and destination, files deleted between rounds whose blocks are not free
 * yet, and the filesystem's own tables.
 */
const IMAGE_FACTOR = 4;
const IMAGE_SPARE = 512 * MIB;
/** 100,000 small files need more inodes than mkfs gives an image of their size. */
const BYTES_PER_INODE = 4096;
const MEMORY_SPARE = 1024 * MIB;
/**
 * Memory to warm for a run in addition to that of the copy, for data under way. Warming takes more
 * of a benchmark's time than all measurements.
 */
const HEAT_SPARE = 256 * MIB;
/** After a large deletion, a disk's discards continue for a while after sync returns, s. */
const DISCARD_PAUSE_S = 5;

/**
 * How an image is made. mkfs leaves no background work to the first rounds, and discards nothing,
 * because that is another cost.
 */
const IMAGES = {
  ext4: ["-q", "-F", "-i", String(BYTES_PER_INODE), "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"],
  btrfs: ["-q", "-f", "-K"],
  xfs: ["-q", "-f", "-K"],
};
/**
 * Bytes of memory for each byte of data: source and destination, and the pages of an image in
 * addition to cached ones.
 */
const MEMORY_FACTOR = { tmpfs: 2, ext4: 5, btrfs: 5, xfs: 5, disk: 2 };

export const KINDS = Object.keys(MEMORY_FACTOR);
/** Where FICLONE works. */
export const REFLINK_KINDS = ["btrfs", "xfs"];

/** The name of a kind in tables. */
export function title(kind) {
  return kind === "disk" ? "disk to tmpfs" : kind;
}

/**
 * A source on a real disk is read from there. Otherwise it is in the page cache, because it was
 * written just before.
 */
export function cacheOf(kind) {
  return kind === "disk" ? "cold" : "warm";
}

function must(command, args) {
  const done = capture(command, args);
  if (done.status !== 0) throw new Error(`${command}: ${lastLine(done.err)}`);
}

/** Removes a tree quickly, if it exists. */
export function clear(path) {
  must("rm", ["-rf", path]);
}

const isRoot = process.getuid() === 0;
const onTmpfs = (folder) => statfsSync(folder).type === TMPFS_MAGIC;
const free = (folder) => {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
};

/** Why nothing can be measured on `kind` here, or null. */
export function unavailable(kind, { base, disk }) {
  if (kind in IMAGES) {
    if (!isRoot) return "mounting an image takes root";
    return which(`mkfs.${kind}`) ? null : `there is no mkfs.${kind}`;
  }
  if (!onTmpfs(base)) return `${base} is no tmpfs`;
  if (kind !== "disk") return null;
  if (!existsSync(disk)) return `there is no ${disk}`;
  return onTmpfs(disk) ? `${disk} is not on a disk` : cannotDropCaches();
}

/** Bytes of memory for a dataset. */
function occupied({ files, bytes }) {
  return bytes + files * FILE_BYTES;
}

/**
 * Whether `base` has inodes for two copies of a dataset. A filesystem without a limit reports 0 of
 * 0.
 */
function enoughInodes(base, size) {
  const { files, ffree } = statfsSync(base);
  return files === 0 || ffree > 2 * size.files;
}

/** Why data of that size does not fit, or null. */
export function tooLarge(kind, { base, disk }, size) {
  const wanted = occupied(size) * MEMORY_FACTOR[kind] + MEMORY_SPARE;
  const there = Math.min(free(base), memoryAvailable());
  if (wanted > there) return `wants ${Math.round(wanted / MIB)} MiB of memory, ${Math.round(there / MIB)} MiB are free`;
  if (kind === "disk" && occupied(size) > free(disk)) return `${disk} is too full`;
  if (kind === "tmpfs" && !enoughInodes(base, size) && !isRoot) return `${base} has too few inodes, and mounting another tmpfs takes root`;
  return null;
}

/**
 * A new, empty place on a filesystem of `kind` for data of that size: the folder for the source,
 * the one for the destination, `settle` to call right before each run, and `close`, which removes
 * everything.
 */
export function open(kind, { base, disk }, size) {
  const folder = mkdtempSync(join(base, `${kind}-`));
  const removed = undoLater(() => clear(folder));
  const place = { kind, source: folder, destination: folder, close: removed };
  const warm = () => {
    const bytes = occupied(size) + HEAT_SPARE;
    // Single pages first, for programs that write little at a time; then blocks as large as this
    // filesystem takes.
    if (kind in IMAGES && onTmpfs(base)) heat(base, bytes);
    heat(place.destination, bytes);
  };
  // So that no run pays for the writes of another one.
  place.settle = () => (must("sync", ["-f", place.source]), warm());
  if (kind === "disk") return onDisk(place, disk, warm);
  if (kind === "tmpfs" && enoughInodes(base, size)) return place;
  const mount = join(folder, "mount");
  mkdirSync(mount);
  if (kind === "tmpfs") must("mount", ["-t", "tmpfs", "-o", "nr_inodes=0,size=100%,noatime", "ringway-bench", mount]);
  else mountImage(kind, join(folder, "image"), occupied(size), mount);
  const unmounted = undoLater(() => {
    // A killed end may hold the mount a moment longer. A lazy unmount ends with it.
    if (capture("umount", [mount]).status !== 0) must("umount", ["--lazy", mount]);
  });
  return Object.assign(place, { source: mount, destination: mount, close: () => (unmounted(), removed()) });
}

function mountImage(kind, image, bytes, mount) {
  const file = openSync(image, "w");
  ftruncateSync(file, Math.round(bytes * IMAGE_FACTOR) + IMAGE_SPARE);
  closeSync(file);
  must(`mkfs.${kind}`, [...IMAGES[kind], image]);
  must("mount", ["-t", kind, "-o", "loop,nodiscard,noatime", image, mount]);
}

/**
 * The source on a disk, the destination on tmpfs, so that writing does not wait for the disk that
 * is read.
 */
function onDisk(place, disk, warm) {
  const source = mkdtempSync(join(disk, "ringway-bench-"));
  const removed = undoLater(() => clear(source));
  const { close } = place;
  return Object.assign(place, {
    source,
    settle() {
      must("sync", ["-f", source]);
      dropCaches();
      warm();
    },
    close() {
      removed();
      must("sync", ["-f", disk]);
      must("sleep", [String(DISCARD_PAUSE_S)]);
      close();
    },
  });
}
