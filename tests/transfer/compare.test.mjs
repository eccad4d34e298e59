// The tests' own comparison of trees: it finds every kind of difference, so that an empty result
// can be relied on.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, linkSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { differences, folder, hasAttributes, oddTree } from "./harness.mjs";

const CHANGES = {
  "a byte, with size and time as before": (tree) =>
    execFileSync("sh", ["-c", 'touch -r edge-4096 stamp; printf X | dd of=edge-4096 bs=1 seek=9 conv=notrunc status=none; touch -r stamp edge-4096; rm stamp; touch -r .. .'], {
      cwd: join(tree, "bulk"),
    }),
  "a mode": (tree) => chmodSync(join(tree, "modes/0755"), 0o754),
  "a nanosecond": (tree) => execFileSync("touch", ["-d", "1970-01-01 00:00:01.000000002 UTC", join(tree, "times/at 1")]),
  "a folder's time": (tree) => execFileSync("touch", [join(tree, "times/folder at 1")]),
  "a link's target": (tree) => {
    rmSync(join(tree, "links/relative"));
    symlinkSync("nowhere", join(tree, "links/relative"));
  },
  "a hard link that became a copy": (tree) => {
    const [name, copy] = ["links/hard-small-3", "links/copy"].map((part) => join(tree, part));
    execFileSync("cp", ["-p", name, copy]);
    renameSync(copy, name);
  },
  "files that became hard links of each other": (tree) => {
    rmSync(join(tree, "modes/0644"));
    linkSync(join(tree, "modes/0600"), join(tree, "modes/0644"));
  },
  "something missing": (tree) => rmSync(join(tree, "small/000/00001.bin")),
  "something extra": (tree) => writeFileSync(join(tree, "extra"), ""),
  "an empty folder extra": (tree) => mkdirSync(join(tree, "links/empty/more")),
  "an attribute": (tree) => execFileSync("setfattr", ["-x", "user.text", join(tree, "attributes/file")]),
};

test("the comparison of trees", async (t) => {
  const base = folder(t);
  if (!hasAttributes(base)) return t.skip("the temporary folder's file system has no user attributes");
  const original = join(base, "original");
  oddTree(original, "--bulk-mib", "1", "--small", "50");
  const fresh = () => {
    const copy = join(base, "copy");
    execFileSync("sh", ["-c", 'chmod -R u+rwX "$1" 2>/dev/null; rm -rf "$1"', "sh", copy]);
    execFileSync("cp", ["-a", original, copy]);
    return copy;
  };
  await t.test("is silent about a true copy", () => assert.deepEqual(differences(original, fresh()), []));
  for (const [what, change] of Object.entries(CHANGES)) {
    await t.test(`sees ${what}`, () => {
      const copy = fresh();
      change(copy);
      const found = differences(original, copy);
      // Changing an entry also changes its folder's time, which is not tested here.
      const seen = what === "a folder's time" ? found : found.filter((line) => !line.startsWith(".d..t"));
      assert.ok(seen.length > 0, found.join("\n"));
    });
  }
});
