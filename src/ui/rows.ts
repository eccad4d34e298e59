// What a group tells its rows: which element each of them is.
import { getContext } from "svelte";

/** Where a group leaves it. */
export const ROWS = Symbol("rows");

/** The element of a row: an entry of a list, where the group is one. */
export function rowElement(): "li" | "div" {
  return getContext<"li" | "div" | undefined>(ROWS) ?? "div";
}
