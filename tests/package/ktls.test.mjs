// The packaged commands with kernel TLS, on a kernel that has it. One of them is linked against
// musl, which the other tests do not run.
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { which } from "../setup/process.mjs";
import { kernelTlsMissing, runWithKernelTls } from "../vm/vm.mjs";
import { packageWith, said, scratch } from "./lib.mjs";

/** Emulated, four transfers of 10 MB at most on two busy cores. A hang must still end. */
const TIMEOUT_SECONDS = 800;
const EXPECTED = ["shared-to-static", "static-to-shared"].flatMap((way) => [
  ...[way, `renewed-${way}`].flatMap((name) => [
    `${name}-kernel-kernel: both ends succeed`,
    `${name}-kernel-kernel: the report says so`,
    `${name}-kernel-kernel: identical trees`,
    `${name}-kernel-kernel: the kernel's counters agree`,
  ]),
  `${way}: the kernel encrypted, and took new keys on the way`,
]);

/** The commands from the packages, each under another name. */
function unpacked(t) {
  const folder = scratch(t);
  const [deb, tarball, programs] = ["deb", "tarball", "programs"].map((name) => join(folder, name));
  for (const made of [tarball, programs]) mkdirSync(made);
  said("dpkg-deb", ["--extract", packageWith(".deb"), deb]);
  said("tar", ["-C", tarball, "--strip-components=1", "-xzf", packageWith(".tar.gz")]);
  copyFileSync(join(deb, "usr/bin/ringway"), join(programs, "ringway-shared"));
  copyFileSync(join(tarball, "bin/ringway"), join(programs, "ringway-static"));
  return ["ringway-shared", "ringway-static"].map((name) => join(programs, name));
}

test("the packaged commands encrypt in the kernel, to each other", async (t) => {
  const why = kernelTlsMissing();
  if (why) return t.skip(`packaged commands with kernel TLS: ${why}`);
  const programs = [...unpacked(t), which("rsync")];
  const { status, lines } = await runWithKernelTls({ name: "packaged", script: "packaged.sh", programs, timeoutSeconds: TIMEOUT_SECONDS });
  const output = lines.slice(-60).join("\n");
  for (const name of EXPECTED) {
    await t.test(name, () => assert.ok(lines.includes(`ok ${name}`), output));
  }
  assert.equal(status, 0, output);
});
