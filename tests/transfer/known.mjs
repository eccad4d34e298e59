// Known differences from cp and rsync that generated cases meet: what those do otherwise, on
// purpose or by chance. A fault of Ringway has no place in it.
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { entries, merged } from "./entries.mjs";

/** "Permission denied" (open(2)). */
const EACCES = 13;

/** The path in a line of rsync's list, which escapes bytes; without what a link leads to. */
export const pathIn = (line) => join(".", line.slice(12).replace(/ [=-]> .*$/, "").replace(/(\\#\d{3})+/g, unescaped)).replace(/(?<=.)\/$/, "");
const unescaped = (bytes) => Buffer.from(bytes.match(/\d{3}/g).map((byte) => parseInt(byte, 8))).toString();

/** What a run was not permitted to open, by its path at the source or at the destination. */
const unopened = ({ failures }) => failures.filter(({ operation, errno }) => operation === "open" && errno === EACCES).map(({ path }) => path);

/** What a receiver was not permitted to give its name. */
const unset = ({ failures }) => failures.filter(({ operation, errno, side }) => operation === "rename" && errno === EACCES && side === "there").map(({ path }) => path);

/** Of a line of differences: `line` and its `path`. */
const LINES = {
  copy: [
    // cp gives a file away before it sets attributes, which root bound by modes then may not do.
    ({ line, path, at, one }) => /^[.>]f[.+]{8}x/.test(line) && one.around.me === 0 && stat(at, "theirs", path).uid !== 0 && hasOf(at, "ours", path) === hasOf(at, ".", path),
  ],
  send: [
    // rsync --checksum sets the time in place of a file whose contents are right. A receiver
    // replaces the file, as rsync does without --checksum, which its folder may forbid.
    ({ line, path, ours }) => /^[.]f/.test(line) && unset(ours).includes(path),
    // rsync leaves its owner all rights to the copy of a folder that its sender may not open.
    ({ line, path, ours, at }) => /^\.d[.]{3}p/.test(line) && unopened(ours).includes(path) && stat(at, "theirs", path).mode === (stat(at, "ours", path).mode | 0o700),
    // rsync removes what is in the way of a file that its sender then may not open.
    ({ line, path, ours }) => /^\*deleting/.test(line) && unopened(ours).includes(path),
    // rsync leaves another user's file whose contents are right; a receiver replaces it.
    ({ line, path, at, one }) => /^[.]f/.test(line) && stat(at, "theirs", path).uid !== one.around.me && stat(at, "ours", path).uid === one.around.me,
    // A receiver adds and changes attributes of a file that is unchanged, and removes none.
    ({ line, path, at, before }) => /^[.]f[.]{8}x/.test(line) && hasBoth(at, path, before),
  ],
};

/** Of the exit status. */
const STATUSES = {
  copy: [],
  send: [
    ({ ours }) => ours.status !== 0 && unset(ours).length === ours.failures.length && ours.failures.length > 0,
    // rsync fails where it may not read the attributes of a file that it replaces, and for another
    // user's file whose contents are right.
    ({ theirs }) => isOnlyAbout(theirs.err, /lgetxattr.* failed: Permission denied|failed to set (times|permissions) on .*: Operation not permitted/),
  ],
};

/** Whether a difference is known: that in a line of rsync's, or without one of the exit status. */
export function isKnown(run, line = null) {
  const { kind } = run.one;
  return line === null ? STATUSES[kind].some((known) => known(run)) : LINES[kind].some((known) => known({ ...run, line, path: pathIn(line) }));
}

const hasOf = (at, side, path) => entries(join(at, side, "source")).get(path.slice("source/".length)).attributes;
const stat = (at, side, path) => lstatSync(join(at, side, path));

/** Whether all of rsync's messages are about that, but for the closing one. */
function isOnlyAbout(said, what) {
  const lines = said.split("\n").filter((line) => line.startsWith("rsync: "));
  return lines.length > 0 && lines.every((line) => what.test(line));
}

/** Whether a file has the source's attributes and, of those that it had before, the others. */
function hasBoth(at, path, before) {
  const [theirs, ours] = ["theirs", "ours"].map((side) => entries(join(at, side)).get(path).attributes);
  return ours === merged(before.get(path)?.attributes, theirs);
}
