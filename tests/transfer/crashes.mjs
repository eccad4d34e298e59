// Crashes of a filesystem under a receiver: it is shut down at a random instant, mounted again and
// checked, and the same send is repeated.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Device, differences, freePort } from "../setup/devices.mjs";
import { capture, run, which } from "../setup/process.mjs";
import { numbers } from "../setup/random.mjs";
import { filled } from "./mounts.mjs";

const CODE = "7-river-canal";
/**
 * How each filesystem is made, and mounted so that its journal is written often. Names may then be
 * on the disk long before contents. Some cannot be shut down and are copied instead (`isCopied`):
 * the receiver is stopped between two of its calls, and what the filesystem has passed to its
 * device by then is what a power cut leaves. `repair` is the command that an administrator runs
 * before mounting it again. Such a filesystem has no journal. Its folders are written before the
 * cut, by fsync(2), so that every name is there: an old name may lead to the inode of another file.
 * A shutdown would not work for it, because unmounting then writes inodes, too.
 */
const FILESYSTEMS = {
  btrfs: { make: ["-q", "-f"], mib: 256, options: "noatime,commit=1", isCopied: true },
  f2fs: { make: ["-q", "-f"], mib: 256, options: "noatime", isCopied: true },
  ext4: { make: ["-q", "-F"], mib: 64, options: "noatime,commit=1" },
  "ext4 without a journal, folders written": { type: "ext4", make: ["-q", "-F", "-O", "^has_journal"], mib: 64, options: "noatime", isCopied: true, repair: ["e2fsck", "-fy"] },
  xfs: { make: ["-q", "-f"], mib: 300, options: "noatime" },
};
/**
 * xfs_io's `shutdown` loses everything that is not on the disk. With `-f` the journal is written
 * first, so that names are there and contents may be missing.
 */
const SHUTDOWNS = ["shutdown", "shutdown -f", "shutdown -f"];
const PAST = 1_600_000_000;
/** Entries of the tree by kind, and the length of the large ones. */
const SMALL = 160;
const LARGE = 12;
const LARGE_BYTES = 300_000;
/**
 * The transfers are slowed down, so that a crash comes in the middle of one, which takes about this
 * long.
 */
const BYTES_PER_SECOND = 12_000_000;
const DURATION_MS = 1_000;
/** The highest status of fsck(8) after which the filesystem is sound. */
const REPAIRED = 1;
/** After this time btrfs has committed, and does not commit again while nothing is written. */
const COMMITTED_MS = 1_500;
/**
 * How much a device accepts before it refuses writes: its filesystem's journal and everything that
 * is sent.
 */
const MEMORY_MIB = 160;
/** How long a transfer may take to begin on a busy machine. */
const BEGIN_MS = 60_000;

/** What a machine lacks for these rounds; undefined if nothing is missing. */
export function missing(kind) {
  if (process.getuid() !== 0) return "mounting takes root";
  const { type = kind, isCopied, repair = [] } = FILESYSTEMS[kind];
  const programs = [`mkfs.${type}`, ...(isCopied ? [] : ["xfs_io"]), ...repair.slice(0, 1)];
  const lacking = programs.find((program) => !which(program));
  if (lacking) return `no ${lacking} here`;
  capture("modprobe", [type]);
  return readFileSync("/proc/filesystems", "utf8").split(/\s/).includes(type) ? undefined : `no ${type} in this kernel`;
}

/**
 * Stops a process between two of its calls: its earlier calls to a filesystem are done, and none
 * follows.
 */
async function stopped(running) {
  if (running.status !== undefined) return;
  running.kill("SIGSTOP");
  const tasks = `/proc/${running.pid}/task`;
  const states = () => readdirSync(tasks).map((task) => readFileSync(join(tasks, task, "stat"), "utf8")).filter((stat) => !stat.includes("(iou-"));
  for (const deadline = Date.now() + BEGIN_MS; !states().every((stat) => /\) [TZ] /.test(stat)); await sleep(2)) {
    assert.ok(Date.now() < deadline, "it does not stop");
  }
}

