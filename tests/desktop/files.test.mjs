// Files that packages install for desktops and systemd, validated by the tools that read them.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { RINGWAY } from "../setup/build.mjs";
import { ROOT, capture, which } from "../setup/process.mjs";
import { eventually } from "./lib/session.mjs";

const PACKAGING = join(ROOT, "src-tauri/packaging");
/**
 * systemd's own figure, 0 to 10. A user's unit cannot be kept from that user's files, which is most
 * of the difference.
 */
const EXPOSURE_MAX = { system: 2.0, user: 6.5 };

for (const kind of ["system", "user"]) {
  const skip = !which("systemd-analyze") && "systemd-analyze is not installed";
  test(`the ${kind} unit is one that systemd takes, and as closed as it can be`, { skip }, (t) => {
    const folder = mkdtempSync(join(tmpdir(), "ringway-unit-"));
    t.after(() => rmSync(folder, { recursive: true }));
    // The place where it would look for the user's own units.
    const env = { ...process.env, XDG_RUNTIME_DIR: join(folder, "run") };
    mkdirSync(env.XDG_RUNTIME_DIR, { mode: 0o700 });
    const unit = join(folder, "ringway.service");
    const text = readFileSync(join(PACKAGING, "systemd", kind, "ringway.service"), "utf8");
    // It is validated with a program that exists.
    assert.match(text, /^ExecStart=\/usr\/bin\/ringway serve$/m);
    writeFileSync(unit, text.replace("/usr/bin/ringway", RINGWAY));
    const whose = kind === "user" ? ["--user"] : [];
    const verified = capture("systemd-analyze", ["verify", "--man=no", ...whose, unit], { env });
    assert.deepEqual([verified.status, verified.out, verified.err], [0, "", ""]);
    const { status, out, err } = capture("systemd-analyze", ["security", "--offline=true", "--no-pager", ...whose, unit], { env });
    assert.equal(status, 0, err);
    const exposure = Number(out.match(/Overall exposure level for ringway\.service: ([\d.]+)/)?.[1]);
    assert.ok(exposure <= EXPOSURE_MAX[kind], out);
  });
}

for (const kind of ["system", "user"]) {
  test(`the ${kind} unit is not started again for a bad setting, and for anything else a few times only`, () => {
    const text = readFileSync(join(PACKAGING, "systemd", kind, "ringway.service"), "utf8");
    const [unit, service] = text.split("[Service]");
    const figure = (part, key) => Number(part.match(new RegExp(`^${key}=(\\d+)$`, "m"))?.[1]);
    assert.equal(figure(service, "RestartPreventExitStatus"), 2);
    // systemd counts starts within the interval (systemd.unit(5)). Pauses that fill the interval
    // would never reach the limit.
    const [interval, burst] = [figure(unit, "StartLimitIntervalSec"), figure(unit, "StartLimitBurst")];
    // A start may take 10 s until it has failed: 5 s for a locked database, and more on a loaded
    // machine.
    assert.ok(burst >= 3 && burst * (figure(service, "RestartSec") + 10) < interval, text);
  });
}

const VALIDATOR = { skip: !which("desktop-file-validate") && "desktop-file-validate is not installed" };
const MANAGERS = join(PACKAGING, "file-managers");

/**
 * A service menu's action as an entry of its own, because the tools that validate and start such
 * files do not know KDE's kind.
 */
function actionAsEntry(text) {
  const [, action] = text.split("[Desktop Action send]\n");
  assert.match(text, /^Actions=send;$/m);
  return `[Desktop Entry]\nType=Application\n${action}`;
}

