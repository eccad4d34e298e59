// Debian and Ubuntu packages: what each part of Ringway needs, installed only if it is missing.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { capture, run, say, which } from "./process.mjs";

/**
 * Package groups by purpose. `desktop` builds the window, `window` drives it in tests, `vm` boots
 * kernel TLS.
 */
export const GROUPS = {
  cli: ["build-essential", "pkg-config"],
  desktop: [
    "libwebkit2gtk-4.1-dev",
    "libayatana-appindicator3-dev",
    "librsvg2-dev",
    "build-essential",
    "pkg-config",
    "file",
  ],
  /** A C compiler and library for a command without dependencies. */
  static: ["musl-tools"],
  /** Packing: dpkg's own tools, and rpm's. */
  package: ["dpkg-dev", "rpm", "xz-utils"],
  /** Validating packages, and installing them without root. */
  packed: ["appstream", "desktop-file-utils", "libxml2-utils", "fakeroot"],
  transfer: ["rsync", "attr"],
  /**
   * Making a disk refuse calls and a firewall refuse packets, and a FUSE filesystem. Without these,
   * tests are skipped by name.
   */
  refusing: ["strace", "nftables", "iproute2", "bindfs"],
  /** Making filesystems to copy on. Missing ones are skipped by name. */
  copying: ["e2fsprogs", "btrfs-progs", "xfsprogs", "util-linux", "mount"],
  window: [
    "webkit2gtk-driver",
    "xvfb",
    "xauth",
    "dbus",
    "dbus-x11",
    "openbox",
    "xdotool",
    "wmctrl",
    "x11-utils",
    "x11-apps",
    "imagemagick",
    "python3-gi",
    "gir1.2-gtk-3.0",
    "fonts-dejavu-core",
    "libglib2.0-bin",
    "adwaita-icon-theme",
  ],
  /**
   * A Wayland compositor without a screen, a tool that types there, and a bar and notifications for
   * it. Without these, tests are skipped by name.
   */
  wayland: ["sway", "wtype", "waybar", "mako-notifier", "grim"],
  /**
   * Programs of common desktops: to drag from, to choose folders, and to show the tray and
   * notifications. Without these, tests are skipped by name.
   */
  everyday: ["pcmanfm", "xfce4-panel", "xfce4-notifyd", "xdg-desktop-portal-gtk"],
  /**
   * A private session bus and the programs at its other end, and the tools that validate units and
   * desktop files.
   */
  session: ["dbus", "python3-gi", "libglib2.0-bin", "systemd", "systemd-container", "desktop-file-utils"],
  vm: ["qemu-system-x86", "busybox-static", "kmod", "cpio", "xz-utils", "zstd", "iproute2", "dosfstools", "exfatprogs", "f2fs-tools", "dmsetup"],
};

/**
 * This machine does not permit installing anything. Tests that need the packages are skipped by
 * name, if that is allowed.
 */
export class CannotInstall extends Error {}

/**
 * Seconds to wait for another package manager's lock: an unattended upgrade at boot takes a few
 * minutes.
 */
const LOCK_SECONDS = 400;
let updated = false;

/** The packages of `wanted` that are not installed, in the given order. */
export function missing(wanted) {
  const listed = capture("dpkg-query", ["-W", "-f", "${Package} ${db:Status-Status}\n", ...wanted]).out;
  const installed = new Set(
    listed
      .split("\n")
      .filter((line) => line.endsWith(" installed"))
      .map((line) => line.split(" ")[0]),
  );
  return wanted.filter((name) => !installed.has(name));
}

/**
 * Installs the missing packages of `wanted`. `why` completes the sentence "… needs". Throws if that
 * is impossible.
 */
export function need(wanted, why) {
  if (!which("apt-get") || !which("dpkg-query")) {
    throw new CannotInstall(
      `${why} needs ${wanted.join(", ")}. This machine has no apt: install their equivalents by hand, ` +
        "then set RINGWAY_SETUP=skip to leave packages alone.",
    );
  }
  const absent = missing(wanted);
  if (absent.length === 0) return;
  say(`set-up: ${why} needs ${absent.join(", ")}: installing`);
  const apt = [
    "apt-get",
    "-y",
    "-q",
    "--no-install-recommends",
    "-o",
    `DPkg::Lock::Timeout=${LOCK_SECONDS}`,
    "-o",
    "Dpkg::Use-Pty=0",
  ];
  if (!updated) asRoot([...apt, "update"]);
  updated = true;
  asRoot([...apt, "install", ...absent]);
}

