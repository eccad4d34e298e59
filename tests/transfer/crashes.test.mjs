// After a crash of the filesystem at any instant each file is its old version or its new one, and
// the same send ends in an identical tree.
import { test } from "node:test";
import { Crashing, missing } from "./crashes.mjs";
import { folder } from "./harness.mjs";

/**
 * Seeds of the rounds on each filesystem: crashes while names are being replaced and while a new
 * folder is staged, with and without its journal.
 */
const SEEDS = [4, 13, 15, 22, 35, 36];

/** Copies of the device take longer than a shutdown. */
const SEEDS_COPIED = [15, 35];

/** Rounds on a filesystem that is repaired before it is mounted again. */
const SEEDS_REPAIRED = [4, 22, 36];

const ROUNDS = { ext4: SEEDS, "ext4 without a journal, folders written": SEEDS_REPAIRED, xfs: SEEDS, btrfs: SEEDS_COPIED, f2fs: SEEDS_COPIED };
for (const [kind, seeds] of Object.entries(ROUNDS)) {
  test(`a filesystem that crashes leaves each file old or new, and the same send completes it, on ${kind}`, async (t) => {
    const lacking = missing(kind);
    if (lacking) return t.skip(lacking);
    const crashing = new Crashing(folder(t));
    await crashing.pair();
    for (const seed of seeds) t.diagnostic(`seed ${seed}: ${JSON.stringify(await crashing.round(kind, seed))}`);
  });
}

for (const kind of ["ext4", "ext4 without a journal, folders written", "xfs"]) {
  test(`a filesystem that crashes after copy --atomic leaves each file old or new, on ${kind}`, async (t) => {
    const lacking = missing(kind);
    if (lacking) return t.skip(lacking);
    t.diagnostic(JSON.stringify(await new Crashing(folder(t)).replaced(kind)));
  });
}

for (const kind of ["ext4", "xfs"]) {
  test(`files of a new folder that a remounted filesystem may have lost are not believed, on ${kind}`, async (t) => {
    const lacking = missing(kind);
    if (lacking) return t.skip(lacking);
    const crashing = new Crashing(folder(t));
    await crashing.pair();
    t.diagnostic(`${await crashing.staged(kind)} files were not sent again`);
  });
}

// ext4 writes nothing more once its device has refused some of its own records. xfs retries those.
for (const merges of [false, true]) {
  test(`refused writes of ${merges ? "a merge" : "a new folder"} are not believed although another program took the kernel's report, on xfs`, async (t) => {
    const lacking = missing("xfs");
    if (lacking) return t.skip(lacking);
    const crashing = new Crashing(folder(t));
    await crashing.pair();
    t.diagnostic(`${await crashing.refused("xfs", merges)} files were not sent again`);
  });
}
