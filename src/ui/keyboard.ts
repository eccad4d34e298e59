// Where the keyboard goes when something opens on a press, and when it has closed.
import { tick } from "svelte";
import type { Attachment } from "svelte/attachments";

/**
 * What opens on a press: takes the keyboard to its first field, or else to the button that changes
 * nothing, closes on Escape, and hands the keyboard back once it has closed.
 */
export function opened(close: () => void): Attachment<HTMLElement> {
  return (element) => {
    const [opener, around] = [document.activeElement, element.parentElement];
    const first = element.querySelector<HTMLElement>("input, [data-changes-nothing]");
    first?.focus();
    if (first instanceof HTMLInputElement) first.select();
    const pressed = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      close();
    };
    element.addEventListener("keydown", pressed);
    return () => {
      element.removeEventListener("keydown", pressed);
      void tick().then(() => handBack(opener, around));
    };
  };
}

/**
 * Back to where it came from, or to what stands there instead, or to the heading, where all of that
 * has gone.
 */
function handBack(opener: Element | null, around: Element | null): void {
  if (document.activeElement !== document.body) return;
  const isThere = (element: Element | null | undefined): element is HTMLElement =>
    element instanceof HTMLElement && element.isConnected && element !== document.body;
  [opener, around?.querySelector("button:enabled"), document.querySelector("h1")].find(isThere)?.focus();
}
