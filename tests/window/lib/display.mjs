// A private display for a test file: a virtual screen, a session bus and a window manager, so that
// the tester's own desktop is neither touched nor visible.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { ROOT, capture, which } from "../../setup/process.mjs";

/** Where pictures go, for a person to look at: tests/.out is not committed. */
export const OUT = join(ROOT, "tests/.out/window");
/** Set in the second run, which has the display. */
const INSIDE = "RINGWAY_TEST_DISPLAY";
/** Wide enough for the window at its widest and for a drag source beside it. */
const SCREEN = "1680x1050x24";
/** A long limit, for a machine that compiles at the same time. */
const START_MS_MAX = 30_000;
const PROGRAMS = ["xvfb-run", "dbus-run-session", "openbox", "xdotool", "WebKitWebDriver", "import"];
const GTK = "import gi; gi.require_version('Gtk', '3.0'); from gi.repository import Gtk";

/** What this machine lacks to drive the window, in words; empty if it lacks nothing. */
export function lacking() {
  const programs = PROGRAMS.filter((name) => !which(name));
  if (programs.length > 0) return `${programs.join(", ")} not installed`;
  // The system's Python, whatever PATH has, because only that has the bindings.
  if (capture("/usr/bin/python3", ["-c", GTK]).status !== 0) return "GTK 3 for Python not installed";
  return "";
}

/**
 * Runs the calling test file again on a display of its own and ends this process with its status.
 * Returns true inside, where the tests are to be registered. Returns false if the machine lacks
 * something, which is reported as a skipped test.
 */
export async function onPrivateDisplay(url) {
  if (process.env[INSIDE]) {
    await startWindowManager();
    return true;
  }
  const why = lacking();
  if (why) {
    test("window", { skip: why });
    return false;
  }
  const done = onDisplay([...process.execArgv, fileURLToPath(url)], { stdio: "inherit" });
  process.exit(done.status ?? 1);
}

/** Runs a script with Node on a display of its own, to its end. */
export function onDisplay(script, options) {
  const runtime = mkdtempSync(join(tmpdir(), "ringway-display-"));
  silence(runtime);
  const env = {
    ...process.env,
    [INSIDE]: "1",
    XDG_RUNTIME_DIR: runtime,
    GDK_BACKEND: "x11",
    NO_AT_BRIDGE: "1",
    GTK_A11Y: "none",
    // The picker and the file manager that these tests know, not the desktop's portals.
    GTK_USE_PORTAL: "0",
  };
  for (const name of ["WAYLAND_DISPLAY", "DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XAUTHORITY"]) delete env[name];
  // Without a reset when the last client disconnects: programs that look for the window manager
  // connect and disconnect meanwhile.
  const args = ["-a", "-s", `-screen 0 ${SCREEN} -nolisten tcp -noreset`, "dbus-run-session", "--", process.execPath, ...script];
  const done = spawnSync("xvfb-run", args, { env, ...options });
  rmSync(runtime, { recursive: true, force: true });
  return done;
}

/**
 * Keeps the bus from starting this machine's notification server, whose notifications would cover
 * what is tested, and the portal for sandboxed programs, which mounts a filesystem below `runtime`.
 */
function silence(runtime) {
  const services = join(runtime, "dbus-1/services");
  mkdirSync(services, { recursive: true, mode: 0o700 });
  for (const name of ["org.freedesktop.Notifications", "org.freedesktop.portal.Documents"]) {
    writeFileSync(join(services, `${name}.service`), `[D-BUS Service]\nName=${name}\nExec=/bin/false\n`);
  }
}

/** Without a window manager no window gets the keyboard, and windows cannot be moved. */
export async function startWindowManager() {
  const manager = spawn("openbox", ["--sm-disable"], { stdio: "ignore" });
  manager.unref();
  process.on("exit", () => manager.kill());
  const until = Date.now() + START_MS_MAX;
  while (capture("xdotool", ["get_num_desktops"]).status !== 0) {
    if (Date.now() > until) throw new Error(`openbox did not start within ${START_MS_MAX / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  // A window that opens below the pointer keeps what is there marked, even when the pointer goes.
  capture("xdotool", ["mousemove", "9999", "9999"]);
}

/** A picture of the whole screen. */
export function picture(name) {
  mkdirSync(OUT, { recursive: true });
  capture("import", ["-window", "root", join(OUT, `${name}.png`)]);
}
