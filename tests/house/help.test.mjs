// The scripts of package.json that take arguments explain them.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT } from "../setup/process.mjs";

for (const script of ["bench/run.mjs", "soak/run.mjs", "window/screenshots.mjs"]) {
  test(`tests/${script} --help prints help and does nothing else`, () => {
    const asked = spawnSync(process.execPath, [join(ROOT, "tests", script), "--help"], { encoding: "utf8", timeout: 60_000 });
    assert.deepEqual([asked.status, asked.stderr], [0, ""]);
    assert.match(asked.stdout, /npm run/);
  });
}
