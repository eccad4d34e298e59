// Notifications at a server's end: their contents, and the effects of their buttons.
import assert from "node:assert/strict";
import { chmodSync, copyFileSync, existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { RINGWAY } from "../setup/build.mjs";
import { Device, EXIT, oddTree, same, sender } from "../transfer/harness.mjs";
import { eventually, notifier, onPrivateBus, pair } from "./lib/session.mjs";
import { notices, service } from "./lib/service.mjs";

/** A name that would be bold, and change the following text, if it were read as markup. */
const MARKED = "<b>lab</b> & co";

/** Characters of a note's first line that are shown where it is listed. */
const FIRST_LINE_MAX = 120;

const shown = (server, wanted) => server.event((event) => event.event === "shown" && wanted(event));
const offered = (server) => shown(server, ({ actions }) => actions.includes("accept"));
const click = (server, id, action) => server.tell(JSON.stringify({ id, action }));

if (onPrivateBus(import.meta.url)) {
  test("Accept in the notification brings the folder here, and its end is reported", async (t) => {
    const { here, there, inbox, source, target } = await pair(t);
    const server = await notifier(t, "body", "body-markup", "actions", "persistence");
    const running = await service(t, here);
    oddTree(join(source, "tree"));
    const sending = sender(t, there, join(source, "tree"), target, { code: await running.code() });
    const paired = await shown(server, ({ title }) => title === "Paired");
    assert.match(paired.body, /^there is now paired with this device/);
    const offer = await offered(server);
    assert.deepEqual([offer.app, offer.title, offer.expires], ["Ringway", "Offer from there", 0]);
    assert.deepEqual(offer.actions, ["default", "Open Inbox", "accept", "Accept", "decline", "Decline"]);
    assert.equal(offer.hints["desktop-entry"], "org.ringway.Ringway");
    assert.match(offer.body, /^tree/);
    assert.match(offer.body, /\. Into .*(, .* free afterwards)?$/);
    click(server, offer.id, "accept");
    assert.equal(await sending.exit(), EXIT.all, sending.said());
    same(join(source, "tree"), join(inbox, "tree"));
    const ended = await shown(server, ({ title }) => title === "Received");
    assert.match(ended.body, /^tree from there: \d/);
    assert.equal(ended.hints.category, "transfer.complete");
  });

  test("Decline declines, and an offer that is taken back takes its notification along", async (t) => {
    const { here, there, inbox, source, target } = await pair(t);
    const server = await notifier(t, "actions");
    const running = await service(t, here);
    oddTree(join(source, "tree"));
    const declined = sender(t, there, join(source, "tree"), target, { code: await running.code() });
    const first = await offered(server);
    click(server, first.id, "decline");
    assert.equal(await declined.exit(), EXIT.declined, declined.said());

    const withdrawn = sender(t, there, join(source, "tree"), target, { code: null });
    const second = await shown(server, ({ id, actions }) => id !== first.id && actions.includes("accept"));
    withdrawn.kill();
    const closed = await server.event(({ event, id }) => event === "closed" && id === second.id);
    assert.equal(closed.why, 3, "closed by a call");
    // A click that comes too late, or on another program's notification, does nothing.
    for (const id of [first.id, second.id, 4711]) click(server, id, "accept");
    assert.deepEqual(readdirSync(inbox), []);
  });

  test("a click on an offer opens the inbox with the desktop's leave to come to the front", async (t) => {
    const { base, here, there, source, target } = await pair(t);
    const [command, window, seen] = ["ringway", "ringway-desktop", "seen"].map((name) => join(base, name));
    copyFileSync(RINGWAY, command);
    writeFileSync(window, `#!/bin/sh\necho "$XDG_ACTIVATION_TOKEN $@" > '${seen}.new'; mv '${seen}.new' '${seen}'\n`);
    chmodSync(window, 0o755);
    const server = await notifier(t, "actions");
    const running = await service(t, here, { command });
    oddTree(join(source, "tree"));
    sender(t, there, join(source, "tree"), target, { code: await running.code() });
    click(server, (await offered(server)).id, "default");
    await eventually("the window", () => existsSync(seen));
    assert.equal(readFileSync(seen, "utf8"), "a-token --show inbox\n");
  });

  test("a device that wants to connect is announced once, without the code; Allow opens one, and Block is silent", async (t) => {
    const { base, here, there, source, target } = await pair(t);
    const [command, window, seen] = ["ringway", "ringway-desktop", "seen"].map((name) => join(base, name));
    copyFileSync(RINGWAY, command);
    writeFileSync(window, `#!/bin/sh\necho "$@" > '${seen}.new'; mv '${seen}.new' '${seen}'\n`);
    chmodSync(window, 0o755);
    const server = await notifier(t, "body", "actions");
    const running = await service(t, here, { command });
    oddTree(join(source, "tree"));
    const asks = async (device) => {
      const sending = sender(t, device, join(source, "tree"), target, { code: null });
      assert.equal(await sending.exit(), EXIT.notAuthenticated, sending.said());
    };
    const code = await running.code();
    await asks(there);
    await asks(there);
    const wants = ({ title }) => title === "there wants to connect";
    const request = await shown(server, wants);
    assert.deepEqual(request.actions, ["default", "Open Inbox", "allow", "Allow", "block", "Block"]);
    assert.ok(!JSON.stringify(request).includes(code), "a locked screen may show it");
    click(server, request.id, "allow");
    await server.event(({ event, id }) => event === "closed" && id === request.id);
    await eventually("the window", () => existsSync(seen));
    assert.equal(readFileSync(seen, "utf8"), "--show inbox\n");
    const paired = await there.run(["pair", target, "--code-file", there.codeFile(await running.code())]);
    assert.equal(paired.status, EXIT.all, paired.said());
    await shown(server, ({ title }) => title === "Paired");
    assert.equal(server.events.filter((event) => event.event === "shown" && wants(event)).length, 1);

    const other = new Device(base, "other");
    await asks(other);
    const second = await shown(server, ({ title }) => title === "other wants to connect");
    click(server, second.id, "block");
    await server.event(({ event, id }) => event === "closed" && id === second.id);
    await asks(other);
    assert.ok(!(await here.run(["status"])).stdout.includes("wants to connect"));
  });

  test("a note is announced with its device and first line, and a click on it opens the inbox", async (t) => {
    const { base, here, there, target } = await pair(t);
    const [command, window, seen] = ["ringway", "ringway-desktop", "seen"].map((name) => join(base, name));
    copyFileSync(RINGWAY, command);
    writeFileSync(window, `#!/bin/sh\necho "$XDG_ACTIVATION_TOKEN $@" > '${seen}.new'; mv '${seen}.new' '${seen}'\n`);
    chmodSync(window, 0o755);
    const server = await notifier(t, "body", "body-markup", "actions");
    const running = await service(t, here, { command });
    const paired = await there.run(["pair", target, "--code-file", there.codeFile(await running.code())]);
    assert.equal(paired.status, EXIT.all, paired.said());
    const send = async (text) => {
      const sent = await there.run(["send", "--text", target], { input: text });
      assert.equal(sent.status, EXIT.all, sent.said());
    };
    await send("\n<b>hostile</b> \u202eline \nthe password\n");
    const announces = (body) => shown(server, (event) => event.title === "Note from there" && event.body.startsWith(body));
    const note = await announces("&lt;b&gt;");
    assert.equal(note.body, "&lt;b&gt;hostile&lt;/b&gt; \\u{202e}line");
    assert.deepEqual([note.actions, note.hints.category, note.hints["desktop-entry"]], [["default", "Open Ringway"], "im.received", "org.ringway.Ringway"]);
    assert.ok(!JSON.stringify(note).includes("password"), "a locked screen may show it");
    await send("x".repeat(5000));
    assert.ok((await announces("xxx")).body.length <= FIRST_LINE_MAX);
    click(server, note.id, "default");
    await eventually("the window", () => existsSync(seen));
    assert.equal(readFileSync(seen, "utf8"), "a-token --show inbox\n");
  });

  for (const [capabilities, body] of [
    [["body", "body-markup", "actions"], /^&lt;i&gt;x &amp; \\u\{202e\}gpj/],
    [["body"], /^<i>x & \\u\{202e\}gpj/],
  ]) {
    test(`a peer's text is text at a server with ${capabilities.join(", ")}`, async (t) => {
      const { here, there, source, target } = await pair(t);
      writeFileSync(join(there.env.XDG_CONFIG_HOME, "ringway/config.toml"), `name = "${MARKED}"\n`);
      const server = await notifier(t, ...capabilities);
      const running = await service(t, here);
      const path = join(source, "<i>x & \u202egpj");
      oddTree(path);
      sender(t, there, path, target, { code: await running.code() });
      const offer = await shown(server, ({ title }) => title === `Offer from ${MARKED}`);
      assert.match(offer.body, body);
      assert.equal(offer.actions.length > 0, capabilities.includes("actions"));
    });
  }

  test("a server that comes later gets what comes then; that there is none is said once", async (t) => {
    const { here, there, source, target } = await pair(t);
    const running = await service(t, here);
    oddTree(join(source, "tree"));
    const early = sender(t, there, join(source, "tree"), target, { code: await running.code() });
    await eventually("the log to say it", () => notices(running, "no notifications now").length > 0);
    // The two are paired only once it offers.
    await running.event(({ event }) => event === "offer_waits");
    early.kill();
    const server = await notifier(t, "actions");
    sender(t, there, join(source, "tree"), target, { code: null });
    await offered(server);
    assert.equal(notices(running, "no notifications").length, 1, running.said());
  });
}
