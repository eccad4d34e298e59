// Entries that the receiver has edited since they were received, and folders that it made itself:
// sent again, with each policy and with an accept rule.
import assert from "node:assert/strict";
import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, readdirSync, readlinkSync, renameSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Device } from "../setup/devices.mjs";
import { EXIT, ends, eventually, receiver, sender, strangers } from "./harness.mjs";

const text = (...parts) => readFileSync(join(...parts), "utf8");
const finished = (end) => end.events.find(({ event }) => event === "finished");

/** An album at the sender, with its files' times in the past. All of them contain `version`. */
function write(album, version) {
  mkdirSync(join(album, "sub"), { recursive: true });
  for (const name of ["p1.jpg", "p2.jpg", "sub/p3.jpg"]) {
    writeFileSync(join(album, name), `${name} ${version}`);
    utimesSync(join(album, name), 1_600_000_000 + version, 1_600_000_000 + version);
  }
}

/** An album that was sent once. */
async function received(t) {
  const place = strangers(t);
  const [album, there] = [join(place.source, "album"), join(place.inbox, "album")];
  write(album, 1);
  const send = async (...args) => {
    const receiving = await receiver(t, place.far, place.inbox, { args });
    const sending = sender(t, place.near, album, receiving.target);
    await ends(sending, receiving);
    return [sending, receiving];
  };
  const [, { port }] = await send("--on-conflict", "update");
  assert.equal(text(there, "p2.jpg"), "p2.jpg 1");
  return { ...place, album, there, send, port };
}

test("a file that was edited at the receiver stays under every policy but replace, and both ends say so", async (t) => {
  for (const [policy, p2, beside] of [
    ["update", "my edit", ["p2 (1).jpg"]],
    ["keep", "my edit", []],
    ["rename", "my edit", ["p1 (1).jpg", "p2 (1).jpg"]],
    ["replace", "p2.jpg 2", []],
  ]) {
    const { album, there, send } = await received(t);
    writeFileSync(join(there, "p2.jpg"), "my edit");
    write(album, 2);
    const both = await send("--on-conflict", policy);
    assert.equal(text(there, "p2.jpg"), p2, policy);
    assert.deepEqual(readdirSync(there).sort(), [...beside, "p1.jpg", "p2.jpg", "sub"].sort(), policy);
    const is = policy === "update";
    for (const end of both) {
      assert.equal(finished(end).edited, is ? 1 : 0, end.said());
      const kept = end.events.filter(({ event }) => event === "entry_kept");
      assert.deepEqual(kept.map(({ path, beside }) => [path, beside.path]), is ? [["album/p2.jpg", "p2 (1).jpg"]] : []);
    }
    if (!is) continue;
    assert.deepEqual([text(there, "p2 (1).jpg"), text(there, "p1.jpg"), text(there, "sub/p3.jpg")], ["p2.jpg 2", "p1.jpg 2", "sub/p3.jpg 2"]);
    assert.match(both[0].stderr, /album\/p2\.jpg: differs at the receiver and is kept there; what you sent is beside it as p2 \(1\)\.jpg/);
    assert.match(both[1].stderr, /album\/p2\.jpg: differs here and is kept/);
    // Once more: nothing is sent or added, and it is reported again.
    const again = await send("--on-conflict", policy);
    assert.deepEqual([finished(again[0]).edited, finished(again[0]).unchanged], [1, 3]);
    assert.deepEqual(readdirSync(there).sort(), ["p1.jpg", "p2 (1).jpg", "p2.jpg", "sub"]);
  }
});

