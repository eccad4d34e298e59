// The contents and metadata of packages: files, owners, times, and nothing from the machine that
// built them.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { BUILT, BUILT_STATIC, IS_TRIAL, OF_THIS_MACHINE, epoch, namesNoFolder, version } from "../../src-tauri/packaging/build.mjs";
import { packDeb } from "../../src-tauri/packaging/deb.mjs";
import { packTarball } from "../../src-tauri/packaging/tarball.mjs";
import { ROOT, capture, say, which } from "../setup/process.mjs";
import { packageWith, said, scratch } from "./lib.mjs";

const VERSION = version();

/** Files of the two programs in each package. `zsh` is the folder for completions of that shell. */
function belongings(zsh) {
  return [
    "usr/share/applications/org.ringway.Ringway.desktop",
    "usr/share/applications/zz-org.ringway.Ringway.Send.desktop",
    "usr/share/metainfo/org.ringway.Ringway.metainfo.xml",
    ...manuals().map((page) => `usr/share/man/man1/${page}.gz`),
    "usr/share/bash-completion/completions/ringway",
    `usr/share/${zsh}/_ringway`,
    "usr/share/fish/vendor_completions.d/ringway.fish",
    ...["32x32", "64x64", "128x128", "256x256", "512x512"].map((size) => `usr/share/icons/hicolor/${size}/apps/org.ringway.Ringway.png`),
    ...["idle", "active", "attention", "off"].map((state) => `usr/share/icons/hicolor/symbolic/apps/ringway-${state}-symbolic.svg`),
    "usr/share/kio/servicemenus/org.ringway.Ringway.Send.desktop",
    "usr/share/nemo/actions/org.ringway.Ringway.Send.nemo_action",
    "usr/share/Thunar/sendto/org.ringway.Ringway.Send.desktop",
    "usr/lib/systemd/user/ringway.service",
    "usr/lib/systemd/system/ringway.service",
    "usr/lib/sysusers.d/ringway.conf",
    "usr/lib/modules-load.d/ringway.conf",
    "usr/lib/firewalld/services/ringway.xml",
    "etc/ufw/applications.d/ringway",
  ];
}

/** The pages of every command that `--help` names, and the main page. */
function manuals() {
  const help = said(join(BUILT, "ringway"), ["--help"]);
  const commands = /^Commands:\n((?: {2}.+\n)+)/m.exec(help)[1].match(/^ {2}[a-z]+/gm).map((name) => name.trim());
  const named = commands.filter((name) => name !== "help");
  assert.ok(named.includes("serve") && named.includes("recv"), help);
  return ["ringway.1", ...named.map((name) => `ringway-${name}.1`)];
}

/** Every file beneath a folder, with its contents. */
function* contents(folder) {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) yield [path, readFileSync(path)];
  }
}

function unpacked(t, deb) {
  const folder = join(scratch(t), "tree");
  said("dpkg-deb", ["--raw-extract", deb, folder]);
  return folder;
}

