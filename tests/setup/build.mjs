// What is built before it can be tried: the `ringway` command and the tests' own tool, both as
// debug builds.
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { needModules } from "./npm.mjs";
import { needGroup } from "./packages.mjs";
import { ROOT, capture, run, which } from "./process.mjs";

export const WORKSPACE = join(ROOT, "src-tauri");
export const TARGET = resolve(WORKSPACE, process.env.CARGO_TARGET_DIR ?? "target");
export const RINGWAY = join(TARGET, "debug/ringway");
export const WINDOW = join(TARGET, "debug/ringway-desktop");
export const TOOLS_FOLDER = join(ROOT, "tests/tools");
export const TESTTOOLS = join(TOOLS_FOLDER, "target/debug/ringway-testtools");

/** A Rust toolchain, which no set-up step installs, and the compiler and linker that it wants. */
export function needRust() {
  if (!which("cargo")) throw new Error("cargo is not on PATH: install Rust first (rustup.rs)");
  needGroup("cli", "building the engine");
}

/**
 * What cargo builds together. It settles the features of dependencies over all that is selected:
 * the window built by itself would compile eighty of them, and the engine, a second time. So it is
 * built with the rest, where it can be and is wanted. `forTests` selects the test programs, too,
 * whose own dependencies have features as well.
 */
export function scope({ withWindow, forTests = false }) {
  return [...(withWindow && canBuildWindow() ? ["--workspace"] : []), ...(forTests ? ["--all-targets"] : [])];
}

export function canBuildWindow() {
  return capture("pkg-config", ["--exists", "webkit2gtk-4.1"]).status === 0;
}

/** The `ringway` command: without the window no WebKit is needed. */
export function buildCommand(how = { withWindow: false }) {
  needRust();
  const chosen = scope(how);
  if (chosen.includes("--workspace")) buildFrontEnd();
  run("cargo", ["build", "--locked", ...chosen], { cwd: WORKSPACE });
  if (!existsSync(RINGWAY)) throw new Error(`cargo built no ${RINGWAY}`);
}

export function buildTools() {
  // Its own target folder, whatever CARGO_TARGET_DIR says, or the two workspaces would rebuild over
  // each other.
  const env = { ...process.env, CARGO_TARGET_DIR: join(TOOLS_FOLDER, "target") };
  run("cargo", ["build", "--locked", "--quiet"], { cwd: TOOLS_FOLDER, env });
}

/** The front end as static files in dist/, which the shell takes in when it is compiled. */
export function buildFrontEnd() {
  needModules();
  run("npm", ["run", "--silent", "build"]);
}

/**
 * The window as a debug build, front end inside, and the command, which it starts as its service.
 */
export function buildWindow({ forTests = false } = {}) {
  needGroup("desktop", "building the window");
  buildCommand({ withWindow: true, forTests });
  if (!existsSync(WINDOW)) throw new Error(`cargo built no ${WINDOW}`);
}
