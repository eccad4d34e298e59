// Builds what is packed: release builds that name no folder of the machine that built them. The
// command for servers is linked against musl, and needs nothing of the machine that it runs on but
// the kernel.
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { RINGWAY, TARGET as TRIED, WINDOW, WORKSPACE, buildFrontEnd, buildWindow, needRust } from "../../tests/setup/build.mjs";
import { needGroup } from "../../tests/setup/packages.mjs";
import { ROOT, capture, run, say, which } from "../../tests/setup/process.mjs";

/** A folder of its own: builds with other flags would undo each other. */
const TARGET = join(WORKSPACE, "target/package");

/**
 * Whether the builds of the tests are packed, without their symbols, to try the packages: release
 * builds take ten minutes of two processors. Their paths of sources are this machine's. Only the
 * command for servers is built for that, without optimisation. Packing compresses little then,
 * because it would take most of the time.
 */
export const IS_TRIAL = process.env.RINGWAY_PACKAGE === "trial";

/** Cargo's profile of the command for servers then. */
export const TRIAL = "trial";

/** Where the programs are then. */
export const BUILT = join(TARGET, IS_TRIAL ? "trial" : "release");

/** This machine's processor, as Rust and archives call it. */
export const PROCESSOR = process.arch === "arm64" ? "aarch64" : "x86_64";

export const STATIC = `${PROCESSOR}-unknown-linux-musl`;

/** Where the command is that needs no libraries. */
export const BUILT_STATIC = IS_TRIAL ? join(BUILT, "static") : join(TARGET, STATIC, "release");

/** Paths that only this machine has. */
export const OF_THIS_MACHINE = [ROOT, process.env.CARGO_HOME ?? join(homedir(), ".cargo"), `${homedir()}/`];

/** As the workspace has it. */
export function version() {
  return /^version = "([^"]+)"$/m.exec(readFileSync(join(WORKSPACE, "Cargo.toml"), "utf8"))[1];
}

/**
 * Seconds since 1970 that everything packed bears: the last commit's, so that the same sources make
 * the same packages.
 */
export function epoch() {
  const given = process.env.SOURCE_DATE_EPOCH ?? capture("git", ["log", "-1", "--format=%ct"]).out.trim();
  const seconds = Number(given);
  if (!Number.isInteger(seconds) || seconds <= 0) throw new Error("no commit to date the packages by: set SOURCE_DATE_EPOCH");
  return seconds;
}

/**
 * Paths of sources, which messages of panics and assertions show, without where they lie on this
 * machine.
 */
function remapped(home) {
  return [
    [join(home, "registry/src"), "crates"],
    [ROOT, "ringway"],
  ];
}

/** What is shipped: everything but the benchmark, which is for who builds from sources. */
const SHIPPED = {
  command: ["-p", "ringway-cli", "--no-default-features", "--features", "ringway-cli/desktop"],
  both: ["-p", "ringway-cli", "-p", "ringway-desktop", "--no-default-features", "--features", "ringway-cli/desktop,ringway-desktop/custom-protocol"],
};

function cargo(args) {
  const paths = remapped(process.env.CARGO_HOME ?? join(homedir(), ".cargo"));
  run("cargo", ["build", "--release", "--locked", "--target-dir", TARGET, ...args], {
    cwd: WORKSPACE,
    env: {
      ...process.env,
      CARGO_ENCODED_RUSTFLAGS: paths.map(([from, to]) => `--remap-path-prefix=${from}=${to}`).join("\x1f"),
      CFLAGS: paths.map(([from, to]) => `-ffile-prefix-map=${from}=${to}`).join(" "),
    },
  });
}

/** The command and the window; gives the folder that they are in. */
export function build() {
  if (IS_TRIAL) {
    buildWindow({ forTests: true });
    [RINGWAY, WINDOW].forEach((program) => strip(program, BUILT));
    return BUILT;
  }
  needRust();
  needGroup("desktop", "building the window");
  buildFrontEnd();
  cargo(SHIPPED.both);
  ["ringway", "ringway-desktop"].forEach((name) => namesNoFolder(join(BUILT, name)));
  return BUILT;
}

/** The command without libraries; gives the folder that it is in. */
export function buildStatic() {
  needRust();
  needGroup("static", "building without libraries");
  needStandardLibrary();
  if (IS_TRIAL) {
    run("cargo", ["build", "--locked", "--profile", TRIAL, "--target", STATIC, ...SHIPPED.command], { cwd: WORKSPACE });
    strip(join(TRIED, STATIC, TRIAL, "ringway"), BUILT_STATIC);
    return BUILT_STATIC;
  }
  cargo(["--target", STATIC, ...SHIPPED.command]);
  namesNoFolder(join(BUILT_STATIC, "ringway"));
  return BUILT_STATIC;
}

function strip(program, folder) {
  mkdirSync(folder, { recursive: true });
  run("strip", ["--strip-all", "-o", join(folder, basename(program)), program]);
}

/**
 * Refuses a program that names a folder of this machine: its users learn nothing of who
 * built it.
 */
export function namesNoFolder(program) {
  const bytes = readFileSync(program);
  for (const place of OF_THIS_MACHINE) {
    const at = bytes.indexOf(place);
    if (at < 0) continue;
    throw new Error(`${program} names ${place}: ${bytes.subarray(Math.max(0, at - 40), at + 120).toString("latin1")}`);
  }
}

/** Rust's own for musl, which comes with no toolchain by itself. */
export function needStandardLibrary() {
  const sysroot = capture("rustc", ["--print", "sysroot"], { cwd: WORKSPACE }).out.trim();
  if (existsSync(join(sysroot, "lib/rustlib", STATIC, "lib"))) return;
  if (!which("rustup")) throw new Error(`Rust's standard library for ${STATIC} is not here, and no rustup to install it: install it, or name other kinds`);
  say(`set-up: building without libraries needs Rust's standard library for ${STATIC}: installing`);
  run("rustup", ["target", "add", STATIC], { cwd: WORKSPACE });
}
