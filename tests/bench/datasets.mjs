// The datasets: seeded, incompressible, the same bytes on every machine; and one real tree.
import { createCipheriv } from "node:crypto";
import { closeSync, existsSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as breathe } from "node:timers/promises";
import { capture, run } from "../setup/process.mjs";
import { contents } from "./trees.mjs";

const KB = 1000;
const MIB = 1024 * 1024;
/** Any fixed value works. Changing it makes figures of different days incomparable. */
const SEED = 0x52494e47;
/**
 * Files of generated sets, distributed over `folders`. Each has `mean` bytes, plus or minus the
 * share `spread` of it.
 */
const GENERATED = {
  ml_small: { files: 10_000, folders: 10, mean: 4 * KB, spread: 0.75 },
  ml_large: { files: 100_000, folders: 100, mean: 4 * KB, spread: 0.75 },
  ml_images: { files: 20_000, folders: 20, mean: 100 * KB, spread: 0.5 },
  one_big: { files: 1, folders: 0, mean: 2048 * MIB, spread: 0 },
};
/**
 * Almost no bytes, to measure the cost of a file by itself, and whether ten times as many cost ten
 * times as much.
 */
const TINY = {
  tiny_10k: { files: 10_000, folders: 10, mean: 16, spread: 0 },
  tiny_100k: { files: 100_000, folders: 100, mean: 16, spread: 0 },
  tiny_1m: { files: 1_000_000, folders: 1000, mean: 16, spread: 0 },
};
export const DATASETS = [...Object.keys(GENERATED), "real"];
export const TINY_DATASETS = Object.keys(TINY);
const SHAPES = { ...GENERATED, ...TINY };
/** Bytes written at a time. */
const PIECE = 4 * MIB;

/** A number in 0..1 from a 32-bit state: mulberry32, which is short and the same everywhere. */
function dice(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Incompressible bytes at the speed of memory: the key stream of a cipher with a fixed key. */
function stream(seed) {
  const key = Buffer.alloc(16);
  key.writeUInt32LE(seed >>> 0);
  const cipher = createCipheriv("aes-128-ctr", key, Buffer.alloc(16));
  const zeros = Buffer.alloc(PIECE);
  return (length) => cipher.update(zeros.subarray(0, length));
}

/** The Rust toolchain's folder. A scaled-down run takes only its programs. */
function realTree(scale) {
  const root = capture("rustc", ["--print", "sysroot"]).out.trim();
  const part = join(root, "bin");
  return scale < 1 && existsSync(part) ? part : root;
}

/** How many files `name` will have and of how many bytes, roughly. This decides whether it fits. */
export function estimate(name, scale) {
  if (name === "real") return contents(realTree(scale));
  const { files, mean } = SHAPES[name];
  return files === 1 ? { files, bytes: mean * scale } : { files: files * scale, bytes: files * mean * scale };
}

/** Makes dataset `name` as the new folder `path`. It yields now and then, so that Ctrl-C works. */
export async function make(name, scale, path) {
  if (name === "real") return run("cp", ["-a", realTree(scale), path]);
  const { files, folders, mean, spread } = SHAPES[name];
  const roll = dice(SEED);
  const bytes = stream(SEED);
  mkdirSync(path, { recursive: true });
  if (files === 1) return oneFile(join(path, "big.bin"), Math.round(mean * scale), bytes);
  const count = Math.max(folders, Math.round(files * scale));
  for (let folder = 0; folder < folders; folder++) {
    const inside = join(path, `part-${String(folder).padStart(3, "0")}`);
    mkdirSync(inside);
    for (let file = folder; file < count; file += folders) {
      const size = Math.round(mean * (1 + spread * (2 * roll() - 1)));
      writeFileSync(join(inside, `sample-${String(file).padStart(6, "0")}.bin`), bytes(size));
    }
    await breathe();
  }
}

async function oneFile(path, size, bytes) {
  const file = openSync(path, "w");
  try {
    for (let left = size; left > 0; left -= Math.min(left, PIECE)) {
      writeSync(file, bytes(Math.min(left, PIECE)));
      await breathe();
    }
  } finally {
    closeSync(file);
  }
}
