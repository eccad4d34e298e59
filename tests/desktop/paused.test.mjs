// Paused transfers on the desktop: the icon, its words, and a notification if a disk is full.
import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { EXIT, same, sender } from "../transfer/harness.mjs";
import { filled, mounting } from "../transfer/mounts.mjs";
import { looker, notifier, onPrivateBus, pair, panel } from "./lib/session.mjs";
import { service } from "./lib/service.mjs";

const ICONS = { idle: "ringway-idle-symbolic", active: "ringway-active-symbolic", needsYou: "ringway-attention-symbolic" };
const SLOWLY = ["--limit", "4M", "--compress", "off"];
const MIB = 1 << 20;

/** A transfer from `there` that takes some seconds. Resolves to its sender once it is accepted. */
async function coming(t, running, { there, source, target }) {
  for (let number = 0; number < 24; number += 1) writeFileSync(join(source, `${number}`), Buffer.alloc(MIB, number));
  const sending = sender(t, there, source, target, { code: await running.code(), args: SLOWLY });
  await running.accept();
  return sending;
}

if (onPrivateBus(import.meta.url)) {
  test("the tray tells a transfer that is under way from one that is paused", async (t) => {
    const both = await pair(t);
    const running = await service(t, both.here);
    const watcher = await panel(t);
    const tray = looker(t, await watcher.event("registered"));
    const sending = await coming(t, running, both);
    const active = await tray.says("1 transfer running");
    assert.equal(active.item.IconName, ICONS.active);
    const { events } = await both.here.run(["status", "--json"]);
    const { id } = events.find(({ event }) => event === "transfer");
    const pausing = await both.here.run(["pause", id]);
    assert.equal(pausing.status, 0, pausing.said());
    const paused = await tray.says("1 paused");
    assert.deepEqual([paused.item.Status, paused.item.IconName], ["Active", ICONS.idle]);
    assert.equal((await both.here.run(["resume", id])).status, 0);
    await tray.says("1 transfer running");
    assert.equal(await sending.exit(), EXIT.all, sending.said());
    await tray.says("ready to receive");
    same(both.source, join(both.inbox, "source"));
  });

  mounting("a disk that is full on the way is reported once, and the icon says that it needs you until there is room", async (t, { mount }) => {
    const both = await pair(t);
    if (!mount(both.inbox, "-t", "tmpfs", "-o", "size=64m", "tmpfs")) return t.skip("mounting takes root");
    const server = await notifier(t, "body");
    const running = await service(t, both.here);
    const watcher = await panel(t);
    const tray = looker(t, await watcher.event("registered"));
    const sending = await coming(t, running, both);
    await sending.event(({ event, bytes_done: done }) => event === "progress" && done > 4 * MIB);
    const { path } = filled(both.inbox, MIB);
    const told = await server.event(({ event, title }) => event === "shown" && title === "The disk is full");
    assert.equal(told.body, "source from there: paused until there is space");
    const full = await tray.says("1 waiting for disk space");
    assert.deepEqual([full.item.Status, full.item.AttentionIconName], ["NeedsAttention", ICONS.needsYou]);
    rmSync(path);
    assert.equal(await sending.exit(), EXIT.all, sending.said());
    await tray.says("ready to receive");
    await server.event(({ event, title }) => event === "shown" && title === "Received");
    const tellings = server.events.filter(({ event, title }) => event === "shown" && title === "The disk is full");
    assert.equal(tellings.length, 1);
    same(both.source, join(both.inbox, "source"));
  });
}
