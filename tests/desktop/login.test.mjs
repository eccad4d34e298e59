// Start at login, as at a real login: the desktop's autostart entry launched in a session of its
// own, and the unit by a user's systemd.
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { RINGWAY } from "../setup/build.mjs";
import { Running } from "../setup/devices.mjs";
import { ROOT, capture } from "../setup/process.mjs";
import { linesOf } from "../setup/schema.mjs";
import { EXIT, oddTree, same, sender } from "../transfer/harness.mjs";
import { asking } from "./lib/service.mjs";
import { onPrivateBus, pair } from "./lib/session.mjs";
import { userManager } from "./lib/systemd.mjs";

const ENTRY = "autostart/org.ringway.Ringway.desktop";
/** What a session does with an entry: GLib reads it and starts the program of its Exec line. */
const LAUNCH = `import sys
from gi.repository import Gio, GLib
entry = Gio.DesktopAppInfo.new_from_filename(sys.argv[1])
entry.launch([], None)
loop = GLib.MainLoop()
GLib.io_add_watch(sys.stdin, GLib.PRIORITY_DEFAULT, GLib.IO_HUP, lambda *_: loop.quit())
loop.run()`;

function settings(device, ...args) {
  const { status, out, err } = capture(device.command ?? RINGWAY, ["settings", "--json", ...args], { env: device.env });
  assert.equal(status, 0, err);
  return linesOf(out).at(-1).start_at_login.by;
}

async function receives(t, { here, there, inbox, source, target }, own = () => {}) {
  const { code, accept } = asking(here);
  oddTree(join(source, "tree"));
  own(source);
  const sending = sender(t, there, join(source, "tree"), target, { code: await code() });
  await accept();
  assert.equal(await sending.exit(), EXIT.all, sending.said());
  same(join(source, "tree"), join(inbox, "tree"));
}

if (onPrivateBus(import.meta.url)) {
  test("the autostart entry starts what receives, at an odd path, and is repaired when its program has gone", async (t) => {
    const both = await pair(t);
    const { base, here } = both;
    const [first, second] = ["an odd $path's", "another"].map((name) => join(base, name));
    for (const path of [first, second]) mkdirSync(path);
    copyFileSync(RINGWAY, join(first, "ringway"));
    here.command = join(first, "ringway");
    assert.equal(settings(here), "nothing");
    assert.equal(settings(here, "--start-at-login", "on"), "autostart");
    // The program has moved, as with a package that installs elsewhere. The next command that runs
    // there notices it.
    renameSync(join(first, "ringway"), join(second, "ringway"));
    here.command = join(second, "ringway");
    assert.equal(settings(here), "autostart");
    const entry = join(here.env.XDG_CONFIG_HOME, ENTRY);
    assert.ok(readFileSync(entry, "utf8").includes(`Exec="${here.command}" serve\n`));
    // Back to the path with all characters that an Exec line has to quote.
    renameSync(here.command, join(first, "ringway"));
    here.command = join(first, "ringway");
    assert.equal(settings(here), "autostart");

    const session = new Running("session", "dbus-run-session", ["--", "/usr/bin/python3", "-c", LAUNCH, entry], { env: here.env, input: null });
    try {
      await receives(t, both);
      assert.equal(settings(here, "--start-at-login", "off"), "nothing");
    } finally {
      // Nothing that started it would end it.
      const { status, err } = capture(RINGWAY, ["stop"], { env: here.env });
      session.child.stdin.end();
      assert.equal(status, 0, err);
    }
    assert.equal(await session.exit(), 0, session.said());
  });

  test("the unit receives under a user's systemd with all of its hardening, and ends in order", async (t) => {
    const both = await pair(t);
    const { base, here } = both;
    const command = join(base, "ringway");
    copyFileSync(RINGWAY, command);
    const manager = await userManager(t, base, here);
    if (!manager) return;
    const unit = readFileSync(join(ROOT, "src-tauri/packaging/systemd/user/ringway.service"), "utf8");
    manager.install("ringway.service", unit.replace("/usr/bin/ringway", command));
    const setting = (...args) => linesOf(manager.as(command, "settings", "--json", ...args).out)[0].start_at_login.by;
    const shown = (property) => manager.systemctl("show", "-p", property, "--value", "ringway").out.trim();
    assert.equal(setting("--start-at-login", "on"), "unit");
    assert.equal(manager.systemctl("is-enabled", "ringway").out.trim(), "enabled");
    // Type=notify: the call returns once the service reports that it is ready.
    const started = manager.systemctl("start", "ringway");
    assert.equal(started.status, 0, started.err);
    const [, advised] = manager.as(command, "settings").out.match(/yes, by systemd \(`([^`]*)`\)/);
    assert.match(manager.as("sh", "-c", advised).out, /Active: active \(running\)/);
    const status = readFileSync(`/proc/${shown("MainPID")}/status`, "utf8");
    assert.match(status, /^NoNewPrivs:\t1$/m);
    assert.match(status, /^Seccomp:\t2$/m);
    // No other user, not even root, accepts files in this user's folders. The sender's stay its
    // own.
    here.command = manager.runner(command);
    capture("chown", ["-R", "0:0", join(base, "device-there")]);
    // Received files belong to the receiving user, so the files that they are compared with do too.
    await receives(t, both, manager.own);
    const stopped = manager.systemctl("stop", "ringway");
    assert.equal(stopped.status, 0, stopped.err);
    assert.equal(shown("Result"), "success");
    assert.equal(setting("--start-at-login", "off"), "nothing");
    assert.equal(manager.systemctl("is-enabled", "ringway").out.trim(), "disabled");
  });
}
