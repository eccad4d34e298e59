// Builds what the tests try: the `ringway` command and the tests' own tool, both as debug builds.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { needModules } from "./npm.mjs";
import { needGroup } from "./packages.mjs";
import { CACHE, ROOT, capture, run, which } from "./process.mjs";

export const WORKSPACE = join(ROOT, "src-tauri");
export const TARGET = resolve(WORKSPACE, process.env.CARGO_TARGET_DIR ?? "target");
export const RINGWAY = join(TARGET, "debug/ringway");
export const WINDOW = join(TARGET, "debug/ringway-desktop");
export const TOOLS_FOLDER = join(ROOT, "tests/tools");
export const TESTTOOLS = join(TOOLS_FOLDER, "target/debug/ringway-testtools");

/**
 * Checks for a Rust toolchain, which no set-up step installs, and installs the compiler and linker
 * that it needs.
 */
export function needRust() {
  if (!which("cargo")) throw new Error("cargo is not on PATH: install Rust first (rustup.rs)");
  needGroup("cli", "building the engine");
}

/**
 * The packages that cargo builds together. Cargo chooses the features of dependencies by all
 * selected packages: the window built by itself would compile eighty of them, and the engine, a
 * second time. So it is built with the rest, if it can be built and is wanted. `forTests` also
 * selects the test programs, whose own dependencies have features as well.
 */
export function scope({ withWindow, forTests = false }) {
  return [...(withWindow && canBuildWindow() ? ["--workspace"] : []), ...(forTests ? ["--all-targets"] : [])];
}

export function canBuildWindow() {
  return capture("pkg-config", ["--exists", "webkit2gtk-4.1"]).status === 0;
}

const built = new Set();

/** Builds something unless this process has. The set-ups of several suites ask for the same. */
function once(what, build) {
  if (built.has(what)) return;
  build();
  built.add(what);
}

/** The `ringway` command. Without the window, no WebKit is needed. */
export function buildCommand(how = { withWindow: false }) {
  needRust();
  const chosen = scope(how);
  if (chosen.includes("--workspace")) buildFrontEnd();
  once(`command ${chosen}`, () => run("cargo", ["build", "--locked", ...chosen], { cwd: WORKSPACE }));
  if (!existsSync(RINGWAY)) throw new Error(`cargo built no ${RINGWAY}`);
}

export function buildTools() {
  // Its own target folder, whatever CARGO_TARGET_DIR is set to, so that the two workspaces do not
  // rebuild each other's files.
  const env = { ...process.env, CARGO_TARGET_DIR: join(TOOLS_FOLDER, "target") };
  once("tools", () => run("cargo", ["build", "--locked", "--quiet"], { cwd: TOOLS_FOLDER, env }));
}

/** What the front end is built from, apart from node_modules, which the lock file describes. */
const FRONT_END = ["src", "static", "index.html", "package.json", "package-lock.json", "svelte.config.js", "tsconfig.json", "vite.config.ts"];
/** The digest of those files and of dist/, after the last build. */
const FRONT_END_BUILT = join(CACHE, "front-end-built");

/**
 * The front end as static files in dist/, which are compiled into the shell. It is built only if
 * its sources or dist/ differ from the last build, because Cargo compiles the shell again whenever
 * a file in dist/ is written.
 */
export function buildFrontEnd() {
  needModules();
  once("front end", () => {
    const builtOf = () => digest([...FRONT_END, "dist"]);
    if (existsSync(FRONT_END_BUILT) && readFileSync(FRONT_END_BUILT, "utf8") === builtOf()) return;
    run("npm", ["run", "--silent", "build"]);
    mkdirSync(CACHE, { recursive: true });
    writeFileSync(FRONT_END_BUILT, builtOf());
  });
}

/** A digest of the names and contents of all files in `paths`, which are relative to the clone. */
function digest(paths) {
  const hash = createHash("sha256");
  const add = (path) => {
    const full = join(ROOT, path);
    if (!existsSync(full)) return;
    if (statSync(full).isDirectory()) return readdirSync(full).sort().forEach((name) => add(join(path, name)));
    const contents = readFileSync(full);
    hash.update(`${path}\0${contents.length}\0`).update(contents);
  };
  paths.forEach(add);
  return hash.digest("hex");
}

/**
 * The window as a debug build with the front end, and the command, which it starts as its service.
 */
export function buildWindow({ forTests = false } = {}) {
  needGroup("desktop", "building the window");
  buildCommand({ withWindow: true, forTests });
  if (!existsSync(WINDOW)) throw new Error(`cargo built no ${WINDOW}`);
}
