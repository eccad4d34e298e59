// The window under Wayland: it opens and can be used, a second start brings it to the front if the
// compositor permits it by a token, and folders are dropped on it by a pointer.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { WINDOW } from "../setup/build.mjs";
import { Device } from "../setup/devices.mjs";
import { CODE, oddTree, receiver, same } from "../transfer/harness.mjs";
import { folder, keepPicture, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { middleOf } from "./lib/drag.mjs";
import { lackingSway, sway } from "./lib/sway.mjs";
import { eventually, showing, sleep } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const skip = lackingSway() || false;
const DRAG_SOURCE = fileURLToPath(new URL("lib/drag-source.py", import.meta.url));

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
    // Keys that came twice start it twice: the second start may show Send once more.
    await eventually("the inbox", async () => {
      await page.click(`//nav//button[contains(., "Inbox")]`);
      await sleep(500);
      return page.script(`() => document.querySelector("h1")?.textContent === "Inbox"`);
    });
    await typed("w", () => ours().focused);
    await page.wait(showing("holiday"));
  });

  test("under Wayland a folder that the pointer drags out of another program is chosen, and one that it drops on a card arrives", { skip }, async (t) => {
    const base = folder();
    const [near, far, inbox] = [await windowDevice(base, "near"), new Device(base, "far"), join(base, "inbox")];
    const [chosen, sent] = ["chosen", "sent"].map((name) => join(base, name));
    [inbox, chosen].forEach((path) => mkdirSync(path));
    oddTree(sent);
    const receiving = await receiver(t, far, inbox, { once: false });
    const paired = await near.run(["pair", receiving.target, "--code-file", near.codeFile(CODE)]);
    assert.equal(paired.status, 0, paired.said());
    const { env, windows, pointer } = await sway(t);
    const page = await openWindow(t, near, env);
    await page.wait("//main//*[@data-card]");

    /** Drags a folder out of another program to where `to` says; drops it once `look` is there. */
    const drag = async (path, to, look) => {
      const source = spawn("/usr/bin/python3", [DRAG_SOURCE, pathToFileURL(path).href], { env: { ...near.env, ...env }, stdio: ["ignore", "inherit", "inherit"] });
      t.after(() => source.kill());
      const gone = new Promise((resolve) => source.on("exit", resolve));
      const placed = (title) => eventually(title, () => windows().find((window) => window.title === title && window.at.width > 0)?.at);
      const { x, y, width, height } = await placed("Drag source");
      // The compositor tiles: beside the source the window is narrower.
      const ours = await placed("Ringway");
      await eventually("the page in its place", () => page.script((wanted) => innerWidth === wanted, ours.width));
      const [from, there] = [{ x: x + width / 2, y: y + height / 2 }, await to(ours)];
      pointer.move(from);
      // The source has drawn itself before it is pressed.
      await sleep(300);
      pointer.press();
      for (let step = 1; step <= 30; step += 1) {
        pointer.move({ x: from.x + ((there.x - from.x) * step) / 30, y: from.y + ((there.y - from.y) * step) / 30 });
        await sleep(20);
      }
      await page.wait(look);
      await keepPicture(page, `wayland-${basename(path)}`);
      // A compositor cancels a drop that the page has not taken yet: it answers each motion, and on
      // a busy machine late.
      for (let step = 0; step < 20; step += 1) {
        pointer.move({ x: there.x + (step % 2), y: there.y });
        await sleep(20);
      }
      pointer.release();
      await gone;
    };
    await drag(chosen, ({ x, y, width }) => ({ x: x + width - 40, y: y + 40 }), showing("Drop to"));
    await page.wait(showing("chosen"));
    const onCard = ({ x, y }) => middleOf(page, { x, y, enlarged: 1 }, "main [data-card]");
    await drag(sent, onCard, showing("Send 1 folder to far"));
    await receiving.event("finished");
    same(sent, join(inbox, "sent"));
  });
}
