// The desktop's own picker, which programs in the user's session share (xdg-desktop-portal).
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { capture } from "../setup/process.mjs";
import { folder, keepPicture, openWindow, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay, picture } from "./lib/display.mjs";
import { pickFolder } from "./lib/keyboard.mjs";
import { button, eventually, showing, windowId } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const BACKEND = "/usr/share/dbus-1/services/org.freedesktop.impl.portal.desktop.gtk.service";
const skip = !existsSync(BACKEND) && "xdg-desktop-portal-gtk is not installed";

if (inside) {
  test("with GTK_USE_PORTAL a folder is chosen in the desktop's picker, by keyboard", { skip }, async (t) => {
    const base = folder();
    const near = await windowDevice(base, "near");
    const survey = join(base, "survey 2026");
    mkdirSync(survey);
    writeFileSync(join(survey, "data"), "x".repeat(1000));
    const page = await openWindow(t, near, { GTK_USE_PORTAL: "1" });
    const id = await windowId(near.env);
    await page.click(button("Choose folders…"));
    const active = () => capture("xdotool", ["getactivewindow"]).out.trim();
    const picker = await eventually("the picker", () => active() !== id && active());
    const pid = capture("xdotool", ["getwindowpid", picker]).out.trim();
    assert.match(readFileSync(`/proc/${pid}/cmdline`, "utf8"), /xdg-desktop-portal-gtk/);
    picture("portal-picker");
    await pickFolder(id, survey);
    await page.wait(showing("survey 2026"));
    await page.wait(showing("1.0"));
    await keepPicture(page, "portal-chosen");
  });
}