test("with an accept rule an edit stays, and a folder that the owner made anew under the name is not touched", async (t) => {
  const { near, far, inbox, album, there, port } = await received(t);
  const known = await far.run(["devices", "rule", "near", "--accept", "--json"]);
  assert.equal(known.status, EXIT.all, known.said());
  // At the address where it was reached before. At another one the sender would ask which device is
  // meant.
  const receiving = await receiver(t, far, null, { port, yes: false, once: false, code: null, args: ["--no-pairing", "--on-conflict", "update"], cwd: inbox });
  const send = async (version) => {
    write(album, version);
    const sending = sender(t, near, album, receiving.target, { code: null });
    assert.equal(await sending.exit(), EXIT.all, sending.said());
    return finished(sending).edited;
  };
  writeFileSync(join(there, "p2.jpg"), "my edit");
  assert.equal(await send(2), 1);
  assert.deepEqual([text(there, "p2.jpg"), text(there, "p2 (1).jpg"), text(there, "p1.jpg")], ["my edit", "p2.jpg 2", "p1.jpg 2"]);
  rmSync(there, { recursive: true });
  mkdirSync(there);
  writeFileSync(join(there, "p1.jpg"), "mine");
  assert.equal(await send(3), 0);
  assert.deepEqual([readdirSync(there), text(there, "p1.jpg")], [["p1.jpg"], "mine"]);
  assert.equal(text(inbox, "album (1)/p1.jpg"), "p1.jpg 3");
  // From now on the folder with the numbered name is known, but not the place to which it was
  // moved.
  renameSync(join(inbox, "album (1)"), join(inbox, "album moved"));
  assert.equal(await send(4), 0);
  assert.deepEqual([text(inbox, "album moved/p1.jpg"), text(inbox, "album (1)/p1.jpg")], ["p1.jpg 3", "p1.jpg 4"]);
});

test("a private folder of the receiver's is opened to others by replace --modes alone", async (t) => {
  for (const [args, mode] of [
    [["--on-conflict", "keep"], 0o700],
    [["--on-conflict", "rename"], 0o700],
    [["--on-conflict", "update"], 0o700],
    [[], 0o700],
    [["--modes"], 0o777],
  ]) {
    const { album, there, send } = await received(t);
    write(album, 2);
    chmodSync(join(album, "sub"), 0o777);
    chmodSync(join(there, "sub"), 0o700);
    await send(...args);
    assert.equal(statSync(join(there, "sub")).mode & 0o7777, mode, args.join(" "));
  }
});

for (const [what, edit] of [
  ["touched", (path) => utimesSync(path, 1_700_000_000, 1_700_000_000)],
  ["made private", (path) => chmodSync(path, 0o600)],
]) {
  for (const size of [12_000, 2 << 20, 12 << 20]) {
    test(`a file of ${size} bytes that was ${what} at the receiver gets no further name of the sender's`, async (t) => {
      const { source, near, far, inbox } = strangers(t);
      const [album, there] = [join(source, "album"), join(inbox, "album")];
      mkdirSync(album);
      writeFileSync(join(album, "m.jpg"), Buffer.alloc(size, "picture"));
      chmodSync(join(album, "m.jpg"), 0o644);
      utimesSync(join(album, "m.jpg"), 1_600_000_000, 1_600_000_000);
      const send = async (...args) => {
        const receiving = await receiver(t, far, inbox, { args: ["--on-conflict", "update"] });
        const sending = sender(t, near, album, receiving.target, { args });
        await ends(sending, receiving);
        return sending;
      };
      await send();
      edit(join(there, "m.jpg"));
      const mine = statSync(join(there, "m.jpg"), { bigint: true });
      // Which of its names comes first depends on chance.
      for (const name of ["a.jpg", "z.jpg", "b.jpg", "y.jpg"]) linkSync(join(album, "m.jpg"), join(album, name));
      for (const args of [[], ["--verify"], []]) {
        const sending = await send(...args);
        const now = statSync(join(there, "m.jpg"), { bigint: true });
        for (const what of ["ino", "mtimeNs", "mode", "nlink"]) assert.equal(now[what], mine[what], `${what} of the receiver's own\n${sending.said()}`);
        assert.deepEqual(readdirSync(there).sort(), ["a.jpg", "b.jpg", "m.jpg", "y.jpg", "z.jpg"]);
        for (const name of ["a.jpg", "b.jpg", "y.jpg", "z.jpg"]) {
          const { mode, mtimeMs, nlink } = statSync(join(there, name));
          assert.deepEqual([mode & 0o777, mtimeMs, nlink], [0o644, 1_600_000_000_000, 4], `${name} ${args}\n${sending.said()}`);
          assert.ok(readFileSync(join(there, name)).equals(readFileSync(join(album, name))), name);
        }
      }
    });
  }
}

