// The packages in use: installed, run for two users, opened as a window, and removed with nothing
// left.
import assert from "node:assert/strict";
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { version } from "../../src-tauri/packaging/build.mjs";
import { Device, differences, drawn, freePort } from "../setup/devices.mjs";
import { capture } from "../setup/process.mjs";
import { onPrivateDisplay } from "../window/lib/display.mjs";
import { Page } from "../window/lib/webdriver.mjs";
import { Installed, packageWith, said, scratch } from "./lib.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};

/** A tree like those that people have, and a larger file. */
function tree(at) {
  mkdirSync(join(at, "below"), { recursive: true });
  for (let number = 0; number < 200; number++) writeFileSync(join(at, "below", `${number}`), `content ${number}`);
  writeFileSync(join(at, "large"), Buffer.alloc(20_000_000, "Ringway"));
}

/** Sends a tree from one home to another, paired by the code that the receiver shows. */
async function sends(t, base, near, far) {
  const [source, inbox] = [join(base, "data"), join(base, "inbox")];
  tree(source);
  mkdirSync(inbox);
  const target = `127.0.0.1:${await freePort()}`;
  const receiving = far.start(["recv", inbox, "--listen", target, "--yes", "--once", "--json"]);
  t.after(() => receiving.kill());
  const { code } = await receiving.event(drawn);
  const sending = near.start(["send", source, target, "--json"], { env: { RINGWAY_CODE: code } });
  t.after(() => sending.kill());
  for (const end of [sending, receiving]) assert.equal(await end.exit(), 0, end.said());
  assert.deepEqual(differences(source, join(inbox, "data")), []);
}

driven("the package is installed, sends between two people, opens its window, and leaves nothing when it is removed", async (t) => {
  const base = scratch(t);
  const installed = new Installed(t, packageWith(".deb"));
  const ringway = installed.program("ringway");
  assert.equal(said(ringway, ["--version"]), `ringway ${version()}\n`);
  assert.match(said(ringway, ["doctor"], { env: new Device(base, "asking").env }), /This machine|Kernel|io_uring/);

  const [near, far] = ["near", "far"].map((name) => new Device(base, name, { program: ringway }));
  await sends(t, base, near, far);

  const port = await freePort();
  writeFileSync(join(near.env.XDG_CONFIG_HOME, "ringway/config.toml"), `name = "near"\nport = ${port}\nreceive_folder = "${base}"\n`);
  const page = await Page.open(installed.program("ringway-desktop"), near.env);
  t.after(() => page.close());
  await page.wait("//h1");
  await page.wait(`//nav//button[contains(., "Devices")]`);
  const picture = join(base, "window.png");
  await page.picture(picture);
  const colours = Number(said("identify", ["-format", "%k", picture]));
  assert.ok(colours > 20, `the window shows something: ${colours} colours`);
  await page.close();

  const kept = join(near.env.XDG_DATA_HOME, "ringway/identity.pem");
  const identity = readFileSync(kept, "utf8");
  assert.deepEqual(installed.purge(), []);
  assert.ok(!existsSync(ringway));
  assert.equal(readFileSync(kept, "utf8"), identity, "what a person has made stays");
  assert.ok(existsSync(join(base, "inbox/data/large")));
});

/**
 * A root that contains only the command: how to start a program in it, and the environment of a
 * device whose folders are in it.
 */
function emptyRoot(base, command) {
  const root = join(base, "root");
  mkdirSync(join(root, "bin"), { recursive: true });
  copyFileSync(command, join(root, "bin/ringway"));
  chmodSync(join(root, "bin/ringway"), 0o755);
  const device = new Device(root, "server", { program: "/bin/ringway" });
  const inside = ([name, value]) => [name, value.startsWith(`${root}/`) ? value.slice(root.length) : value];
  device.env = Object.fromEntries(Object.entries(device.env).map(inside));
  const wrap = process.getuid() === 0 ? ["chroot", root] : ["unshare", "--map-root-user", "--root", root];
  return { root, device, wrap };
}

driven("the archive for servers runs where nothing else is, and understands the package", async (t) => {
  const base = scratch(t);
  const archive = packageWith(".tar.gz");
  said("tar", ["-C", base, "-xzf", archive]);
  const [name] = readdirSync(base);
  const at = (path) => join(base, name, path);
  const ringway = at("bin/ringway");
  assert.doesNotMatch(said("readelf", ["--dynamic", ringway]), /NEEDED/, "it asks for no library");
  assert.doesNotMatch(said("readelf", ["--program-headers", ringway]), /INTERP/, "nor for anybody to load them");
  assert.ok((statSync(ringway).mode & 0o777) === 0o755);
  for (const path of [
    "README",
    "LICENSE",
    "share/man/man1/ringway.1.gz",
    "share/bash-completion/completions/ringway",
    "share/zsh/site-functions/_ringway",
    "share/fish/vendor_completions.d/ringway.fish",
    "lib/systemd/user/ringway.service",
    "lib/systemd/system/ringway.service",
    "lib/sysusers.d/ringway.conf",
  ]) {
    assert.ok(existsSync(at(path)), path);
  }
  assert.equal(said(ringway, ["--version"]), `ringway ${version()}\n`);
  assert.equal(capture(ringway, ["man"]).status, 0);

  const { root, device, wrap } = emptyRoot(base, ringway);
  mkdirSync(join(root, "inbox"));
  tree(join(base, "data"));
  const target = `127.0.0.1:${await freePort()}`;
  const receiving = device.start(["recv", "/inbox", "--listen", target, "--yes", "--once", "--json"], { wrap });
  t.after(() => receiving.kill());
  const { code } = await receiving.event(drawn);
  const installed = new Installed(t, packageWith(".deb"));
  const person = new Device(base, "person", { program: installed.program("ringway") });
  const sending = person.start(["send", join(base, "data"), target, "--json"], { env: { RINGWAY_CODE: code } });
  t.after(() => sending.kill());
  for (const end of [sending, receiving]) assert.equal(await end.exit(), 0, end.said());
  assert.deepEqual(differences(join(base, "data"), join(root, "inbox/data")), []);
});
