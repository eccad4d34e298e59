// The tray and a notification with the programs that people use under a bare Wayland compositor:
// waybar draws the icon, and mako the notification, which a pointer answers.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { service } from "../desktop/lib/service.mjs";
import { Device } from "../setup/devices.mjs";
import { capture, which } from "../setup/process.mjs";
import { EXIT, oddTree, same, sender } from "../transfer/harness.mjs";
import { folder, windowDevice } from "./lib/device.mjs";
import { OUT, onPrivateDisplay } from "./lib/display.mjs";
import { lackingSway, sway } from "./lib/sway.mjs";
import { eventually, sleep } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const missing = ["waybar", "mako", "makoctl", "grim"].filter((name) => !which(name));
const skip = lackingSway() || (missing.length > 0 && `${missing.join(", ")} not installed`);

/** A bar that contains only the tray, at the top left, above a notification at the right. */
const BAR = { layer: "top", position: "top", height: 32, "modules-left": ["tray"], tray: { "icon-size": 24, spacing: 8 } };
const ICON = { area: "0,0 60x32" };
/** mako has no buttons: a click does what its owner has chosen, here what *Accept* does. */
const NOTICES = `anchor=top-right
default-timeout=0
width=400
margin=10
on-button-left=exec makoctl invoke -n "$id" accept
`;

if (inside) {
  test("under Wayland the tray's icon changes with an offer, and a click on its notification accepts it", { skip }, async (t) => {
    const base = folder();
    const near = await windowDevice(base, "near");
    const { env: wayland, pointer } = await sway(t);
    const env = { ...near.env, ...wayland };
    const config = (path, text) => {
      const at = join(near.env.XDG_CONFIG_HOME, path);
      mkdirSync(dirname(at), { recursive: true });
      writeFileSync(at, text);
    };
    config("waybar/config", JSON.stringify(BAR));
    config("waybar/style.css", "window { background: #202020; }");
    config("mako/config", NOTICES);
    for (const program of ["waybar", "mako"]) {
      const running = spawn(program, [], { env, stdio: "ignore" });
      t.after(() => running.kill());
    }
    const owned = (name) => capture("gdbus", ["call", "--session", "-d", "org.freedesktop.DBus", "-o", "/", "-m", "org.freedesktop.DBus.NameHasOwner", name]).out.includes("true");
    for (const name of ["org.kde.StatusNotifierWatcher", "org.freedesktop.Notifications"]) await eventually(name, () => owned(name));
    const shoot = (name, ...args) => {
      mkdirSync(OUT, { recursive: true });
      const path = join(OUT, `${name}.png`);
      const shot = capture("grim", [...args, path], { env });
      assert.equal(shot.status, 0, shot.err);
      return path;
    };
    /** A checksum of the tray. */
    const icon = () => capture("identify", ["-format", "%#", shoot("bar-icon", "-g", ICON.area)]).out;
    const settled = async (what, ...before) => {
      let last = "";
      return eventually(what, async () => {
        const now = icon();
        const is = now === last && !before.includes(now);
        last = now;
        await sleep(200);
        return is && now;
      });
    };
    const bare = await settled("the bar");
    const running = await service(t, near, { env: wayland });
    const idle = await settled("the icon", bare);
    shoot("bar-idle");
    const far = new Device(base, "far");
    const sent = join(base, "holiday");
    mkdirSync(sent);
    oddTree(sent);
    const offered = sender(t, far, sent, near.target, { code: await running.code() });
    await settled("the icon that asks for attention", bare, idle);
    const listed = () => capture("makoctl", ["list"], { env }).out;
    await eventually("the notification", () => listed().includes("holiday"));
    await sleep(300);
    shoot("bar-offer");
    // The latest one stands first.
    pointer.move({ x: 1100, y: 80 });
    await sleep(100);
    pointer.press();
    pointer.release();
    assert.equal(await offered.exit(), EXIT.all, offered.said());
    same(sent, join(near.inbox, "holiday"));
    await settled("the icon as it was", bare);
    shoot("bar-after");
  });
}