test("a file that has a name of the receiver's own gets no further name of the sender's that would have another mode", async (t) => {
  const { source, near, far, inbox } = strangers(t);
  const [album, there] = [join(source, "album"), join(inbox, "album")];
  mkdirSync(album);
  writeFileSync(join(album, "m.jpg"), "picture");
  chmodSync(join(album, "m.jpg"), 0o644);
  const send = async () => {
    const receiving = await receiver(t, far, inbox, { args: ["--on-conflict", "replace"] });
    const sending = sender(t, near, album, receiving.target);
    await ends(sending, receiving);
    return sending;
  };
  await send();
  linkSync(join(there, "m.jpg"), join(inbox, "private"));
  chmodSync(join(inbox, "private"), 0o600);
  for (const name of ["a.jpg", "z.jpg"]) linkSync(join(album, "m.jpg"), join(album, name));
  for (let round = 0; round < 2; round += 1) {
    const sending = await send();
    const stats = ["a.jpg", "z.jpg", "m.jpg"].map((name) => statSync(join(there, name)));
    assert.deepEqual(stats.map(({ mode }) => mode & 0o777), [0o644, 0o644, 0o600], sending.said());
    assert.equal(statSync(join(inbox, "private")).nlink, 2, "it has no other name");
    assert.equal(stats[0].ino, stats[1].ino);
  }
});

test("what two devices have sent is replaced by neither, and what one of them has sent still is by that one", async (t) => {
  const { base, inbox, source, near, far } = strangers(t);
  const other = new Device(base, "other");
  const [laptop, phone] = [near, other].map((device) => ({ device, folder: join(source, device.name) }));
  /** What a device has now, by name, sent to a receiver of its own. */
  const send = async ({ device, folder }, files, ...args) => {
    mkdirSync(folder, { recursive: true });
    for (const [name, version] of Object.entries(files)) {
      writeFileSync(join(folder, name), version);
      utimesSync(join(folder, name), 1_600_000_000 + version.length, 1_600_000_000 + version.length);
    }
    const receiving = await receiver(t, far, inbox, { args: ["--on-conflict", "update"] });
    const sending = sender(t, device, Object.keys(files).map((name) => join(folder, name)), receiving.target, { args });
    await ends(sending, receiving);
  };
  const there = () => Object.fromEntries(readdirSync(inbox).sort().map((name) => [name, text(inbox, name)]));
  for (const args of [[], ["--verify"]]) {
    rmSync(inbox, { recursive: true });
    mkdirSync(inbox);
    // The receiver's own has the name, so what comes gets a number.
    writeFileSync(join(inbox, "own.txt"), "own");
    await send(laptop, { "alone.txt": "v1", "both.txt": "v1", "each.txt": "v1", "own.txt": "v1" }, ...args);
    for (const round of ["new", "unchanged"]) {
      await send(phone, { "both.txt": "v1", "each.txt": "by phone", "own.txt": "v1" }, ...args);
      const all = { "alone.txt": "v1", "both.txt": "v1", "each (1).txt": "by phone", "each.txt": "v1", "own (1).txt": "v1", "own.txt": "own" };
      assert.deepEqual(there(), all, `${args}: ${round}`);
    }
    const { "each (1).txt": number, ...before } = { ...there(), "alone.txt": "laptop", "each.txt": "laptop" };
    await send(laptop, { "alone.txt": "laptop", "both.txt": "laptop", "each.txt": "laptop", "own.txt": "laptop" }, ...args);
    const beside = { "both (1).txt": "laptop", "each (1).txt": number, "own (2).txt": "laptop" };
    assert.deepEqual(there(), { ...before, ...beside }, `${args}: what both have sent stays`);
    await send(phone, { "both.txt": "of the phone", "own.txt": "of the phone" }, ...args);
    const further = { "both (2).txt": "of the phone", "own (3).txt": "of the phone" };
    assert.deepEqual(there(), { ...before, ...beside, ...further }, `${args}: and for the other one`);
    // Unchanged, and then a newer version: what one device alone has sent is updated in place, and
    // each version beside a file that is not has a number of its own.
    await send(laptop, { "alone.txt": "laptop", "both.txt": "laptop", "own.txt": "laptop" }, ...args);
    await send(laptop, { "alone.txt": "the latest", "both.txt": "the latest", "own.txt": "the latest" }, ...args);
    const latest = { "alone.txt": "the latest", "both (3).txt": "the latest", "own (2).txt": "the latest" };
    assert.deepEqual(there(), { ...before, ...beside, ...further, ...latest }, `${args}: the latest of each`);
  }
});

