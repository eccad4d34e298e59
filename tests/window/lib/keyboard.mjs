// The real keyboard, through the X server: for the window's own page and for the desktop's native picker.
import { capture } from "../../setup/process.mjs";
import { eventually, sleep } from "./webdriver.mjs";

export function press(...keys) {
  capture("xdotool", ["key", "--delay", "40", ...keys]);
}

export function type(text) {
  capture("xdotool", ["type", "--delay", "25", text]);
}

export function focus(window) {
  capture("xdotool", ["windowfocus", "--sync", window]);
}

/** Answers the native folder picker that `window` has opened, with the keyboard alone. */
export async function pickFolder(window, path) {
  const active = () => capture("xdotool", ["getactivewindow"]).out.trim();
  const picker = await eventually("the folder picker", () => active() !== window && active());
  focus(picker);
  await sleep(500);
  // A slash opens the picker's field for a path, which takes its moment.
  type("/");
  await sleep(700);
  type(path.slice(1));
  await sleep(300);
  // The first press may only take what the field proposed.
  await eventually("the folder picker to close", async () => {
    press("Return");
    // A further press that comes while it closes would go to the page.
    for (let looks = 0; looks < 20 && active() === picker; looks += 1) await sleep(100);
    return active() !== picker;
  });
}
