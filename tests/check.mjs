// `npm run check`: every linter, each with its set-up. It continues after a failure. Of the tests
// it runs only the rules about how sources and documents are written.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { STATIC, TRIAL, needStandardLibrary } from "../src-tauri/packaging/build.mjs";
import { TOOLS_FOLDER, WORKSPACE, buildFrontEnd, needRust } from "./setup/build.mjs";
import { needGroup } from "./setup/packages.mjs";
import { CACHE, ROOT, capture, run, say, which } from "./setup/process.mjs";

/** The checks use this version. cargo installs it inside the clone if the machine has none. */
const DENY_VERSION = "0.20.2";
const DENY_FOLDER = join(CACHE, "tools");
const FUZZ_FOLDER = join(ROOT, "tests/fuzz");
/**
 * Known vulnerabilities, as cargo-deny fetches them. If they cannot be fetched, this check is left
 * out.
 */
const ADVISORIES = "https://github.com/rustsec/advisory-db";
const ADVISORIES_TIME_MAX_MS = 10_000;
/** The house rules about sources and documents. */
const WRITTEN = ["tests/house/words.test.mjs", "tests/house/sources.test.mjs"];
const FORMAT = ["--check", "--", "--config-path", join(WORKSPACE, "rustfmt.toml")];

const CHECKS = [
  ["set-up", setUp],
  ["words, line lengths, length of the README", () => run(process.execPath, ["--test", ...WRITTEN])],
  ["format", () => run("cargo", ["fmt", "--all", "--check"], { cwd: WORKSPACE })],
  ["format of the test tool", () => run("cargo", ["fmt", ...FORMAT], { cwd: TOOLS_FOLDER })],
  ["format of the fuzz targets", () => run("cargo", ["fmt", ...FORMAT], { cwd: FUZZ_FOLDER })],
  ["clippy", () => clippy(WORKSPACE, ["--workspace"])],
  ["clippy of the command for servers", clippyForServers],
  ["clippy of the test tool", () => clippy(TOOLS_FOLDER, [])],
  ["npm's lock file", () => run("npm", ["ci", "--dry-run", "--silent", "--no-audit", "--no-fund"])],
  ["svelte-check", () => run("npm", ["run", "--silent", "check:front"])],
  ["bindings", () => run("npm", ["run", "--silent", "bindings:check"])],
  ["schema of --json", () => run("npm", ["run", "--silent", "json:check"])],
  ["dependencies", () => judge(WORKSPACE)],
  ["dependencies of the test tool", () => judge(TOOLS_FOLDER)],
  ["dependencies of the fuzz targets", () => judge(FUZZ_FOLDER)],
  ["known holes in dependencies", knownHoles],
];

function setUp() {
  needRust();
  needGroup("desktop", "checking the window's code");
  buildFrontEnd();
}

function clippy(folder, scope) {
  run("cargo", ["clippy", "--locked", ...scope, "--all-targets", "--", "-D", "warnings"], { cwd: folder });
}

/**
 * Clippy over the other side of each `cfg`: musl instead of glibc, without tray and benchmark.
 */
function clippyForServers() {
  needGroup("static", "checking what needs no libraries");
  needStandardLibrary();
  // With the profile of the package suite, whose build has compiled the C libraries.
  const what = ["--profile", TRIAL, "--target", STATIC, "-p", "ringway-cli", "--no-default-features"];
  run("cargo", ["clippy", "--locked", ...what, "--", "-D", "warnings"], { cwd: WORKSPACE });
}

/**
 * One workspace's dependencies, with the options that all workspaces share. Most checks need more.
 */
function judge(folder, ...checks) {
  const where = ["--manifest-path", join(folder, "Cargo.toml"), "--config", join(WORKSPACE, "deny.toml"), "--locked"];
  const others = folder === WORKSPACE ? ["license-exception-not-encountered"] : ["license-exception-not-encountered", "license-not-encountered"];
  const allowed = others.flatMap((code) => ["--allow", code]);
  run(deny(), [...where, "check", ...allowed, ...(checks.length > 0 ? checks : ["licenses", "bans", "sources"])], { cwd: folder });
}

function knownHoles() {
  const env = { ...process.env, GIT_TERMINAL_PROMPT: "0" };
  const asked = capture("git", ["ls-remote", "--exit-code", ADVISORIES, "HEAD"], { env, timeout: ADVISORIES_TIME_MAX_MS });
  if (asked.status !== 0) return say(`skipped: known holes in dependencies: ${ADVISORIES} is unreachable from here`);
  for (const folder of [WORKSPACE, TOOLS_FOLDER, FUZZ_FOLDER]) judge(folder, "advisories");
}

/**
 * cargo-deny, from PATH or built once into the clone. It is built unoptimised, because its build
 * takes longer than its work.
 */
function deny() {
  const own = join(DENY_FOLDER, "bin/cargo-deny");
  const found = which("cargo-deny") ?? (existsSync(own) ? own : null);
  if (found && capture(found, ["--version"]).status === 0) return found;
  say(`set-up: building cargo-deny ${DENY_VERSION}`);
  const env = {
    ...process.env,
    CARGO_PROFILE_RELEASE_OPT_LEVEL: "0",
    CARGO_PROFILE_RELEASE_LTO: "false",
    CARGO_PROFILE_RELEASE_CODEGEN_UNITS: "64",
  };
  const args = ["install", "cargo-deny", "--locked", "--quiet", "--version", DENY_VERSION, "--root", DENY_FOLDER];
  run("cargo", args, { env });
  return own;
}

const failed = [];
for (const [name, check] of CHECKS) {
  say(`\n== ${name}`);
  try {
    check();
  } catch (error) {
    say(error.message);
    failed.push(name);
  }
}
say(failed.length === 0 ? `\n${CHECKS.length} checks passed` : `\nchecks failed: ${failed.join(", ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;
