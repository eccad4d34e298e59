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

/**
 * Where the keyboard goes once `row` is gone: to the next row's first control, else to the one
 * before, else to the heading. To be asked while the row is still there.
 */
export function focusNear(row: HTMLElement | undefined): () => Promise<void> {
  const item = row?.closest("li") ?? row;
  const near = [item?.nextElementSibling, item?.previousElementSibling];
  return async () => {
    await tick();
    if (document.activeElement !== document.body) return;
    const there = near.filter((element) => element?.isConnected).map((element) => element?.querySelector<HTMLElement>("button:enabled"));
    [...there, document.querySelector<HTMLElement>("h1")].find((element) => element)?.focus();
  };
}

/** The element that shows a transfer, if the view lists it. */
export function transferShown(id: string): HTMLElement | null {
  return document.querySelector<HTMLElement>(`[data-transfer="${CSS.escape(id)}"]`);
}

/** The keyboard goes to a transfer that has begun, if the view lists it. */
export function handTo({ id }: { id: string }): void {
  void tick().then(() => transferShown(id)?.focus());
}

/**
 * Hands the keyboard on, when what has it is replaced, to what `successor` finds, else to the
 * heading.
 */
export function handsOn(successor: () => HTMLElement | null): Attachment<HTMLElement> {
  return (element) => {
    let has = element.contains(document.activeElement);
    const entered = () => (has = true);
    // What is removed loses the keyboard to nobody.
    const left = ({ relatedTarget }: FocusEvent) => (has = relatedTarget === null || element.contains(relatedTarget as Node));
    element.addEventListener("focusin", entered);
    element.addEventListener("focusout", left);
    return () => {
      if (!has) return;
      void tick().then(() => {
        if (document.activeElement === document.body) (successor() ?? document.querySelector("h1"))?.focus();
      });
    };
  };
}