/** Two paired devices, and the trees before and after. */
export class Crashing {
  constructor(base) {
    this.base = base;
    this.near = new Device(base, "near");
    this.far = new Device(base, "far");
    this.source = join(base, "source");
    this.older = join(base, "older");
    // In `merged` most names exist already, in `fresh` none.
    for (const folder of ["merged", "fresh"]) {
      mkdirSync(join(this.source, folder, "deeper"), { recursive: true });
      for (let number = 0; number < SMALL; number += 1) {
        this.#file(join(folder, number % 2 ? "deeper" : "", `${number}`), `new ${number} `.padEnd(150, ".").repeat(1 + ((number * 7) % 400)));
      }
      for (let number = 0; number < LARGE; number += 1) this.#file(join(folder, `large ${number}`), Buffer.alloc(LARGE_BYTES, 65 + number));
    }
    mkdirSync(join(this.older, "merged/deeper"), { recursive: true });
    for (const path of this.#files("merged")) if (!path.endsWith("3")) writeFileSync(join(this.older, path), `old ${path}`);
  }

  #file(path, contents) {
    const at = join(this.source, path);
    writeFileSync(at, contents);
    utimesSync(at, PAST, PAST);
  }

  #files(folder) {
    const entries = readdirSync(join(this.source, folder), { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name).slice(this.source.length + 1));
  }

  /** Pairs the two by a first transfer. */
  async pair() {
    const inbox = join(this.base, "first");
    cpSync(this.older, inbox, { recursive: true });
    const { receiving, sending } = await this.#begin(inbox, CODE);
    for (const end of [sending, receiving]) assert.equal(await end.exit(), 0, end.said());
  }

  async #begin(inbox, code, sendArgs = [], folders = ["merged", "fresh"]) {
    const codeOf = (device) => (code ? ["--code-file", device.codeFile(code)] : []);
    const target = `127.0.0.1:${await freePort()}`;
    const args = ["recv", inbox, "--listen", target, "--json", "--yes", "--once", "--on-conflict", "replace"];
    const receiving = this.far.start([...args, ...codeOf(this.far)]);
    await receiving.event("listening");
    const paths = folders.map((folder) => join(this.source, folder));
    const sending = this.near.start(["send", ...paths, target, "--json", "--retry", "no", ...sendArgs, ...codeOf(this.near)]);
    return { receiving, sending };
  }

  /** Mounts a separate filesystem at `inbox` for `body`, which may mount it again. */
  async #on(kind, name, body) {
    const { type = kind, make, mib, options, isCopied = false, repair } = FILESYSTEMS[kind];
    const at = join(this.base, `${kind}-${name}`);
    const [image, inbox] = [join(at, "image"), join(at, "inbox")];
    mkdirSync(inbox, { recursive: true });
    writeFileSync(image, "");
    truncateSync(image, mib << 20);
    run(`mkfs.${type}`, [...make, image]);
    const mount = () => run("mount", ["-o", `loop,${options}`, image, inbox]);
    mount();
    const remount = (meanwhile = () => {}) => {
      run("umount", [inbox]);
      meanwhile();
      if (repair) {
        const { status, out } = capture(repair[0], [...repair.slice(1), image]);
        assert.ok(status <= REPAIRED, `${repair[0]} ended with ${status}: ${out}`);
      }
      mount();
    };
    try {
      return await body({ inbox, image, isCopied, writesNames: Boolean(repair), remount });
    } finally {
      capture("umount", ["-l", inbox]);
      rmSync(at, { recursive: true, force: true });
    }
  }

  /**
   * Begins a slow send. After `after` ms the filesystem is shut down, and mounted again. Returns
   * how the sender had ended by then.
   */
  async #crash({ inbox, image, isCopied, writesNames, remount }, { after, shutdown, folders, syncs = false }) {
    const { receiving, sending } = await this.#begin(inbox, null, ["--limit", `${BYTES_PER_SECOND}`, "--compress", "off"], folders);
    const deadline = Date.now() + BEGIN_MS;
    while (!readdirSync(inbox).some((name) => name.startsWith(".ringway-"))) {
      assert.ok(Date.now() < deadline, `nothing begins: ${receiving.said()}`);
      await sleep(2);
    }
    await sleep(after);
    // As the kernel does by itself after half a minute: the records of the attempt reach the disk,
    // and later files do not.
    if (syncs) {
      run("sync", ["-f", inbox]);
      await sleep(after);
    }
    let status;
    if (isCopied) {
      await stopped(receiving);
      // The filesystem writes its names by itself. It would write contents half a minute later.
      await sleep(COMMITTED_MS);
      if (writesNames) this.#writeNames(inbox);
      status = sending.status;
      copyFileSync(image, `${image}.cut`);
    } else {
      run("xfs_io", ["-x", "-c", shutdown, inbox]);
      status = sending.status;
    }
    for (const end of [sending, receiving]) end.kill();
    await Promise.all([sending.exit(), receiving.exit()]);
    remount(() => isCopied && renameSync(`${image}.cut`, image));
    return status;
  }

  /** Writes the folders below `inbox` to the disk, and no file. */
  #writeNames(inbox) {
    const entries = readdirSync(inbox, { recursive: true, withFileTypes: true });
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ parentPath, name }) => join(parentPath, name));
    run("sync", [inbox, ...folders]);
  }

  /**
   * Repeats the send, which must end in an identical tree once `meanwhile` is done. Returns how
   * many files it found there.
   */
  async #again(inbox, what, folders, meanwhile = () => {}) {
    const again = await this.#begin(inbox, null, [], folders);
    for (const end of [again.sending, again.receiving]) assert.equal(await end.exit(), 0, `${what}: ${end.said()}`);
    meanwhile();
    const pairs = folders ? folders.map((folder) => [join(this.source, folder), join(inbox, folder)]) : [[this.source, inbox]];
    const differs = pairs.flatMap(([from, to]) => differences(from, to)).filter((line) => !/ (\.\/$|lost\+found\/)/.test(line));
    assert.deepEqual(differs, [], what);
    return again.sending.events.find(({ event }) => event === "finished").unchanged;
  }

  /** One round. Returns what was found after the crash. */
  async round(kind, seed) {
    const below = numbers(seed);
    const what = `${kind}, seed ${seed}`;
    return this.#on(kind, seed, async (at) => {
      const { inbox } = at;
      cpSync(this.older, inbox, { recursive: true });
      run("sync", ["-f", inbox]);
      const status = await this.#crash(at, { after: below(DURATION_MS), shutdown: SHUTDOWNS[below(SHUTDOWNS.length)] });
      const found = this.#look(inbox, what);
      if (status === 0) assert.equal(found.new, this.#files("").length, `${what}: there was a receipt`);
      return { ...found, unchanged: await this.#again(inbox, what) };
    });
  }

  /**
   * `copy --atomic` replaces files, and the filesystem crashes right afterwards. Returns what was
   * found. Its log or its folders are written before, so that all names reach the disk, and only
   * those contents that the copy has synchronised.
   */
  async replaced(kind) {
    const what = `${kind}, copied`;
    return this.#on(kind, "copied", async ({ inbox, image, isCopied, remount }) => {
      cpSync(join(this.older, "merged"), join(inbox, "merged"), { recursive: true });
      run("sync", ["-f", inbox]);
      const copying = this.near.start(["copy", "--atomic", join(this.source, "merged"), inbox]);
      assert.equal(await copying.exit(), 0, copying.said());
      assert.deepEqual(differences(join(this.source, "merged"), join(inbox, "merged")), [], what);
      if (isCopied) {
        this.#writeNames(inbox);
        copyFileSync(image, `${image}.cut`);
      } else {
        run("xfs_io", ["-x", "-c", "shutdown -f", inbox]);
      }
      remount(() => isCopied && renameSync(`${image}.cut`, image));
      const found = this.#look(inbox, what, "merged");
      assert.ok(found.new > 0, `${what}: no name reached the disk`);
      return found;
    });
  }

  /**
   * A new folder whose filesystem crashes in the middle. Returns how many of its files were not
   * sent again.
   */
  async staged(kind) {
    return this.#on(kind, "staged", async (at) => {
      const { inbox } = at;
      const folders = ["fresh"];
      // Sizes and times reach the disk, but contents do not.
      await this.#crash(at, { after: DURATION_MS / 4, shutdown: "shutdown -f", folders, syncs: true });
      const there = existsSync(join(inbox, "fresh"));
      assert.ok(!there, "it was in the middle of it");
      return this.#again(inbox, `${kind}, staged`, folders);
    });
  }

  /**
   * The device of a filesystem refuses writes in the middle of a transfer, and another program's
   * sync takes the kernel's only error report. The receiver is killed, the device accepts writes
   * again, and the same send ends in an identical tree, as read from the medium. With `merges` the
   * files land in an existing folder. Returns how many files were not sent again. The device is a
   * loop device over a sparse file in a small memory filesystem: once that is full, new blocks of
   * the device cannot be written. The page cache still shows the written data, as after each failed
   * write-back.
   */
  async refused(kind, merges) {
    const { make, mib, options } = FILESYSTEMS[kind];
    const folders = ["fresh", "heavy"];
    mkdirSync(join(this.source, "heavy"));
    this.#file("heavy/large", randomBytes(24 << 20));
    const at = join(this.base, `${kind}-refused-${merges}`);
    const [memory, inbox] = [join(at, "memory"), join(at, "inbox")];
    for (const folder of [memory, inbox]) mkdirSync(folder, { recursive: true });
    run("mount", ["-t", "tmpfs", "-o", `size=${MEMORY_MIB}m`, "none", memory]);
    const image = join(memory, "image");
    const mount = () => run("mount", ["-o", `loop,${options}`, image, inbox]);
    try {
      writeFileSync(image, "");
      truncateSync(image, mib << 20);
      // The journal has its blocks from the beginning, so only contents are refused.
      run(`mkfs.${kind}`, [...make, image]);
      mount();
      if (merges) for (const folder of folders) mkdirSync(join(inbox, folder));
      run("sync", ["-f", inbox]);
      const { receiving, sending } = await this.#begin(inbox, null, ["--limit", `${BYTES_PER_SECOND}`, "--compress", "off"], folders);
      const came = () => Number(capture("du", ["-sk", inbox]).out.split("\t")[0]) << 10;
      const begun = came();
      const until = async (bytes) => {
        for (const deadline = Date.now() + BEGIN_MS; came() < begun + bytes && receiving.status === undefined; await sleep(10)) {
          assert.ok(Date.now() < deadline, `it does not go on: ${receiving.said()}`);
        }
      };
      await until(1 << 20);
      const filler = filled(memory, 0);
      await until(came() - begun + (4 << 20));
      // In a merge the receiver may have noticed the error, and ended by itself.
      const { status } = capture("sync", ["-f", inbox]);
      for (const end of [sending, receiving]) end.kill();
      await Promise.all([sending.exit(), receiving.exit()]);
      if (!merges) assert.notEqual(status, 0, "the device refused nothing");
      rmSync(filler.path);
      const what = `${kind}, refused${merges ? " in a merge" : ""}`;
      const unchanged = await this.#again(inbox, what, folders, () => {
        run("umount", [inbox]);
        mount();
      });
      return unchanged;
    } finally {
      for (const mounted of [inbox, memory]) capture("umount", ["-l", mounted]);
      rmSync(at, { recursive: true, force: true });
    }
  }

  /** Each file is its old version, its new one, or does not exist. */
  #look(inbox, what, folder = "") {
    const found = { old: 0, new: 0, absent: 0 };
    for (const path of this.#files(folder)) {
      const [before, after, now] = [this.older, this.source, inbox].map((folder) => join(folder, path)).map((file) => (existsSync(file) ? readFileSync(file) : null));
      const is = now?.equals(after) ? "new" : now === null && before === null ? "absent" : before !== null && now?.equals(before) ? "old" : null;
      assert.ok(is, `${what}: ${path} is ${now === null ? "gone" : `neither its old version nor its new one (${now.length} bytes)`}`);
      found[is] += 1;
    }
    return found;
  }
}
