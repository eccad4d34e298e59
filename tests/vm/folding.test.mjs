// A destination that does not tell upper from lower case: vfat, which the guest's kernel has, whatever this machine's has.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { RINGWAY } from "../setup/build.mjs";
import { CACHE, ROOT, run, which } from "../setup/process.mjs";
import { runInVm, vmMissing } from "./vm.mjs";

const SCRIPT = join(ROOT, "tests/vm/folding.sh");
const TIMEOUT_SECONDS = 300;
/** Enough for a receiver to find room. */
const IMAGE_KIB = 8192;
const CROSSED = ["a vfat is mounted", "both ends say that it is not all", "one of the two names is reported", "what is there is whole"];
const EXPECTED = [
  ...["fresh", "merged"].flatMap((name) => CROSSED.map((what) => `${name}: ${what}`)),
  "there: a vfat is mounted",
  "there: a file of another name is not replaced",
];

test("names that a destination takes for one", async (t) => {
  const why = vmMissing();
  if (why) return t.skip(`folding: no virtual machine with vfat: ${why}`);
  const image = join(CACHE, "vm/vfat");
  rmSync(image, { force: true });
  run(which("mkfs.vfat"), ["-C", image, String(IMAGE_KIB)], { stdio: "ignore" });
  const { status, lines } = await runInVm({
    name: "folding",
    script: SCRIPT,
    files: { "payload/transfer.sh": join(dirname(SCRIPT), "transfer.sh"), "payload/vfat": image },
    programs: [RINGWAY],
    modules: ["loop", "vfat", "nls_cp437", "nls_ascii"],
    timeoutSeconds: TIMEOUT_SECONDS,
    onLine: (line) => process.stdout.write(`  guest| ${line}\n`),
  });
  const output = lines.slice(-40).join("\n");
  for (const name of EXPECTED) {
    await t.test(name, () => assert.ok(lines.includes(`ok ${name}`), output));
  }
  assert.equal(status, 0, output);
});
