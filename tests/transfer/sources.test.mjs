// Sources that change while they are sent: files that become unreadable, folders that become
// something else. Nothing from outside is sent.
import assert from "node:assert/strict";
import { lstatSync, mkdirSync, readFileSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { which } from "../setup/process.mjs";
import { EXIT, differences, ends, harmfulNetwork, receiver, same, sender, strangers } from "./harness.mjs";

const EIO = 5;
const READING = "read,readv,pread64,preadv,preadv2,mmap";
const failures = (running) => running.events.filter(({ event }) => event === "entry_failed");

for (const [what, bytes] of [["small", 3_000], ["large", 5 << 20]]) {
  const skip = which("strace") ? false : "no strace here to refuse calls";
  test(`a ${what} file that cannot be read is named at both ends, the rest arrives, and once it can be read so does it`, { skip }, async (t) => {
    const { inbox, source, near, far } = strangers(t);
    const tree = join(source, "tree");
    mkdirSync(tree);
    for (const name of ["bad", "before", "zlast"]) writeFileSync(join(tree, name), Buffer.alloc(bytes, name));
    for (let number = 0; number < 50; number += 1) writeFileSync(join(tree, `small ${number}`), `${number}`);
    const refused = ["-e", `trace=${READING}`, "-e", `inject=${READING}:error=EIO`, "-P", join(tree, "bad")];
    const wrap = ["strace", "-f", "-qq", "-o", "/dev/null", ...refused, "setpriv", "--pdeathsig", "KILL"];
    const receiving = await receiver(t, far, inbox);
    const sending = sender(t, near, tree, receiving.target, { wrap, args: ["--io", "sync"] });
    await ends(sending, receiving, EXIT.partial);
    for (const end of [sending, receiving]) {
      assert.deepEqual(failures(end).map(({ path, errno }) => [path, errno]), [["tree/bad", EIO]], end.said());
    }
    const missing = differences(tree, join(inbox, "tree")).filter((line) => !line.endsWith(" ./"));
    assert.deepEqual(missing, [">f+++++++++ bad"]);
    const again = await receiver(t, far, inbox, { code: null });
    await ends(sender(t, near, tree, again.target, { code: null }), again);
    same(tree, join(inbox, "tree"));
    assert.deepEqual(readdirSync(inbox), ["tree"]);
  });
}

/** More than are listed at once. When the network holds, most are not listed yet. */
const FOLDERS = 600;
const MIDWAY_BYTES = 2_000_000;

test("folders that become links, files or other folders while the tree is sent: each arrives as it was or is, and nothing from outside", async (t) => {
  const { base, inbox, source, near, far } = strangers(t);
  const [tree, outside, elsewhere] = [join(source, "tree"), join(base, "outside"), join(base, "elsewhere")];
  for (const path of [tree, outside, elsewhere]) mkdirSync(path);
  writeFileSync(join(outside, "file"), "secret");
  mkdirSync(join(outside, "deeper"));
  writeFileSync(join(outside, "deeper/file"), "secret");
  const names = Array.from({ length: FOLDERS }, (_, number) => `folder ${number}`);
  for (const name of names) {
    mkdirSync(join(tree, name, "deeper"), { recursive: true });
    for (const path of ["file", "deeper/file"]) writeFileSync(join(tree, name, path), Buffer.alloc(10_000, "as it was\n"));
  }
  const receiving = await receiver(t, far, inbox);
  const network = await harmfulNetwork(t, receiving.target, "--hold-after", MIDWAY_BYTES);
  const sending = sender(t, near, tree, network.target, { args: ["--compress", "off"] });
  await network.event("holding");
  for (const [number, name] of names.entries()) {
    renameSync(join(tree, name), join(elsewhere, name));
    if (number % 3 === 0) symlinkSync(outside, join(tree, name));
    if (number % 3 === 1) writeFileSync(join(tree, name), "a file now");
    if (number % 3 === 2) {
      mkdirSync(join(tree, name));
      writeFileSync(join(tree, name, "file"), "another folder's");
    }
    // Half of the original folders are gone for good.
    if (number % 2) rmSync(join(elsewhere, name), { recursive: true });
  }
  network.tell("go on");
  for (const end of [sending, receiving]) assert.ok([EXIT.all, EXIT.partial].includes(await end.exit()), end.said());
  const named = failures(sending).map(({ path }) => path);
  const found = { was: 0, link: 0, file: 0, folder: 0, missing: 0 };
  for (const name of names) {
    const path = join(inbox, "tree", name);
    const is = lstatSync(path, { throwIfNoEntry: false });
    if (!is) {
      assert.ok(named.includes(`tree/${name}`), `${name} is missing, and not named`);
      found.missing += 1;
    } else if (is.isSymbolicLink()) {
      assert.equal(readlinkSync(path), outside);
      found.link += 1;
    } else if (is.isFile()) {
      assert.equal(readFileSync(path, "utf8"), "a file now");
      found.file += 1;
    } else {
      const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
      const texts = files.map((entry) => readFileSync(join(entry.parentPath ?? entry.path, entry.name), "utf8").split("\n")[0]);
      assert.ok(texts.every((text) => ["as it was", "another folder's"].includes(text)), `${name}: ${texts}`);
      found[texts.includes("another folder's") ? "folder" : "was"] += 1;
    }
  }
  t.diagnostic(`${JSON.stringify(found)}, ${named.length} named`);
  for (const kind of ["was", "link", "file", "folder"]) assert.ok(found[kind] > 0, `${kind}: ${JSON.stringify(found)}`);
});
