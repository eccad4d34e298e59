// What an offered name looks like: an offer counts entries and does not say which of its names are
// folders, so this is a hint and nothing depends on it.
import type { Offer } from "./ipc";
import type { IconName } from "./ui/Icon.svelte";

/** A file for a file, as far as counts and names tell. */
export function offerIcon(offer: Pick<Offer, "names" | "more_names" | "entries_so_far" | "bytes_so_far" | "totals_final">, name: string): IconName {
  const names = offer.names.length + offer.more_names;
  if (offer.totals_final && offer.entries_so_far <= names && offer.bytes_so_far > 0) return "file";
  if (names === 1) return "folder";
  return /[^.]\.\p{L}[\p{L}\d]{0,4}$/u.test(name) ? "file" : "folder";
}
