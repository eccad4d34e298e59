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
    const { violations, passes, incomplete } = await globalThis.axe.run(document);
    const told = ({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join("; ")}`;
    const wrong = violations.map(told);
    const open = incomplete.filter(({ id }) => id !== "color-contrast").map(told);
    // What is covered, or scrolled half out of sight, is looked at again in the middle of the view.
    for (const { target, html } of incomplete.find(({ id }) => id === "color-contrast")?.nodes ?? []) {
      // A select's arrow is a picture behind its words. People check those.
      if (html.startsWith("<select")) continue;
      const element = document.querySelector(target[0]);
      element.scrollIntoView({ block: "center" });
      const again = await globalThis.axe.run(element, { runOnly: ["color-contrast"] });
      wrong.push(...again.violations.map(told));
      open.push(...again.incomplete.map(told));
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

/** Everything is as wide as the window. */
export async function fits(page, where) {
  const wide = await page.script(() => {
    const main = document.querySelector("main");
    return [document.documentElement.scrollWidth - innerWidth, main.scrollWidth - main.clientWidth];
  });
  assert.deepEqual(wide, [0, 0], `${where} needs no sideways scrolling`);
}
