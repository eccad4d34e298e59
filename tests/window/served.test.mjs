// What another device gets from here is in the window's Activity, where it is paused and cancelled.
// Both devices run the real service.
import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { EXIT, asked, oddTree, same } from "../transfer/harness.mjs";
import { SLOW, getter, moving } from "../transfer/sharing.mjs";
import { Device } from "../setup/devices.mjs";
import { folder, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { eventually, line } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};

const BUTTON = (action) => `//main//article[contains(@class, "running")]//button[@aria-label = "${action}: tree"]`;

driven("what is got from here is paused, resumed and cancelled in the window", async (t) => {
  const base = folder();
  const near = await windowDevice(base, "near");
  const [far, shared, inbox] = [new Device(base, "far"), join(base, "shared"), join(base, "far's inbox")];
  for (const path of [shared, inbox]) mkdirSync(path);
  oddTree(join(shared, "tree"), "--bulk-mib", "60");
  const page = await openWindow(t, near);
  const { target } = near;
  const [{ code }] = await asked(near, ["code", "--new"]);
  const paired = await far.run(["pair", target, "--code-file", far.codeFile(code)]);
  assert.equal(paired.status, EXIT.all, paired.said());
  const added = await near.run(["share", "add", shared, "--name", "runs", "--with", "far"]);
  assert.equal(added.status, EXIT.all, added.said());
  await show(page, "Activity");

  const getting = getter(t, far, [`${target}:runs/tree`, inbox], { args: ["--retry", "60s", ...SLOW] });
  await moving(getting);
  await page.click(BUTTON("Pause"));
  await eventually("the pause there", () => getting.events.some(({ stage }) => stage === "paused"));
  await page.click(BUTTON("Resume"));
  assert.equal(await getting.exit(), EXIT.all, getting.said());
  same(join(shared, "tree"), join(inbox, "tree"));
  await page.wait(line("tree", "Sent"));

  const other = join(base, "another inbox");
  mkdirSync(other);
  const second = getter(t, far, [`${target}:runs/tree`, other], { args: ["--retry", "60s", ...SLOW] });
  await moving(second);
  await page.click(BUTTON("Cancel"));
  assert.equal(await second.exit(), EXIT.failed, second.said());
  const { error } = second.events.at(-1);
  assert.deepEqual([error.code, error.by], ["cancelled", "there"], second.said());
  assert.ok(!existsSync(join(other, "tree")));
  await eventually("its end in the window", async () => !(await page.find(BUTTON("Cancel"))));
  const [past] = (await asked(near, ["inbox", "--sent"])).filter(({ outcome }) => outcome === "failed");
  assert.deepEqual([past.peer, past.error.code, past.error.by], ["far", "cancelled", "here"], JSON.stringify(past));
});