test("a version is not taken for what anybody else has put under its number, however equal their sizes and times are", async (t) => {
  for (const args of [[], ["--verify"]]) {
    const { base, inbox, source, near, far } = strangers(t);
    const other = new Device(base, "other");
    const send = async (device, version, second, link) => {
      const folder = join(source, device.name);
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder);
      writeFileSync(join(folder, "m.txt"), version);
      utimesSync(join(folder, "m.txt"), 1_600_000_000 + second, 1_600_000_000 + second);
      if (link) linkSync(join(folder, "m.txt"), join(folder, link));
      const receiving = await receiver(t, far, inbox, { args: ["--on-conflict", "update"] });
      const paths = readdirSync(folder).map((name) => join(folder, name));
      const sending = sender(t, device, paths, receiving.target, { args });
      await ends(sending, receiving);
    };
    await send(near, "version 1", 1);
    await send(other, "version 1", 1);
    await send(other, "of others", 2);
    assert.equal(text(inbox, "m (1).txt"), "of others");
    await send(near, "version 2", 2, "y.txt");
    assert.deepEqual([text(inbox, "m (2).txt"), text(inbox, "y.txt")], ["version 2", "version 2"], `${args}`);
    assert.deepEqual([text(inbox, "m.txt"), text(inbox, "m (1).txt")], ["version 1", "of others"], `${args}`);
    // The same contents are no reason for a link to what is the receiver's own.
    writeFileSync(join(inbox, "m.txt"), "my edit");
    writeFileSync(join(inbox, "m (3).txt"), "version 3");
    utimesSync(join(inbox, "m (3).txt"), 1_600_000_003, 1_600_000_003);
    await send(near, "version 3", 3, "z.txt");
    const [own, z] = ["m (3).txt", "z.txt"].map((name) => statSync(join(inbox, name)));
    assert.equal(text(inbox, "z.txt"), "version 3");
    assert.notEqual(z.ino, own.ino, `${args}`);
  }
});

test("what another program receives from another device meanwhile is due to both", async (t) => {
  const { base, inbox, source, near, far } = strangers(t);
  const other = new Device(base, "other");
  const [slow, quick] = [near, other].map((device) => join(source, device.name));
  const write = (folder, version) => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "both.txt"), version);
    utimesSync(join(folder, "both.txt"), 1_600_000_000 + version.length, 1_600_000_000 + version.length);
  };
  for (const folder of [slow, quick]) write(folder, "v1");
  writeFileSync(join(slow, "large"), Buffer.alloc(20_000_000, 7));
  const receive = () => receiver(t, far, inbox, { args: ["--on-conflict", "update"] });
  const [receiving, beside] = [await receive(), await receive()];
  // It knows of no other one when it begins.
  const paths = ["both.txt", "large"].map((name) => join(slow, name));
  const sending = sender(t, near, paths, receiving.target, { args: ["--limit", "2M", "--compress", "off"] });
  await sending.event(({ event, bytes_moved: moved }) => event === "progress" && moved > 0);
  await ends(sender(t, other, join(quick, "both.txt"), beside.target), beside);
  await ends(sending, receiving);
  for (const [device, folder] of [[other, quick], [near, slow]]) {
    write(folder, `of ${device.name}`);
    const again = await receive();
    await ends(sender(t, device, join(folder, "both.txt"), again.target), again);
  }
  assert.deepEqual(readdirSync(inbox).filter((name) => name !== "large").map((name) => text(inbox, name)), ["of other", "of near", "v1"]);
});

test("an equal link that stays under --on-conflict rename is due to both devices, too", async (t) => {
  const { base, inbox, source, near, far } = strangers(t);
  const other = new Device(base, "other");
  const send = async (device, target, policy) => {
    const link = join(source, device.name, "link");
    rmSync(join(source, device.name), { recursive: true, force: true });
    mkdirSync(join(source, device.name, "folder"), { recursive: true });
    for (const path of [link, join(source, device.name, "folder/link")]) symlinkSync(target, path);
    const receiving = await receiver(t, far, inbox, { args: ["--on-conflict", policy] });
    await ends(sender(t, device, [link, join(source, device.name, "folder")], receiving.target), receiving);
  };
  await send(near, "v1", "update");
  await send(other, "v1", "rename");
  await send(near, "v2", "update");
  for (const folder of [inbox, join(inbox, "folder")]) {
    assert.deepEqual(["link", "link (1)"].map((name) => readlinkSync(join(folder, name))), ["v1", "v2"], folder);
  }
});
