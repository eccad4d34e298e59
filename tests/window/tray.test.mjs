// All parts as on a desktop: the service in the tray, the real window opened from its menu, closed
// again, and receiving without it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { service } from "../desktop/lib/service.mjs";
import { looker, panel } from "../desktop/lib/session.mjs";
import { Device } from "../setup/devices.mjs";
import { capture } from "../setup/process.mjs";
import { EXIT, oddTree, same, sender } from "../transfer/harness.mjs";
import { folder, keepPicture, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { family, windowProcess } from "./lib/processes.mjs";
import { Page, eventually, showing, windowId } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};

/** The memory limit of a receiver in the background, also for development builds. */
const PSS_KIB_MAX = 40 * 1024;

/** Closes a window like its frame's button, and waits until every process of it has gone. */
async function closed(near) {
  const members = family(near.env).map(({ pid }) => pid);
  assert.ok(members.length > 1, "the page has processes of its own");
  capture("wmctrl", ["-i", "-c", await windowId(near.env)]);
  await eventually("the window's processes to be gone", () => members.every((pid) => capture("kill", ["-0", String(pid)]).status !== 0));
}

driven("the tray opens the real window with the view that was asked for, and receives once it is closed, without its memory", async (t) => {
  const base = folder();
  const near = await windowDevice(base, "near");
  const far = new Device(base, "far");
  const watcher = await panel(t);
  const way = await Page.attachable();
  const running = await service(t, near, { env: way.env });
  const tray = looker(t, await watcher.event("registered"));
  await tray.says("ready to receive");

  for (const [label, view] of [["Open Inbox", "Inbox"], ["Send folder…", "Send"]]) {
    await tray.click(label);
    await eventually("the window's process", () => windowProcess(near.env));
    const page = await Page.attach(way, near.env);
    t.after(() => page.close());
    await page.wait(`//h1[. = "${view}"]`);
    if (view === "Inbox") {
      await page.wait(showing(await running.code()));
      // If a window exists already it is used, and comes to the front.
      const id = await windowId(near.env);
      // By this name it gets its icon, and its group with others, from the desktop file.
      assert.match(capture("wmctrl", ["-l", "-x"]).out, /^\S+ +\S+ +org\.ringway\.Ringway\.Org\.ringway\.Ringway +.* Ringway$/m);
      capture("xdotool", ["windowminimize", id]);
      await tray.click("Send folder…");
      await page.wait(`//h1[. = "Send"]`);
      await eventually("the window in front", () => capture("xdotool", ["getactivewindow"]).out.trim() === id);
      await keepPicture(page, "tray-opened");
    }
    await closed(near);
    await page.close();
  }

  const tree = join(base, "set");
  oddTree(tree);
  const sending = sender(t, far, tree, near.target, { code: await running.code() });
  await tray.says("1 offer waiting");
  await running.accept();
  assert.equal(await sending.exit(), EXIT.all, sending.said());
  same(tree, join(near.inbox, basename(tree)));
  const [kib] = readFileSync(`/proc/${running.pid}/smaps_rollup`, "utf8").match(/^Pss: +(\d+) kB$/m).slice(1).map(Number);
  t.diagnostic(`${kib} KiB once the window is closed`);
  assert.ok(kib < PSS_KIB_MAX, `${kib} KiB`);

  // It may end before it answers the click.
  await tray.click("Quit").catch(() => {});
  assert.equal(await running.exit(), 0, running.said());
  assert.equal(windowProcess(near.env), undefined);
});
