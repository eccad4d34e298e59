// What is installed where: one tree on the disk, from which each kind of package is packed.
import { chmodSync, copyFileSync, lutimesSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { ROOT, capture, run } from "../../tests/setup/process.mjs";

const HERE = join(ROOT, "src-tauri/packaging");
const ICONS = join(ROOT, "src-tauri/icons");

/** What the desktop knows the program by: the name of its desktop file, icons and metainfo. */
const ID = "org.ringway.Ringway";

/** The licence of the font that the window has built in, which goes wherever the font does. */
export const FONT_LICENCE = join(ROOT, "node_modules/@fontsource-variable/inter/LICENSE");

/** Sizes that icon themes have, and the file that has each. */
const ICON_SIZES = {
  "32x32": "32x32.png",
  "64x64": "64x64.png",
  "128x128": "128x128.png",
  "256x256": "128x128@2x.png",
  "512x512": "icon.png",
};

/**
 * Where each file manager looks for what its menu offers. Others show `desktop/` by the kinds of
 * files that it names.
 */
export const FILE_MANAGERS = {
  "dolphin.desktop": "usr/share/kio/servicemenus/org.ringway.Ringway.Send.desktop",
  "nemo.nemo_action": "usr/share/nemo/actions/org.ringway.Ringway.Send.nemo_action",
  "thunar.desktop": "usr/share/Thunar/sendto/org.ringway.Ringway.Send.desktop",
};

/** Where each shell looks for completions that packages bring. */
export const COMPLETIONS = {
  bash: "usr/share/bash-completion/completions/ringway",
  zsh: { deb: "usr/share/zsh/vendor-completions/_ringway", rpm: "usr/share/zsh/site-functions/_ringway" },
  fish: "usr/share/fish/vendor_completions.d/ringway.fish",
};

/** A tree that is being filled; paths are beneath it. */
export class Tree {
  constructor(root) {
    this.root = root;
    rmSync(root, { recursive: true, force: true });
    mkdirSync(root, { recursive: true, mode: 0o755 });
  }

  /** A file with that text or those bytes. */
  write(path, contents, mode = 0o644) {
    const whole = join(this.root, path);
    mkdirSync(dirname(whole), { recursive: true, mode: 0o755 });
    writeFileSync(whole, contents);
    chmodSync(whole, mode);
  }

  /** A copy of a file of this repository, or of one that was built. */
  copy(from, path, mode = 0o644) {
    this.write(path, "");
    copyFileSync(from, join(this.root, path));
    chmodSync(join(this.root, path), mode);
  }

  /** Every file beneath it, sorted. */
  files() {
    const all = readdirSync(this.root, { recursive: true, withFileTypes: true });
    const paths = all.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
    return paths.map((path) => path.slice(this.root.length + 1)).sort();
  }

  /** Its size in KiB, as dpkg counts it. */
  kib() {
    return this.files().reduce((sum, path) => sum + Math.ceil(statSync(join(this.root, path)).size / 1024), 0);
  }

  /** Gives everything one time and folders their mode, whatever umask this ran under. */
  settle(epoch) {
    const folders = readdirSync(this.root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isDirectory());
    for (const folder of [this.root, ...folders.map((entry) => join(entry.parentPath, entry.name))]) chmodSync(folder, 0o755);
    for (const path of [...readdirSync(this.root, { recursive: true }), "."]) lutimesSync(join(this.root, path), epoch, epoch);
  }
}

/** A completion script, by the command itself. */
export function completion(ringway, shell) {
  const made = capture(ringway, ["completions", shell]);
  if (made.status !== 0) throw new Error(`ringway completions ${shell}: ${made.err}`);
  return made.out;
}

/**
 * The manual pages into `folder`, by the command itself; as they are installed, packed without a
 * time.
 */
export function manual(ringway, tree, folder) {
  const made = `${tree.root}.man`;
  rmSync(made, { recursive: true, force: true });
  run(ringway, ["man", made]);
  for (const page of readdirSync(made)) {
    tree.write(join(folder, `${page}.gz`), gzipSync(readFileSync(join(made, page)), { level: 9 }));
  }
  rmSync(made, { recursive: true });
}

/** Everything that a package of the whole installs; `kind` is deb or rpm. */
export function wholeTree(root, kind, { built, version, epoch }) {
  const tree = new Tree(root);
  const ringway = join(built, "ringway");
  tree.copy(ringway, "usr/bin/ringway", 0o755);
  tree.copy(join(built, "ringway-desktop"), "usr/bin/ringway-desktop", 0o755);
  manual(ringway, tree, "usr/share/man/man1");
  for (const [shell, path] of Object.entries(COMPLETIONS)) tree.write(path[kind] ?? path, completion(ringway, shell));
  for (const name of readdirSync(join(HERE, "desktop"))) {
    tree.copy(join(HERE, "desktop", name), `usr/share/applications/${name}`);
  }
  for (const [name, path] of Object.entries(FILE_MANAGERS)) tree.copy(join(HERE, "file-managers", name), path);
  for (const [size, file] of Object.entries(ICON_SIZES)) {
    tree.copy(join(ICONS, file), `usr/share/icons/hicolor/${size}/apps/${ID}.png`);
  }
  // The tray's, by the names that it asks the theme for.
  for (const name of readdirSync(join(ICONS, "tray")).filter((name) => name.endsWith(".svg"))) {
    tree.copy(join(ICONS, "tray", name), `usr/share/icons/hicolor/symbolic/apps/${name}`);
  }
  const metainfo = readFileSync(join(HERE, `appstream/${ID}.metainfo.xml`), "utf8");
  const date = new Date(epoch * 1000).toISOString().slice(0, 10);
  tree.write(`usr/share/metainfo/${ID}.metainfo.xml`, metainfo.replace("@VERSION@", version).replace("@DATE@", date));
  units(tree, "usr/lib/systemd");
  tree.copy(join(HERE, "systemd/system/ringway.sysusers"), "usr/lib/sysusers.d/ringway.conf");
  tree.copy(join(HERE, "modules-load/ringway.conf"), "usr/lib/modules-load.d/ringway.conf");
  tree.copy(join(HERE, "firewall/ringway.firewalld.xml"), "usr/lib/firewalld/services/ringway.xml");
  tree.copy(join(HERE, "firewall/ringway.ufw"), "etc/ufw/applications.d/ringway");
  return tree;
}

/** The systemd units, for a user and for the machine. */
export function units(tree, folder) {
  for (const whose of ["user", "system"]) {
    tree.copy(join(HERE, `systemd/${whose}/ringway.service`), `${folder}/${whose}/ringway.service`);
  }
}
