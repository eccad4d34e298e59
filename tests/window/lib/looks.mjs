// The checks of every view and form: both themes, widths from narrow to wide, axe-core, and no
// horizontal scrolling.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

export const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const SIZES = [
  [360, 640],
  [800, 640],
  [1280, 800],
];
/** How the desktop sets its preference for light or dark. */
export const THEMES = { light: "Adwaita", dark: "Adwaita:dark" };

/**
 * axe-core has no objections, and has checked the contrast. `AXE` was evaluated in the page before.
 */
export async function checked(page, where) {
  const { value, error } = await page.later(async () => {
    const run = (what, options) => globalThis.axe.run(what, { elementRef: true, ...options });
    const { violations, passes, incomplete } = await run(document);
    const told = ({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join("; ")}`;
    const ofContrast = (results) => results.find(({ id }) => id === "color-contrast")?.nodes ?? [];
    const wrong = violations.map(told);
    const open = incomplete.filter(({ id }) => id !== "color-contrast").map(told);
    // What is covered, or scrolled half out of sight, is looked at again in the middle of the view,
    // and whatever else is seen there with it. A select's arrow is a picture behind its words.
    // People check those.
    let undecided = ofContrast(incomplete).filter(({ html }) => !html.startsWith("<select")).map(({ element }) => element);
    while (undecided.length > 0) {
      undecided[0].scrollIntoView({ block: "center" });
      const again = await run({ include: undecided }, { runOnly: ["color-contrast"] });
      wrong.push(...again.violations.map(told));
      const still = ofContrast(again.incomplete);
      const here = still.find(({ element }) => element === undecided[0]);
      if (here) open.push(told({ id: "color-contrast", nodes: [here] }));
      undecided = still.map(({ element }) => element).filter((element) => element !== undecided[0]);
    }
    return { wrong, looked: passes.map(({ id }) => id), open };
  });
  assert.equal(error, undefined, where);
  assert.deepEqual(value.wrong, [], where);
  assert.deepEqual(value.open, [], `${where}: what axe-core cannot decide`);
  assert.ok(value.looked.includes("color-contrast"), where);
}

/**
 * No element is lower than what it contains, but those that scroll: a window that is made narrower
 * breaks texts into more lines, which must not cover what follows them.
 */
export async function holdsItsText(page, where) {
  const low = await page.script(() => {
    const isLow = (element) => {
      const { display, overflowY } = getComputedStyle(element);
      const counts = display !== "inline" && overflowY === "visible" && element.clientHeight > 0;
      // Letters may reach a little below their line.
      return counts && element.scrollHeight > element.clientHeight + 4;
    };
    return [...document.querySelectorAll("main *")].filter(isLow).map((element) => `${element.outerHTML.slice(0, 90)}: ${element.clientHeight} of ${element.scrollHeight}`);
  });
  assert.deepEqual(low, [], where);
}

/** Everything is as wide as the window, and the page as high: the view alone scrolls. */
export async function fits(page, where) {
  const wide = await page.script(() => {
    const main = document.querySelector("main");
    const { scrollHeight, scrollWidth } = document.documentElement;
    return [scrollWidth - innerWidth, main.scrollWidth - main.clientWidth, scrollHeight - innerHeight];
  });
  assert.deepEqual(wide, [0, 0, 0], `${where} scrolls in the view, and not sideways`);
}
