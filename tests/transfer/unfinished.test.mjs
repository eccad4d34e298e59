// The staging folder of an unfinished transfer is listed with the sender and names, and removed on
// request, but never while a transfer uses it.
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { capture } from "../setup/process.mjs";
import { EXIT, asked, ends, eventually, receiver, sameInside, sender, strangers } from "./harness.mjs";
import { mounting } from "./mounts.mjs";

const BYTES = 40_000_000;
/** Slow enough to be interrupted in the middle. */
const SLOWLY = ["--limit", "8M", "--compress", "off"];

const hidden = (inbox) => readdirSync(inbox).filter((name) => name.startsWith(".ringway-"));
const listed = async (device, ...args) => (await asked(device, ["inbox", "unfinished", ...args])).filter(({ event }) => event === "unfinished");

/** A command's output for a person. */
async function says(device, args, wanted = EXIT.all) {
  const done = await device.run(args);
  assert.equal(done.status, wanted, done.said());
  return done.said();
}

test("unfinished transfers are listed with sender and names, resumed, and removed on request", async (t) => {
  const { base, inbox, source, near, far } = strangers(t);
  const [greeting, tree] = [join(source, "greeting"), join(source, "tree")];
  writeFileSync(greeting, "hello");
  mkdirSync(tree);
  for (let file = 0; file < 40; file += 1) writeFileSync(join(tree, `${file}`), Buffer.alloc(BYTES / 40, `${file} `));
  const first = await receiver(t, far, inbox);
  await ends(sender(t, near, greeting, first.target), first);
  assert.deepEqual(await listed(far), []);

  const begin = async () => {
    const receiving = await receiver(t, far, inbox, { code: null });
    const sending = sender(t, near, tree, receiving.target, { code: null, args: SLOWLY });
    await eventually("some of it has come", () => sending.events.some(({ event, bytes_done }) => event === "progress" && bytes_done > BYTES / 8));
    return { receiving, sending };
  };
  const kill = async ({ receiving, sending }) => {
    receiving.kill("SIGKILL");
    sending.kill("SIGKILL");
    await Promise.all([receiving.exit(), sending.exit()]);
  };
  await kill(await begin());

  // The history knows the folder from the first transfer.
  const [left, ...others] = await listed(far);
  assert.deepEqual(others, []);
  const { id, folder, from, names, more_names, files, disk_bytes, in_use } = left;
  assert.deepEqual({ folder, from, names, more_names, in_use }, { folder: { path: inbox }, from: "near", names: [{ path: "tree" }], more_names: 0, in_use: false });
  assert.ok(files > 0 && disk_bytes > BYTES / 10, JSON.stringify(left));
  assert.deepEqual(hidden(inbox), [`.ringway-${id}`]);
  assert.deepEqual(await listed(far, "--in", base), [], "another folder has nothing");
  assert.match(await says(far, ["inbox", "unfinished", "--in", join(base, "nowhere")], EXIT.failed), /nowhere/);
  const doctor = (await asked(far, ["doctor"])).find(({ check }) => check === "unfinished");
  assert.equal(doctor.state, "note");
  assert.match(doctor.message, /^1 unfinished transfer keeps /);
  assert.match(await says(far, ["inbox", "unfinished"]), new RegExp(`${id} +near +tree `));

  // The next attempt takes it over, and it cannot be removed then.
  const going = await begin();
  assert.equal((await listed(far))[0].in_use, true);
  assert.match(await says(far, ["inbox", "discard", "--all"]), /is at work in .*: it stays/);
  await says(far, ["inbox", "discard", id], EXIT.failed);
  await kill(going);
  assert.ok((await listed(far))[0].disk_bytes >= disk_bytes, "nothing of it was lost");

  assert.match(await says(far, ["inbox", "discard", "0123456789abcdef"], EXIT.failed), /inbox unfinished/);
  await says(far, ["inbox", "discard"], EXIT.usage);
  assert.deepEqual(hidden(inbox), [`.ringway-${id}`]);
  assert.match(await says(far, ["inbox", "discard", id]), /What 1 unfinished transfer had left is removed/);
  assert.deepEqual([hidden(inbox), await listed(far)], [[], []]);

  const whole = await receiver(t, far, inbox, { code: null });
  const again = sender(t, near, tree, whole.target, { code: null });
  await ends(again, whole);
  assert.equal(again.events.find(({ event }) => event === "finished").unchanged, 0, "it begins anew");
  sameInside(source, inbox);
});

test("what the first transfer into a folder has left is listed, however early its receiver was killed", async (t) => {
  const { base, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  mkdirSync(tree);
  writeFileSync(join(tree, "file"), Buffer.alloc(BYTES));
  let code;
  for (const name of ["first", "second", "third"]) {
    const inbox = join(base, name);
    mkdirSync(inbox);
    const receiving = await receiver(t, far, inbox, { code });
    const sending = sender(t, near, tree, receiving.target, { code, args: SLOWLY });
    code = null;
    await eventually("it has begun", () => hidden(inbox).some((staging) => readdirSync(join(inbox, staging)).includes("begun")));
    for (const end of [receiving, sending]) end.kill("SIGKILL");
    await Promise.all([receiving.exit(), sending.exit()]);
    const [left] = await listed(far, "--in", inbox);
    assert.deepEqual((await listed(far)).filter(({ folder }) => folder.path === inbox), [left]);
  }
});

for (const gone of [false, true]) {
  mounting(`what a killed receiver left on a mount inside a received folder is counted, and ${gone ? "named when the mount is gone" : "removed with the rest"}`, async (t, { mount }) => {
    const { inbox, source, near, far } = strangers(t);
    const disk = join(inbox, "tree/disk");
    mkdirSync(disk, { recursive: true });
    if (!mount(disk, "-t", "tmpfs", "tmpfs")) return t.skip("mounting takes root");
    mkdirSync(join(source, "tree/disk"), { recursive: true });
    writeFileSync(join(source, "tree/disk/file"), Buffer.alloc(BYTES, "file"));
    const receiving = await receiver(t, far, inbox);
    const sending = sender(t, near, join(source, "tree"), receiving.target, { args: SLOWLY });
    const [beside] = await eventually("bytes in a temporary file", () => {
      const names = hidden(disk);
      return names.length > 0 && statSync(join(disk, names[0])).blocks > 0 && names;
    });
    for (const end of [receiving, sending]) end.kill("SIGKILL");
    await Promise.all([receiving.exit(), sending.exit()]);
    const bytes = statSync(join(disk, beside)).blocks * 512;
    const [{ id, files, disk_bytes }] = await listed(far);
    assert.ok(files === 1 && disk_bytes >= bytes, `${files} ${disk_bytes} ${bytes}`);
    if (gone) {
      capture("umount", [disk]);
      assert.match(await says(far, ["inbox", "discard", id], EXIT.failed), new RegExp(`tree/disk/\\.ringway-${id}-\\* could not be removed`));
    } else {
      assert.match(await says(far, ["inbox", "discard", id]), /What 1 unfinished transfer had left is removed/);
    }
    assert.deepEqual([readdirSync(disk), hidden(inbox), await listed(far)], [[], [], []]);
  });
}
