// Kernel TLS, proven on a kernel that has it: this machine's own, or else a stock one in a virtual machine.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { RINGWAY, TESTTOOLS } from "../setup/build.mjs";
import { ROOT, which } from "../setup/process.mjs";
import { hostHasKernelTls, runInVm, vmMissing } from "./vm.mjs";

const SCRIPT = join(ROOT, "tests/vm/ktls.sh");
/** Emulated, nine transfers of 40 MB with debug builds, on two busy cores; a hang must still end. */
const TIMEOUT_SECONDS = 900;

const MATRIX = [
  ...["kernel-kernel", "kernel-user", "user-kernel", "user-user"],
  ...["renewed-kernel-kernel", "renewed-kernel-user", "renewed-user-kernel"],
];
const EXPECTED = [
  ...MATRIX.flatMap((name) => [
    `${name}: both ends succeed`,
    `${name}: the report says so`,
    `${name}: identical trees`,
    `${name}: the kernel's counters agree`,
  ]),
  "the kernel did it where it was asked to, and only there",
  "the kernel took new keys on the way",
  ...["tampered-kernel-kernel", "tampered-user-kernel"].flatMap((name) => [
    `${name}: a bit was flipped`,
    `${name}: both ends fail`,
    `${name}: nothing arrived`,
    `${name}: the kernel refused the record`,
  ]),
];

function onHost() {
  const path = [dirname(RINGWAY), dirname(TESTTOOLS), process.env.PATH].join(":");
  const done = spawnSync("sh", [SCRIPT], {
    env: { ...process.env, PATH: path },
    encoding: "utf8",
    timeout: TIMEOUT_SECONDS * 1000,
  });
  return { status: done.status, lines: (done.stdout + done.stderr).split("\n") };
}

function inGuest() {
  return runInVm({
    name: "ktls",
    script: SCRIPT,
    files: { "payload/transfer.sh": join(dirname(SCRIPT), "transfer.sh") },
    programs: [RINGWAY, TESTTOOLS, which("rsync"), which("setfattr")],
    timeoutSeconds: TIMEOUT_SECONDS,
    onLine: (line) => process.stdout.write(`  guest| ${line}\n`),
  });
}

test("kernel TLS", async (t) => {
  const own = hostHasKernelTls();
  const why = own ? null : vmMissing();
  if (why) return t.skip(`ktls: this kernel has no TLS, and no virtual machine: ${why}`);
  const { status, lines } = own ? onHost() : await inGuest();
  const output = lines.slice(-60).join("\n");
  for (const name of EXPECTED) {
    await t.test(name, () => assert.ok(lines.includes(`ok ${name}`), output));
  }
  assert.equal(status, 0, output);
});