function digest(path) {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

test("the Debian package installs both programs, and all that belongs to them, as root's", () => {
  const deb = packageWith(".deb");
  const rows = said("dpkg-deb", ["--contents", deb]).trim().split("\n").map((line) => line.split(/\s+/));
  const modes = new Map(rows.map(([mode, , , , , path]) => [path.replace(/^\.\//, ""), mode]));
  assert.ok(rows.every(([, owner]) => owner === "root/root"), "everything is root's");
  assert.ok([...modes.values()].every((mode) => /^(drwxr-xr-x|-rwxr-xr-x|-rw-r--r--)$/.test(mode)), [...modes.entries()].join("\n"));
  for (const program of ["ringway", "ringway-desktop"]) assert.equal(modes.get(`usr/bin/${program}`), "-rwxr-xr-x");
  for (const path of [...belongings("zsh/vendor-completions"), "usr/share/doc/ringway/copyright", "usr/share/doc/ringway/changelog.gz"]) {
    assert.equal(modes.get(path), "-rw-r--r--", path);
  }
});

test("it says what it is and what it needs", (t) => {
  const deb = packageWith(".deb");
  const field = (name) => said("dpkg-deb", ["--field", deb, name]).trim();
  assert.deepEqual([field("Package"), field("Version"), field("Section")], ["ringway", VERSION, "net"]);
  const depends = field("Depends");
  for (const needed of [/libwebkit2gtk-4\.1-0/, /libgtk-3-0/, /libc6 \(>= 2\.\d+\)/]) assert.match(depends, needed);
  assert.match(field("Recommends"), /hicolor-icon-theme/);
  const tree = unpacked(t, deb);
  assert.equal(readFileSync(join(tree, "DEBIAN/conffiles"), "utf8"), "/etc/ufw/applications.d/ringway\n");
  for (const script of ["postinst", "prerm", "postrm"]) said("sh", ["-n", join(tree, "DEBIAN", script)]);
  said("sh", ["-c", "md5sum --quiet -c DEBIAN/md5sums"], { cwd: tree });
  if (which("lintian")) say(`lintian says:\n${capture("lintian", [deb]).out}`);
});

test("what tools read of it they find to be in order", (t) => {
  const tree = unpacked(t, packageWith(".deb"));
  const at = (path) => join(tree, path);
  said("bash", ["-n", at("usr/share/bash-completion/completions/ringway")]);
  for (const page of readdirSync(at("usr/share/man/man1"))) {
    const name = page.replace(/\.1\.gz$/, "");
    assert.match(gunzipSync(readFileSync(at(`usr/share/man/man1/${page}`))).toString(), new RegExp(`^\\.TH ${name} 1`, "m"), page);
  }
  const port = "17464";
  assert.match(readFileSync(at("etc/ufw/applications.d/ringway"), "utf8"), new RegExp(`^ports=${port}/tcp\\|5353/udp$`, "m"));
  assert.match(readFileSync(at("usr/lib/firewalld/services/ringway.xml"), "utf8"), new RegExp(`<port protocol="tcp" port="${port}"/>`));
  const limits = readFileSync(join(ROOT, "src-tauri/crates/engine/src/limits.rs"), "utf8");
  assert.match(limits, new RegExp(`DEFAULT_PORT: u16 = ${port};`), "the port that it listens on");
  assert.match(readFileSync(at("usr/lib/modules-load.d/ringway.conf"), "utf8"), /^tls$/m);
  const copyright = readFileSync(at("usr/share/doc/ringway/copyright"), "utf8");
  for (const licence of [/^License: MIT$/m, /^License: OFL-1\.1$/m, /SIL OPEN FONT LICENSE Version 1\.1/]) assert.match(copyright, licence);
  for (const [tool, args] of [
    ["desktop-file-validate", ["org.ringway.Ringway.desktop", "zz-org.ringway.Ringway.Send.desktop"].map((name) => at(`usr/share/applications/${name}`))],
    ["appstreamcli", ["validate", "--no-net", at("usr/share/metainfo/org.ringway.Ringway.metainfo.xml")]],
    ["xmllint", ["--noout", at("usr/lib/firewalld/services/ringway.xml")]],
  ]) {
    if (which(tool)) said(tool, args);
    else say(`skipped: ${args.at(-1).split("/").at(-1)}: ${tool} is not installed`);
  }
});

test("what is shipped leaves the benchmark out and says how to get it", (t) => {
  const folder = scratch(t);
  said("tar", ["-C", folder, "-xzf", packageWith(".tar.gz")]);
  const at = (path) => join(folder, readdirSync(folder)[0], path);
  // The Debian package of a trial contains the tests' own build, which has the benchmark.
  for (const ringway of IS_TRIAL ? [at("bin/ringway")] : [at("bin/ringway"), join(BUILT, "ringway")]) {
    const asked = capture(ringway, ["bench", "modes", "--rounds", "1"]);
    assert.equal(asked.status, 1, asked.err);
    const how = /Packages leave `ringway bench` out: .* `cargo run --release -p ringway-cli -- bench modes`/;
    // Help is wrapped to the terminal's width.
    for (const told of [asked.err, said(ringway, ["bench", "--help"])]) assert.match(told.replace(/\s+/g, " "), how);
  }
  assert.ok(existsSync(at("share/man/man1/ringway-bench.1.gz")));
  assert.ok(!existsSync(at("share/man/man1/ringway-bench-modes.1.gz")));
});

test("nothing packed names a folder of the machine that built it, and everything bears one time", (t) => {
  const folder = scratch(t);
  said("dpkg-deb", ["--raw-extract", packageWith(".deb"), join(folder, "deb")]);
  said("tar", ["-C", folder, "-xzf", packageWith(".tar.gz")]);
  let programs = 0;
  for (const [path, bytes] of contents(folder)) {
    const isProgram = bytes.subarray(0, 4).equals(Buffer.from("\x7fELF", "latin1"));
    programs += Number(isProgram);
    // The tests' own builds contain such names. Packing refuses a release build that does.
    if (!isProgram || !IS_TRIAL) namesNoFolder(path);
    if (!path.includes("/DEBIAN/")) assert.equal(Math.floor(statSync(path).mtimeMs / 1000), epoch(), path);
  }
  assert.equal(programs, 3, "the programs were looked through");
});

test("a program that names a folder of the machine that built it is not packed", (t) => {
  const program = join(scratch(t), "program");
  writeFileSync(program, `\x7fELF\0crates/tokio/src/lib.rs\0${OF_THIS_MACHINE[1]}/registry/src/lib.rs\0`);
  assert.throws(() => namesNoFolder(program), /names .*registry\/src\/lib\.rs/);
  writeFileSync(program, "\x7fELF\0crates/tokio/src/lib.rs\0");
  namesNoFolder(program);
});

test("the same builds make the same packages, to the byte", (t) => {
  const folder = scratch(t);
  const work = join(folder, "work");
  mkdirSync(work);
  const how = { version: VERSION, epoch: epoch(), built: BUILT, builtStatic: BUILT_STATIC };
  for (const [pack, end] of [
    [packDeb, ".deb"],
    [packTarball, ".tar.gz"],
  ]) {
    assert.equal(digest(pack(folder, work, how)), digest(packageWith(end)), end);
  }
});

test("the RPM package has the same, where RPM systems look for it", { skip: which("rpm") ? false : "rpm is not installed" }, () => {
  const rpm = packageWith(".rpm");
  const query = (...args) => said("rpm", ["-qp", "--nosignature", ...args, rpm]);
  const files = query("--list").split("\n");
  for (const path of ["usr/bin/ringway", "usr/bin/ringway-desktop", ...belongings("zsh/site-functions"), "usr/share/licenses/ringway/LICENSE", "usr/share/licenses/ringway/LICENSE.Inter"]) {
    assert.ok(files.includes(`/${path}`), `${path} in\n${files.join("\n")}`);
  }
  assert.match(query("--requires"), /libwebkit2gtk-4\.1\.so\.0/);
  assert.equal(query("--configfiles").trim(), "/etc/ufw/applications.d/ringway");
  assert.equal(query("--queryformat", "%{VERSION} %{LICENSE} %{BUILDHOST}"), `${VERSION} MIT AND OFL-1.1 localhost`);
  assert.match(query("--scripts"), /systemd-sysusers ringway\.conf/);
});
