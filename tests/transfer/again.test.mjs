// `--again` repeats what was tried last, into the same folder, and nothing else.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { EXIT, asked, eventually, same, sender } from "./harness.mjs";
import { SLOW, getter, got, moving, service, sharing } from "./sharing.mjs";

/** `near` has got `older` into `before`, where it was edited since, and now gets `tree`. */
async function getting(t) {
  const all = await sharing(t, { tree: ["--bulk-mib", "24"] });
  const { base, near, inbox, shared, serving } = all;
  const before = join(base, "before");
  mkdirSync(before);
  writeFileSync(join(shared, "older"), "theirs");
  await got(t, near, [`${serving.target}:runs/older`, before]);
  writeFileSync(join(before, "older"), "mine");
  const running = getter(t, near, [`${serving.target}:runs/tree`, inbox], { args: ["--retry", "60s", ...SLOW] });
  await moving(running);
  return { ...all, running, edited: () => readFileSync(join(before, "older"), "utf8") };
}

/** Pairs the two again, and shares again. */
async function meetAgain({ near, far, shared }, serving) {
  const [{ code }] = await asked(far, ["code", "--new"]);
  const paired = await near.run(["pair", serving.target, "--code-file", near.codeFile(code)]);
  assert.equal(paired.status, EXIT.all, paired.said());
  await asked(far, ["share", "add", shared, "--name", "runs", "--with", "near"]);
}

const errorOf = (end) => end.events.at(-1).error?.code;

test("while something is got or sent, --again takes the number of the one before it, as it is listed", async (t) => {
  const all = await getting(t);
  const { base, near, inbox, shared, serving, running, edited } = all;
  const refused = await near.run(["get", "--again"]);
  assert.equal(refused.status, EXIT.usage, refused.said());
  assert.match(refused.stderr, /still being got/);
  assert.match((await near.run(["inbox"])).stdout, /^ *\d+ .*older/m);
  // One that was declined, and one that waits for an answer.
  writeFileSync(join(base, "first"), "first");
  const declined = sender(t, near, join(base, "first"), serving.target, { code: null });
  await asked(all.far, ["decline", (await eventually("the offer", async () => (await asked(all.far, ["offers"]))[0])).id]);
  assert.equal(await declined.exit(), EXIT.declined, declined.said());
  writeFileSync(join(base, "second"), "second");
  const waiting = sender(t, near, join(base, "second"), serving.target, { code: null });
  await eventually("the offer", async () => (await asked(all.far, ["offers"])).length > 0);
  const unclear = await near.run(["send", "--again"]);
  assert.equal(unclear.status, EXIT.usage, unclear.said());
  assert.match(unclear.stderr, /still being sent/);
  assert.match((await near.run(["inbox", "--sent"])).stdout, /^ *\d+ .*first/m);
  waiting.kill("SIGKILL");
  await waiting.exit();
  running.kill("SIGKILL");
  await running.exit();
  const again = await near.run(["get", "--again"]);
  assert.equal(again.status, EXIT.all, again.said());
  same(join(shared, "tree"), join(inbox, "tree"));
  assert.equal(edited(), "mine");
});

test("a get whose device was forgotten there on the way is what is got again, once the two are paired", async (t) => {
  const all = await getting(t);
  const { near, far, inbox, inboxThere, shared, serving, running, edited } = all;
  serving.kill();
  await serving.exit();
  await asked(far, ["devices", "forget", "near"]);
  const anew = await service(t, far, inboxThere, { port: serving.port });
  assert.equal(await running.exit(), EXIT.notAuthenticated, running.said());
  assert.match((await near.run(["inbox"])).stdout, /tree/);
  for (let time = 0; time < 2; time += 1) {
    const refused = await near.run(["get", "--again", "--json"]);
    assert.deepEqual([refused.status, errorOf(refused)], [EXIT.notAuthenticated, "pairing_needed"], refused.said());
  }
  await meetAgain(all, anew);
  const again = await near.run(["get", "--again"]);
  assert.equal(again.status, EXIT.all, again.said());
  same(join(shared, "tree"), join(inbox, "tree"));
  assert.equal(edited(), "mine");
});

test("a get whose device was forgotten here on the way says so, and is what is got again", async (t) => {
  const all = await getting(t);
  const { near, far, inbox, inboxThere, shared, serving, running, edited } = all;
  serving.kill();
  await serving.exit();
  await asked(near, ["devices", "forget", "far"]);
  assert.equal(await running.exit(), EXIT.failed, running.said());
  assert.equal(errorOf(running), "peer_forgotten");
  const refused = await near.run(["get", "--again"]);
  assert.equal(refused.status, EXIT.notAuthenticated, refused.said());
  assert.match(refused.stderr, /The device of that transfer, far \(.*\), is no longer paired/);
  await asked(far, ["devices", "forget", "near"]);
  await meetAgain(all, await service(t, far, inboxThere, { port: serving.port }));
  const again = await near.run(["get", "--again"]);
  assert.equal(again.status, EXIT.all, again.said());
  same(join(shared, "tree"), join(inbox, "tree"));
  assert.equal(edited(), "mine");
});

test("what was got is got again into that folder, and not into another one at its path", async (t) => {
  const { base, near, inbox, shared, serving } = await sharing(t);
  writeFileSync(join(shared, "file"), "theirs");
  await got(t, near, [`${serving.target}:runs/file`, inbox]);
  writeFileSync(join(shared, "file"), "theirs, a new version");
  renameSync(inbox, join(base, "aside"));
  mkdirSync(inbox);
  const refused = await near.run(["get", "--again"]);
  assert.equal(refused.status, EXIT.failed, refused.said());
  assert.match(refused.stderr, /is not the folder that number \d+ was got into\./);
  assert.deepEqual(readdirSync(inbox), []);
  rmSync(inbox, { recursive: true });
  renameSync(join(base, "aside"), inbox);
  const again = await near.run(["get", "--again"]);
  assert.equal(again.status, EXIT.all, again.said());
  assert.equal(readFileSync(join(inbox, "file"), "utf8"), "theirs, a new version");
});
