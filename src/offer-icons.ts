// What something that is offered, or arrived, looks like. What may be a file or a folder looks like
// neither.
import type { EntryKind, Offer } from "./ipc";
import type { IconName } from "./ui/Icon.svelte";

/** Null or left out where it is not known, or not yet. */
export function entryIcon(kind?: EntryKind | null): IconName {
  if (kind === "folder") return "folder";
  if (kind === "file") return "file";
  return kind === "link" ? "file-symlink" : "package";
}

/**
 * The icon of an offered name, by its place among the names. Before the sender has listed it, the
 * counts alone tell it of one name.
 */
export function offerIcon({ names, kinds, more_names: more, entries_so_far: entries, bytes_so_far: bytes, totals_final: isFinal }: Pick<Offer, "names" | "kinds" | "more_names" | "entries_so_far" | "bytes_so_far" | "totals_final">, at: number): IconName {
  const kind = kinds[at] ?? null;
  if (kind !== null || names.length + more !== 1) return entryIcon(kind);
  if (entries > 1) return entryIcon("folder");
  return entryIcon(isFinal && bytes > 0 ? "file" : null);
}
