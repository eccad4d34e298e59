// The window under Wayland: it opens and can be used, and a second start brings it to the front if
// the compositor permits it by a token.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { WINDOW } from "../setup/build.mjs";
import { folder, keepPicture, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { lackingSway, sway } from "./lib/sway.mjs";
import { eventually, showing, sleep } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const skip = lackingSway() || false;

/**
 * A file manager, as far as it matters here: a key starts the entry, "w" with the desktop's
 * permission and any other key without it.
 */
const MANAGER = `import sys
import gi
gi.require_version("Gdk", "3.0")
gi.require_version("Gtk", "3.0")
from gi.repository import Gdk, Gio, Gtk
window = Gtk.Window(title="manager")
def start(window, event):
    context = Gdk.Display.get_default().get_app_launch_context() if event.string == "w" else None
    Gio.DesktopAppInfo.new_from_filename(sys.argv[1]).launch([Gio.File.new_for_path(sys.argv[2])], context)
window.connect("key-press-event", start)
window.show_all()
Gtk.main()`;

if (inside) {
  test("the window opens under Wayland, is used, and comes to the front for a start that the desktop lets", { skip }, async (t) => {
    const base = folder();
    const device = await windowDevice(base, "near");
    const { env, windows, type } = await sway(t);
    const page = await openWindow(t, device, env);
    const ours = () => windows().find(({ title }) => title === "Ringway");
    await eventually("the window on the compositor", ours);
    // By the second value it gets its icon, from the desktop file of that name.
    assert.deepEqual([ours().shell, ours().app], ["xdg_shell", "org.ringway.Ringway"]);
    await show(page, "Settings");
    await show(page, "Inbox");
    await page.wait(`//*[@data-code]`);
    await keepPicture(page, "wayland");

    const [sent, entry] = [join(base, "holiday"), join(base, "send.desktop")];
    mkdirSync(sent);
    writeFileSync(entry, `[Desktop Entry]\nType=Application\nName=Send\nExec="${WINDOW}" --show send %F\nStartupNotify=true\n`);
    const manager = spawn("/usr/bin/python3", ["-c", MANAGER, entry, sent], { env: { ...device.env, ...env }, stdio: ["ignore", "inherit", "inherit"] });
    t.after(() => manager.kill());
    await eventually("another window in front", () => windows().some(({ title, focused }) => title === "manager" && focused));
    const shown = () => page.script(`() => document.body.innerText.includes("holiday")`);
    /**
     * Repeatedly, because the first keys arrive before the compositor has told its windows that
     * there is a keyboard.
     */
    const typed = (key, look) => eventually(`what "${key}" does`, async () => (type(key), await sleep(200), await look()));
    await typed("x", shown);
    assert.equal(ours().focused, false, "nobody takes the keyboard without leave");
    await show(page, "Inbox");
    await typed("w", () => ours().focused);
    await page.wait(showing("holiday"));
  });
}
