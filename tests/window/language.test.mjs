// The window in German: by the desktop's language, or chosen in its settings and kept over a
// restart; readable and fitting from narrow to wide.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { capture } from "../setup/process.mjs";
import { folder, keepPicture, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { placeWindow } from "./lib/drag.mjs";
import { AXE, SIZES, checked, fits } from "./lib/looks.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};

const VIEWS = ["Senden", "Eingang", "Aktivität", "Geräte", "Einstellungen"];

const spoken = (page) => page.script(() => document.documentElement.lang);

driven("German is chosen, spoken at once, and kept", async (t) => {
  const device = await windowDevice(folder(), "laptop");
  const page = await openWindow(t, device);
  assert.equal(await spoken(page), "en", "there are no messages in the language of LANG=C");
  await show(page, "Settings");
  await page.click(`//select[@name = "language"]/option[. = "Deutsch"]`);
  await page.wait(`//h1[. = "Einstellungen"]`);
  assert.equal(await spoken(page), "de");
  await page.evaluate(AXE);
  for (const [width, height] of SIZES) {
    await placeWindow(page, width, height);
    for (const view of VIEWS) {
      await show(page, view);
      await keepPicture(page, `german-${VIEWS.indexOf(view) + 1}-${width}`);
      await fits(page, `${view} at ${width}`);
      await checked(page, `${view} at ${width}`);
    }
  }
  await page.close();

  const again = await openWindow(t, device);
  await again.wait(`//h1[. = "Senden"]`);
  assert.equal(await spoken(again), "de");
});

driven("a desktop in German has a window in German", async (t) => {
  const base = folder();
  const LANG = "de_AT.UTF-8";
  // The machine may lack that locale. WebKit reports no language that the C library does not know.
  const made = capture("localedef", ["-i", "de_AT", "-f", "UTF-8", "-c", join(base, LANG)]);
  if (made.status !== 0) return t.skip(`localedef makes no ${LANG}: ${made.err.trim()}`);
  const page = await openWindow(t, await windowDevice(base, "laptop"), { LANG, LC_ALL: LANG, LOCPATH: base });
  await page.wait(`//h1[. = "Senden"]`);
  assert.deepEqual(await page.script(() => navigator.languages), ["de-AT"]);
  assert.equal(await spoken(page), "de");
});
