// Recommendations about `ringway copy`.
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { which } from "../../setup/process.mjs";
import { BOUND_BY_MODES, EXIT, eventually, isRoot, same, strangers } from "../harness.mjs";
import { known, mayReadLog, needsPaths, says, stoppedAfter } from "./follow.mjs";

/** A device, a tree of one file, and a place for copies. */
function withTree(t) {
  const all = strangers(t);
  const tree = join(all.source, "tree");
  mkdirSync(tree);
  writeFileSync(join(tree, "file"), "content");
  return { ...all, tree };
}

const MAKE = "Check the spelling, or make it first: {}";
const EXAMPLE = "For example: {}, or {} for the folder you are in.";
const ABOVE = "Check the permissions of the folders above it (ls -ld).";
const FINISH = "To finish the copy, run: {command}";

export default [
  {
    title: "the folder that copies are to go into is made",
    keys: ["advised::make_folder(destination)"],
    async run(t, follower) {
      const { base, near, tree } = withTree(t);
      const to = join(base, "not there/it's new");
      const copy = ["copy", tree, "-t", to];
      const [make] = follower.reads(await says(near, copy, EXIT.failed), MAKE, /: (mkdir .*)$/);
      await follower.runs(near, make);
      await says(near, copy);
      same(tree, join(to, "tree"));
    },
  },
  {
    title: "the folder above a copy is made",
    keys: ["advised::make_folder(parent)"],
    async run(t, follower) {
      const { base, near, tree } = withTree(t);
      const to = join(base, "not there/copy");
      const [make] = follower.reads(await says(near, ["copy", tree, to], EXIT.failed), MAKE, /: (mkdir .*)$/);
      await follower.runs(near, make);
      await says(near, ["copy", tree, to]);
      same(tree, to);
    },
  },
  {
    title: "the folder for records of a verification is made",
    skip: needsPaths,
    keys: ["Check the spelling, or make that folder first (mkdir -p)."],
    async run(t, follower) {
      const { base, inbox, near, tree } = withTree(t);
      const TMPDIR = join(base, "gone/tmp");
      // As on FAT, the destination supports no unnamed file (O_TMPFILE). The first such call opens
      // one in it, the second in the folder above it.
      const wrap = ["strace", "-f", "-qq", "-o", "/dev/null", "-P", inbox, "-e", "inject=openat:error=EOPNOTSUPP:when=2..3"];
      const copy = (status) => says(near, ["copy", "--verify", tree, inbox], status, { wrap, env: { TMPDIR } });
      const [make] = follower.reads(await copy(EXIT.failed), this.keys[0]);
      await follower.runs(near, make, { words: [TMPDIR] });
      await copy(EXIT.all);
      same(tree, join(inbox, "tree"));
    },
  },
  {
    title: "the folder that a slash asks for is made",
    keys: ["Leave the slash out, or make the folder first (mkdir -p)."],
    async run(t, follower) {
      const { base, near, tree } = withTree(t);
      const copy = ["copy", join(tree, "file"), join(base, "copy/")];
      const [make] = follower.reads(await says(near, copy, EXIT.failed), this.keys[0]);
      await follower.runs(near, make, { words: [join(base, "copy")] });
      await says(near, copy);
      assert.deepEqual(readdirSync(join(base, "copy")), ["file"]);
    },
  },
  {
    title: "a destination is named, as in both examples",
    keys: ['advised::copy(path, "/mnt/disk")', 'advised::copy(path, ".")'],
    async run(t, follower) {
      const { base, inbox, near, tree } = withTree(t);
      const said = await says(near, ["copy", tree], EXIT.usage);
      const [there, here] = follower.reads(said, EXAMPLE, /: (.*), or (.*) for the folder/);
      const disk = join(base, "disk");
      mkdirSync(disk);
      await follower.runs(near, there, { fill: { "/mnt/disk": disk } });
      await follower.runs(near, here, { cwd: inbox });
      for (const folder of [disk, inbox]) same(tree, join(folder, "tree"));
    },
  },
  {
    title: "a copy to another machine is sent instead",
    keys: ["`ringway copy` stays on this machine; to another one: ringway send FOLDER HOST"],
    async run(t, follower) {
      const { base, near, far, inbox, tree, target } = await known(t);
      const said = await says(near, ["copy", tree, "far:inbox/tree"], EXIT.failed);
      const [copy, send] = follower.reads(said, this.keys[0]);
      const receiving = far.start(["recv", inbox, "--once", "--listen", target]);
      t.after(() => receiving.kill());
      await eventually("the receiver", () => receiving.stdout.includes("On the other machine"));
      await follower.runs(near, send, { fill: { FOLDER: tree, HOST: target } });
      assert.equal(await receiving.exit(), EXIT.all, receiving.said());
      await follower.runs(near, copy, { words: [tree, join(base, "copy")] });
      for (const arrived of [join(inbox, "tree"), join(base, "copy")]) same(tree, arrived);
    },
  },
  {
    title: "permissions that keep a source from being read are shown",
    keys: [ABOVE],
    async run(t, follower) {
      const { base, near, source } = withTree(t);
      chmodSync(source, 0o000);
      const copy = ["copy", join(source, "tree"), join(base, "copy")];
      const [list] = follower.reads(await says(near, copy, EXIT.failed, { wrap: BOUND_BY_MODES }), ABOVE);
      const listed = await follower.runs(near, list, { words: [source], wrap: BOUND_BY_MODES });
      assert.match(listed.stdout, /^d--------- /);
      chmodSync(source, 0o755);
      await says(near, copy, EXIT.all, { wrap: BOUND_BY_MODES });
    },
  },
  {
    title: "permissions that keep a destination from being reached are shown",
    keys: ["Check the permissions of the folders above it (ls -ld), or name another folder."],
    async run(t, follower) {
      const { inbox, near, tree } = withTree(t);
      mkdirSync(join(inbox, "deep"));
      chmodSync(inbox, 0o000);
      const copy = ["copy", tree, join(inbox, "deep")];
      const said = await says(near, copy, EXIT.failed, { wrap: BOUND_BY_MODES });
      const [list] = follower.reads(said, this.keys[0]);
      const listed = await follower.runs(near, list, { words: [inbox], wrap: BOUND_BY_MODES });
      assert.match(listed.stdout, /^d--------- /);
      chmodSync(inbox, 0o755);
      await says(near, copy, EXIT.all, { wrap: BOUND_BY_MODES });
      same(tree, join(inbox, "deep/tree"));
    },
  },
  {
    title: "nobody is sent to permissions where a destination is below a file",
    keys: [],
    async run(t) {
      const { near, tree } = withTree(t);
      assert.doesNotMatch(await says(near, ["copy", tree, join(tree, "file/copy")], EXIT.failed), /ls -ld/);
    },
  },
  {
    title: "a file that may not be read is copied by a user who may",
    skip: !isRoot && "that other user is root",
    keys: ["Check its permissions (ls -ld), or name another folder."],
    async run(t, follower) {
      const { base, near, tree } = withTree(t);
      const closed = join(tree, "file");
      chmodSync(closed, 0o000);
      const to = join(base, "copy");
      const said = await says(near, ["copy", "-T", tree, to], EXIT.partial, { wrap: BOUND_BY_MODES });
      const [list] = follower.reads(said, this.keys[0]);
      const listed = await follower.runs(near, list, { words: [closed], wrap: BOUND_BY_MODES });
      assert.match(listed.stdout, /^---------- /);
      await follower.runs(near, "sudo", { words: ["ringway", "copy", "-T", tree, to] });
      same(tree, to);
    },
  },
  {
    title: "what the kernel says of a disk with errors is shown",
    skip: (!which("strace") && "no strace here to have a call fail") || (!mayReadLog && "the kernel's log is not to be read here"),
    keys: ["The disk may be failing: `sudo dmesg | tail` says more."],
    async run(t, follower) {
      const { base, near, tree } = withTree(t);
      const failing = ["-e", "trace=utimensat", "-e", "inject=utimensat:error=EIO"];
      const wrap = ["strace", "-f", "-qq", "-o", "/dev/null", ...failing];
      const said = await says(near, ["copy", tree, join(base, "copy")], EXIT.partial, { wrap });
      const [log] = follower.reads(said, this.keys[0]);
      assert.equal((await follower.runs(near, log)).stderr, "");
    },
  },
  {
    title: "the limit of this process on the size of files is shown",
    keys: ["{limit_text} (RLIMIT_FSIZE, `ulimit -f`), or the destination's file system does not take them."],
    async run(t, follower) {
      const { base, near, tree } = withTree(t);
      const limit = 5 << 28;
      const bytes = limit * 4;
      truncateSync(join(tree, "file"), bytes + 4096);
      const wrap = ["prlimit", `--fsize=${bytes}`, "--"];
      const said = await says(near, ["copy", tree, join(base, "copy")], EXIT.partial, { wrap });
      const [show] = follower.reads(said, this.keys[0]);
      // A POSIX shell counts blocks of 512 bytes.
      const shown = await follower.runs(near, show, { wrap });
      assert.equal(Number(shown.stdout) * 512, bytes);
    },
  },
  {
    title: "a copy that was stopped is finished",
    skip: !which("strace") && "no strace here to stop a copy between two writes",
    keys: ["advised::continue_copy(words, began, made)"],
    async run(t, follower) {
      const { base, near, source } = strangers(t);
      for (let file = 0; file < 24; file += 1) writeFileSync(join(source, `it's ${file}`), Buffer.alloc(2 << 20, `${file} `));
      const to = join(base, "copy");
      // One call of many writes: the third file is being written, however fast the machine.
      const oneByOne = ["-j", "1", "--io", "sync", "--reflink=never", "--kernel-copy", "never", "--chunk", "64K"];
      const goOn = await stoppedAfter(t, near, ["copy", ...oneByOne, source, to], ["-f", "-e", "inject=pwrite64:signal=SIGSTOP:when=80"]);
      const said = await goOn("SIGINT");
      const [finish] = follower.reads(said, FINISH, /run: (.*)$/);
      assert.match(finish, /^ringway copy -T --continue /);
      await follower.runs(near, finish);
      same(source, to);
    },
  },
];
