// Destinations that disappear while files arrive in them: both ends report it, neither hangs, and
// there is no receipt for missing files.
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, renameSync, rmdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { freePort } from "../setup/devices.mjs";
import { capture, run } from "../setup/process.mjs";
import { EXIT, asked, ends, eventually, receiver, same, sender, strangers } from "./harness.mjs";
import { mounting } from "./mounts.mjs";

const MIDWAY_BYTES = 4_000_000;
const SLOWLY = ["--limit", "4M", "--compress", "off", "--retry", "no"];

/** A transfer that is half done, into a separate folder, which `prepare` may change. */
async function halfWay(t, prepare = () => true) {
  const { base, inbox, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  mkdirSync(tree);
  for (let number = 0; number < 40; number += 1) {
    writeFileSync(join(tree, `${number}`), Buffer.alloc(number % 2 ? 5_000 : 1_000_000, `${number}`));
    // A file that is as young as the attempt does not count as whole.
    utimesSync(join(tree, `${number}`), 1_600_000_000, 1_600_000_000);
  }
  if (!prepare({ base, inbox })) return undefined;
  const receiving = await receiver(t, far, inbox);
  const sending = sender(t, near, tree, receiving.target, { args: SLOWLY });
  await sending.event(({ stage, bytes_done: bytes }) => stage === "running" && bytes > MIDWAY_BYTES);
  return { base, inbox, tree, near, far, sending, receiving };
}

const lastError = (end) => end.events.findLast(({ event }) => event === "finished")?.error;

/** Both failed, and the receiver reports why. */
async function bothSay({ sending, receiving }, code) {
  await ends(sending, receiving, EXIT.failed);
  assert.equal(lastError(receiving)?.code, code, receiving.said());
  assert.equal(lastError(sending)?.code, "failed_there", sending.said());
}

test("a destination that is removed under way", async (t) => {
  const transfer = await halfWay(t);
  // Files that are being made there may delay the removal for a moment.
  await eventually("the removal", () => capture("rm", ["-rf", transfer.inbox]).status === 0);
  await bothSay(transfer, "destination_gone");
});

test("a destination that is renamed during a transfer: no receipt for the old path, and the next attempt completes it at the new one", async (t) => {
  const transfer = await halfWay(t);
  const { inbox, base, tree, near, far } = transfer;
  const moved = join(base, "moved");
  renameSync(inbox, moved);
  await bothSay(transfer, "destination_gone");
  mkdirSync(inbox);
  const again = await receiver(t, far, moved, { code: null });
  const sent = sender(t, near, tree, again.target, { code: null });
  await ends(sent, again);
  same(tree, join(moved, "tree"));
});

mounting("a destination that is lazily unmounted during a transfer is reported as gone", async (t, { ext4 }) => {
  const transfer = await halfWay(t, ({ base, inbox }) => ext4(inbox, join(base, "image")));
  if (!transfer) return t.skip("mounting takes root");
  run("umount", ["-l", transfer.inbox]);
  await bothSay(transfer, "destination_gone");
});

mounting("a destination that becomes read-only under way: both ends fail with the reason, and once it can be written to the same send brings the rest", async (t, { ext4 }) => {
  const transfer = await halfWay(t, ({ base, inbox }) => ext4(inbox, join(base, "image")));
  if (!transfer) return t.skip("mounting takes root");
  const { base, inbox, tree, near, far, sending, receiving } = transfer;
  // As after a disk error, which happens whether or not files are open.
  run("mount", ["-o", "remount,abort", inbox]);
  for (const end of [sending, receiving]) assert.equal(await end.exit(), EXIT.failed, end.said());
  assert.match(receiving.stdout, /Read-only file system/);
  assert.ok(receiving.stderr.includes(inbox), receiving.said());
  run("umount", [inbox]);
  run("mount", ["-o", "loop", join(base, "image"), inbox]);
  const again = await receiver(t, far, inbox, { code: null });
  await ends(sender(t, near, tree, again.target, { code: null }), again);
  same(tree, join(inbox, "tree"));
});

/**
 * A receiver that keeps running after the first transfer, and a tree that it has. Both devices are
 * paired by then.
 */
async function listening(t, { inbox, source, near, far }) {
  const [first, tree] = ["first", "tree"].map((name) => join(source, name));
  for (const path of [first, tree]) {
    mkdirSync(join(path, "below"), { recursive: true });
    for (const name of ["a", "b", "below/c"]) writeFileSync(join(path, name), `${name} of ${path}`);
  }
  const receiving = await receiver(t, far, inbox, { once: false });
  const sent = sender(t, near, first, receiving.target);
  assert.equal(await sent.exit(), EXIT.all, sent.said());
  const send = async () => {
    const sending = sender(t, near, tree, receiving.target, { code: null, args: ["--retry", "no"] });
    return { status: await sending.exit(), said: sending.said() };
  };
  return { receiving, send, first, tree };
}

mounting("a disk that is unmounted between two transfers: nothing lands beneath its mount point, both ends say why, and once it is back it is received into", async (t, { ext4 }) => {
  const place = strangers(t);
  const { base, inbox } = place;
  const image = join(base, "image");
  if (!ext4(inbox, image)) return t.skip("mounting takes root");
  const { receiving, send, tree } = await listening(t, place);
  run("umount", [inbox]);
  const refused = await send();
  assert.notEqual(refused.status, EXIT.all, refused.said);
  assert.deepEqual(readdirSync(inbox), []);
  assert.match(receiving.said(), /removed, renamed or unmounted/);
  run("mount", ["-o", "loop", image, inbox]);
  const sent = await send();
  assert.equal(sent.status, EXIT.all, sent.said);
  same(tree, join(inbox, "tree"));
});

mounting("another disk at the same place is not received into", async (t, { ext4 }) => {
  const place = strangers(t);
  const { base, inbox } = place;
  if (!ext4(inbox, join(base, "image"))) return t.skip("mounting takes root");
  const { send } = await listening(t, place);
  run("umount", [inbox]);
  assert.ok(ext4(inbox, join(base, "other")));
  const refused = await send();
  assert.notEqual(refused.status, EXIT.all, refused.said);
  assert.deepEqual(readdirSync(inbox), ["lost+found"]);
});

test("a receive folder that is removed between two transfers is not made anew, and one that is put back is received into", async (t) => {
  const place = strangers(t);
  const { base, inbox } = place;
  const { receiving, send, tree, first } = await listening(t, place);
  same(first, join(inbox, "first"));
  renameSync(inbox, join(base, "aside"));
  const refused = await send();
  assert.notEqual(refused.status, EXIT.all, refused.said);
  assert.ok(!readdirSync(base).includes("inbox"));
  assert.match(receiving.said(), /removed, renamed or unmounted/);
  mkdirSync(inbox);
  assert.notEqual((await send()).status, EXIT.all, "it is another folder");
  assert.deepEqual(readdirSync(inbox), []);
  rmdirSync(inbox);
  renameSync(join(base, "aside"), inbox);
  const sent = await send();
  assert.equal(sent.status, EXIT.all, sent.said);
  same(tree, join(inbox, "tree"));
});

test("where the receive folder is gone, a service asks in spite of the rule, says why, and receives once it is back", async (t) => {
  const place = strangers(t);
  const { base, inbox, far } = place;
  const { receiving, tree } = await listening(t, place);
  receiving.kill("SIGTERM");
  await receiving.exit();
  const rule = await far.run(["devices", "rule", "near", "--accept"]);
  assert.equal(rule.status, EXIT.all, rule.said());
  const serving = far.start(["serve", inbox, "--listen", receiving.target, "--no-announce", "--json"]);
  t.after(() => serving.kill());
  await serving.event("listening");
  renameSync(inbox, join(base, "aside"));
  const sending = sender(t, place.near, tree, receiving.target, { code: null });
  const offer = await eventually("an offer", async () => (await asked(far, ["offers"]))[0]);
  assert.equal(offer.asked_because.because, "no_folder", serving.said());
  renameSync(join(base, "aside"), inbox);
  await asked(far, ["accept", "near"]);
  assert.equal(await sending.exit(), EXIT.all, sending.said());
  same(tree, join(inbox, "tree"));
});

mounting("a service that starts while the disk of its folders is not mounted receives into them once it is, and not beneath the mount point", async (t, { ext4 }) => {
  const { base, inbox: disk, source, near, far } = strangers(t);
  const image = join(base, "image");
  if (!ext4(disk, image)) return t.skip("mounting takes root");
  const [inbox, ruled] = [join(disk, "inbox"), join(disk, "ruled")];
  for (const folder of [inbox, ruled]) mkdirSync(folder);
  for (const name of ["first", "second", "third", "fourth"]) writeFileSync(join(source, name), name);
  mkdirSync(join(base, "elsewhere"));
  const port = await freePort();
  const paired = await receiver(t, far, join(base, "elsewhere"), { port });
  await ends(sender(t, near, join(source, "first"), paired.target), paired);
  // Whatever path it is named by.
  const led = join(base, "led here");
  symlinkSync(inbox, led);
  await asked(far, ["settings", "--receive-folder", led]);
  await asked(far, ["devices", "rule", "near", "--accept", "--into", ruled]);
  run("umount", [disk]);
  // As a boot may leave it: the folders exist, but the disk is not mounted.
  for (const folder of [inbox, ruled]) mkdirSync(folder);
  const serve = async () => {
    const running = far.start(["serve", "--listen", paired.target, "--no-announce", "--json"]);
    t.after(() => running.kill());
    await running.event("listening");
    return running;
  };
  const serving = await serve();
  const send = (name) => sender(t, near, join(source, name), paired.target, { code: null });
  const waits = send("second");
  const offer = await eventually("an offer", async () => (await asked(far, ["offers"]))[0]);
  assert.notEqual((await far.run(["accept", offer.id])).status, EXIT.all, "the disk is not there");
  assert.equal(await waits.exit(), EXIT.declined, waits.said());
  assert.deepEqual([inbox, ruled].flatMap((folder) => readdirSync(folder)), []);
  run("mount", ["-o", "loop", image, disk]);
  const sent = send("third");
  assert.equal(await sent.exit(), EXIT.all, sent.said());
  assert.deepEqual([readdirSync(inbox), readdirSync(ruled)], [[], ["third"]]);
  serving.kill("SIGTERM");
  await serving.exit();
  // To receive beneath the mount point, a person says so to a running service, or names the folder
  // to recv.
  run("umount", [disk]);
  const last = await serve();
  await asked(far, ["devices", "rule", "near", "--accept", "--into", ruled]);
  const beneath = send("fourth");
  assert.equal(await beneath.exit(), EXIT.all, beneath.said());
  assert.deepEqual(readdirSync(ruled), ["fourth"]);
  last.kill("SIGTERM");
  await last.exit();
  const receiving = await receiver(t, far, inbox, { port });
  await ends(send("first"), receiving);
  assert.deepEqual(readdirSync(inbox), ["first"]);
});
