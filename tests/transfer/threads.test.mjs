// Where the system starts no more threads, a transfer ends with an error and nobody waits for ever.
import assert from "node:assert/strict";
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { EXIT, asked, eventually } from "./harness.mjs";
import { run, which } from "../setup/process.mjs";
import { sharing } from "./sharing.mjs";

const isRoot = process.getuid?.() === 0;
const skip = isRoot && which("setpriv") && which("prlimit") ? false : "takes root, setpriv and prlimit";
/** A user that owns nothing else here: the limit counts all threads of a user. */
const UID = 61_000 + (process.pid % 3_000);

/** From fewer threads than the program needs to begin, to more than it needs. */
const LIMITS = [4, 5, 6, 7, 8, 10, 14, 200];

/** How long a command may take that tries again for a second. */
const DEADLINE_MS = 30_000;

test("a command ends although the system starts no more threads for it, and so does the transfer at the other end", { skip }, async (t) => {
  const { base, near, far, serving, shared } = await sharing(t, { tree: ["--bulk-mib", "1"] });
  await asked(far, ["devices", "rule", "near", "--accept"]);
  const inbox = join(base, "got");
  mkdirSync(inbox);
  chmodSync(base, 0o755);
  run("chown", ["-R", `${UID}:${UID}`, near.folder, inbox]);
  const commands = { get: ["get", `${serving.target}:runs/tree`, inbox], send: ["send", join(shared, "tree"), serving.target] };
  for (const [name, words] of Object.entries(commands)) {
    for (const limit of LIMITS) {
      const wrap = ["setpriv", `--reuid=${UID}`, `--regid=${UID}`, "--clear-groups", "prlimit", `--nproc=${limit}:${limit}`];
      const running = near.start([...words, "--json", "--retry", "1s"], { wrap });
      t.after(() => running.kill());
      await assert.doesNotReject(running.exit(DEADLINE_MS), `${name} with ${limit} threads`);
      // The user may not read all of what is sent.
      if (limit === LIMITS.at(-1)) assert.ok([EXIT.all, EXIT.partial].includes(running.status), `enough threads: ${running.said()}`);
    }
  }
  await eventually("no transfer that is left there", async () => (await asked(far, ["status"])).every(({ event }) => event !== "transfer"));
});