/**
 * Like `need` for a named group, unless RINGWAY_SETUP=skip says that another administrator manages
 * the machine.
 */
export function needGroup(group, why) {
  if (process.env.RINGWAY_SETUP === "skip") return;
  need(GROUPS[group], why);
}

/**
 * Like `needGroup` for packages that make tests cover more. Only root can use them. If they cannot
 * be installed, the tests report what they skip.
 */
export function wantGroup(group, why) {
  if (process.getuid() !== 0) return;
  try {
    needGroup(group, why);
  } catch (error) {
    say(`set-up: ${error.message}`);
  }
}

function asRoot(command) {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const quiet = { env, stdio: ["ignore", "ignore", "inherit"] };
  if (process.getuid() === 0) return run(command[0], command.slice(1), quiet);
  if (!which("sudo")) {
    throw new CannotInstall(`this takes root or sudo: ${command.join(" ")}`);
  }
  // The terminal stays attached, because sudo may have to ask for a password there.
  run("sudo", ["DEBIAN_FRONTEND=noninteractive", ...command], { env, stdio: "inherit" });
}

/** ID and VERSION_CODENAME of os-release. */
export function release() {
  const text = existsSync("/etc/os-release") ? readFileSync("/etc/os-release", "utf8") : "";
  const field = (name) => text.match(new RegExp(`^${name}="?([^"\n]*)"?$`, "m"))?.[1] ?? "";
  return { id: field("ID"), codename: field("VERSION_CODENAME") };
}

/**
 * A separate apt inside `folder`: this machine's mirror, but another suite, with private lists and
 * archives, so that the system's sources stay unchanged. Returns a function that runs apt tools in
 * it, or null if the mirror does not have the suite.
 */
export function privateApt(folder, suite) {
  const { codename } = release();
  const targets = capture("apt-get", [
    "indextargets",
    "Created-By: Packages",
    "--format",
    "$(CODENAME) $(REPO_URI)",
  ]).out;
  const base = targets
    .split("\n")
    .find((line) => line.startsWith(`${codename} `))
    ?.split(" ")[1];
  if (!base) return null;
  for (const part of ["lists/partial", "archives/partial"]) mkdirSync(join(folder, part), { recursive: true });
  const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
  const signed = existsSync(keyring) ? `[signed-by=${keyring}] ` : "";
  const list = join(folder, "sources.list");
  writeFileSync(list, `deb ${signed}${base} ${suite} main\n`);
  const options = [
    `Dir::Etc::sourcelist=${list}`,
    "Dir::Etc::sourceparts=-",
    `Dir::State::lists=${join(folder, "lists")}`,
    `Dir::Cache=${folder}`,
    `Dir::Cache::archives=${join(folder, "archives")}`,
    // This folder need not be readable for apt's own user.
    ...(process.getuid() === 0 ? ["APT::Sandbox::User=root"] : []),
  ].flatMap((option) => ["-o", option]);
  const apt = (tool, args, cwd = folder, more = {}) => capture(tool, [...options, ...args], { cwd, ...more });
  return apt("apt-get", ["update"]).status === 0 ? apt : null;
}

/**
 * Downloads `packages` with `apt`, within `seconds`, and unpacks them into `folder`, completely or
 * not at all. Nothing is installed.
 */
export function unpack(apt, packages, folder, seconds) {
  mkdirSync(dirname(folder), { recursive: true });
  const downloads = mkdtempSync(`${folder}.deb-`);
  const fresh = mkdtempSync(`${folder}.new-`);
  try {
    const got = apt("apt-get", ["download", ...packages], downloads, { timeout: seconds && seconds * 1000 });
    if (got.status !== 0) throw new Error(`cannot download ${packages.join(", ")}: ${lastLine(got.err)}`);
    for (const name of readdirSync(downloads)) {
      const done = capture("dpkg", ["-x", join(downloads, name), fresh]);
      if (done.status !== 0) throw new Error(`cannot unpack ${name}: ${lastLine(done.err)}`);
    }
    rmSync(folder, { recursive: true, force: true });
    renameSync(fresh, folder);
  } finally {
    for (const path of [downloads, fresh]) rmSync(path, { recursive: true, force: true });
  }
}

/** The last line of a program's output, which is where programs put the reason. */
export function lastLine(text) {
  return text.trim().split("\n").at(-1);
}
