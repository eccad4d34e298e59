// After a power cut each file is its old version or its new one, whatever the disk's own memory
// lost, and the same send ends in an identical tree. vfat and exfat have no journal: on exfat a
// file that is being replaced may be gone, on vfat damaged. Other files are whole, and all files
// are once the sender has its receipt.
import assert from "node:assert/strict";
import { test } from "node:test";
import { crashRounds, expected, missing } from "./crashes.mjs";

/**
 * Multiples of four are cut right after the receipt. The remainder by three selects the writes that
 * survive.
 */
const SEEDS = [4, 3, 7, 5];
const ROUNDS = [
  { kinds: ["vfat", "exfat"], promise: "damages only files that are being replaced" },
  { kinds: ["f2fs"], promise: "leaves each file old or new" },
];

for (const { kinds, promise } of ROUNDS) {
  test(`a power cut ${promise}, and the same send completes the tree, on ${kinds.join(" and ")}`, async (t) => {
    const why = kinds.map(missing).find(Boolean);
    if (why) return t.skip(`no virtual machine with ${kinds.join(" and ")}: ${why}`);
    const { status, lines } = await crashRounds(kinds, SEEDS, (line) => process.stdout.write(`  guest| ${line}\n`));
    const output = lines.slice(-60).join("\n");
    for (const name of kinds.flatMap((kind) => expected(kind, SEEDS))) {
      await t.test(name, () => assert.ok(lines.includes(`ok ${name}`), output));
    }
    assert.equal(status, 0, output);
  });
}
