// Power cuts under a receiver in the virtual machine, on filesystems that this machine's kernel may
// lack.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RINGWAY, TESTTOOLS } from "../setup/build.mjs";
import { CACHE, ROOT, which } from "../setup/process.mjs";
import { runInVm, vmMissing } from "./vm.mjs";

const SCRIPT = join(ROOT, "tests/vm/crashes.sh");
/** The size, options of mount, the repair after a cut, and the kernel that supports it. */
const FILESYSTEMS = {
  vfat: { mib: 96, options: "quiet,utf8", repair: "fsck.vfat" },
  exfat: { mib: 96, options: "noatime", repair: "fsck.exfat" },
  f2fs: { mib: 128, options: "noatime,nodiscard", flavour: "generic" },
  ext4: { mib: 96, options: "noatime,commit=1" },
  xfs: { mib: 300, options: "noatime" },
  btrfs: { mib: 256, options: "noatime,commit=1" },
};
/** dirty_expire_centisecs of the guest's kernel, one for each transfer. */
const EXPIRIES = [50, 20, 100, 3000];
const MODULES = ["loop", "dm-mod", "dm-log-writes", "nls_cp437", "nls_ascii", "nls_utf8", "nls_iso8859-1"];
/** A boot with the pairing, and a transfer or a round: debug builds on two busy cores, s. */
const BOOT_SECONDS = 240;
const ROUND_SECONDS = 60;

export const KINDS = Object.keys(FILESYSTEMS);

/** Why power cuts on that filesystem are impossible in a guest here, or null. */
export function missing(kind) {
  const { flavour, repair } = FILESYSTEMS[kind];
  const lacking = [`mkfs.${kind}`, repair, "dmsetup", "rsync"].find((program) => program && !which(program));
  return vmMissing(flavour) ?? (lacking ? `no ${lacking} here` : null);
}

/**
 * The seeds for `kind`. On vfat, in the middle of a transfer, no seed lets all writes survive that
 * no flush covers (the remainder 1): after some of these `fsck.vfat -a` leaves folders that cannot
 * be read.
 */
function seedsOf(kind, seeds) {
  return kind === "vfat" ? seeds.filter((seed) => seed % 3 !== 1 || seed % 4 === 0) : seeds;
}

/** The checks of a transfer and of rounds with `seeds`, by their names in the guest. */
export function expected(kind, seeds) {
  const whole = ["an older tree is there", "its writes are logged", "the transfer that is cut succeeds by itself"];
  const each = ["the disk is mounted again", "each file is as the filesystem promises", "the send is repeated", "the trees are identical"];
  return [...whole.map((what) => `${kind}: ${what}`), ...seedsOf(kind, seeds).flatMap((seed) => each.map((what) => `${kind}, seed ${seed}: ${what}`))];
}

/**
 * One transfer on each of `kinds`, cut once for each of `seeds`, in one guest. Resolves like
 * `runInVm`.
 */
export function crashRounds(kinds, seeds, onLine) {
  const folder = join(CACHE, "vm", `crashes-${kinds[0]}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const files = { "payload/transfer.sh": join(ROOT, "tests/vm/transfer.sh"), "payload/rounds": join(folder, "rounds") };
  const lines = kinds.map((kind) => `${kind} ${FILESYSTEMS[kind].mib} ${EXPIRIES[seeds[0] % EXPIRIES.length]} ${FILESYSTEMS[kind].options} ${seedsOf(kind, seeds).join(" ")}\n`);
  writeFileSync(join(folder, "rounds"), lines.join(""));
  const tools = ["dmsetup", "rsync", "cp", ...kinds.flatMap((kind) => [`mkfs.${kind}`, FILESYSTEMS[kind].repair])];
  return runInVm({
    name: `crashes-${kinds[0]}`,
    flavour: FILESYSTEMS[kinds[0]].flavour,
    script: SCRIPT,
    files,
    programs: [RINGWAY, TESTTOOLS, ...tools.filter(Boolean).map((name) => which(name))],
    modules: [...MODULES, ...kinds],
    timeoutSeconds: BOOT_SECONDS + kinds.length * (seeds.length + 1) * ROUND_SECONDS,
    onLine,
  });
}
