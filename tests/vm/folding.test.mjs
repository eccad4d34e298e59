// Destinations that do not distinguish upper and lower case, or change names: vfat, exfat, and a
// flagged folder of an ext4. The guest's kernel supports these, whatever this machine's does.
import assert from "node:assert/strict";
import { rmSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { RINGWAY } from "../setup/build.mjs";
import { CACHE, ROOT, run, which } from "../setup/process.mjs";
import { runInVm, vmMissing } from "./vm.mjs";

const SCRIPT = join(ROOT, "tests/vm/folding.sh");
const TIMEOUT_SECONDS = 800;
/** Enough free space for a receiver. */
const IMAGE_KIB = 8192;
/** EXT4_CASEFOLD_FL and EXT4_EXTENTS_FL. */
const FOLDING_FOLDER_FLAGS = "0x40080000";
const CROSSED = [
  "both ends say that it is not all",
  "one of the two names is reported",
  "one of the two folders is reported",
  "what is there is whole",
];
const COPIED = ["a copy says that it is not all", "no copy is written over another one"];
const EXPECTED = [
  ...["plain", "atomic", "verified", "twice", "flagged-copy"].flatMap((name) => COPIED.map((what) => `${name}: ${what}`)),
  "before: a file that was there under another spelling is written over",
  ...["fresh", "merged", "inside", "flagged"].flatMap((name) => CROSSED.map((what) => `${name}: ${what}`)),
  ...["fresh", "merged", "inside"].map((name) => `${name}: a vfat is mounted`),
  "flagged: an ext4 is mounted",
  "there: a vfat is mounted",
  "there: a file of another name is not replaced",
];
const LOOSE = [
  "lowered: a name whose letters would be changed is named",
  ...["vfat", "exfat"].flatMap((kind) => [
    ...["fresh", "merged"].map((way) => `pair-${kind}-${way}: each name of a file has its contents`),
    ...["fresh", "merged", "inside"].flatMap((way) => [
      `loose-${kind}-${way}: the ${kind} is mounted`,
      `loose-${kind}-${way}: both ends say that it is not all`,
      `loose-${kind}-${way}: no name becomes another one`,
    ]),
    ...["replace", "keep", "rename", "update"].flatMap((policy) => [
      `owned-${kind}-${policy}: both ends name what cannot be held`,
      `owned-${kind}-${policy}: what the owner has stays`,
    ]),
    ...["--reflink=auto", "--atomic", "--verify"].map((option) => `loose-copy-${kind}${option}: no name becomes another one`),
  ]),
];

test("names that a destination takes for one", async (t) => {
  const why = vmMissing();
  if (why) return t.skip(`folding: no virtual machine with vfat: ${why}`);
  const image = join(CACHE, "vm/vfat");
  rmSync(image, { force: true });
  run(which("mkfs.vfat"), ["-C", image, String(IMAGE_KIB)], { stdio: "ignore" });
  const exfat = join(CACHE, "vm/exfat");
  writeFileSync(exfat, "");
  truncateSync(exfat, IMAGE_KIB * 1024);
  run(which("mkfs.exfat"), [exfat], { stdio: "ignore" });
  const flagged = join(CACHE, "vm/ext4");
  rmSync(flagged, { force: true });
  run(which("mkfs.ext4"), ["-q", "-O", "casefold", flagged, `${IMAGE_KIB}k`]);
  // chattr(1) could set the flag only on a mounted filesystem, and this machine's kernel may refuse
  // to mount it.
  run(which("debugfs"), ["-w", "-R", "mkdir tree", flagged], { stdio: "ignore" });
  run(which("debugfs"), ["-w", "-R", `set_inode_field tree flags ${FOLDING_FOLDER_FLAGS}`, flagged], { stdio: "ignore" });
  const { status, lines } = await runInVm({
    name: "folding",
    script: SCRIPT,
    files: { "payload/transfer.sh": join(dirname(SCRIPT), "transfer.sh"), "payload/vfat": image, "payload/exfat": exfat, "payload/ext4": flagged },
    programs: [RINGWAY],
    modules: ["loop", "vfat", "exfat", "nls_cp437", "nls_ascii", "ext4"],
    timeoutSeconds: TIMEOUT_SECONDS,
    onLine: (line) => process.stdout.write(`  guest| ${line}\n`),
  });
  const output = lines.slice(-40).join("\n");
  for (const name of [...EXPECTED, ...LOOSE]) {
    await t.test(name, () => assert.ok(lines.includes(`ok ${name}`), output));
  }
  assert.equal(status, 0, output);
});
