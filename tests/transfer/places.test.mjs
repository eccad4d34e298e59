// Where offers may land, and who may read Ringway's own files: own folders, modes with any umask,
// core dumps.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CODE, Device, EXIT, asked, ends, isRoot, receiver, sender, strangers } from "./harness.mjs";

/** A device like a new account: all its folders are in its home, at XDG's defaults. */
function account(base, name) {
  const device = new Device(base, name);
  const { HOME } = device.env;
  for (const variable of ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"]) delete device.env[variable];
  mkdirSync(join(HOME, ".config/ringway"), { recursive: true });
  writeFileSync(join(HOME, ".config/ringway/config.toml"), `name = "${name}"\n`);
  return Object.assign(device, { home: HOME });
}

test("an offer named .local replaces neither key nor trust store of an account that receives into the folder of its home", async (t) => {
  const { base, source, near } = strangers(t);
  const far = account(base, "far");
  // Even if anything may land in a home, Ringway's own folders are protected, at any depth.
  const receiving = await receiver(t, far, join(far.home, ".."), { args: ["--allow-home", "--dot-names"] });
  const key = join(far.home, ".local/share/ringway/identity.pem");
  const before = readFileSync(key, "utf8");
  const tree = join(source, "home");
  for (const [folder, name] of [[".local/share/ringway", "identity.pem"], [".config/ringway", "config.toml"], [".local/share/other", "fine"]]) {
    mkdirSync(join(tree, folder), { recursive: true });
    writeFileSync(join(tree, folder, name), "mallory");
  }
  const sending = sender(t, near, tree, receiving.target);
  await ends(sending, receiving, EXIT.partial);
  assert.equal(readFileSync(key, "utf8"), before);
  assert.doesNotMatch(readFileSync(join(far.home, ".config/ringway/config.toml"), "utf8"), /mallory/);
  assert.equal(readFileSync(join(far.home, ".local/share/other/fine"), "utf8"), "mallory", "the rest of it arrived");
  for (const end of [sending, receiving]) assert.match(end.said(), /own_folder/);
  assert.equal(statSync(join(far.home, ".local")).mode & 0o777, 0o700, "what holds our folders keeps its mode");
});

test("nothing is received into a folder of Ringway's own", async (t) => {
  const { base } = strangers(t);
  const far = account(base, "far");
  const own = join(far.home, ".local/share/ringway");
  await far.run(["devices", "--json"]);
  for (const folder of [own, join(base, "link")]) {
    if (folder !== own) symlinkSync(own, folder);
    const refused = await far.run(["recv", folder, "--listen", "127.0.0.1:0", "--once", "--json"]);
    assert.equal(refused.status, EXIT.usage, refused.said());
    assert.match(refused.said(), /own_folder/);
  }
});

test("recv refuses a home folder, and with --allow-home takes no name at its top that begins with a dot", async (t) => {
  const { base, source, near } = strangers(t);
  const far = account(base, "far");
  symlinkSync(far.home, join(base, "link"));
  for (const [args, cwd] of [[[far.home], base], [[join(base, "link")], base], [[], far.home]]) {
    const refused = await far.run(["recv", ...args, "--listen", "127.0.0.1:0", "--once", "--json"], { cwd });
    assert.equal(refused.status, EXIT.usage, refused.said());
    assert.match(refused.said(), /home_folder/);
    assert.match(refused.said(), /--allow-home/);
  }
  for (const name of [".bashrc", "plain"]) writeFileSync(join(source, name), name);
  mkdirSync(join(source, ".ssh"));
  writeFileSync(join(source, ".ssh/authorized_keys"), "mallory");
  const receiving = await receiver(t, far, far.home, { args: ["--allow-home"] });
  const sending = sender(t, near, `${source}/`, receiving.target);
  await ends(sending, receiving, EXIT.partial);
  for (const end of [sending, receiving]) assert.match(end.said(), /dot_name/);
  assert.ok(existsSync(join(far.home, "plain")) && !existsSync(join(far.home, ".bashrc")) && !existsSync(join(far.home, ".ssh")));
  const taking = await receiver(t, far, far.home, { args: ["--allow-home", "--dot-names"] });
  await ends(sender(t, near, `${source}/`, taking.target), taking);
  assert.ok(existsSync(join(far.home, ".ssh/authorized_keys")));
});

test("an offer named after a home below the receive folder leaves that home as it is", async (t) => {
  const { base, source, near } = strangers(t);
  const far = account(base, "far");
  writeFileSync(join(far.home, ".bashrc"), "mine");
  const tree = join(source, "home");
  mkdirSync(tree);
  for (const name of [".bashrc", "plain"]) writeFileSync(join(tree, name), "mallory");
  const receiving = await receiver(t, far, join(far.home, ".."));
  const sending = sender(t, near, tree, receiving.target);
  await ends(sending, receiving, EXIT.partial);
  for (const end of [sending, receiving]) assert.match(end.said(), /home_folder/);
  assert.equal(readFileSync(join(far.home, ".bashrc"), "utf8"), "mine");
  assert.ok(!existsSync(join(far.home, "plain")));
  const allowed = await receiver(t, far, join(far.home, ".."), { args: ["--allow-home"] });
  const again = sender(t, near, tree, allowed.target);
  await ends(again, allowed, EXIT.partial);
  for (const end of [again, allowed]) assert.match(end.said(), /dot_name/);
  assert.equal(readFileSync(join(far.home, ".bashrc"), "utf8"), "mine");
  assert.equal(readFileSync(join(far.home, "plain"), "utf8"), "mallory");
});

test("the default receive folder is beside a home and never the home itself", async (t) => {
  const { base } = strangers(t);
  const far = account(base, "far");
  const folder = async () => (await asked(far, ["settings"]))[0].receive_folder.path;
  assert.equal(await folder(), join(far.home, "Ringway"));
  writeFileSync(join(far.home, ".config/user-dirs.dirs"), 'XDG_DOWNLOAD_DIR="$HOME/"\n');
  assert.equal(await folder(), join(far.home, "Ringway"), "as xdg-user-dirs names what somebody does without");
  mkdirSync(join(far.home, "Downloads"));
  writeFileSync(join(far.home, ".config/user-dirs.dirs"), "");
  assert.equal(await folder(), join(far.home, "Downloads"));
  const refused = await far.run(["settings", "--receive-folder", far.home, "--json"]);
  assert.equal(refused.status, EXIT.usage, refused.said());
  assert.equal((await far.run(["settings", "--receive-folder", far.home, "--allow-home", "--json"])).status, EXIT.all);
  assert.equal(await folder(), far.home);
});

/** Everything below a folder that others can access, or that its owner cannot. */
const loose = (folder) =>
  execFileSync("find", [folder, "(", "-type", "f", "-not", "-perm", "600", "-o", "-type", "d", "-not", "-perm", "700", "-o", "-type", "s", "-not", "-perm", "600", ")"], { encoding: "utf8" });

for (const umask of ["0", "777"]) {
  test(`Ringway's own files are accessible to their owner only under umask ${umask}`, async (t) => {
    const { base, inbox, source } = strangers(t);
    const wrap = ["sh", "-c", `umask ${umask}; exec "$@"`, "sh"];
    // Root may read everything, also what its umask has closed to it. So another user shows that
    // this works.
    if (isRoot) wrap.unshift("setpriv", "--reuid=12345", "--regid=12345", "--clear-groups");
    const made = ["near", "far"].map((name) => {
      const device = account(base, name);
      chmodSync(join(device.home, ".config/ringway"), 0o755);
      chmodSync(join(device.home, ".config/ringway/config.toml"), 0o644);
      return device;
    });
    const [near, far] = made;
    // Before they change owners, so that rewritten files keep theirs.
    for (const device of made) device.codeFile(CODE);
    writeFileSync(join(source, "file"), "content");
    chmodSync(base, 0o755);
    if (isRoot) execFileSync("chown", ["-R", "12345:12345", base]);
    const receiving = await receiver(t, far, inbox, { wrap });
    await ends(sender(t, near, join(source, "file"), receiving.target, { wrap }), receiving);
    const settings = await far.run(["settings", "--announce", "off", "--json"], { wrap });
    assert.equal(settings.status, EXIT.all, settings.said());
    const log = join(far.home, ".local/state/ringway/log");
    const serving = far.start(["serve", inbox, "--listen", "127.0.0.1:0", "--log", log], { wrap });
    t.after(() => serving.kill());
    const socket = join(far.env.XDG_RUNTIME_DIR, "ringway/control.sock");
    for (const until = Date.now() + 60_000; !existsSync(socket); ) {
      assert.ok(Date.now() < until && serving.status === undefined, serving.said());
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    for (const device of made) {
      const own = [".config/ringway", ".local/share/ringway", ".local/state/ringway"].map((folder) => join(device.home, folder));
      // A device that only sends needs no state folder.
      for (const folder of own.filter(existsSync)) assert.equal(loose(folder), "");
    }
    assert.equal(loose(join(far.env.XDG_RUNTIME_DIR, "ringway")), "");
    assert.ok(existsSync(log));
  });
}

test("no core dump is written of a process that holds a key, and no other process of its user looks into it", async (t) => {
  const { inbox, far } = strangers(t);
  const receiving = await receiver(t, far, inbox);
  const limits = readFileSync(`/proc/${receiving.pid}/limits`, "utf8");
  assert.match(limits, /^Max core file size +0 +0 +bytes/m);
  // A process that cannot be dumped belongs to root in /proc, whatever its user (PR_SET_DUMPABLE,
  // proc(5)). This is visible if another user runs it.
  if (!isRoot) return assert.equal(statSync(`/proc/${receiving.pid}/mem`).uid, 0);
  chownSync(far.folder, 12345, 12345);
  execFileSync("chown", ["-R", "12345:12345", far.folder, inbox]);
  chmodSync(join(far.folder, ".."), 0o755);
  const wrap = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups"];
  const other = await receiver(t, far, inbox, { wrap });
  assert.equal(statSync(`/proc/${other.pid}/mem`).uid, 0);
});
