// The entries of a tree, so that a test can say which of them may differ.
import { createHash } from "node:crypto";
import { lstatSync, readFileSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { capture } from "../setup/process.mjs";

/** Attributes of each path below `top`, including access lists, as getfattr(1) prints them. */
function attributes(top) {
  const done = capture("getfattr", ["-Rh", "-d", "-m", "^(user|system[.]posix_acl)", "--absolute-names", "."], { cwd: top });
  const found = new Map();
  for (const block of done.out.split("\n\n")) {
    const [title, ...values] = block.split("\n");
    if (title.startsWith("# file: ")) found.set(join(title.slice("# file: ".length)), values.filter(Boolean).sort().join(" "));
  }
  return found;
}

/** The entry at a path: everything that a copy keeps. */
function entry(path, attributes) {
  const found = lstatSync(path, { bigint: true });
  const kind = found.isFile() ? "file" : found.isDirectory() ? "folder" : found.isSymbolicLink() ? "link" : "other";
  const contents = kind === "file" ? createHash("sha1").update(readFileSync(path)).digest("hex") : kind === "link" ? readlinkSync(path, "buffer").toString("latin1") : "";
  return { kind, contents, size: Number(found.size), mode: (Number(found.mode) & 0o7777).toString(8), owner: `${found.uid}:${found.gid}`, time: String(found.mtimeNs), attributes };
}

/** Every entry below `top`, by its relative path. Read as root, so that modes hide nothing. */
export function entries(top) {
  const [found, attributed, first] = [new Map(), attributes(top), new Map()];
  const walk = (at) => {
    for (const name of readdirSync(join(top, at)).sort()) {
      const path = join(at, name);
      const one = entry(join(top, path), attributed.get(path) ?? "");
      const { ino, nlink } = lstatSync(join(top, path), { bigint: true });
      if (one.kind === "file" && nlink > 1n) {
        one.sameAs = first.get(ino) ?? path;
        first.set(ino, one.sameAs);
      }
      found.set(path, one);
      if (one.kind === "folder") walk(path);
    }
  };
  walk("");
  return found;
}

/** The differences between two entries, in words; empty if there are none. */
export function unlike(wanted, found) {
  if (!wanted || !found) return wanted === found ? "" : wanted ? "missing" : "too much";
  const parts = Object.keys({ ...wanted, ...found }).filter((part) => (part !== "size" || wanted.kind === "file") && wanted[part] !== found[part]);
  return parts.map((part) => `${part} ${wanted[part]} became ${found[part]}`).join(", ");
}

/** Lines with the differences between two trees, without the paths that `isLeftOut` selects. */
export function unlikeTrees(wanted, found, isLeftOut = () => false) {
  const paths = [...new Set([...wanted.keys(), ...found.keys()])].filter((path) => !isLeftOut(path));
  return paths.map((path) => [path, unlike(wanted.get(path), found.get(path))]).filter(([, how]) => how).map(([path, how]) => `${path}: ${how}`);
}

/** Whether a path or a folder above it failed, in the destination `ours` or `ours/into`. */
export function isNamed(failures, path) {
  return failures.some((failure) => `${path}/`.startsWith(`${failure.path.replace(/^ours\/(into\/)?/, "")}/`));
}

/**
 * The attributes of both; for equal names those of the second. Here they are words without blanks.
 */
export function merged(first, second) {
  const named = (attributes) => (attributes ?? "").split(" ").filter(Boolean).map((word) => word.split("="));
  return [...new Map([...named(first), ...named(second)])].map((pair) => pair.join("=")).sort().join(" ");
}
