// Cargo's test programs, each with its own limit, which `cargo test` as a whole does not set.
import { spawnSync } from "node:child_process";
import { delimiter, dirname, join, relative } from "node:path";
import { APART, canBeApart } from "./setup/apart.mjs";
import { TARGET, WORKSPACE } from "./setup/build.mjs";

/**
 * No test program takes a third as long on two slow cores. A build from nothing does not either.
 */
const PROGRAM_HANGS_AFTER_MS = 20 * 60 * 1000;
const BUILD_HANGS_AFTER_MS = 60 * 60 * 1000;

/**
 * Cargo's message for each artifact is about a kilobyte of JSON; all of them are a few megabytes.
 */
const MESSAGES_BYTES_MAX = 256 * 1024 * 1024;

/**
 * Programs that take half a minute or more on two cores, the longest first. They start first, so
 * that no long one runs alone at the end. `npm run test:quick` leaves them out.
 */
const LONG = [
  "crates/engine/tests/crossing/main.rs",
  "crates/engine/tests/hostile/main.rs",
  "crates/tree/src/lib.rs",
  "crates/engine/tests/copying/main.rs",
  "crates/bench/src/lib.rs",
  "crates/tree/tests/simulation/main.rs",
];

/** Whether a program is about a disk, so that its trees stay on one. */
const isOnDisk = (name) => /^crates\/(copy|sys|tree|engine\/tests\/copying)\//.test(name);

/**
 * Builds everything of the packages in `select` (by default Cargo's default ones), and returns a
 * step for each test program and one for the tests in the documentation. `quick` leaves out the
 * long programs. Each program has a network of its own if this machine allows that. `inMemory` are
 * the variables for those whose trees are in memory.
 */
export function rustSteps(select, { quick = false, inMemory = {} } = {}) {
  const cargo = (args, stdio) =>
    spawnSync("cargo", args, {
      cwd: WORKSPACE,
      encoding: "utf8",
      maxBuffer: MESSAGES_BYTES_MAX,
      timeout: BUILD_HANGS_AFTER_MS,
      stdio: ["ignore", "pipe", "inherit"],
      ...stdio,
    });
  // The same selection as in `buildCommand`, so that the programs of other suites are built beside
  // the test programs, and not one after the other behind them.
  const built = cargo(["build", "--locked", ...select, "--all-targets", "--message-format=json-render-diagnostics"]);
  if (built.error) throw built.error;
  if (built.status !== 0) throw new Error(`the tests do not build: ${built.signal ?? `exit ${built.status}`}`);
  const programs = testPrograms(built.stdout);
  if (programs.length === 0) throw new Error("Cargo built no test program");
  // --show-output prints messages of tests about being skipped, which libtest would swallow.
  const rank = ({ name }) => (LONG.includes(name) ? LONG.indexOf(name) : LONG.length);
  const chosen = programs.filter(({ name }) => !quick || !LONG.includes(name)).sort((one, other) => rank(one) - rank(other));
  const [wrapper, ...before] = canBeApart() ? APART : [];
  const steps = chosen.map(({ name, path, env, folder }) => ({
    name,
    command: wrapper ?? path,
    args: wrapper ? [...before, path, "--show-output"] : ["--show-output"],
    // As in `cargo test`: the package's folder, and the variables of its build.
    options: { cwd: folder, env: isOnDisk(name) ? env : { ...env, ...inMemory } },
    limitMs: PROGRAM_HANGS_AFTER_MS,
  }));
  if (!quick && programs.some(({ hasDocs }) => hasDocs)) {
    steps.push({
      name: "tests in the documentation",
      command: "cargo",
      args: ["test", "--locked", ...select, "--no-fail-fast", "--doc", "--", "--show-output"],
      options: { cwd: WORKSPACE },
      limitMs: PROGRAM_HANGS_AFTER_MS,
    });
  }
  return steps;
}

/**
 * The test programs in the messages of `cargo test --no-run`, with the variables that Cargo sets
 * for them when it runs them.
 */
export function testPrograms(messages) {
  const artifacts = messages
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line));
  // Integration tests find the programs of their package by these variables.
  const binaries = artifacts
    .filter((message) => message.reason === "compiler-artifact" && message.target.kind.includes("bin") && message.executable && !message.profile.test)
    .map((message) => [message.package_id, `CARGO_BIN_EXE_${message.target.name}`, message.executable]);
  const outs = new Map(
    artifacts.filter((message) => message.reason === "build-script-executed").map((message) => [message.package_id, message.out_dir]),
  );
  return artifacts
    .filter((message) => message.reason === "compiler-artifact" && message.profile.test && message.executable)
    .map((message) => {
      const folder = dirname(message.manifest_path);
      const libraries = [join(TARGET, "debug"), join(TARGET, "debug/deps"), process.env.LD_LIBRARY_PATH].filter(Boolean);
      const env = {
        CARGO_MANIFEST_DIR: folder,
        CARGO_MANIFEST_PATH: message.manifest_path,
        LD_LIBRARY_PATH: libraries.join(delimiter),
        ...(outs.has(message.package_id) ? { OUT_DIR: outs.get(message.package_id) } : {}),
        ...Object.fromEntries(binaries.filter(([id]) => id === message.package_id).map(([, name, path]) => [name, path])),
      };
      const source = relative(WORKSPACE, message.target.src_path);
      return { name: source, path: message.executable, env, folder, hasDocs: message.target.doctest === true };
    });
}
