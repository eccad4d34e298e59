// Every view as it is kept in tests/window/golden, in both themes, narrow and wide: a change of looks is made on purpose or not at all.
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { folder, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { placeWindow } from "./lib/drag.mjs";
import { incomparable, looksAsKept } from "./lib/golden.mjs";
import { THEMES } from "./lib/looks.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const why = inside ? incomparable() : "";
const VIEWS = ["Send", "Inbox", "Activity", "Devices", "Settings"];
const SIZES = [
  [360, 780],
  [960, 700],
];

if (why) test("golden pictures", { skip: why });
for (const [theme, name] of inside && !why ? Object.entries(THEMES) : []) {
  test(`every view in ${theme} looks as it is kept`, async (t) => {
    const device = await windowDevice(folder(), "laptop");
    // Who else is on this network is not in the picture.
    appendFileSync(join(device.env.XDG_CONFIG_HOME, "ringway/config.toml"), "announce = false\n");
    const page = await openWindow(t, device, { GTK_THEME: name });
    for (const [width, height] of SIZES) {
      await placeWindow(page, width, height);
      for (const view of VIEWS) {
        await show(page, view);
        await looksAsKept(page, `${view.toLowerCase()}-${theme}-${width}`);
      }
    }
  });
}
