// Shares and receive folders on a filesystem that does not answer, as sshfs and NFS whose server is
// away: a FUSE program that is stopped.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { capture, which } from "../setup/process.mjs";
import { EXIT, asked, eventually, isRoot, sender } from "./harness.mjs";
import { sharing } from "./sharing.mjs";

/**
 * A test with a folder `view` on a filesystem of its own, which can be stopped. It ends before the
 * test's folders are removed.
 */
function hanging(title, body) {
  test(title, { skip: !(isRoot && which("bindfs")) && "mounting takes root and bindfs", timeout: 300_000 }, async (t) => {
    const ends = [];
    /** Mounts it in `base`. */
    const view = async (base) => {
      const [behind, at] = ["behind", "view"].map((name) => join(base, name));
      for (const path of [behind, at]) mkdirSync(path);
      const program = spawn("bindfs", ["-f", behind, at], { stdio: "ignore" });
      ends.push(() => {
        program.kill("SIGKILL");
        capture("umount", ["-l", at]);
      });
      await eventually("the mount", () => statSync(at).dev !== statSync(dirname(at)).dev);
      return { at, behind, hang: () => program.kill("SIGSTOP"), answer: () => program.kill("SIGCONT") };
    };
    try {
      await body(t, view);
    } finally {
      for (const end of ends) end();
    }
  });
}

/** `far` shares `runs`, and `hung` on a filesystem that can be stopped. */
async function sharingBoth(t, view) {
  const all = await sharing(t);
  writeFileSync(join(all.shared, "file"), "healthy");
  const disk = await view(all.base);
  mkdirSync(join(disk.behind, "share"));
  writeFileSync(join(disk.behind, "share/file"), "hung");
  await asked(all.far, ["share", "add", join(disk.at, "share"), "--name", "hung", "--with", "near"]);
  return { ...all, disk };
}

const states = (events) => Object.fromEntries(events.filter(({ unavailable }) => unavailable !== undefined).map(({ name, unavailable }) => [name, unavailable]));

/** The threads of a program that look at a filesystem and have not ended. */
function looking(program) {
  const tasks = join("/proc", `${program.child.pid}`, "task");
  return readdirSync(tasks).filter((task) => readFileSync(join(tasks, task, "comm"), "utf8").trim() === "ringway-look").length;
}

hanging("a share whose filesystem does not answer is unavailable, with that reason, and holds up no other", async (t, view) => {
  const { inbox, near, far, serving, disk } = await sharingBoth(t, view);
  const there = `${serving.target}:`;
  disk.hang();
  const expected = { runs: null, hung: "not_answering" };
  assert.deepEqual(states(await asked(far, ["share"])), expected);
  const devices = await far.run(["devices"]);
  assert.equal(devices.status, EXIT.all, devices.said());
  assert.match(devices.stdout, /hung \(unavailable\)/);
  for (let time = 0; time < 3; time += 1) {
    assert.deepEqual(states(await asked(near, ["ls", serving.target])), expected);
    for (const words of [["ls", `${there}hung`], ["get", `${there}hung`, inbox], ["get", "--dry-run", `${there}hung`, inbox]]) {
      const refused = await near.run([...words, "--json"]);
      const { code, trouble } = refused.events.map((event) => event.error ?? event).find((event) => event.code);
      assert.deepEqual([refused.status, code, trouble], [EXIT.failed, "share_unavailable", "not_answering"], refused.said());
      assert.match(refused.stderr, /“hung” is unavailable on far: its filesystem does not answer/);
    }
  }
  assert.equal(looking(serving), 1, "one thread hangs, however often it is asked about");
  assert.match((await near.run(["ls", `${there}runs`])).stdout, /file/);
  disk.answer();
  await eventually("the share", async () => states(await asked(near, ["ls", serving.target])).hung === null);
  assert.match((await near.run(["ls", `${there}hung`])).stdout, /file/);
  assert.equal(looking(serving), 0);
});

