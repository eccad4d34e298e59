// The Debian package: the tree, what dpkg wants to know of it, and the scripts that it runs.
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { ROOT, capture, run } from "../../tests/setup/process.mjs";
import { IS_TRIAL } from "./build.mjs";
import { FONT_LICENCE, wholeTree } from "./tree.mjs";

const SCRIPTS = join(ROOT, "src-tauri/packaging/deb");

/**
 * Files that an administrator may have changed: kept on upgrades, and until the package is purged.
 */
const CONFFILES = ["etc/ufw/applications.d/ringway"];

/** Nobody reads mail for a package that was built at home. */
const MAINTAINER = "The Ringway developers <ringway@localhost>";

const DESCRIPTION = `Moves folders between Linux machines, encrypted
 Two machines get to know each other by a short code; from then on folders are
 sent from one to the other, encrypted, with all that belongs to them, and with a
 receipt. What was interrupted goes on where it stopped.
 .
 This package has the window (ringway-desktop), the command (ringway), and units
 for receiving in the background, for a user or for the machine.`;

/** Packs it into `folder`; gives its path. */
export function packDeb(folder, work, how) {
  const tree = wholeTree(join(work, "deb"), "deb", how);
  tree.write("usr/share/doc/ringway/copyright", copyright());
  tree.write("usr/share/doc/ringway/changelog.gz", gzipSync(changelog(how), { level: 9 }));
  const sums = tree.files().filter((path) => !CONFFILES.includes(path)).map((path) => `${md5(join(tree.root, path))}  ${path}\n`);
  const architecture = capture("dpkg", ["--print-architecture"]).out.trim();
  const control = [
    "Package: ringway",
    `Version: ${how.version}`,
    `Architecture: ${architecture}`,
    `Maintainer: ${MAINTAINER}`,
    `Installed-Size: ${tree.kib()}`,
    `Depends: ${libraries(tree)}`,
    "Recommends: dbus-user-session | dbus-x11, hicolor-icon-theme",
    "Suggests: ufw | firewalld",
    "Section: net",
    "Priority: optional",
    `Description: ${DESCRIPTION}`,
  ];
  tree.write("DEBIAN/control", `${control.join("\n")}\n`);
  tree.write("DEBIAN/md5sums", sums.join(""));
  tree.write("DEBIAN/conffiles", CONFFILES.map((path) => `/${path}\n`).join(""));
  for (const script of ["postinst", "prerm", "postrm"]) tree.copy(join(SCRIPTS, script), `DEBIAN/${script}`, 0o755);
  tree.settle(how.epoch);
  const path = join(folder, `ringway_${how.version}_${architecture}.deb`);
  const env = { ...process.env, SOURCE_DATE_EPOCH: `${how.epoch}` };
  run("dpkg-deb", ["--root-owner-group", "-Zxz", `-z${IS_TRIAL ? 0 : 3}`, "--build", tree.root, path], { env });
  return path;
}

/** The packages that have the libraries that both programs are linked with, by dpkg's own tool. */
function libraries(tree) {
  const source = mkdtempSync(join(tmpdir(), "ringway-shlibs-"));
  try {
    mkdirSync(join(source, "debian"));
    writeFileSync(join(source, "debian/control"), "Source: ringway\n\nPackage: ringway\nArchitecture: any\n");
    const programs = ["ringway", "ringway-desktop"].map((name) => `-e${join(tree.root, "usr/bin", name)}`);
    const found = capture("dpkg-shlibdeps", ["-O", "--warnings=0", ...programs], { cwd: source });
    const depends = /^shlibs:Depends=(.+)$/m.exec(found.out)?.[1];
    if (!depends) throw new Error(`dpkg-shlibdeps: ${found.err}`);
    return depends;
  } finally {
    rmSync(source, { recursive: true });
  }
}

function md5(path) {
  return createHash("md5").update(readFileSync(path)).digest("hex");
}

function copyright() {
  const license = readFileSync(join(ROOT, "LICENSE"), "utf8").trim().split("\n");
  const [, owner] = /^Copyright \(c\) (.+)$/m.exec(license.join("\n"));
  const indented = (lines) => lines.map((line) => (line.trim() === "" ? " ." : ` ${line.trimEnd()}`));
  const font = readFileSync(FONT_LICENCE, "utf8").trim().split("\n");
  const [, fontOwner] = /^Copyright (.+?\))/.exec(font[0]);
  const head = [
    "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/",
    "Upstream-Name: Ringway",
    "",
    "Files: *",
    `Copyright: ${owner}`,
    "License: MIT",
  ];
  // The window has it built in.
  const inter = ["", "Files: node_modules/@fontsource-variable/inter/*", `Copyright: ${fontOwner}`, "License: OFL-1.1"];
  return `${[...head, ...indented(license), ...inter, ...indented(font)].join("\n")}\n`;
}

function changelog({ version, epoch }) {
  const date = new Date(epoch * 1000).toUTCString().replace("GMT", "+0000");
  return `ringway (${version}) unstable; urgency=medium\n\n  * This version.\n\n -- ${MAINTAINER}  ${date}\n`;
}
