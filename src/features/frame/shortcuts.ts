// Which keys do what, wherever the keyboard is.
import type { Pick } from "../../ipc";
import type { View } from "../../state/app.svelte";
import { VIEWS } from "../../words";

export type Shortcut = { shows: View } | { chooses: Pick } | "paste" | "search" | "help" | "clear";

const views = Object.keys(VIEWS) as View[];

/** Whether letters that are typed now go into a field. */
function isTyping({ target }: KeyboardEvent): boolean {
  return target instanceof HTMLElement && target.matches("textarea,select,input:not([type=checkbox],[type=radio])");
}

/** What a key that was pressed does; nothing for most, and for those that a part has taken. */
export function shortcut(event: KeyboardEvent): Shortcut | null {
  if (event.defaultPrevented || event.altKey || event.metaKey || event.isComposing) return null;
  if (event.ctrlKey) {
    const shown = views[Number(event.key) - 1];
    if (shown && !event.shiftKey) return { shows: shown };
    if (event.key.toLowerCase() === "o") return { chooses: event.shiftKey ? "files" : "folders" };
    // In a field, pasting is the field's.
    if (event.key === "v" && !isTyping(event)) return "paste";
    return event.key === "f" ? "search" : null;
  }
  if (isTyping(event)) return null;
  if (event.key === "?") return "help";
  return event.key === "Escape" ? "clear" : null;
}
