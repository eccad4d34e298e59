// A limit on the size of files (RLIMIT_FSIZE: `ulimit -f`, LimitFSIZE=): larger files fail by name,
// and everything else arrives.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { EXIT, ends, listing, receiver, sender, strangers } from "./harness.mjs";

const EFBIG = 27;
const LIMIT_BYTES = 4 << 20;
const UNDER_LIMIT = ["prlimit", `--fsize=${LIMIT_BYTES}`, "--"];

/** Files for every way of writing, two of them larger than the limit. */
function tree(source) {
  const path = join(source, "tree");
  mkdirSync(path);
  writeFileSync(join(path, "small"), "small");
  writeFileSync(join(path, "within"), randomBytes(3 << 20));
  writeFileSync(join(path, "above"), randomBytes(6 << 20));
  writeFileSync(join(path, "far above"), randomBytes(40 << 20));
  return path;
}

const failed = (running) => running.events.filter(({ event }) => event === "entry_failed");

function namesWhatIsTooLarge(running) {
  assert.deepEqual(failed(running).map(({ path }) => path.split("/").at(-1)).sort(), ["above", "far above"], running.said());
  assert.ok(failed(running).every(({ errno }) => errno === EFBIG), running.said());
}

for (const args of [[], ["--atomic"], ["--verify"]]) {
  test(`copy under a file-size limit leaves nothing half-written (${args.join(" ") || "plain"})`, async (t) => {
    const { base, source, near } = strangers(t);
    const to = join(base, "copy");
    const done = await near.run(["copy", tree(source), to, ...args, "--json"], { wrap: UNDER_LIMIT });
    assert.equal(done.status, EXIT.partial, done.said());
    namesWhatIsTooLarge(done);
    assert.deepEqual(listing(to), ["small", "within"]);
  });
}

test("copy names the file-size limit of the process, not the file system, and the advised command lifts it", async (t) => {
  const { base, source, near } = strangers(t);
  const path = tree(source);
  const to = join(base, "copy");
  const done = await near.run(["copy", path, to], { wrap: UNDER_LIMIT });
  assert.equal(done.status, EXIT.partial, done.said());
  assert.match(done.stderr, /may not write files of more than 4,194,304 bytes \(RLIMIT_FSIZE\)/);
  assert.doesNotMatch(done.stderr, /file system does not take/);
  const [, advised] = done.stderr.match(/`(ulimit -f [^`]*)`/);
  const soft = ["prlimit", `--fsize=${LIMIT_BYTES}:unlimited`, "--", "bash", "-c", `${advised} && exec "$0" "$@"`];
  const again = await near.run(["copy", "-T", path, to], { wrap: soft });
  assert.equal(again.status, EXIT.all, again.said());
  assert.deepEqual(listing(to), listing(path));
});

for (const merged of [false, true]) {
  test(`a receiver under a file-size limit leaves nothing half-written (${merged ? "merged" : "new"})`, async (t) => {
    const { inbox, source, near, far } = strangers(t);
    if (merged) mkdirSync(join(inbox, "tree"));
    const receiving = await receiver(t, far, inbox, { wrap: UNDER_LIMIT });
    const sending = sender(t, near, tree(source), receiving.target);
    await ends(sending, receiving, EXIT.partial);
    for (const end of [sending, receiving]) namesWhatIsTooLarge(end);
    assert.deepEqual(listing(inbox), ["tree", "tree/small", "tree/within"]);
    assert.deepEqual(readdirSync(inbox), ["tree"]);
  });
}
