// What is got onto a disk that fills up: both ends wait for space, and each still knows of the
// other.
import assert from "node:assert/strict";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pass } from "node:timers/promises";
import { EXIT, asked, eventually, same } from "./harness.mjs";
import { filled, mounting } from "./mounts.mjs";
import { SLOW, finished, getter, moving, sharing } from "./sharing.mjs";

const MIB = 1 << 20;

/** The serving device gives up what it hears nothing of for this long and 15 s more. */
const RETRY_S = 4;
const GIVEN_UP_MS = (RETRY_S + 15) * 1_000;

const transferOf = async (device) => (await asked(device, ["status"])).find(({ event }) => event === "transfer");

/** A get that its own full disk has paused at both ends. */
async function fullGet(t, mount) {
  const all = await sharing(t, { tree: ["--bulk-mib", "24"] });
  const small = join(all.base, "small");
  mkdirSync(small);
  if (!mount(small, "-t", "tmpfs", "-o", "size=48m", "tmpfs")) return t.skip("mounting takes root");
  const getting = getter(t, all.near, [`${all.serving.target}:runs/tree`, small], { args: ["--retry", `${RETRY_S}s`, ...SLOW] });
  await moving(getting);
  const { path } = filled(small, MIB);
  const { id } = await eventually("the pause there", async () => {
    const transfer = await transferOf(all.far);
    return transfer?.interruption?.why === "full" && transfer;
  });
  return { ...all, small, getting, id, makeRoom: () => rmSync(path) };
}

mounting("a get whose own disk is full for long stays that at both ends, and goes on once there is room", async (t, { mount }) => {
  const full = await fullGet(t, mount);
  if (!full) return;
  const { far, shared, small, getting, id, makeRoom } = full;
  await pass(GIVEN_UP_MS + 5_000);
  const there = await transferOf(far);
  assert.deepEqual([there?.id, there?.interruption?.why], [id, "full"], getting.said());
  makeRoom();
  assert.equal(await getting.exit(), EXIT.all, getting.said());
  same(join(shared, "tree"), join(small, "tree"));
  assert.equal(finished(getting).reconnected, 0, getting.said());
});

mounting("a get whose own disk is full hears of a cancel where it is served", async (t, { mount }) => {
  const full = await fullGet(t, mount);
  if (!full) return;
  const { far, getting, id } = full;
  await asked(far, ["cancel", id]);
  assert.equal(await getting.exit(), EXIT.failed, getting.said());
  const { code, by } = getting.events.at(-1).error;
  assert.deepEqual([code, by], ["cancelled", "there"], getting.said());
});

mounting("a get that is killed while its own disk is full ends where it is served", async (t, { mount }) => {
  const full = await fullGet(t, mount);
  if (!full) return;
  const { serving, getting } = full;
  await getting.kill();
  const { error } = await eventually("the end there", () => finished(serving) && serving.events.at(-1));
  assert.equal(error.code, "connection_lost", serving.said());
});
