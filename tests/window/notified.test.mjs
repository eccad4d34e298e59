// Notifications with a common server: its drawing on the screen, answered with the pointer.
import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { service } from "../desktop/lib/service.mjs";
import { Device } from "../setup/devices.mjs";
import { capture } from "../setup/process.mjs";
import { EXIT, oddTree, same, sender } from "../transfer/harness.mjs";
import { folder, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay, picture } from "./lib/display.mjs";
import { geometry } from "./lib/drag.mjs";
import { eventually } from "./lib/webdriver.mjs";
import { startXfce } from "./lib/xfce.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const SERVER = readdirSync("/usr/lib")
  .map((name) => join("/usr/lib", name, "xfce4/notifyd/xfce4-notifyd"))
  .find((path) => existsSync(path));
const skip = !SERVER && "xfce4-notifyd is not installed";
const ICON = fileURLToPath(new URL("../../static/icons/ringway.svg", import.meta.url));
/** They stay for a quarter of an hour, so that they can be counted on a slow machine too. */
const SETTINGS = `  <property name="expire-timeout" type="int" value="900"/>`;
/**
 * Pixels from a notification's lower edge, and from its right one, to the middle of its last
 * button, and from one button to the next. They form a row at the right, all equally wide.
 */
const BUTTONS_ABOVE = 29;
const LAST_BEFORE_EDGE = 59;
const BUTTONS_APART = 99;

/** The server's notifications, newest last: the position and size of each. */
function shown() {
  const ids = capture("xdotool", ["search", "--onlyvisible", "--class", "xfce4-notifyd"]).out.trim().split("\n").filter(Boolean);
  // Without those that have gone meanwhile.
  return ids.map(geometry).filter(({ width }) => width > 1).sort((one, other) => one.y - other.y);
}

/** Waits for this many of them. */
const shows = (count) => eventually(`${count} notifications`, () => shown().length === count && shown());

/** Presses one of a notification's three buttons. */
function press({ x, y, width, height }, which) {
  const middle = x + width - LAST_BEFORE_EDGE - (2 - which) * BUTTONS_APART;
  capture("xdotool", ["mousemove", String(middle), String(y + height - BUTTONS_ABOVE), "click", "1"]);
}

if (inside) {
  test("an offer is accepted and declined in the notification that a desktop shows, and one that is taken back goes", { skip }, async (t) => {
    const base = folder();
    const near = await windowDevice(base, "near");
    const icon = join(near.env.XDG_DATA_HOME, "icons/hicolor/scalable/apps/org.ringway.Ringway.svg");
    mkdirSync(dirname(icon), { recursive: true });
    copyFileSync(ICON, icon);
    const address = await startXfce(t, near, { program: SERVER, channel: "xfce4-notifyd", settings: SETTINGS });
    const owned = ["call", "--address", address, "-d", "org.freedesktop.DBus", "-o", "/", "-m", "org.freedesktop.DBus.NameHasOwner"];
    await eventually("the server", () => capture("gdbus", [...owned, "org.freedesktop.Notifications"]).out.includes("true"));
    const running = await service(t, near, { env: { DBUS_SESSION_BUS_ADDRESS: address } });
    const far = new Device(base, "far");
    const tree = (name) => {
      mkdirSync(join(base, name));
      oddTree(join(base, name));
      return join(base, name);
    };
    const first = tree("first");
    const accepted = sender(t, far, first, near.target, { code: await running.code() });
    // Below the one about the pairing.
    const [, offer] = await shows(2);
    picture("notified-offer");
    press(offer, 1);
    assert.equal(await accepted.exit(), EXIT.all, accepted.said());
    same(first, join(near.inbox, "first"));
    // An answered one goes, and the end of the transfer has another.
    await shows(2);
    picture("notified-received");

    const declined = sender(t, far, tree("second"), near.target, { code: null });
    press((await shows(3)).at(-1), 2);
    assert.equal(await declined.exit(), EXIT.declined, declined.said());
    await shows(2);
    const withdrawn = sender(t, far, join(base, "second"), near.target, { code: null });
    await shows(3);
    withdrawn.kill();
    await shows(2);
    picture("notified-after");
    assert.deepEqual(readdirSync(near.inbox), ["first"]);
  });
}
