// Where the keyboard goes when what had it vanishes or is switched off: never to the page as a
// whole.
import type { Attachment } from "svelte/attachments";

const FOCUSABLE = ["a[href]", "button:enabled", "input:enabled", "select:enabled", "textarea:enabled", "[tabindex='0']"].join();
/** What lies over the window and hands the keyboard back by itself. */
const OVER = "[role=dialog],[role=menu]";

/** Where the keyboard was: what had it, what it was in, and all that could have had it then. */
interface Place {
  element: HTMLElement;
  around: Element[];
  order: HTMLElement[];
}

function isFree(element: HTMLElement): boolean {
  return element.isConnected && !element.matches(":disabled") && element.closest("[inert], [hidden]") === null;
}

/** What takes the place of one that vanished, in what is left of what it was in. */
function neighbour({ element, around, order }: Place, root: HTMLElement): HTMLElement | null {
  // Pressing "Pause" puts "Resume" in its place.
  const instead = around[0]?.isConnected ? [...around[0].querySelectorAll<HTMLElement>(FOCUSABLE)].find((each) => !order.includes(each)) : undefined;
  if (instead) return instead;
  const home = around.find((each) => each.isConnected);
  // Beyond its group, the nearest is as far as anything.
  if (!home || home.matches("main,main>*") || !root.contains(home)) return null;
  const at = order.indexOf(element);
  const near = (candidates: HTMLElement[]) => candidates.filter((each) => isFree(each) && home.contains(each));
  const after = near(order.slice(at + 1));
  const before = near(order.slice(0, Math.max(at, 0))).reverse();
  // In a list, the focus moves to the same button of the next row.
  const same = (each: HTMLElement) => each.textContent === element.textContent && each.className === element.className;
  return after.find(same) ?? before.find(same) ?? after[0] ?? before[0] ?? null;
}

/**
 * Keeps the keyboard within `root`: what vanished hands it to its neighbour, or else to the view's
 * heading; what is switched off for a while has it back afterwards.
 */
export function keepsFocus(): Attachment<HTMLElement> {
  return (root) => {
    let place: Place | null = null;
    /** What was switched off, and who has the keyboard meanwhile. */
    let lent: { from: HTMLElement; to: HTMLElement } | null = null;

    const entered = ({ target }: FocusEvent) => {
      if (!(target instanceof HTMLElement) || target === document.body || target.closest(OVER)) return;
      if (target !== lent?.to) lent = null;
      const around: Element[] = [];
      for (let each = target.parentElement; each && each !== document.body; each = each.parentElement) around.push(each);
      place = { element: target, around, order: [...root.querySelectorAll<HTMLElement>(FOCUSABLE)] };
    };

    const look = () => {
      const { activeElement } = document;
      if (lent && lent.to === activeElement && isFree(lent.from)) {
        const { from } = lent;
        lent = null;
        return from.focus();
      }
      const isLost = activeElement === null || activeElement === document.body || activeElement.matches(":disabled");
      if (!isLost || !place || isFree(place.element) || document.querySelector(OVER)) return;
      const from = place.element;
      const heading = root.querySelector<HTMLElement>("h1");
      const form = from.parentElement?.closest<HTMLElement>("[tabindex='-1']");
      const to = from.isConnected ? (form ?? heading) : (neighbour(place, root) ?? heading);
      if (!to) return;
      if (from.isConnected) lent = { from, to };
      to.focus({ preventScroll: from.isConnected });
    };

    // A task later: whatever has a better place to hand it to does so first.
    let due: ReturnType<typeof setTimeout> | undefined;
    const soon = () => {
      due ??= setTimeout(() => {
        due = undefined;
        look();
      });
    };
    const changes = new MutationObserver(soon);
    changes.observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter: ["disabled", "hidden", "inert"] });
    root.addEventListener("focusin", entered);
    return () => {
      changes.disconnect();
      clearTimeout(due);
      root.removeEventListener("focusin", entered);
    };
  };
}
