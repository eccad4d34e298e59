// Rows of a listing: what an entry shows, and the orders in which people look at them.
import type { EntryKind, EntryThere, PathText, UnreadThere } from "../ipc";

export interface Row {
  /** Its name, as it is sent back. */
  path: PathText;
  name: string;
  kind: EntryKind | "unread";
  size: number;
  /** Milliseconds since 1970. */
  modifiedMs: number;
  /** Where a link leads. */
  target: string;
  /** Why it could not be read. */
  unread: UnreadThere["source"] | null;
  /** By which names are ordered and found. */
  word: string;
}

export interface Order {
  by: "name" | "size" | "modified";
  down: boolean;
}

const MARKS = /\p{M}+/gu;
const DIGITS = /\d+/g;
const PLAIN = /^[\x20-\x7e]*$/;

/** A name as people look for it: without case and accents. */
export function plain(name: string): string {
  return (PLAIN.test(name) ? name : name.normalize("NFD").replace(MARKS, "")).toLowerCase();
}

/**
 * Names in this order are as in a dictionary, and numbers in them by their size. Comparing plain
 * text is many times faster than a collator, which a hundred thousand names would have wait for
 * seconds.
 */
export function wordOf(name: string): string {
  return plain(name).replace(DIGITS, (digits) => {
    const figures = digits.replace(/^0+(?=\d)/, "");
    return String.fromCharCode(48 + Math.min(figures.length, 70)) + figures;
  });
}

export function rowOf({ path, path_bytes: bytes, kind, size, modified_seconds: seconds, modified_nanos: nanos, target }: EntryThere): Row {
  const sent: PathText = bytes ? { path, path_bytes: bytes } : { path };
  return { path: sent, name: path, kind, size, modifiedMs: seconds * 1000 + nanos / 1e6, target: target?.path ?? "", unread: null, word: wordOf(path) };
}

export function unreadRow({ path, path_bytes: bytes, source }: UnreadThere): Row {
  const sent: PathText = bytes ? { path, path_bytes: bytes } : { path };
  return { path: sent, name: path, kind: "unread", size: 0, modifiedMs: 0, target: "", unread: source, word: wordOf(path) };
}

/** Whether it can be got: nothing else has contents that could be sent. */
export function isGettable({ kind }: Row): boolean {
  return kind === "file" || kind === "folder" || kind === "link";
}

function byName(one: Row, other: Row): number {
  if (one.word !== other.word) return one.word < other.word ? -1 : 1;
  return one.name < other.name ? -1 : one.name > other.name ? 1 : 0;
}

/** Folders stand first, as in file managers, whatever is sorted by. */
function comparing({ by, down }: Order): (one: Row, other: Row) => number {
  const sign = down ? -1 : 1;
  return (one, other) => {
    const folders = Number(other.kind === "folder") - Number(one.kind === "folder");
    if (folders !== 0) return folders;
    if (by === "size" && one.size !== other.size && one.kind !== "folder") return (one.size - other.size) * sign;
    if (by === "modified" && one.modifiedMs !== other.modifiedMs) return (one.modifiedMs - other.modifiedMs) * sign;
    return by === "name" ? byName(one, other) * sign : byName(one, other);
  };
}

export function sorted(rows: readonly Row[], order: Order): Row[] {
  return [...rows].sort(comparing(order));
}

/** Two sorted lists as one. */
export function merged(one: Row[], other: Row[], order: Order): Row[] {
  const compare = comparing(order);
  if (one.length === 0 || other.length === 0) return one.length === 0 ? other : one;
  // Devices list by name, and so what comes later mostly goes behind.
  if (compare(one.at(-1)!, other[0]!) <= 0) return [...one, ...other];
  const all: Row[] = new Array<Row>(one.length + other.length);
  for (let at = 0, left = 0, right = 0; at < all.length; at += 1) {
    const isLeft = right >= other.length || (left < one.length && compare(one[left]!, other[right]!) <= 0);
    all[at] = isLeft ? one[left++]! : other[right++]!;
  }
  return all;
}
