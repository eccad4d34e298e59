// Known differences from cp and rsync in generated cases: what those do otherwise, on purpose or by
// chance. Faults of Ringway do not belong here.
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { entries, merged } from "./entries.mjs";

/** "Permission denied" (open(2)). */
const EACCES = 13;

/** The path in a line of rsync's list, which escapes bytes, without the target of a link. */
export const pathIn = (line) => join(".", line.slice(12).replace(/ [=-]> .*$/, "").replace(/(\\#\d{3})+/g, unescaped)).replace(/(?<=.)\/$/, "");
const unescaped = (bytes) => Buffer.from(bytes.match(/\d{3}/g).map((byte) => parseInt(byte, 8))).toString();

/**
 * Entries that a run was not permitted to open, by their paths at the source or at the destination.
 */
const unopened = ({ failures }) => failures.filter(({ operation, errno }) => operation === "open" && errno === EACCES).map(({ path }) => path);

/** Entries to which a receiver was not permitted to give their names. */
const unset = ({ failures }) => failures.filter(({ operation, errno, side }) => operation === "rename" && errno === EACCES && side === "there").map(({ path }) => path);

/** Known differences in a line: `line` and its `path`. */
const LINES = {
  copy: [
    // cp changes the owner of a file before it sets attributes, which root without its capabilities
    // may not do then.
    ({ line, path, at, one }) => /^[.>]f[.+]{8}x/.test(line) && one.around.me === 0 && stat(at, "theirs", path).uid !== 0 && hasOf(at, "ours", path) === hasOf(at, ".", path),
  ],
  send: [
    // rsync --checksum sets the time in place if a file's contents are right. A receiver replaces
    // the file, as rsync does without --checksum, and its folder may not permit that.
    ({ line, path, ours }) => /^[.]f/.test(line) && unset(ours).includes(path),
    // rsync leaves its owner all permissions for the copy of a folder that its sender may not open.
    ({ line, path, ours, at }) => /^\.d[.]{3}p/.test(line) && unopened(ours).includes(path) && stat(at, "theirs", path).mode === (stat(at, "ours", path).mode | 0o700),
    // rsync removes an entry that is in the way of a file which its sender then may not open.
    ({ line, path, ours }) => /^\*deleting/.test(line) && unopened(ours).includes(path),
    // rsync leaves another user's file whose contents are right; a receiver replaces it.
    ({ line, path, at, one }) => /^[.]f/.test(line) && stat(at, "theirs", path).uid !== one.around.me && stat(at, "ours", path).uid === one.around.me,
    // A receiver adds and changes attributes of an unchanged file, and removes none.
    ({ line, path, at, before }) => /^[.]f[.]{8}x/.test(line) && hasBoth(at, path, before),
  ],
};

/** Known differences in the exit status. */
const STATUSES = {
  copy: [],
  send: [
    ({ ours }) => ours.status !== 0 && unset(ours).length === ours.failures.length && ours.failures.length > 0,
    // rsync fails if it may not read the attributes of a file that it replaces, and for another
    // user's file whose contents are right.
    ({ theirs }) => isOnlyAbout(theirs.err, /lgetxattr.* failed: Permission denied|failed to set (times|permissions) on .*: Operation not permitted/),
  ],
};

/**
 * Whether a difference is known: one in a line of rsync's output, or in the exit status if there is
 * no line.
 */
export function isKnown(run, line = null) {
  const { kind } = run.one;
  return line === null ? STATUSES[kind].some((known) => known(run)) : LINES[kind].some((known) => known({ ...run, line, path: pathIn(line) }));
}

const hasOf = (at, side, path) => entries(join(at, side, "source")).get(path.slice("source/".length)).attributes;
const stat = (at, side, path) => lstatSync(join(at, side, path));

/** Whether all of rsync's messages match this, except the closing one. */
function isOnlyAbout(said, what) {
  const lines = said.split("\n").filter((line) => line.startsWith("rsync: "));
  return lines.length > 0 && lines.every((line) => what.test(line));
}

/** Whether a file has the source's attributes, and also the others that it had before. */
function hasBoth(at, path, before) {
  const [theirs, ours] = ["theirs", "ours"].map((side) => entries(join(at, side)).get(path).attributes);
  return ours === merged(before.get(path)?.attributes, theirs);
}