function folderFor(t) {
  const folder = mkdtempSync(join(tmpdir(), "ringway-entries-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

test("desktop files are valid", VALIDATOR, (t) => {
  const folder = join(PACKAGING, "desktop");
  const names = readdirSync(folder).filter((name) => name.endsWith(".desktop"));
  assert.deepEqual(names, ["org.ringway.Ringway.desktop", "zz-org.ringway.Ringway.Send.desktop"]);
  const action = join(folderFor(t), "action.desktop");
  writeFileSync(action, actionAsEntry(readFileSync(join(MANAGERS, "dolphin.desktop"), "utf8")));
  const all = [...names.map((name) => join(folder, name)), join(MANAGERS, "thunar.desktop"), action];
  const { status, out, err } = capture("desktop-file-validate", all);
  assert.deepEqual([status, out, err], [0, "", ""]);
});

const MIME = ["gio", "update-desktop-database"].find((tool) => !which(tool));

test("a folder is opened by a file manager, and offered to what sends it", { skip: MIME && `${MIME} is not installed` }, (t) => {
  const base = folderFor(t);
  const entries = join(base, "applications");
  mkdirSync(entries);
  writeFileSync(join(base, "ringway-desktop"), "#!/bin/sh\n", { mode: 0o755 });
  for (const name of readdirSync(join(PACKAGING, "desktop"))) writeFileSync(join(entries, name), readFileSync(join(PACKAGING, "desktop", name)));
  // The last of the file managers here, by its name.
  writeFileSync(join(entries, "xfe.desktop"), "[Desktop Entry]\nType=Application\nName=Files\nExec=sh %U\nMimeType=inode/directory;\n");
  assert.equal(capture("update-desktop-database", [entries]).status, 0);
  const none = join(base, "none");
  const env = { ...process.env, LC_ALL: "C", PATH: `${base}:${process.env.PATH}`, XDG_DATA_HOME: base, XDG_DATA_DIRS: none, XDG_CONFIG_HOME: none, XDG_CONFIG_DIRS: none };
  const { out } = capture("gio", ["mime", "inode/directory"], { env });
  assert.match(out, /^Default application for .*: xfe\.desktop$/m);
  assert.match(out, /^\tzz-org\.ringway\.Ringway\.Send\.desktop$/m);
});

/** What a file manager does with an entry and the selected files: GLib expands the Exec line. */
const LAUNCH = `import os, sys
from gi.repository import Gio
entry = Gio.DesktopAppInfo.new_from_filename(sys.argv[1])
files = [Gio.File.new_for_path(os.path.join(os.fsencode(sys.argv[2]), name)) for name in [b"a b", b"caf\\xe9", b"$x'\\"%F", b"--show"]]
entry.launch(files, None)`;

/**
 * What Nemo does with an action: it puts the paths in double quotes, and parses the result like a
 * shell.
 */
const NEMO = `import sys
from gi.repository import GLib
action = GLib.KeyFile()
action.load_from_file(sys.argv[1], GLib.KeyFileFlags.NONE)
get = lambda key: action.get_string("Nemo Action", key)
assert (get("Quote"), get("Selection"), get("Extensions")) == ("double", "notnone", "any;")
_, argv = GLib.shell_parse_argv(get("Exec").replace("%F", '"/in/a b" "/in/c"'))
print(argv)`;

const python = capture("/usr/bin/python3", ["-c", "import gi.repository.Gio"]).status === 0;

test("what menus of file managers start is handed every path, whatever is in its name", { skip: !python && "python3-gi is not installed" }, async (t) => {
  const folder = folderFor(t);
  const seen = join(folder, "seen");
  writeFileSync(join(folder, "ringway-desktop"), `#!/bin/sh\nprintf '%s\\0' "$@" > '${seen}.new' && mv '${seen}.new' '${seen}'\n`, { mode: 0o755 });
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` };
  const files = Buffer.concat([["a b"], ["caf", 0xe9], ["$x'\"%F"], ["--show"]].map(([name, last]) => Buffer.concat([Buffer.from(`${folder}/${name}`), Buffer.from(last ? [last, 0] : [0])])));
  const wanted = Buffer.concat([Buffer.from("--show\0send\0"), files]);
  const service = join(folder, "service-menu.desktop");
  writeFileSync(service, actionAsEntry(readFileSync(join(MANAGERS, "dolphin.desktop"), "utf8")));
  for (const entry of [join(PACKAGING, "desktop/zz-org.ringway.Ringway.Send.desktop"), join(MANAGERS, "thunar.desktop"), service]) {
    rmSync(seen, { force: true });
    const { status, err } = capture("/usr/bin/python3", ["-c", LAUNCH, entry, folder], { env });
    assert.equal(status, 0, err);
    await eventually(`${entry} to start it`, () => existsSync(seen));
    assert.deepEqual(readFileSync(seen), wanted, entry);
  }
  const { out, err } = capture("/usr/bin/python3", ["-c", NEMO, join(MANAGERS, "nemo.nemo_action")], { env });
  assert.equal(out.trim(), "['ringway-desktop', '--show', 'send', '/in/a b', '/in/c']", err);
});
