// Kernel TLS, tested on a kernel that has it: this machine's own, or else a stock one in a virtual
// machine.
import assert from "node:assert/strict";
import { test } from "node:test";
import { RINGWAY, TESTTOOLS } from "../setup/build.mjs";
import { which } from "../setup/process.mjs";
import { kernelTlsMissing, runWithKernelTls } from "./vm.mjs";

/**
 * Emulated, twelve transfers of 10 MB at most with debug builds, on two busy cores. A hang must
 * still end.
 */
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
  ...["kernel-kernel", "user-user", "renewed-kernel-kernel"].flatMap((name) => [
    `got ${name}: both ends succeed`,
    `got ${name}: both reports say so`,
    `got ${name}: identical trees`,
    `got ${name}: the kernel's counters agree`,
  ]),
  "the kernel did it at both ends of a get",
  "the kernel did it at the serving end of a get, and only there",
  "the kernel of a serving end took new keys on the way",
  ...["tampered-kernel-kernel", "tampered-user-kernel"].flatMap((name) => [
    `${name}: a bit was flipped`,
    `${name}: both ends fail`,
    `${name}: nothing arrived`,
    `${name}: the kernel refused the record`,
  ]),
];

test("kernel TLS", async (t) => {
  const why = kernelTlsMissing();
  if (why) return t.skip(`ktls: ${why}`);
  const programs = [RINGWAY, TESTTOOLS, which("rsync"), which("setfattr")];
  const { status, lines } = await runWithKernelTls({ name: "ktls", script: "ktls.sh", programs, timeoutSeconds: TIMEOUT_SECONDS });
  const output = lines.slice(-60).join("\n");
  for (const name of EXPECTED) {
    await t.test(name, () => assert.ok(lines.includes(`ok ${name}`), output));
  }
  assert.equal(status, 0, output);
});
