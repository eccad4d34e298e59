// Builds what is packed: release builds that name no folder of the machine that built them. The command for servers is linked against musl, and needs
// nothing of the machine that it runs on but the kernel.
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { WORKSPACE, buildFrontEnd, needRust } from "../../tests/setup/build.mjs";
import { needGroup } from "../../tests/setup/packages.mjs";
import { ROOT, capture, run, say, which } from "../../tests/setup/process.mjs";

/** A folder of its own: builds with other flags would undo each other. */
const TARGET = join(WORKSPACE, "target/package");

/** Where the programs are then. */
export const BUILT = join(TARGET, "release");

/** This machine's processor, as Rust and archives call it. */
export const PROCESSOR = process.arch === "arm64" ? "aarch64" : "x86_64";

const STATIC = `${PROCESSOR}-unknown-linux-musl`;

/** Where the command is that needs no libraries. */
export const BUILT_STATIC = join(TARGET, STATIC, "release");

/** As the workspace has it. */
export function version() {
  return /^version = "([^"]+)"$/m.exec(readFileSync(join(WORKSPACE, "Cargo.toml"), "utf8"))[1];
}

/** Seconds since 1970 that everything packed bears: the last commit's, so that the same sources make the same packages. */
export function epoch() {
  const given = process.env.SOURCE_DATE_EPOCH ?? capture("git", ["log", "-1", "--format=%ct"]).out.trim();
  const seconds = Number(given);
  if (!Number.isInteger(seconds) || seconds <= 0) throw new Error("no commit to date the packages by: set SOURCE_DATE_EPOCH");
  return seconds;
}

/** Paths of sources, which messages of panics and assertions show, without where they lie on this machine. */
function remapped(home) {
  return [
    [join(home, "registry/src"), "crates"],
    [ROOT, "ringway"],
  ];
}

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
  needRust();
  needGroup("desktop", "building the window");
  buildFrontEnd();
  cargo(["-p", "ringway-cli", "-p", "ringway-desktop"]);
  return BUILT;
}

/** The command without libraries; gives the folder that it is in. */
export function buildStatic() {
  needRust();
  needGroup("static", "building without libraries");
  needStandardLibrary();
  cargo(["--target", STATIC, "-p", "ringway-cli"]);
  return BUILT_STATIC;
}

/** Rust's own for musl, which comes with no toolchain by itself. */
function needStandardLibrary() {
  const sysroot = capture("rustc", ["--print", "sysroot"], { cwd: WORKSPACE }).out.trim();
  if (existsSync(join(sysroot, "lib/rustlib", STATIC, "lib"))) return;
  if (!which("rustup")) throw new Error(`Rust's standard library for ${STATIC} is not here, and no rustup to install it: install it, or name other kinds`);
  say(`set-up: building without libraries needs Rust's standard library for ${STATIC}: installing`);
  run("rustup", ["target", "add", STATIC], { cwd: WORKSPACE });
}
