// `ringway bench modes` on a kernel with TLS: every mode runs, has moved exactly the right bytes,
// and has figures. The test never checks the speed.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { RINGWAY } from "../setup/build.mjs";
import { ROOT } from "../setup/process.mjs";
import { linesOf } from "../setup/schema.mjs";
import { hostHasKernelTls, runInVm, vmMissing } from "./vm.mjs";

const SCRIPT = join(ROOT, "tests/vm/modes.sh");
/** Some hundred runs of a few megabytes, emulated on one processor. */
const TIMEOUT_SECONDS = 800;

const MOVERS = [
  ...["read+send > recv+write", "splice > recv+write", "splice, always MORE > recv+write", "sendfile > recv+write"],
  ...["read+send > splice", "sendfile > splice", "io_uring read+send > io_uring recv+write", "io_uring splice > recv+write"],
];
const TRANSFERS = ["plain calls", "read by io_uring, write by plain calls", "io_uring"];
/** The expected rows with kernel TLS, for each dataset and number of lanes. */
const EXPECTED = [
  ...["send", "receive"].map((mode) => ({ part: "layer", mode, datasets: ["small", "medium", "huge"] })),
  ...MOVERS.map((mode) => ({ part: "mover", mode, datasets: ["medium", "huge"] })),
  ...TRANSFERS.map((mode) => ({ part: "transfer", mode, datasets: ["small", "medium", "huge"] })),
];

function onHost() {
  const env = { ...process.env, PATH: `${dirname(RINGWAY)}:${process.env.PATH}` };
  const done = spawnSync("sh", [SCRIPT], { env, encoding: "utf8", timeout: TIMEOUT_SECONDS * 1000 });
  return { status: done.status, lines: (done.stdout + done.stderr).split("\n") };
}

function inGuest() {
  return runInVm({ name: "modes", script: SCRIPT, programs: [RINGWAY], timeoutSeconds: TIMEOUT_SECONDS, instructionClock: true });
}

test("modes with kernel TLS", async (t) => {
  const own = hostHasKernelTls();
  const why = own ? null : vmMissing();
  if (why) return t.skip(`modes: this kernel has no TLS, and no virtual machine: ${why}`);
  const { status, lines } = own ? onHost() : await inGuest();
  const output = lines.slice(-20).join("\n");
  const events = linesOf(lines.join("\n"));
  const rows = events.filter(({ event }) => event === "measured");
  await t.test("it succeeds, and removes what it has made", () => {
    assert.equal(status, 0, output);
    assert.ok(lines.includes("left 0"), output);
  });
  await t.test("nothing is left out or wrong", () => {
    // 19 modes of small files, 36 of medium ones and of the huge one, with 1 and 2 lanes.
    assert.equal(rows.length, 2 * (19 + 36 + 36), output);
    assert.deepEqual(rows.filter(({ state }) => state !== "measured"), []);
  });
  for (const { part, mode, datasets } of EXPECTED) {
    await t.test(`${part}: ${mode}`, () => {
      const found = rows.filter((row) => row.part === part && row.mode === mode && row.tls === "kernel");
      const wanted = datasets.flatMap((dataset) => [1, 2].map((lanes) => `${dataset} ${lanes}`));
      assert.deepEqual(found.map(({ dataset, lanes }) => `${dataset} ${lanes}`).sort(), wanted.sort());
      for (const { bytes_per_s, sender, receiver } of found) {
        assert.ok(bytes_per_s > 0 && sender.cpu_s > 0 && receiver.cpu_s > 0);
        if (!own) assert.ok(sender.instructions > 0 && receiver.instructions > 0, "instructions are counted in the guest");
      }
    });
  }
});
