// Keeps what lies at the window's lower edge off the bar of a view, whose buttons it would cover.
import type { Attachment } from "svelte/attachments";

const GAP_PX = 8;

/**
 * How far up a box goes so that it stands above a bar; to the window's top where there is no
 * room.
 */
export function shiftOff(box: { top: number; bottom: number }, bar: { top: number; bottom: number } | undefined): number {
  if (!bar || bar.top >= box.bottom || bar.bottom <= box.top) return 0;
  return Math.min(box.bottom - bar.top + GAP_PX, box.top - GAP_PX);
}

export function offBar(): Attachment<HTMLElement> {
  return (element) => {
    let shift = 0;
    const place = () => {
      const { top, bottom } = element.getBoundingClientRect();
      const bar = document.querySelector("[data-bar]")?.getBoundingClientRect();
      const next = shiftOff({ top: top + shift, bottom: bottom + shift }, bar);
      if (next === shift) return;
      shift = next;
      element.style.translate = `0 ${-shift}px`;
    };
    place();
    // It grows and shrinks itself, too.
    const sizes = new ResizeObserver(place);
    sizes.observe(element);
    // What moves a bar: scrolling, another size of the window, and what is shown around it.
    const changes = new MutationObserver(place);
    changes.observe(document.getElementById("main") ?? document.body, { childList: true, subtree: true });
    addEventListener("scroll", place, { capture: true, passive: true });
    addEventListener("resize", place);
    return () => {
      element.style.translate = "";
      sizes.disconnect();
      changes.disconnect();
      removeEventListener("scroll", place, { capture: true });
      removeEventListener("resize", place);
    };
  };
}
