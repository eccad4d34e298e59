// A full disk pauses a transfer to the window. "Try now" continues it, whatever the figures say.
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, rmSync, statfsSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Device } from "../setup/devices.mjs";
import { EXIT, same, sender } from "../transfer/harness.mjs";
import { filled, mounting } from "../transfer/mounts.mjs";
import { folder, keepPicture, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { button, eventually, line, sleep } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? mounting : () => {};

const MIB = 1 << 20;
const TRY_NOW = '//button[starts-with(@aria-label, "Try now")]';

/** Used bytes on the disk of a folder. */
function taken(path) {
  const { blocks, bfree, bsize } = statfsSync(path);
  return (blocks - bfree) * bsize;
}

driven("Try now has a transfer go on that its figures hold back", async (t, { mount }) => {
  const base = folder();
  const near = await windowDevice(base, "near");
  const far = new Device(base, "far");
  const { inbox } = near;
  if (!mount(inbox, "-t", "tmpfs", "-o", "size=100m", "tmpfs")) return t.skip("mounting takes root");
  const tree = join(base, "set");
  mkdirSync(tree);
  for (let number = 0; number < 60; number += 1) writeFileSync(join(tree, `${number}`), Buffer.alloc(MIB, number));
  const page = await openWindow(t, near);
  await show(page, "Inbox");
  const code = await page.text("//*[@data-code]//*[contains(@class, 'text')]");
  const sending = sender(t, far, tree, near.target, { code, args: ["--limit", "2M", "--compress", "off"] });
  await page.click(button("Accept"));
  await eventually("something to come", () => taken(inbox) > 4 * MIB);
  const { path: filler, bytes: fills } = filled(inbox, MIB);
  await page.wait(TRY_NOW);
  await keepPicture(page, "inbox-paused");
  // Less free space than the rest needs, and less than counts as a sign of free space: nothing
  // resumes by itself.
  truncateSync(filler, fills - 10 * MIB);
  const before = taken(inbox);
  await sleep(6_000);
  assert.equal(taken(inbox), before);
  await page.click(TRY_NOW);
  await eventually("more to come", () => taken(inbox) > before + 4 * MIB);
  rmSync(filler);
  assert.equal(await sending.exit(), EXIT.all, sending.said());
  await page.wait(line("set", "Received"));
  same(tree, join(inbox, "set"));
  assert.deepEqual(readdirSync(inbox), ["set"]);
});
