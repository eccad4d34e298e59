// Tests that mount their own filesystems.
import { mkdirSync, statfsSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { capture, run, which } from "../setup/process.mjs";
import { isRoot } from "./harness.mjs";

/**
 * Fills the disk of `folder` except for about `left` bytes, at once, so that a program which writes
 * there meanwhile does not fill it in between (fallocate(2) takes all or nothing). Returns the file
 * that fills it, and its size.
 */
export function filled(folder, left) {
  const path = join(folder, "filler");
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const { bavail, bsize } = statfsSync(folder);
    const bytes = bavail * bsize - left;
    if (capture("fallocate", ["-l", String(bytes), path]).status === 0) return { path, bytes };
  }
  throw new Error(`cannot fill ${folder}`);
}

/**
 * Starts a program with additional files in /etc, in its own mount namespace, over this machine's
 * /etc.
 */
export function etcWith(base, files) {
  const [upper, work] = ["upper", "work"].map((name) => join(base, name));
  for (const path of [upper, work]) mkdirSync(path);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(upper, path, ".."), { recursive: true });
    writeFileSync(join(upper, path), text);
  }
  const script = 'mount -t overlay none -o "lowerdir=/etc,upperdir=$0,workdir=$1" /etc && shift && exec "$@"';
  return ["unshare", "--mount", "sh", "-c", script, upper, work];
}

/** A test that may mount. Its mounts are unmounted before its folders are removed. */
export function mounting(title, body) {
  test(title, async (t) => {
    const mounted = [];
    /** Mounts at `at`; false if this process may not. */
    const mount = (at, ...args) => {
      if (!isRoot || capture("mount", [...args, at]).status !== 0) return false;
      mounted.unshift(at);
      return true;
    };
    /** A separate ext4 at `at`, in `image`; false if it cannot be mounted. */
    const ext4 = (at, image, { mib = 256, options = "noatime", features = [] } = {}) => {
      if (!isRoot || !which("mkfs.ext4")) return false;
      writeFileSync(image, "");
      truncateSync(image, mib << 20);
      run("mkfs.ext4", ["-q", "-F", ...features, image]);
      return mount(at, "-o", `loop,${options}`, image);
    };
    try {
      return await body(t, { mount, ext4 });
    } finally {
      for (const at of mounted) capture("umount", ["-l", at]);
    }
  });
}
