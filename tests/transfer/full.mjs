// The conditions for a disk that is too small, where no tool can say which entries are missing. For
// every run:
// - It fails if and only if the tool fails, unless the order of writing decides that.
// - An entry with its final name is in its old or its new state, and no entry that existed is gone.
// - A missing entry is named, or is not counted as copied.
// - The advised command completes what the tool leaves on a large disk.
import { join } from "node:path";
import { isNamed, merged, unlike } from "./entries.mjs";

const PAGE = 4_096;
/** The most that folders' own blocks, access lists and a receiver's journal take. */
const SLACK = { copy: { bytes: 64 << 10, entries: 8 }, send: { bytes: 512 << 10, entries: 16 } };
const PLENTY = { bytes: 32 << 20, entries: 2_000 };

/**
 * The space that a case needs: at least what the tool has taken on a large disk, and at most what
 * all of the source takes in addition to the existing entries. `before` and `after` are what was
 * taken of the large disk.
 */
export function needs({ source, before, after, kind }) {
  const slack = SLACK[kind];
  const most = { bytes: PAGE, entries: 1 };
  for (const { kind, size, attributes } of source.values()) {
    // An attribute takes an inode on tmpfs.
    most.entries += attributes ? 2 : 1;
    most.bytes += (kind === "file" ? Math.ceil(size / PAGE) * PAGE : PAGE) + (attributes ? PAGE : 0);
  }
  const least = { bytes: Math.max(0, after.bytes - before.bytes), entries: Math.max(0, after.entries - before.entries) };
  const share = (part, percent, least) => (percent === null ? PLENTY[part] : Math.max(least, Math.floor((most[part] * percent) / 100) + (percent > 100 ? slack[part] : 0)));
  return {
    /** How much space is left, for a share of the most. No tmpfs accepts a size of 0. */
    left: ({ bytes, entries }) => ({ bytes: share("bytes", bytes, PAGE), entries: share("entries", entries, 0) }),
    /** What is wrong with a success or failure, or null. */
    wrongStatus(left, isGood, isGoodOnLarge) {
      const parts = Object.keys(left);
      if (isGood && parts.some((part) => left[part] < least[part] - slack[part])) return `what cannot fit (${JSON.stringify({ left, least })}) is said to be there`;
      if (isGood !== isGoodOnLarge && parts.every((part) => left[part] >= most[part] + slack[part])) return `all fits (${JSON.stringify({ left, most })})`;
      return null;
    },
  };
}

/** The advice, perhaps empty, if a run ended because of missing space; null if it did not. */
export function adviceWhenFull({ finished, events }) {
  const ended = events.find(({ event }) => event === "error") ?? finished;
  const error = ended?.error ?? ended;
  const isFull = error && (error.code === "destination_full" || (error.code === "declined" && error.reason === "no_room"));
  return isFull ? (ended.next ?? "") : null;
}

/**
 * The expected result where Ringway differs from the tool on purpose. A new file that replaces
 * another one has none of its attributes, also with `--atomic`, where cp writes into the file and
 * leaves its attributes. An unchanged file gets the sent attributes that it lacks, and loses none,
 * where rsync removes the others.
 */
export function wanted({ kind, ours, theirs }, { atLarge, was, source }) {
  const isAtomic = ours.includes("--atomic");
  const isUnchanged = (from, old) => from.size === old.size && from.time === old.time && (!ours.includes("--verify") || from.contents === old.contents);
  const attributes = (path, one) => {
    const [from, old] = [source.get(path.replace(/^source\//, "")), was.get(path)];
    if (from?.kind !== "file" || old?.kind !== "file") return one.attributes;
    if (kind === "send") return isUnchanged(from, old) ? merged(old.attributes, from.attributes) : one.attributes;
    return isAtomic && (theirs.length === 0 || unlike(old, one)) ? from.attributes : one.attributes;
  };
  return new Map([...atLarge].map(([path, one]) => [path, { ...one, attributes: attributes(path, one) }]));
}

/** Lines with what is wrong after a run that perhaps had too little space. */
export function wrongWhenFull({ was, want, now, source, ours, isCopy, isAtomic }) {
  const { failures, finished, status } = ours;
  const found = [];
  const alone = (one) => one && { ...one, sameAs: undefined };
  const isLike = (one, other) => one && other && !unlike(alone(one), alone(other));
  for (const [path, one] of now) {
    if (/(^|\/)[.]ringway-/.test(path)) {
      if (isCopy || status === 0) found.push(`${path} was left behind`);
      continue;
    }
    const [before, after] = [was.get(path), want.get(path)];
    if (isLike(before, one) || isLike(after, one)) continue;
    // Its mode and time are set last.
    if (one.kind === "folder" && (before ?? after)?.kind === "folder") continue;
    const isCutAndSaid = isCopy && !isAtomic && before?.kind === "file" && one.time === "0" && isNamed(failures, path);
    if (!isCutAndSaid) found.push(`${path} is neither what was there (${unlike(before, one)}) nor what is to be there (${unlike(after, one)}): ${ours.err}`);
  }
  for (const path of was.keys()) if (!now.has(path)) found.push(`${path} is lost: ${ours.err}`);
  const missing = [...source].filter(([path, { kind }]) => kind !== "folder" && !isLike(want.get(join("source", path)), now.get(join("source", path))));
  if (status === 0 && missing.length > 0) found.push(`exit 0 without ${missing.map(([path]) => path)}: ${ours.err}`);
  if (isCopy && finished) {
    const all = [...source.values()].filter(({ kind }) => kind !== "folder").length;
    const counted = ["files", "links", "unchanged", "skipped"].reduce((sum, name) => sum + finished[name], finished.copy?.specials ?? 0);
    if (counted > all - missing.length) found.push(`${counted} of ${all} entries are counted, and ${missing.length} are missing: ${ours.err}`);
    if (adviceWhenFull(ours) === null) for (const [path] of missing) if (!isNamed(failures, join("source", path))) found.push(`${path} is missing, and not named: ${ours.err}`);
  }
  return found;
}
