// Tests that mount filesystems of their own.
import { truncateSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { capture, run, which } from "../setup/process.mjs";
import { isRoot } from "./harness.mjs";

/** A test that may mount: what it did is unmounted before its folders go. */
export function mounting(title, body) {
  test(title, async (t) => {
    const mounted = [];
    /** Mounts at `at`; false where this may not. */
    const mount = (at, ...args) => {
      if (!isRoot || capture("mount", [...args, at]).status !== 0) return false;
      mounted.unshift(at);
      return true;
    };
    /** An ext4 of its own at `at`, in `image`; false where it cannot be had. */
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
