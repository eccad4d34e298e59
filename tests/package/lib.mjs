// The packages under test, and where the Debian one is installed: into the system if this run may
// do that, else into a root of its own.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT, capture, which } from "../setup/process.mjs";

/** The folder in which `npm run package` puts them. */
export const PACKAGES = join(ROOT, "packages");

/**
 * Set if the machine is disposable, as in CI. Then apt installs the package into it and removes it
 * again.
 */
const INTO_SYSTEM = process.env.RINGWAY_TEST_INSTALL === "system" && process.getuid() === 0;

/** The package with that ending. The suite's set-up builds it. */
export function packageWith(end) {
  const found = existsSync(PACKAGES) ? readdirSync(PACKAGES).filter((name) => name.endsWith(end)) : [];
  assert.equal(found.length, 1, `one package with ${end} in packages/, and not ${found.join(", ") || "none"}: npm run package makes them`);
  return join(PACKAGES, found[0]);
}

/** Runs a program that must succeed, and returns its output. */
export function said(command, args, options) {
  const done = capture(command, args, options);
  assert.equal(done.status, 0, `${command} ${args.join(" ")}\n${done.out}${done.err}`);
  return done.out;
}

/** A folder that is removed with the test. */
export function scratch(t) {
  const path = mkdtempSync(join(tmpdir(), "ringway-package-"));
  t.after(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }));
  return path;
}

/** Every path beneath `root` that an installation could leave, by name. */
export function listing(root) {
  const folders = ["usr", "etc", "lib", "opt", "var/lib/ringway", "var/lib/systemd"].map((folder) => join(root, folder)).filter(existsSync);
  const found = said("find", [...folders, "-xdev", "-not", "-name", "*.cache", "-not", "-path", `${root}usr/src/*`]);
  return new Set(found.split("\n").filter(Boolean));
}

/** The installed package. */
export class Installed {
  /**
   * Everything exists once it is constructed. It is removed with the test, whether that passes or
   * fails.
   */
  constructor(t, deb) {
    // Hooks run in the order of their registration: the package is removed before the root that
    // contains it.
    t.after(() => this.purge());
    this.root = INTO_SYSTEM ? "/" : `${join(scratch(t), "root")}/`;
    if (!INTO_SYSTEM) this.#prepare();
    this.before = listing(this.root);
    this.accounts = this.#accounts();
    if (INTO_SYSTEM) {
      assert.notEqual(capture("dpkg", ["-s", "ringway"]).status, 0, "it is installed already");
    }
    this.installed = true;
    if (INTO_SYSTEM) {
      this.#apt(["install", "--no-install-recommends", deb]);
    } else {
      this.#dpkg(["--install", deb]);
    }
  }

  /** The path of one of its programs. */
  program(name) {
    return join(this.root, "usr/bin", name);
  }

  /** Removes it, and returns what differs from the state before. */
  purge() {
    if (!this.installed) return [];
    this.installed = false;
    if (INTO_SYSTEM) this.#apt(["purge", "ringway"]);
    else this.#dpkg(["--purge", "ringway"]);
    const now = listing(this.root);
    const left = [...now].filter((path) => !this.before.has(path));
    const gone = [...this.before].filter((path) => !now.has(path));
    const accounts = this.#accounts() === this.accounts ? [] : ["the accounts"];
    return [...left, ...gone.map((path) => `${path} has gone`), ...accounts];
  }

  #accounts() {
    return ["passwd", "group"].map((name) => join(this.root, "etc", name)).map((path) => readFileSync(path, "utf8")).join("");
  }

  #apt(args) {
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    said("apt-get", ["-y", "-q", "-o", "DPkg::Lock::Timeout=400", ...args], { env });
  }

  /**
   * dpkg's database for a system. It needs empty lists to begin with. Libraries are this machine's.
   */
  #prepare() {
    for (const folder of ["var/lib/dpkg/updates", "var/lib/dpkg/info", "etc"]) mkdirSync(join(this.root, folder), { recursive: true });
    for (const file of ["var/lib/dpkg/status", "var/lib/dpkg/available", "etc/passwd", "etc/group"]) writeFileSync(join(this.root, file), "");
  }

  #dpkg(args) {
    const pretend = process.getuid() === 0 ? [] : [which("fakeroot"), "--"];
    const force = ["--force-depends", "--force-script-chrootless", "--force-not-root", "--force-bad-path"];
    const [command, ...rest] = [...pretend, "dpkg", `--root=${this.root}`, ...force, ...args];
    said(command, rest);
  }
}
