// The contents of a tree, and whether a copy of it kept what the tool claims to keep. Checked
// outside the measured time.
import { existsSync, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";

/**
 * One of this many files is compared. A program that keeps times keeps them for all files of a
 * kind, or fails visibly.
 */
const SAMPLE_EVERY = 61;

/** What is below `path`: regular files, links, and the bytes of the files. */
export function contents(path) {
  const found = { files: 0, links: 0, bytes: 0 };
  if (!existsSync(path)) return found;
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const inside = join(path, entry.name);
    if (entry.isDirectory()) {
      const deeper = contents(inside);
      for (const key of Object.keys(found)) found[key] += deeper[key];
    } else if (entry.isSymbolicLink()) {
      found.links += 1;
    } else {
      found.files += 1;
      found.bytes += lstatSync(inside).size;
    }
  }
  return found;
}

/** How mode and modification time of `copy` differ from `source`'s, in words, or null. */
function unlike(source, copy) {
  const [one, other] = [source, copy].map((path) => lstatSync(path, { bigint: true, throwIfNoEntry: false }));
  if (!other) return `${copy} is missing`;
  if (one.mode !== other.mode) return `${copy}: mode ${other.mode.toString(8)}, not ${one.mode.toString(8)}`;
  if (one.mtimeNs !== other.mtimeNs) return `${copy}: time ${other.mtimeNs}, not ${one.mtimeNs}`;
  return null;
}

/**
 * The first difference in mode or modification time between a tree and its copy, or null. It checks
 * a sample of the files. With `folders` it also checks every folder, which must keep its time
 * although files were made in it.
 */
export function difference(source, copy, { folders }) {
  let seen = 0;
  const visit = (from, to) => {
    for (const entry of readdirSync(from, { withFileTypes: true })) {
      const [here, there] = [join(from, entry.name), join(to, entry.name)];
      const found = entry.isDirectory() ? visit(here, there) : entry.isFile() && seen++ % SAMPLE_EVERY === 0 && unlike(here, there);
      if (found) return found;
    }
    return folders ? unlike(from, to) : null;
  };
  return visit(source, copy) || null;
}
