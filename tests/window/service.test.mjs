// The window as a client: the service that it starts outlives it, a second window hands over its
// paths, and a lost service comes back.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { WINDOW } from "../setup/build.mjs";
import { Device, inTime } from "../setup/devices.mjs";
import { capture } from "../setup/process.mjs";
import { EXIT, oddTree, same, sender } from "../transfer/harness.mjs";
import { folder, keepPicture, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { serviceProcess } from "./lib/processes.mjs";
import { button, eventually, field, line, showing, windowId } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};

const code = (page) => page.text("//*[@data-code]//*[contains(@class, 'text')]");

/** The output of `ringway status` for the device's service; null if none runs. */
async function status(device) {
  const done = await device.run(["status", "--json"]);
  return done.status === EXIT.all ? done.events[0] : null;
}

driven("a transfer outlives the window, and the next window shows how it ended", async (t) => {
  const base = folder();
  const near = await windowDevice(base, "near");
  const far = new Device(base, "far");
  const tree = join(base, "set");
  oddTree(tree, "--bulk-mib", "12");
  const page = await openWindow(t, near);
  const { pid } = await status(near);
  await show(page, "Inbox");
  const sending = sender(t, far, tree, near.target, { code: await code(page), args: ["--limit", "3M"] });
  await page.click(button("Accept"));
  await sending.event(({ event, bytes_done: done }) => event === "progress" && done > 1_000_000);
  await page.close();
  assert.equal(await sending.exit(), EXIT.all, sending.said());
  same(tree, join(near.inbox, basename(tree)));
  assert.equal((await status(near)).pid, pid, "the service has gone on");
  const next = await openWindow(t, near);
  await show(next, "Inbox");
  await next.click(line("set", "Received"));
  await next.wait(showing("Received: "));
});

driven("a second start hands over its paths, and the first window comes to the front with them", async (t) => {
  const base = folder();
  const near = await windowDevice(base, "near");
  const page = await openWindow(t, near);
  await show(page, "Inbox");
  const id = await windowId(near.env);
  capture("xdotool", ["windowminimize", id]);
  await eventually("the window to be away", () => capture("xdotool", ["getactivewindow"]).out.trim() !== id);
  const names = ["holiday", "plain file.txt"];
  mkdirSync(join(base, names[0]));
  writeFileSync(join(base, names[1]), "x");
  // A relative path, and one whose name is not UTF-8.
  capture("sh", ["-c", `mkdir "$(printf 'caf\\351')"`], { cwd: base });
  const second = spawn("sh", ["-c", `exec "$0" "$@" "$(printf 'caf\\351')"`, WINDOW, "--show", "send", ...names], { cwd: base, env: { ...process.env, ...near.env } });
  assert.deepEqual(await once(second, "exit", inTime()), [0, null]);
  await page.wait("//h1[. = 'Send']");
  for (const name of [...names, "caf\\xe9"]) await page.wait(showing(name));
  await eventually("the first window in front", () => capture("xdotool", ["getactivewindow"]).out.trim() === id);
  await keepPicture(page, "send-handed-over");
  const third = spawn(WINDOW, ["--show", "inbox"], { env: { ...process.env, ...near.env } });
  assert.deepEqual(await once(third, "exit", inTime()), [0, null]);
  await page.wait("//h1[. = 'Inbox']");
});

driven("what the first window is opened with is chosen", async (t) => {
  const base = folder();
  const near = await windowDevice(base, "near");
  mkdirSync(join(base, "holiday"));
  const page = await openWindow(t, near, {}, ["--show", "send", join(base, "holiday")]);
  await page.wait(showing("holiday"));
});

driven("a service that is killed is reported, started again by a press, and found again when it comes back by itself", async (t) => {
  const base = folder();
  const near = await windowDevice(base, "near");
  const page = await openWindow(t, near);
  await show(page, "Inbox");
  const first = await status(near);
  process.kill(first.pid, "SIGKILL");
  await page.wait(showing("The background service has stopped."));
  await keepPicture(page, "service-lost");
  await page.wait(button("Restart service"));
  // Twice, as people do. The second press does not count for the next time.
  await page.script(() => [1, 2].forEach(() => document.querySelector("[role=alert] button").click()));
  await eventually("the message to go", async () => !(await page.find("//*[@role='alert']")));
  const second = await status(near);
  assert.notEqual(second.pid, first.pid);
  assert.equal(await code(page), second.code);

  process.kill(second.pid, "SIGKILL");
  await page.wait(showing("The background service has stopped."));
  const own = near.start(["serve", "--json"]);
  t.after(() => own.kill());
  await own.event("listening");
  await eventually("the message to go", async () => !(await page.find("//*[@role='alert']")));
  const third = await status(near);
  assert.equal(third.pid, own.pid);
  assert.equal(await code(page), third.code, "the message stays until the window shows the next service's state");
});

driven("with receiving in the background off, the service that the window started ends with it", async (t) => {
  const base = folder();
  const near = await windowDevice(base, "near");
  const page = await openWindow(t, near);
  await show(page, "Settings");
  await page.click(field("background"));
  await eventually("it to be stored", async () => (await near.run(["settings", "--json"])).events[0].background === false);
  assert.ok(await status(near));
  await page.close();
  // Querying it would keep it, because a command is a client, too.
  await eventually("the service to end", () => !serviceProcess(near.env));
});

driven("a service that cannot be started is reported with its reason", async (t) => {
  const base = folder();
  const near = await windowDevice(base, "near");
  writeFileSync(join(near.env.XDG_CONFIG_HOME, "ringway/config.toml"), "port = 0\n");
  const page = await openWindow(t, near, {}, [], { shows: showing("The background service cannot be reached") });
  await page.wait(showing("config.toml"));
  writeFileSync(join(near.env.XDG_CONFIG_HOME, "ringway/config.toml"), `port = ${near.port}\n`);
  await page.click(button("Restart service"));
  await page.wait("//h1");
});
