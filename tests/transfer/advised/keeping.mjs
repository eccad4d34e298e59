// Recommendations about what a device stores, and those of `ringway doctor`.
import assert from "node:assert/strict";
import { chmodSync, chownSync, existsSync, mkdirSync, rmSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Device, Running, freePort } from "../../setup/devices.mjs";
import { capture, which } from "../../setup/process.mjs";
import { BOUND_BY_MODES, EXIT, asked, ends, isRoot, receiver, same, sender, strangers } from "../harness.mjs";
import { known, mayReadLog, maySudo, needsPaths, says } from "./follow.mjs";

const configOf = (device) => join(device.env.XDG_CONFIG_HOME, "ringway/config.toml");
const kept = (device, name = "") => join(device.env.XDG_DATA_HOME, "ringway", name);
const failing = (call, errno, path) => ["strace", "-f", "-qq", "-o", "/dev/null", "-P", path, "-e", `inject=${call}:error=${errno}`];
/**
 * If a hard limit may not be raised, the same command lowers it: here it is above the recommended
 * one.
 */
const canRaise = capture("prlimit", ["--nofile=100:100", "sh", "-c", "prlimit --pid $$ --nofile=200:200"]).status === 0;
const isLow = Number(capture("sh", ["-c", "ulimit -Hn"]).out) < 4096;
const cannotLimit = (!maySudo || (!canRaise && isLow)) && "raising a hard limit takes root with CAP_SYS_RESOURCE";
const fewFiles = ["prlimit", "--nofile=1024:1024", "--"];
const needsMounts = (!isRoot || capture("unshare", ["--mount", "true"]).status !== 0) && "mounting takes root";
const needsLog = !mayReadLog && "the kernel's log is not to be read here";

/** Starts a program in its own mount namespace, after a script has mounted something there. */
const mounted = (script, ...args) => ["unshare", "--mount", "sh", "-c", `${script} && shift ${args.length - 1} && exec "$@"`, ...args];

/** A device that has its identity and database. */
async function settled(t) {
  const all = strangers(t);
  await says(all.near, ["devices"]);
  return all;
}

/** Runs with this host name. Only the kernel's name changes, and only in that namespace. */
const called = (name) => ["unshare", "--uts", "sh", "-c", `echo ${name} > /proc/sys/kernel/hostname && exec "$0" "$@"`];

/** Another program that listens on a port. */
async function taken(t, port) {
  const listen = `require("net").createServer().listen(${port}, "::", () => console.log("{}"))`;
  const program = new Running("listener", process.execPath, ["-e", listen], { input: null });
  t.after(() => program.kill());
  await program.event(() => true);
  return program;
}

/** A folder of `far` with what a killed transfer from `near` has brought. */
async function unfinished(t) {
  const all = await known(t);
  const { near, far, inbox, tree, port } = all;
  const greeting = await receiver(t, far, inbox, { port, code: null });
  await ends(sender(t, near, tree, greeting.target, { code: null }), greeting);
  const large = join(all.source, "large");
  mkdirSync(large);
  for (let file = 0; file < 20; file += 1) writeFileSync(join(large, `${file}`), Buffer.alloc(1_000_000, `${file} `));
  const receiving = await receiver(t, far, inbox, { port, code: null });
  const sending = sender(t, near, large, receiving.target, { code: null, args: ["--limit", "8M", "--compress", "off"] });
  await sending.event(({ event, bytes_done: done }) => event === "progress" && done > 4_000_000);
  for (const end of [receiving, sending]) {
    end.kill();
    await end.exit();
  }
  return { ...all, large };
}

const idIn = (listed) => listed.match(/^([\da-f]{16}) +near +large /m)?.[1];

