// The tray as a panel sees it, over the bus: its icon, its words, its menu.
import assert from "node:assert/strict";
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { RINGWAY } from "../setup/build.mjs";
import { EXIT, oddTree, same, sender } from "../transfer/harness.mjs";
import { codeIn, eventually, labels, looker, notifier, onPrivateBus, pair, panel, sleep } from "./lib/session.mjs";
import { notices, service } from "./lib/service.mjs";

/** Names and shapes. Two equal ones could not be distinguished without colour. */
const ICONS = { idle: "ringway-idle-symbolic", active: "ringway-active-symbolic", needsYou: "ringway-attention-symbolic", off: "ringway-off-symbolic" };
/** The memory limit of a receiver in the background, also for development builds. */
const PSS_KIB_MAX = 40 * 1024;
/** At rest nothing wakes it. Work left from its start may cost a tick or two of 10 ms. */
const REST_MS = 5000;
const REST_TICKS_MAX = 2;
const ENTRIES = ["Open Inbox", "Send folder…", "Open Ringway", "Quit"];

if (onPrivateBus(import.meta.url)) {
  test("the tray says how it stands, is switched off and on, and ends the service", async (t) => {
    const { here, there, inbox, source, target } = await pair(t);
    const running = await service(t, here);
    const watcher = await panel(t);
    const tray = looker(t, await watcher.event("registered"));
    const idle = await tray.says("ready to receive");
    assert.deepEqual([idle.item.Status, idle.item.IconName, idle.item.ToolTip[3]], ["Active", ICONS.idle, "ready to receive"]);
    assert.deepEqual(
      idle.item.IconPixmap.map(({ width, height, bytes }) => [width, height, bytes]),
      [24, 48].map((side) => [side, side, side * side * 4]),
    );
    const code = codeIn(idle.menu);
    assert.match(code, /^\d+-[a-z]+-[a-z]+$/);
    assert.deepEqual(labels(idle.menu), ["Receiving", `Code: ${code}`, "New code", ...ENTRIES]);
    assert.equal(idle.menu[0]["toggle-state"], 1);

    await tray.click("New code");
    const fresh = await eventually("another code", async () => codeIn((await tray.look()).menu) !== code && codeIn((await tray.look()).menu));
    assert.match(fresh, /^\d+-[a-z]+-[a-z]+$/);

    await tray.click("Receiving");
    const off = await tray.says("receiving is off");
    assert.deepEqual([off.item.IconName, off.menu[0]["toggle-state"]], [ICONS.off, 0]);
    assert.notDeepEqual(off.item.IconPixmap, idle.item.IconPixmap);
    assert.deepEqual(labels(off.menu), ["Receiving", ...ENTRIES]);
    oddTree(join(source, "tree"));
    const refused = sender(t, there, join(source, "tree"), target, { code: fresh, args: ["--retry", "no"] });
    assert.equal(await refused.exit(), EXIT.failed, refused.said());

    await tray.click("Receiving");
    const on = await tray.says("ready to receive");
    const sending = sender(t, there, join(source, "tree"), target, { code: codeIn(on.menu) });
    const asking = await tray.says("1 offer waiting");
    assert.deepEqual([asking.item.Status, asking.item.IconName, asking.item.AttentionIconName], ["NeedsAttention", ICONS.needsYou, ICONS.needsYou]);
    assert.ok(labels(asking.menu).includes("Open Inbox (1 waiting)"));
    await running.accept();
    assert.equal(await sending.exit(), EXIT.all, sending.said());
    same(join(source, "tree"), join(inbox, "tree"));
    await tray.says("ready to receive");

    // It may end before it answers the click.
    await tray.click("Quit").catch(() => {});
    assert.equal(await running.exit(), 0, running.said());
  });

  for (const { locale, off, refused, ready, title, port: portWords, folder: folderWords, entries } of [
    {
      locale: "C",
      off: "receiving is off",
      refused: "receiving could not be turned on: open Ringway to see why",
      ready: "ready to receive",
      title: "Receiving could not be turned on",
      port: /^Another program uses port (\d+)\. Close it, or choose another port .* turn receiving on again\.$/,
      folder: /^Ringway cannot write to (.+)\. Connect its disk, or choose another folder .* turn receiving on again\.$/,
      entries: ["Receiving", "Show problem"],
    },
    {
      locale: "de_AT.UTF-8",
      off: "Empfang ist aus",
      refused: "Empfang ließ sich nicht einschalten: Ringway zeigt den Grund",
      ready: "bereit zum Empfangen",
      title: "Empfang ließ sich nicht einschalten",
      port: /^Ein anderes Programm benutzt Port (\d+)\. Es beenden oder .* einen anderen Port wählen, dann den Empfang erneut einschalten\.$/,
      folder: /^Ringway kann nicht in (.+) schreiben\. Den Datenträger anschließen oder .* einen anderen Ordner wählen, dann den Empfang erneut einschalten\.$/,
      entries: ["Empfangen", "Problem anzeigen"],
    },
  ]) {
    test(`receiving that cannot be switched on is reported with what to do, by tray, notification and status (${locale})`, async (t) => {
      const { here, inbox, target } = await pair(t);
      const server = await notifier(t, "body", "actions");
      await service(t, here, { env: { LC_ALL: "", LC_MESSAGES: locale, LANG: "en_US.UTF-8" } });
      const watcher = await panel(t);
      const tray = looker(t, await watcher.event("registered"));
      await tray.says(ready);
      const [receiving] = entries;
      await tray.click(receiving);
      await tray.says(off);

      const port = Number(target.split(":")[1]);
      const other = createServer();
      t.after(() => other.close());
      await new Promise((resolve) => other.listen(port, "::", resolve));
      await tray.click(receiving);
      const seen = await tray.says(refused);
      assert.deepEqual([seen.item.ToolTip[3], seen.item.IconName, seen.menu[0]["toggle-state"]], [refused, ICONS.off, 0]);
      assert.deepEqual(labels(seen.menu).slice(0, 2), entries);
      const told = await server.event((event) => event.title === title && portWords.test(event.body));
      assert.equal(portWords.exec(told.body)[1], String(port));
      const status = await here.run(["status"]);
      assert.match(status.stdout, new RegExp(`could not be switched on: .*port ${port}.*\n.*settings --port`), status.said());
      assert.match((await here.run(["status", "--json"])).events[0].error.message, new RegExp(`port ${port}:`));

      // Now the obstacle is the folder.
      await new Promise((resolve) => other.close(resolve));
      const aside = `${inbox} aside`;
      renameSync(inbox, aside);
      writeFileSync(inbox, "");
      await tray.click(receiving);
      const second = await server.event((event) => event.title === title && folderWords.test(event.body));
      assert.equal(folderWords.exec(second.body)[1], inbox);
      await tray.says(refused);

      // The folder is back, like a disk that was connected again.
      rmSync(inbox);
      renameSync(aside, inbox);
      await tray.click(receiving);
      assert.equal((await tray.says(ready)).menu[0]["toggle-state"], 1);
      await tray.click(receiving);
      await tray.says(off);
    });
  }

  test("a panel that comes later, or again, is registered with anew; that there is none is said once", async (t) => {
    const { here } = await pair(t);
    const running = await service(t, here);
    for (let round = 0; round < 3; round += 1) {
      const watcher = await panel(t);
      const tray = looker(t, await watcher.event("registered"));
      await tray.says("ready to receive");
      watcher.kill();
      await watcher.exit();
    }
    assert.equal(notices(running, "no panel").length, 1, running.said());
  });

  test("the menu opens the window beside the command, with the view that was asked for", async (t) => {
    const { base, here, there, source, target } = await pair(t);
    const [command, window, seen] = ["ringway", "ringway-desktop", "seen"].map((name) => join(base, name));
    copyFileSync(RINGWAY, command);
    writeFileSync(window, `#!/bin/sh\necho "$@" >> '${seen}'\n`);
    chmodSync(window, 0o755);
    const running = await service(t, here, { command });
    const watcher = await panel(t);
    const tray = looker(t, await watcher.event("registered"));
    const { menu } = await tray.says("ready to receive");
    let wanted = "";
    const opens = async (label, view) => {
      await tray.click(label);
      wanted += `${view}\n`;
      await eventually(`the window with "${view}"`, () => existsSync(seen) && readFileSync(seen, "utf8") === wanted);
    };
    await opens("Send folder…", "--show send");
    await opens("Open Inbox", "--show inbox");
    await opens("Open Ringway", "");
    await opens(`Code: ${codeIn(menu)}`, "--show inbox");

    // Pairing closes the code. The next one is drawn, and shown where it can be read after the
    // click.
    oddTree(join(source, "tree"));
    const sending = sender(t, there, join(source, "tree"), target, { code: await running.code() });
    await running.accept();
    assert.equal(await sending.exit(), EXIT.all, sending.said());
    const used = await eventually("the entry that shows a code", async () => labels((await tray.look()).menu).includes("Show code"));
    assert.ok(used);
    await opens("Show code", "--show inbox");
    await eventually("a code in the menu", async () => codeIn((await tray.look()).menu));
  });

  test("in a German session tray, menu and notifications are German, with its plurals and numbers", async (t) => {
    const { here, there, source, target } = await pair(t);
    const server = await notifier(t, "body", "actions");
    const running = await service(t, here, { env: { LC_ALL: "", LC_MESSAGES: "de_AT.UTF-8", LANG: "en_US.UTF-8" } });
    const watcher = await panel(t);
    const tray = looker(t, await watcher.event("registered"));
    const idle = await tray.says("bereit zum Empfangen");
    const code = await running.code();
    assert.deepEqual(labels(idle.menu), ["Empfangen", `Code: ${code}`, "Neuer Code", "Eingang öffnen", "Ordner senden…", "Ringway öffnen", "Beenden"]);

    mkdirSync(join(source, "daten"));
    writeFileSync(join(source, "daten/datei"), Buffer.alloc(1_500_000, "x"));
    const sending = sender(t, there, join(source, "daten"), target, { code });
    const paired = await server.event(({ title }) => title === "Gekoppelt");
    assert.equal(paired.body, "there ist jetzt mit diesem Gerät gekoppelt.");
    assert.deepEqual(paired.actions, ["default", "Ringway öffnen"]);
    const offer = await server.event(({ title, body }) => title === "Angebot von there" && /^daten, 2 Elemente, 1,5 MB\. Nach .+, danach .+ frei$/.test(body));
    assert.deepEqual(offer.actions, ["default", "Eingang öffnen", "accept", "Annehmen", "decline", "Ablehnen"]);
    const asked = await tray.says("1 Angebot wartet");
    assert.ok(labels(asked.menu).includes("Eingang öffnen (1 wartet)"));
    const again = sender(t, there, join(source, "daten/datei"), target, { code: null });
    const both = await tray.says("2 Angebote warten");
    assert.ok(labels(both.menu).includes("Eingang öffnen (2 warten)"));

    server.tell(JSON.stringify({ id: offer.id, action: "accept" }));
    assert.equal(await sending.exit(), EXIT.all, sending.said());
    assert.match((await server.event(({ title }) => title === "Empfangen")).body, /^daten von there: 1,5 MB$/);
    const second = await server.event(({ title, body, actions }) => actions?.includes("Ablehnen") && body.startsWith("datei"));
    server.tell(JSON.stringify({ id: second.id, action: "decline" }));
    assert.equal(await again.exit(), EXIT.declined, again.said());
    await tray.click("Empfangen");
    assert.deepEqual(labels((await tray.says("Empfang ist aus")).menu), ["Empfangen", "Eingang öffnen", "Ordner senden…", "Ringway öffnen", "Beenden"]);
    await tray.click("Beenden").catch(() => {});
    assert.equal(await running.exit(), 0, running.said());
  });

  test("with tray and notifications it takes little memory, and at rest no processor", async (t) => {
    const { here } = await pair(t);
    await notifier(t, "actions");
    const running = await service(t, here);
    const watcher = await panel(t);
    await looker(t, await watcher.event("registered")).says("ready to receive");
    const used = () => readFileSync(`/proc/${running.pid}/stat`, "utf8").replace(/^.*\) /s, "").split(" ").slice(11, 13).map(Number).reduce((a, b) => a + b);
    const before = used();
    await sleep(REST_MS);
    const [kib] = readFileSync(`/proc/${running.pid}/smaps_rollup`, "utf8").match(/^Pss: +(\d+) kB$/m).slice(1).map(Number);
    t.diagnostic(`${kib} KiB, ${used() - before} ticks in ${REST_MS} ms`);
    assert.ok(kib < PSS_KIB_MAX, `${kib} KiB`);
    assert.ok(used() - before <= REST_TICKS_MAX, `${used() - before} ticks`);
  });

  test("without a bus it receives all the same, and says so once", async (t) => {
    const { here, there, inbox, source, target } = await pair(t);
    const env = { DBUS_SESSION_BUS_ADDRESS: "unix:path=/nonexistent" };
    const running = await service(t, here, { env });
    oddTree(join(source, "tree"));
    const sending = sender(t, there, join(source, "tree"), target, { code: await running.code() });
    await running.accept();
    assert.equal(await sending.exit(), EXIT.all, sending.said());
    same(join(source, "tree"), join(inbox, "tree"));
    for (const what of ["no tray icon", "no notifications"]) {
      assert.equal(notices(running, what).length, 1, running.said());
    }
  });
}