hanging("a listing under way ends with the reason when its filesystem stops answering", async (t, view) => {
  const { near, serving, disk } = await sharingBoth(t, view);
  for (let number = 0; number < 30_000; number += 1) writeFileSync(join(disk.behind, "share", `${number}`.padStart(100, "0")), "");
  const listing = near.start(["ls", `${serving.target}:hung`, "--json"]);
  t.after(() => listing.kill());
  // Nobody reads its output, so that it cannot end.
  listing.child.stdout.pause();
  await eventually("a listing", () => listing.child.stdout.readableLength > 0);
  disk.hang();
  listing.child.stdout.resume();
  assert.equal(await listing.exit(), EXIT.failed, listing.stderr);
  const { code, trouble } = listing.events.at(-1);
  assert.deepEqual([code, trouble], ["share_unavailable", "not_answering"]);
});

hanging("what unfinished transfers keep is listed and removed beside a folder that does not answer", async (t, view) => {
  const { base, near, far, serving } = await sharing(t);
  const disk = await view(base);
  const [healthy, hung] = [join(base, "drop"), join(disk.at, "drop")];
  for (const [folder, name] of [[healthy, "healthy"], [hung, "hung"]]) {
    mkdirSync(folder);
    await asked(far, ["share", "add", folder, "--name", name, "--drop", "--with", "near"]);
  }
  writeFileSync(join(base, "small"), "small");
  await asked(near, ["send", join(base, "small"), `${serving.target}:hung`]);
  const large = join(base, "large");
  mkdirSync(large);
  for (let number = 0; number < 8; number += 1) writeFileSync(join(large, `${number}`), Buffer.alloc(1 << 20, number));
  const slow = sender(t, near, large, `${serving.target}:healthy`, { code: null, args: ["--retry", "no", "--limit", "1M", "--compress", "off"] });
  await slow.event(({ event, bytes_done: bytes }) => event === "progress" && bytes > 2 << 20);
  slow.kill("SIGKILL");
  await slow.exit();
  await eventually("what is left", async () => (await asked(far, ["inbox", "unfinished"])).some(({ event, in_use: inUse }) => event === "unfinished" && !inUse));
  disk.hang();
  const listed = await far.run(["inbox", "unfinished"]);
  assert.equal(listed.status, EXIT.all, listed.said());
  assert.match(listed.stdout, /large/);
  const unanswered = /The filesystem of .*view\/drop does not answer: what is kept there is not known\./;
  assert.match(listed.stderr, unanswered);
  const doctor = await far.run(["doctor"]);
  assert.equal(doctor.status, EXIT.all, doctor.said());
  assert.match(doctor.stdout, unanswered);
  const removed = await far.run(["inbox", "discard", "--all"]);
  assert.equal(removed.status, EXIT.all, removed.said());
  assert.match(removed.stdout, /What 1 unfinished transfer had left is removed/);
  assert.deepEqual(readdirSync(healthy), []);
});

hanging("a receive folder whose filesystem does not answer declines what is offered, and holds up neither the status nor shares", async (t, view) => {
  let disk;
  const all = await sharing(t, { inbox: async (base) => ((disk = await view(base)), mkdirSync(join(disk.behind, "inbox")), join(disk.at, "inbox")) });
  const { base, near, far, serving } = all;
  writeFileSync(join(base, "offered"), "offered");
  disk.hang();
  for (let time = 0; time < 3; time += 1) {
    const sending = sender(t, near, join(base, "offered"), serving.target, { code: null, args: ["--retry", "no"] });
    assert.equal(await sending.exit(), EXIT.declined, sending.said());
    assert.match(sending.said(), /far cannot write to the folder that receives this/);
  }
  const status = await far.run(["status"]);
  assert.equal(status.status, EXIT.all, status.said());
  assert.deepEqual(states(await asked(near, ["ls", serving.target])), { runs: null });
});

hanging("a get and a receiver into a folder that does not answer end and say so", async (t, view) => {
  const { base, near, serving } = await sharing(t);
  const disk = await view(base);
  mkdirSync(join(disk.behind, "in"));
  disk.hang();
  const into = join(disk.at, "in");
  for (const words of [["get", `${serving.target}:runs`, into], ["get", "--dry-run", `${serving.target}:runs`, into], ["recv", into]]) {
    const refused = await near.run(words);
    assert.equal(refused.status, EXIT.failed, refused.said());
    assert.match(refused.stderr, /view\/in.*does not answer/, words.join(" "));
  }
});
