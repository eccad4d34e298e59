// Ends that are killed at any instant, as `npm run soak` does for hours, and disks that refuse: no
// file is incomplete, and the next attempt resumes.
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { which } from "../setup/process.mjs";
import { Ground } from "../soak/rounds.mjs";
import { EXIT, differences, ends, folder, oddTree, receiver, same, sender, strangers } from "./harness.mjs";

const ROUNDS = 10;
/** The same rounds in each run, as far as time allows. `npm run soak` uses other seeds. */
const FIRST_SEED = 2026;

test(`${ROUNDS} rounds of kills and cuts: each ends with the whole tree`, async (t) => {
  const ground = new Ground(folder(t), { bulkMib: 40, small: 100 });
  await ground.pair();
  for (let seed = FIRST_SEED; seed < FIRST_SEED + ROUNDS; seed += 1) {
    const { told, unchanged, went, missing } = await ground.round(seed);
    t.diagnostic(`seed ${seed}: ${told.join(", ")}: ${unchanged} files were there, ${went} bytes went for ${missing}`);
  }
});

const EIO = 5;
const failures = (running) => running.events.filter(({ event }) => event === "entry_failed");
const hidden = (inbox) => readdirSync(inbox).every((name) => name.startsWith(".ringway-"));

const ENAMETOOLONG = 36;

/** The error of a filesystem with shorter names, for any of these names. */
const TOO_LONG = ["a file whose name is too long there", "a large one whose name is too long", "a folder whose name is too long there"];
const NAMING = "openat,openat2,mkdirat,renameat,renameat2,linkat,newfstatat,statx";

/**
 * What strace(1) makes the kernel return for some of the receiver's calls, from a number of them
 * on, and the expected message.
 */
const REFUSALS = [
  {
    what: "files that cannot be written are named, and the others arrive",
    refusal: "pwrite64:error=EIO:when=40+",
    status: EXIT.partial,
    holds: ({ sending, receiving, tree, inbox }) => {
      const failed = failures(receiving).map(({ path }) => path);
      const named = failures(receiving).every(({ errno, reason }) => errno === EIO || reason === "link_target_missing");
      assert.ok(failed.length > 100 && named, receiving.said());
      assert.deepEqual(failures(sending).map(({ path }) => path).sort(), [...failed].sort());
      const missing = differences(tree, join(inbox, "tree")).filter((line) => !line.startsWith(">f+++++++++ "));
      assert.ok(missing.every((line) => /^(\.d|hf\+)/.test(line)), `half of something: ${missing}`);
    },
  },
  {
    what: "a full disk ends it by its name",
    refusal: "pwrite64:error=ENOSPC:when=40+",
    status: EXIT.failed,
    holds: ({ sending, receiving, inbox }) => {
      for (const one of [sending, receiving]) {
        assert.equal(one.events.at(-1).error.code, "destination_full", one.said());
      }
      assert.ok(hidden(inbox));
    },
  },
  {
    what: "what cannot be synchronised gets no receipt, and is not believed later",
    refusal: "syncfs:error=EIO:when=1+",
    status: EXIT.failed,
    holds: ({ receiving, inbox }) => {
      assert.match(receiving.events.at(-1).message, /could not be saved to the disk: Input\/output error/);
      assert.deepEqual(readdirSync(inbox), []);
    },
  },
];

for (const { what, refusal, status, holds } of REFUSALS) {
  const skip = which("strace") ? false : "no strace here to refuse calls";
  test(`a disk that refuses (${refusal}): ${what}; the next attempt brings the rest`, { skip }, async (t) => {
    const { inbox, source, near, far } = strangers(t);
    const tree = join(source, "tree");
    oddTree(tree, "--bulk-mib", "24", "--small", "100");
    const [calls] = refusal.split(":");
    const traced = ["-e", `trace=${calls}`, "-e", `inject=${refusal}`];
    const wrap = ["strace", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", ...traced, "setpriv", "--pdeathsig", "KILL"];
    // Only the destination's disk refuses. The trust store exists already.
    assert.equal((await far.run(["devices"])).status, EXIT.all);
    const receiving = await receiver(t, far, inbox, { wrap });
    const sending = sender(t, near, tree, receiving.target, { args: ["--retry", "no"] });
    assert.equal(await sending.exit(), status, sending.said());
    await receiving.exit();
    holds({ sending, receiving, tree, inbox });
    const again = await receiver(t, far, inbox, { code: null });
    const sent = sender(t, near, tree, again.target, { code: null });
    assert.equal(await sent.exit(), EXIT.all, sent.said());
    same(tree, join(inbox, "tree"));
    assert.deepEqual(readdirSync(inbox), ["tree"]);
  });
}

for (const merged of [false, true]) {
  const skip = which("strace") ? false : "no strace here to refuse calls";
  test(`names that are too long for a destination each fail with the reason, and the rest arrives (${merged ? "merged" : "new"})`, { skip }, async (t) => {
    const { inbox, source, near, far } = strangers(t);
    const tree = join(source, "tree");
    const [small, large, folder] = TOO_LONG;
    mkdirSync(join(tree, folder), { recursive: true });
    mkdirSync(join(tree, "folder"));
    for (const path of [small, "short", `${folder}/inside`, "folder/inside"]) writeFileSync(join(tree, path), path);
    for (const path of [large, "large"]) writeFileSync(join(tree, path), Buffer.alloc(3 << 20, path));
    if (merged) mkdirSync(join(inbox, "tree"));
    const traced = ["-e", `trace=${NAMING}`, "-e", `inject=${NAMING}:error=ENAMETOOLONG`, ...TOO_LONG.flatMap((name) => ["-P", name])];
    const wrap = ["strace", "-f", "-qq", "-o", "/dev/null", ...traced, "setpriv", "--pdeathsig", "KILL"];
    const receiving = await receiver(t, far, inbox, { wrap });
    const sending = sender(t, near, tree, receiving.target);
    await ends(sending, receiving, EXIT.partial);
    const named = [small, large, folder, `${folder}/inside`].map((path) => `tree/${path}`).sort();
    for (const end of [sending, receiving]) {
      assert.deepEqual(failures(end).map(({ path }) => path).sort(), named, end.said());
      assert.ok(failures(end).every(({ errno }) => errno === ENAMETOOLONG), end.said());
    }
    const rest = differences(tree, join(inbox, "tree")).filter((line) => !TOO_LONG.some((name) => line.includes(name)));
    assert.deepEqual(rest, []);
    assert.deepEqual(readdirSync(inbox), ["tree"]);
  });
}
