// A session bus for a test file, and the programs at its other end: a panel, a notification server,
// and a reader of the tray's item.
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Device, PATIENCE_MS, Running, freePort } from "../../setup/devices.mjs";
import { capture, which } from "../../setup/process.mjs";
import { folder } from "../../transfer/harness.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));
/** Set in the second run, which has the bus. */
const INSIDE = "RINGWAY_TEST_BUS";
/** The system's Python, whatever PATH has, because only that has the bindings. */
const PYTHON = "/usr/bin/python3";
const LOOK_EVERY_MS = 50;

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function lacking() {
  if (!which("dbus-run-session")) return "dbus-run-session is not installed";
  if (capture(PYTHON, ["-c", "import gi; from gi.repository import Gio"]).status !== 0) return "PyGObject is not installed";
  return "";
}

/**
 * Runs the calling test file again with a session bus of its own and ends this process with its
 * status. Returns true inside, where the tests are to be registered. Returns false if the machine
 * lacks something, which is reported as a skipped test.
 */
export function onPrivateBus(url) {
  if (process.env[INSIDE]) return true;
  const why = lacking();
  if (why) {
    test("desktop session", { skip: why });
    return false;
  }
  const env = { ...process.env, [INSIDE]: "1" };
  for (const name of ["DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"]) delete env[name];
  const done = spawnSync("dbus-run-session", ["--", process.execPath, ...process.execArgv, fileURLToPath(url)], { env, stdio: "inherit" });
  process.exit(done.status ?? 1);
}

/**
 * The result of `look`, once it is neither null nor false. `what` completes the sentence "waited
 * for …".
 */
export async function eventually(what, look) {
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > until) throw new Error(`waited for ${what} for ${PATIENCE_MS / 1000} s`);
    await sleep(LOOK_EVERY_MS);
  }
}

/**
 * Starts one of the programs of this folder and waits until it has its name on the bus. It ends
 * with the test.
 */
async function python(t, name, ...args) {
  // -B: no compiled module beside named.py.
  const running = new Running(name, PYTHON, ["-B", join(HERE, `${name}.py`), ...args], { input: null });
  t.after(() => running.kill());
  await running.event("ready");
  return running;
}

/** A panel. */
export const panel = (t) => python(t, "watcher");

/** A notification server with these capabilities. */
export const notifier = (t, ...capabilities) => python(t, "notifier", ...capabilities);

/**
 * Reads an item like a panel: `look()` returns its state and menu, and `click(label)` chooses an
 * entry.
 */
export function looker(t, { service }) {
  const running = new Running("item", PYTHON, [join(HERE, "item.py")], { input: null });
  t.after(() => running.kill());
  const answers = createInterface({ input: running.child.stdout })[Symbol.asyncIterator]();
  const ask = async (order) => {
    running.tell(JSON.stringify({ service, ...order }));
    const answer = JSON.parse((await answers.next()).value);
    if (answer.error) throw new Error(answer.error);
    return answer;
  };
  const look = () => ask({ do: "look" });
  return {
    look,
    click: (label) => ask({ do: "click", label }),
    /** Waits until the title contains `words`. */
    says: (words) =>
      eventually(`the tray to say "${words}"`, async () => {
        const seen = await look();
        return seen.item.Title === `Ringway: ${words}` && seen;
      }),
  };
}

/** The labels of a menu, without separators. */
export const labels = (menu) => menu.map(({ label }) => label).filter(Boolean);

/** The code that a menu shows. */
export const codeIn = (menu) => labels(menu).find((label) => label.startsWith("Code: "))?.slice("Code: ".length);

/**
 * Two devices: one whose service is on the desktop, with a receive folder and a port, and one that
 * sends. Also a folder for sources.
 */
export async function pair(t) {
  const base = folder(t);
  const inbox = join(base, "inbox");
  const source = join(base, "source");
  for (const path of [inbox, source]) mkdirSync(path);
  const here = new Device(base, "here");
  const port = await freePort();
  const config = ['name = "here"', `receive_folder = "${inbox}"`, `port = ${port}`, "announce = false", ""];
  writeFileSync(join(here.env.XDG_CONFIG_HOME, "ringway/config.toml"), config.join("\n"));
  return { base, inbox, source, here, there: new Device(base, "there"), target: `127.0.0.1:${port}` };
}
