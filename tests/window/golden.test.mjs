// Every view as it is kept in tests/window/golden, in both themes, from narrow to wide: appearance
// changes on purpose or not at all.
import assert from "node:assert/strict";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { capture } from "../setup/process.mjs";
import { OUT, onPrivateDisplay } from "./lib/display.mjs";
import { placeWindow } from "./lib/drag.mjs";
import { KEPT, calm, incomparable, isBlank, looksAsKept } from "./lib/golden.mjs";
import { THEMES } from "./lib/looks.mjs";
import { browsed, first, fresh, meeting, notes, scrollBack, scrollOn, underway, used } from "./lib/scenes.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const why = inside ? incomparable() : "";
const SIZES = [
  [360, 780],
  [960, 700],
  [1440, 900],
];

if (inside) {
  test("a picture of a window that was not drawn is none, and each kept one is drawn", async () => {
    const made = join(OUT, "golden-not-drawn.png");
    mkdirSync(OUT, { recursive: true });
    for (const colour of ["black", "white", "#f1f3f5"]) {
      assert.equal(capture("convert", ["-size", "360x780", `xc:${colour}`, "-bordercolor", "#204060", "-border", "2", made]).status, 0);
      assert.ok(await isBlank(made), colour);
    }
    for (const kept of readdirSync(KEPT).filter((name) => name.endsWith(".png"))) assert.ok(!(await isBlank(join(KEPT, kept))), kept);
  });
}
if (why) test("golden pictures", { skip: why });
for (const [theme, name] of inside && !why ? Object.entries(THEMES) : []) {
  const env = { GTK_THEME: name };
  /**
   * Compares a view at each size, from its beginning or with what `selector` finds in the middle,
   * and to its end if `scrolls`.
   */
  const kept = (scrolls, selector) => async (page, what, around) => {
    // What hangs over the window is not compared.
    if (around) return;
    const different = [];
    for (const [width, height] of SIZES) {
      await placeWindow(page, width, height);
      await scrollBack(page);
      if (selector) {
        // A long path above it takes more lines than the one that stands in for it.
        await calm(page);
        await page.script((at) => document.querySelector(at)?.scrollIntoView({ block: "center" }), selector);
      }
      different.push(await looksAsKept(page, `${what}-${theme}-${width}`));
      for (let part = 2; scrolls && (await scrollOn(page)); part += 1) different.push(await looksAsKept(page, `${what}-${theme}-${width}-${part}`));
    }
    // All in one line, because only the first line of a failure is seen everywhere.
    const all = different.filter((words) => words !== "");
    assert.equal(all.length, 0, `${all.join("; ")}; if that is on purpose, RINGWAY_GOLDEN=write`);
  };

  test(`every view in ${theme} looks as it is kept`, (t) => fresh(t, { env }, kept(true)));

  test(`the first run in ${theme} looks as it is kept`, (t) => first(t, { env }, kept(false)));

  test(`a window in use in ${theme} looks as it is kept`, (t) => used(t, { env }, kept(false)));

  test(`shared folders in ${theme} look as they are kept`, (t) => browsed(t, { env }, kept(false, "[data-share]")));

  const inInbox = async (page, what) => what === "inbox-notes" && kept(false)(page, what);
  test(`notes in ${theme} look as they are kept`, (t) => notes(t, { env }, inInbox));

  // How much had arrived is reported in the question, in words of another length each time.
  const running = async (page, what, around) => what !== "activity-cancel" && kept(false)(page, what, around);
  test(`a transfer under way in ${theme} looks as it is kept`, (t) => underway(t, { env }, running));

  // Its words are longer.
  const inGerman = async (page, what) => kept(false, "ol")(page, `${what}-de`);
  test(`sending to an address in German and ${theme} looks as it is kept`, (t) => meeting(t, { env, language: "de" }, inGerman));
}
