// A device with a window: its own XDG folders and port, and the real program, driven through
// WebDriver.
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RINGWAY, WINDOW } from "../../setup/build.mjs";
import { Device, freePort } from "../../setup/devices.mjs";
import { capture } from "../../setup/process.mjs";
import { OUT } from "./display.mjs";
import { serviceProcess } from "./processes.mjs";
import { Page, sleep } from "./webdriver.mjs";

/**
 * A temporary folder that is removed with the test's process, whatever modes the trees in it have.
 * Earlier, a window may still write there.
 */
export function folder() {
  const path = mkdtempSync(join(tmpdir(), "ringway-window-"));
  process.on("exit", () => {
    if (capture("rm", ["-rf", path]).status === 0) return;
    capture("chmod", ["-R", "u+rwX", path]);
    rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  });
  return path;
}

/** The heading of a window without stored settings. */
export const WELCOME = `//h1[. = "Welcome to Ringway"]`;

/** The path of a device's settings. */
export const configOf = (device) => join(device.env.XDG_CONFIG_HOME, "ringway/config.toml");

/** A device with its own receive folder, and a port that nothing else uses. */
export async function windowDevice(base, name) {
  const device = new Device(base, name);
  device.inbox = join(base, `inbox-${name}`);
  mkdirSync(device.inbox);
  device.port = await freePort();
  device.target = `127.0.0.1:${device.port}`;
  const config = [`name = "${name}"`, `receive_folder = "${device.inbox}"`, `port = ${device.port}`, ""];
  writeFileSync(configOf(device), config.join("\n"));
  return device;
}

/** A device without stored settings. `inbox` and `port` can be chosen. */
export async function newDevice(base, name) {
  const device = await windowDevice(base, name);
  rmSync(configOf(device));
  return device;
}

function end(pid) {
  try {
    process.kill(pid);
  } catch {
    // It has ended by itself.
  }
}

/** Ends the service that runs with `env`, and waits until it is gone. */
export async function endService(env) {
  for (let left = serviceProcess(env); left; left = serviceProcess(env)) {
    end(left.pid);
    await sleep(50);
  }
}

/**
 * Opens the device's window and waits until it is shown. It is closed with the test, and the
 * service that it started ends with it.
 */
export async function openWindow(t, device, env = {}, args = [], { shows = "//h1" } = {}) {
  for (const program of [WINDOW, RINGWAY]) if (!existsSync(program)) throw new Error(`no ${program}: npm test builds it`);
  const page = await Page.open(WINDOW, { ...device.env, ...env }, args);
  t.after(async () => {
    await page.close();
    await endService(device.env);
  });
  await page.wait(shows);
  return page;
}

/** Shows one of the window's views. */
export async function show(page, view) {
  await page.click(`//nav//button[contains(., "${view}")]`);
  await page.wait(`//h1[. = "${view}"]`);
}

/** A picture of the page in tests/.out, for a person to look at. */
export async function keepPicture(page, name) {
  mkdirSync(OUT, { recursive: true });
  // Changes of colour after a press take some time.
  await sleep(200);
  await page.picture(join(OUT, `${name}.png`));
}
