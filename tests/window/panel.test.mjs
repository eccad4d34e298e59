// The tray in a common panel: its icon is drawn there, and its menu is opened and used with the
// pointer and the keyboard.
import assert from "node:assert/strict";
import { test } from "node:test";
import { service } from "../desktop/lib/service.mjs";
import { capture, which } from "../setup/process.mjs";
import { folder, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay, picture } from "./lib/display.mjs";
import { press } from "./lib/keyboard.mjs";
import { family } from "./lib/processes.mjs";
import { eventually, windowId } from "./lib/webdriver.mjs";
import { startXfce } from "./lib/xfce.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const skip = !which("xfce4-panel") && "xfce4-panel is not installed";

/** One panel at the top left that contains only the tray. */
const PANEL = `  <property name="configver" type="int" value="2"/>
  <property name="panels" type="array">
    <value type="int" value="1"/>
    <property name="panel-1" type="empty">
      <property name="position" type="string" value="p=6;x=0;y=0"/>
      <property name="position-locked" type="bool" value="true"/>
      <property name="length" type="uint" value="100"/>
      <property name="size" type="uint" value="32"/>
      <property name="plugin-ids" type="array"><value type="int" value="1"/></property>
    </property>
  </property>
  <property name="plugins" type="empty"><property name="plugin-1" type="string" value="systray"/></property>`;
/** The position of its first icon, and of that icon's menu. */
const ICON = { x: 12, y: 16, area: "40x26+0+3" };
const MENU_AREA = "180x90+10+40";
const BUTTON = { left: "1", right: "3" };

/** A checksum of a part of the screen. */
const drawn = (area) => capture("sh", ["-c", `import -window root -crop ${area} +repage png:- | identify -format %# -`]).out;

/** The same, once it differs from `before` and does not change any more. */
async function settled(area, ...before) {
  let last = "";
  return eventually(`${area} to be drawn`, () => {
    const now = drawn(area);
    const is = now === last && !before.includes(now);
    last = now;
    return is && now;
  });
}

function click(button) {
  capture("xdotool", ["mousemove", String(ICON.x), String(ICON.y), "click", button]);
}

/**
 * Chooses an entry of the menu by keys. The pointer leaves first, because the entry under it is
 * highlighted.
 */
async function choose(...keys) {
  const before = drawn(MENU_AREA);
  click(BUTTON.right);
  await settled(MENU_AREA, before);
  picture("panel-menu");
  capture("xdotool", ["mousemove", "800", "500"]);
  press(...keys, "Return");
}

if (inside) {
  test("a panel shows the icon, a click there opens the window, and its menu switches and ends the service", { skip }, async (t) => {
    const near = await windowDevice(folder(), "near");
    const nothing = drawn(ICON.area);
    const address = await startXfce(t, near, { program: "xfce4-panel", channel: "xfce4-panel", settings: PANEL });
    const empty = await settled(ICON.area, nothing);

    const running = await service(t, near, { env: { DBUS_SESSION_BUS_ADDRESS: address } });
    const ready = await settled(ICON.area, empty);
    picture("panel-icon");
    click(BUTTON.left);
    const id = await windowId(near.env);
    const members = family(near.env).map(({ pid }) => pid);
    capture("wmctrl", ["-i", "-c", id]);
    await eventually("the window to be gone", () => members.every((pid) => capture("kill", ["-0", String(pid)]).status !== 0));

    // Its first entry.
    await choose("Down");
    await eventually("receiving to be off", async () => (await near.run(["status", "--json"])).events[0].port === null);
    await settled(ICON.area, ready, empty);
    picture("panel-off");
    // Its last entry.
    await choose("Up");
    assert.equal(await running.exit(), 0, running.said());
    await eventually("no icon", () => drawn(ICON.area) === empty);
  });
}
