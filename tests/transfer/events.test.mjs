// Events of `--json` that no other test checks. `tests/house` compares the events of
// docs/json.schema.json with all tests.
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { asked, ends, oddTree, receiver, sender, strangers } from "./harness.mjs";

test("forgetting reports how much was forgotten", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  mkdirSync(tree);
  writeFileSync(join(tree, "file"), "content");
  for (const code of [undefined, null]) {
    const receiving = await receiver(t, far, inbox, { code });
    await ends(sender(t, near, tree, receiving.target, { code }), receiving);
  }
  const one = async (device, ...args) => {
    const events = await asked(device, args);
    assert.equal(events.length, 1, JSON.stringify(events));
    return events[0];
  };
  const { number } = (await asked(near, ["inbox", "--sent", "-n", "1"])).find(({ event }) => event === "past");
  assert.deepEqual(await one(near, "inbox", "forget", String(number)), { event: "past_forgotten", transfers: 1 });
  assert.deepEqual(await one(near, "inbox", "clear"), { event: "past_forgotten", transfers: 1 });
  const { id } = await one(far, "devices", "rename", "near", "laptop");
  assert.deepEqual(await one(far, "devices", "forget", "laptop"), { event: "forgotten", id, name: "laptop" });
  assert.deepEqual(await asked(far, ["devices"]), []);
});

test("discarding reports what a transfer had left", async (t) => {
  const { inbox, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  oddTree(tree, "--bulk-mib", "16", "--small", "5");
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, tree, receiving.target, { args: ["--limit", "4M", "--retry", "no"] });
  await receiving.event(({ stage, bytes_done: bytes }) => stage === "running" && bytes > 4_000_000);
  sending.kill("SIGKILL");
  receiving.kill("SIGKILL");
  await Promise.all([sending.exit(), receiving.exit()]);
  const [left] = (await asked(far, ["inbox", "unfinished", "--in", inbox])).filter(({ event }) => event === "unfinished");
  const [discarded, ...others] = await asked(far, ["inbox", "discard", left.id, "--in", inbox]);
  assert.deepEqual([discarded.event, discarded.id, others], ["discarded", left.id, []]);
  assert.ok(discarded.disk_bytes > 1_000_000, JSON.stringify(discarded));
  assert.deepEqual(readdirSync(inbox), []);
});

test("a service says which settings hold from now on", async (t) => {
  const { inbox, far } = strangers(t);
  const serving = far.start(["serve", inbox, "--json", "--listen", "127.0.0.1:0"]);
  t.after(() => serving.kill());
  await serving.event("listening");
  await asked(far, ["settings", "--name", "other"]);
  const { event, name, receiving } = await serving.event("settings_changed");
  assert.deepEqual({ event, name, receiving }, { event: "settings_changed", name: "other", receiving: true });
});
