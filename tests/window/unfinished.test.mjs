// An interrupted transfer to the window is offered for resuming, resumes when the same is sent
// again, and its staging folder can be removed. A folder that does not answer is named.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { CODE, EXIT, isRoot, receiver, same, sender } from "../transfer/harness.mjs";
import { Device } from "../setup/devices.mjs";
import { capture, which } from "../setup/process.mjs";
import { folder, keepPicture, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { button, eventually, showing } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};

const FILES = 40;
const EACH_BYTES = 1_000_000;
const KEPT = "//*[@data-unfinished]";
const hidden = (inbox) => readdirSync(inbox).filter((name) => name.startsWith(".ringway-"));

driven("what broke off is told with its sender, goes on when it is sent again, and goes away when that is asked for", async (t) => {
  const base = folder();
  const near = await windowDevice(base, "near");
  const far = new Device(base, "far");
  const [tree, other] = ["field notes", "pictures"].map((name) => join(base, name));
  for (const made of [tree, other]) {
    mkdirSync(made);
    for (let file = 0; file < FILES; file += 1) writeFileSync(join(made, `${file}`), Buffer.alloc(EACH_BYTES, `${file} `));
  }
  const page = await openWindow(t, near);
  await show(page, "Inbox");
  let code = await page.text("//*[@data-code]//*[contains(@class, 'text')]");

  /**
   * Sends slowly, so that it still runs when it is checked. It is killed in the middle, and is not
   * waited for.
   */
  const breaksOff = async (tree) => {
    await show(page, "Inbox");
    const sending = sender(t, far, tree, near.target, { code, args: ["--retry", "no", "--limit", "2M", "--compress", "off"] });
    code = null;
    await page.click(button("Accept"));
    await eventually("some of it to come", () => sending.events.some(({ event, bytes_done }) => event === "progress" && bytes_done > 4 * EACH_BYTES));
    sending.kill("SIGKILL");
    await sending.exit();
    await show(page, "Activity");
    await page.wait(KEPT);
  };
  await breaksOff(tree);
  assert.match(await page.text(KEPT), /field notes\s+from far/);
  await keepPicture(page, "activity-unfinished");

  const again = sender(t, far, tree, near.target, { code: null });
  await show(page, "Inbox");
  await page.click(button("Accept"));
  assert.equal(await again.exit(), EXIT.all, again.said());
  assert.ok(again.events.find(({ event }) => event === "finished").unchanged > 0, again.said());
  same(tree, join(near.inbox, basename(tree)));
  await show(page, "Activity");
  await eventually("it to be gone from the list", async () => !(await page.find(KEPT)));
  assert.deepEqual(hidden(near.inbox), []);

  await breaksOff(other);
  const kept = hidden(near.inbox);
  assert.equal(kept.length, 1);
  await page.click(`${KEPT}//button`);
  await keepPicture(page, "activity-unfinished-question");
  await page.click('//*[@role = "alertdialog"]//button[. = "Cancel"]');
  assert.deepEqual(hidden(near.inbox), kept);
  await page.click(`${KEPT}//button`);
  await page.click('//*[@role = "alertdialog"]//button[. = "Delete"]');
  await eventually("it to be gone from the list", async () => !(await page.find(KEPT)));
  assert.deepEqual(hidden(near.inbox), []);
});

driven("a folder whose filesystem does not answer is named where unfinished transfers are listed", { skip: !(isRoot && which("bindfs")) && "mounting takes root and bindfs" }, async (t) => {
  const base = folder();
  const [near, far] = [await windowDevice(base, "near"), new Device(base, "far")];
  const [behind, view, inbox] = ["behind", "view", "inbox"].map((name) => join(base, name));
  for (const path of [behind, view, inbox]) mkdirSync(path);
  const disk = spawn("bindfs", ["-f", behind, view], { stdio: "ignore" });
  t.after(() => {
    disk.kill("SIGKILL");
    capture("umount", ["-l", view]);
  });
  await eventually("the mount", () => statSync(view).dev !== statSync(base).dev);
  const receiving = await receiver(t, far, inbox, { once: false });
  for (const args of [["pair", receiving.target, "--code-file", near.codeFile(CODE)], ["devices", "rule", "far", "--accept", "--into", view]]) {
    const done = await near.run(args);
    assert.equal(done.status, EXIT.all, done.said());
  }
  const page = await openWindow(t, near);
  disk.kill("SIGSTOP");
  await show(page, "Activity");
  await page.wait(showing(`The filesystem of ${view} does not answer.`));
  await keepPicture(page, "activity-unanswered");
});
