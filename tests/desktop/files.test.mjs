// What packages install for desktops and systemd, judged by the tools that read it there.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { RINGWAY } from "../setup/build.mjs";
import { ROOT, capture, which } from "../setup/process.mjs";

const PACKAGING = join(ROOT, "src-tauri/packaging");
/** systemd's own figure, 0 to 10. A user's unit cannot be held from that user's files, which is most of the difference. */
const EXPOSURE_MAX = { system: 2.0, user: 6.5 };

for (const kind of ["system", "user"]) {
  const skip = !which("systemd-analyze") && "systemd-analyze is not installed";
  test(`the ${kind} unit is one that systemd takes, and as closed as it can be`, { skip }, (t) => {
    const folder = mkdtempSync(join(tmpdir(), "ringway-unit-"));
    t.after(() => rmSync(folder, { recursive: true }));
    // Where it would look for the user's own units.
    const env = { ...process.env, XDG_RUNTIME_DIR: join(folder, "run") };
    mkdirSync(env.XDG_RUNTIME_DIR, { mode: 0o700 });
    const unit = join(folder, "ringway.service");
    const text = readFileSync(join(PACKAGING, "systemd", kind, "ringway.service"), "utf8");
    // It is judged with a program that is there.
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

test("desktop files are valid", { skip: !which("desktop-file-validate") && "desktop-file-validate is not installed" }, () => {
  const folder = join(PACKAGING, "desktop");
  const names = readdirSync(folder).filter((name) => name.endsWith(".desktop"));
  assert.deepEqual(names, ["org.ringway.Ringway.Send.desktop", "org.ringway.Ringway.desktop"]);
  const { status, out, err } = capture("desktop-file-validate", names.map((name) => join(folder, name)));
  assert.deepEqual([status, out, err], [0, "", ""]);
});