export default [
  {
    title: "doctor says why the history will not have a transfer, and findmnt that the disk is read-only",
    skip: needsMounts,
    keys: [
      "and the history will not have it. `ringway doctor` says more.",
      "`ls -ld {folder} {file}` shows its permissions, `findmnt -T {folder}` whether its disk is mounted read-only.",
    ],
    async run(t, follower) {
      const { near, far, inbox, tree, port } = await known(t);
      const receiving = await receiver(t, far, inbox, { port, code: null });
      const wrap = mounted('mount --bind "$0" "$0" && mount -o remount,bind,ro "$0"', near.env.XDG_DATA_HOME, "x");
      const [doctor] = follower.reads(await says(near, ["send", tree, "far"], EXIT.all, { wrap }), this.keys[0]);
      assert.equal(await receiving.exit(), EXIT.all, receiving.said());
      const found = await follower.runs(near, doctor, { wrap });
      assert.match(found.stdout, /^BAD .*cannot use its own file .*ringway\.db: /m);
      const [list, mount] = follower.reads(found.stdout, this.keys[1]);
      assert.match((await follower.runs(near, list, { wrap })).stdout, /^drwx------ [^\n]*\n-rw------- .*ringway\.db$/m);
      assert.match((await follower.runs(near, mount, { wrap })).stdout, /\bro\b/);
    },
  },
  {
    title: "what is recommended about a damaged database works where its path has a space",
    keys: [],
    async run(t, follower) {
      const { base } = strangers(t);
      const device = new Device(base, "it's here");
      await says(device, ["devices"]);
      writeFileSync(kept(device, "ringway.db"), "no database".repeat(1000));
      const [move] = follower.reads(await says(device, ["devices"], EXIT.failed), "move only this file away (`mv {file} {aside}`)");
      await follower.runs(device, move);
      await says(device, ["devices"]);
    },
  },
  {
    title: "df shows the full disk that the database is on",
    skip: needsMounts,
    keys: ["Free up space on its disk (`df {folder}`), or raise its quota, then try again."],
    async run(t, follower) {
      const { base, near } = await settled(t);
      const aside = join(base, "aside");
      assert.equal(capture("cp", ["-a", near.env.XDG_DATA_HOME, aside]).status, 0);
      const filled = 'mount -t tmpfs -o size=1m none "$0" && cp -a "$1/." "$0" && { head -c 2m /dev/zero > "$0/filler" || true; } 2> /dev/null';
      const wrap = mounted(filled, near.env.XDG_DATA_HOME, aside, "x");
      const said = await says(near, ["doctor"], EXIT.all, { wrap });
      const [show] = follower.reads(said, this.keys[0]);
      assert.match((await follower.runs(near, show, { wrap })).stdout, / 100% /);
      assert.doesNotMatch(await says(near, ["doctor"]), /Free up space/);
    },
  },
  {
    title: "an identity that may not be read is opened to its user again",
    keys: ["`ls -ld {folder} {file}` shows its owner. Give this user access to it again (chown, chmod u+rw)."],
    async run(t, follower) {
      const { near } = await settled(t);
      const path = kept(near, "identity.pem");
      chmodSync(path, 0o000);
      const [list, owner, mode] = follower.reads(await says(near, ["devices"], EXIT.failed, { wrap: BOUND_BY_MODES }), this.keys[0]);
      assert.match((await follower.runs(near, list)).stdout, /^---------- .*identity\.pem$/m);
      await follower.runs(near, owner, { words: [`${process.getuid()}`, path] });
      await follower.runs(near, mode, { words: [path] });
      await says(near, ["devices"], EXIT.all, { wrap: BOUND_BY_MODES });
    },
  },
  {
    title: "an identity that others may read is closed to them",
    keys: ["others may read the key in it: if nobody has, run chmod 600 on it"],
    async run(t, follower) {
      const { near } = await settled(t);
      const path = kept(near, "identity.pem");
      chmodSync(path, 0o644);
      const [close] = follower.reads(await says(near, ["devices"], EXIT.failed), this.keys[0]);
      await follower.runs(near, close, { words: [path] });
      await says(near, ["devices"]);
    },
  },
  {
    title: "what another user owns is made this user's, and what others may write to is closed",
    skip: !isRoot && "only root can give files away",
    keys: [
      "Move it away, or make it this user's (chown) if you trust what is in it",
      "it belongs to root, and others may write to it: have root run chmod go-w on it",
    ],
    async run(t, follower) {
      const [uid, other] = [61_184, 61_185];
      const { base, near } = await settled(t);
      assert.equal(capture("chown", ["-R", `${uid}:${uid}`, near.folder]).status, 0);
      chmodSync(base, 0o755);
      const wrap = ["setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups"];
      await says(near, ["devices"], EXIT.all, { wrap });
      chownSync(configOf(near), other, other);
      const [own] = follower.reads(await says(near, ["devices"], EXIT.failed, { wrap }), this.keys[0]);
      await follower.runs(near, own, { words: [`${uid}`, configOf(near)] });
      await says(near, ["devices"], EXIT.all, { wrap });
      chownSync(configOf(near), 0, 0);
      chmodSync(configOf(near), 0o666);
      const [close] = follower.reads(await says(near, ["devices"], EXIT.failed, { wrap }), this.keys[1]);
      await follower.runs(near, close, { words: [configOf(near)] });
      await says(near, ["devices"], EXIT.all, { wrap });
    },
  },
  {
    title: "fuser shows the program that has the database locked",
    skip: (!which("python3") && "no Python here to lock a database") || (!which("fuser") && "psmisc is not installed"),
    keys: ["Try again. `fuser {file}` shows which program that is."],
    async run(t, follower) {
      const { near } = await settled(t);
      const lock = "import sqlite3, sys\nhold = sqlite3.connect(sys.argv[1])\nhold.execute('begin exclusive')\nprint('{}', flush=True)\nsys.stdin.read()";
      const locker = new Running("locker", "python3", ["-c", lock, kept(near, "ringway.db")], { input: null });
      t.after(() => locker.kill());
      await locker.event(() => true);
      const [show] = follower.reads(await says(near, ["devices"], EXIT.failed), this.keys[0]);
      assert.match((await follower.runs(near, show)).stdout, new RegExp(`\\b${locker.pid}\\b`));
      locker.kill();
      await locker.exit();
      await says(near, ["devices"]);
    },
  },
  {
    title: "a folder in the place of the database is shown",
    skip: needsLog,
    keys: ["`ls -ld {folder} {file}` shows what is there, `sudo dmesg | tail` whether the disk failed."],
    async run(t, follower) {
      const { near } = await settled(t);
      for (const suffix of ["", "-wal", "-shm"]) rmSync(kept(near, `ringway.db${suffix}`), { force: true });
      mkdirSync(kept(near, "ringway.db"));
      const [list, log] = follower.reads(await says(near, ["devices"], EXIT.failed), this.keys[0]);
      assert.match((await follower.runs(near, list)).stdout, /^d.*ringway\.db$/m);
      assert.equal((await follower.runs(near, log)).stderr, "");
      rmdirSync(kept(near, "ringway.db"));
      await says(near, ["devices"]);
    },
  },
  {
    title: "what the kernel says of a failed disk is shown",
    skip: needsPaths || needsLog,
    keys: ["The disk may be failing: `sudo dmesg | tail` says more."],
    async run(t, follower) {
      const { near, inbox } = await settled(t);
      const wrap = failing("getdents64", "EIO", inbox);
      const [log] = follower.reads(await says(near, ["inbox", "unfinished", "--in", inbox], EXIT.failed, { wrap }), this.keys[0]);
      assert.equal((await follower.runs(near, log)).stderr, "");
    },
  },
  {
    title: "the limit of open files of a shell is set where it was reached",
    skip: needsPaths || cannotLimit,
    keys: ["Raise the limit of this shell: `sudo prlimit --pid $$ --nofile=4096:4096`, then try again."],
    async run(t, follower) {
      const { near, inbox } = await settled(t);
      const wrap = failing("openat", "EMFILE", inbox);
      const list = ["inbox", "unfinished", "--in", inbox];
      const [raise] = follower.reads(await says(near, list, EXIT.failed, { wrap }), this.keys[0]);
      const raised = await follower.runs(near, raise, { wrap: canRaise ? fewFiles : [], then: " && ulimit -Hn" });
      assert.equal(raised.stdout.trim(), "4096");
      await says(near, list);
    },
  },
  {
    title: "permissions of a folder that cannot be received into are shown",
    keys: ["Check its permissions (ls -ld), or name another folder."],
    async run(t, follower) {
      const { near, inbox } = await settled(t);
      for (const [args, mode] of [
        [["recv", inbox, "--listen", "127.0.0.1:0"], 0o555],
        [["inbox", "unfinished", "--in", inbox], 0o000],
      ]) {
        chmodSync(inbox, mode);
        const [list] = follower.reads(await says(near, args, EXIT.failed, { wrap: BOUND_BY_MODES }), this.keys[0]);
        const listed = await follower.runs(near, list, { words: [inbox], wrap: BOUND_BY_MODES });
        assert.match(listed.stdout, mode === 0 ? /^d--------- / : /^dr-xr-xr-x /);
      }
    },
  },
  {
    title: "the folder to receive into is made",
    keys: ["Name a folder that exists, or make this one first (mkdir -p)."],
    async run(t, follower) {
      const { near, inbox } = await settled(t);
      const folder = join(inbox, "of/mine");
      const [make] = follower.reads(await says(near, ["recv", folder], EXIT.failed), this.keys[0]);
      await follower.runs(near, make, { words: [folder] });
      await receiver(t, near, folder);
    },
  },
  {
    title: "a host whose name no device may have gets a name of its own",
    skip: !isRoot && "naming a host takes root",
    keys: ["`ringway settings --name NAME` gives it a name of its own.", "`ringway settings --name NAME` changes it"],
    async run(t, follower) {
      const { near, far, inbox } = strangers(t);
      const wrap = called("deadbeef");
      for (const [device, name] of [[near, "desk"], [far, "shelf"]]) {
        writeFileSync(configOf(device), `port = ${await freePort()}\nannounce = false\n`);
        const said = async () => {
          if (device === near) return says(near, ["doctor"], EXIT.all, { wrap });
          return follower.ends(await follower.listens(far, "ringway recv", { cwd: inbox, wrap }));
        };
        const [rename] = follower.reads(await said(), device === near ? this.keys[0] : this.keys[1]);
        await follower.runs(device, rename, { fill: { NAME: name }, wrap });
        const now = await said();
        assert.doesNotMatch(now, /--name NAME/);
        assert.match(now, new RegExp(`^(ok +This device is ${name} |${name} receives into )`, "m"));
      }
    },
  },
  {
    title: "the limit of open files of a shell is set for large transfers",
    skip: cannotLimit,
    keys: ["Large transfers want more. Raise the limit of this shell: `sudo prlimit --pid $$ --nofile=4096:4096`."],
    async run(t, follower) {
      const { near } = await settled(t);
      const [raise] = follower.reads(await says(near, ["doctor"], EXIT.all, { wrap: fewFiles }), this.keys[0]);
      const raised = await follower.runs(near, raise, { wrap: canRaise ? fewFiles : [], then: " && ringway doctor" });
      assert.match(raised.stdout, /^ok +4,096 files and connections/m);
    },
  },
  {
    title: "the limit of lockable memory of a shell is raised for io_uring",
    keys: ["too little memory may be locked for io_uring (ulimit -l)", "Raise the limit of lockable memory: ulimit -l, or memlock in limits.conf."],
    async run(t, follower) {
      const { near } = await settled(t);
      if (!/^ok +io_uring/m.test(await says(near, ["doctor"]))) return follower.skips("no io_uring here");
      const bound = isRoot ? ["setpriv", "--bounding-set=-ipc_lock"] : [];
      const wrap = [...bound, "prlimit", "--memlock=0:65536", "--"];
      const said = await says(near, ["doctor"], EXIT.all, { wrap });
      const [[named], [raise]] = this.keys.map((key) => follower.reads(said, key));
      assert.equal(named, raise);
      // In KiB.
      const raised = await follower.runs(near, raise, { words: ["64"], wrap, then: " && ringway doctor" });
      assert.match(raised.stdout, /^ok +io_uring is there/m);
    },
  },
  {
    title: "the limit of what is sent is taken away, once and for good",
    keys: ["`ringway settings --limit none` takes that away, `ringway send --limit none` for once."],
    async run(t, follower) {
      const { near, far, inbox, tree, port } = await known(t);
      await says(near, ["settings", "--limit", "1K"]);
      writeFileSync(join(tree, "large"), Buffer.alloc(1_000_000));
      const receiving = await receiver(t, far, inbox, { port, code: null });
      const [always, once] = follower.reads(await says(near, ["doctor"]), this.keys[0]);
      const sent = await follower.runs(near, once, { words: ["--json", "--compress", "off", tree, "far"] });
      assert.notEqual(sent.events.find(({ event }) => event === "finished").limited_by, "limit");
      assert.equal(await receiving.exit(), EXIT.all, receiving.said());
      same(tree, join(inbox, "tree"));
      await follower.runs(near, always);
      assert.equal((await asked(near, ["settings"])).at(-1).send_limit, null);
      assert.doesNotMatch(await says(near, ["doctor"]), /--limit none/);
    },
  },
  {
    title: "a port that is free is listened on, and one that another program has is reported with that program",
    skip: (!which("ss") && "iproute2 is not installed") || (!maySudo && "ss takes root"),
    keys: [
      "is free for `ringway recv`.",
      "`ringway recv --listen :0` chooses a free port and shows it.",
      "Another port: ringway recv --listen :0",
      "{label}: `{command}`.",
      "sudo ss -ltnp 'sport = :{port}'",
    ],
    async run(t, follower) {
      const { near, far, inbox, tree, port } = await known(t);
      const [receive] = follower.reads(await says(far, ["doctor"]), this.keys[0]);
      const free = await follower.listens(far, receive, { cwd: inbox });
      assert.match(free.address, new RegExp(`:${port}$`));
      await follower.ends(free);
      const other = await taken(t, port);
      const doctor = await says(far, ["doctor"]);
      const [listen] = follower.reads(doctor, this.keys[1]);
      const [another] = follower.reads(doctor, this.keys[2]);
      assert.equal(another, listen);
      const [which] = follower.reads(doctor, "Which program: {command}. Another port", /: (.*)\. Another/);
      const [who] = follower.reads(await says(far, ["recv", inbox], EXIT.failed), this.keys[3]);
      assert.equal(who, which);
      const shown = await follower.runs(far, which);
      follower.reads(which, this.keys[4]);
      assert.match(shown.stdout, new RegExp(`:${port} .*pid=${other.pid},`));
      const elsewhere = await follower.listens(far, listen, { cwd: inbox });
      await says(near, ["send", tree, elsewhere.address]);
      same(tree, join(inbox, "tree"));
    },
  },
  {
    title: "what an unfinished transfer keeps is listed and removed",
    keys: [
      "`ringway inbox unfinished` lists them, `ringway inbox discard --all` removes them.",
      "`ringway inbox unfinished` lists them; --in FOLDER looks into another folder.",
    ],
    async run(t, follower) {
      const { far, inbox } = await unfinished(t);
      const unknown = ["inbox", "discard", "0123456789abcdef"];
      const [look] = follower.reads(await says(far, unknown, EXIT.failed), this.keys[1]);
      for (const words of [[], ["--in", inbox]]) assert.ok(idIn((await follower.runs(far, look, { words })).stdout));
      const [list, discard] = follower.reads(await says(far, ["doctor"]), this.keys[0]);
      const id = idIn((await follower.runs(far, list)).stdout);
      assert.ok(existsSync(join(inbox, `.ringway-${id}`)));
      await follower.runs(far, discard);
      assert.ok(!existsSync(join(inbox, `.ringway-${id}`)));
      assert.doesNotMatch(await says(far, ["doctor"]), /inbox discard/);
    },
  },
  {
    title: "an unfinished transfer is removed by its id or with all, and the same send goes on with it otherwise",
    keys: ["The same send or get again goes on with it. `ringway inbox discard ID` or `--all` removes it;"],
    async run(t, follower) {
      const { near, far, inbox, source, large, port } = await unfinished(t);
      const listed = await says(far, ["inbox", "unfinished"]);
      const [one, all] = follower.reads(listed, this.keys[0]);
      const left = join(inbox, `.ringway-${idIn(listed)}`);
      // Copies of what is left stand for other transfers of this kind.
      const aside = join(source, "aside");
      const put = (from, to) => assert.equal(capture("cp", ["-a", from, to]).status, 0);
      put(left, aside);
      await follower.runs(far, one, { fill: { ID: idIn(listed) } });
      assert.ok(!existsSync(left));
      put(aside, left);
      await follower.runs(far, all, { before: "ringway inbox discard " });
      assert.ok(!existsSync(left));
      put(aside, left);
      const again = await receiver(t, far, inbox, { port, code: null });
      const sending = sender(t, near, large, again.target, { code: null });
      await ends(sending, again);
      assert.ok(sending.events.find(({ event }) => event === "finished").unchanged > 0, sending.said());
      same(large, join(inbox, "large"));
      assert.ok(!existsSync(left));
    },
  },
];
