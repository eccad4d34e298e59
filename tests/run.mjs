// `npm test`: every suite in order, each with its set-up, going on after a failure; the last line is the count of them all.
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { TARGET, WORKSPACE, buildCommand, buildFrontEnd, buildTools, buildWindow, needRust } from "./setup/build.mjs";
import { needModules } from "./setup/npm.mjs";
import { CannotInstall, needGroup, wantGroup } from "./setup/packages.mjs";
import { ROOT, run, say } from "./setup/process.mjs";
import { Tally } from "./tally.mjs";

const quick = process.argv.includes("--quick");
const only = process.argv.slice(2).filter((argument) => !argument.startsWith("-"));

/** No file of tests takes half as long on two slow cores; a hanging one costs this and fails. */
const HANGING_AFTER_MS = 15 * 60 * 1000;

/** A suite: what it needs first, then the command whose output is counted. `quick` ones run in the inner loop too. */
const SUITES = [
  { name: "house", quick: true, setUp: needRust, command: () => nodeTests("house") },
  {
    name: "rust",
    quick: true,
    setUp: () => {
      needRust();
      wantGroup("copying", "copying on every filesystem");
    },
    // --show-output brings out what tests say about being skipped; libtest swallows it otherwise.
    command: () => ["cargo", ["test", "--locked", "--no-fail-fast", "--", "--show-output"], { cwd: WORKSPACE }],
  },
  {
    name: "shell",
    setUp: () => {
      needRust();
      needGroup("desktop", "building the window");
      buildFrontEnd();
    },
    command: () => [
      "cargo",
      ["test", "--locked", "-p", "ringway-desktop", "--no-fail-fast", "--", "--show-output"],
      { cwd: WORKSPACE },
    ],
  },
  {
    name: "front end",
    setUp: needModules,
    command: () => ["npx", ["--no-install", "vitest", "run"]],
  },
  {
    name: "transfer",
    quick: true,
    setUp: () => {
      needGroup("transfer", "comparing trees");
      wantGroup("refusing", "disks and networks that refuse");
      buildCommand();
      buildTools();
    },
    command: () => nodeTests("transfer", quick ? ["main.test.mjs"] : undefined),
  },
  {
    name: "desktop",
    setUp: () => {
      wantGroup("session", "tray, notifications and units");
      needGroup("transfer", "comparing trees");
      buildCommand();
      buildTools();
    },
    command: () => nodeTests("desktop"),
  },
  {
    name: "vm",
    setUp: () => {
      needGroup("transfer", "comparing trees");
      buildCommand();
      buildTools();
    },
    command: () => nodeTests("vm"),
  },
  {
    name: "window",
    setUp: () => {
      needGroup("window", "driving the window");
      wantGroup("wayland", "the window under Wayland");
      wantGroup("everyday", "a file manager, a panel and a notification server");
      needGroup("transfer", "comparing trees");
      buildCommand();
      buildTools();
      buildWindow();
    },
    command: () => nodeTests("window"),
  },
  {
    name: "package",
    setUp: () => {
      needGroup("package", "packing");
      needGroup("packed", "judging packages");
      needGroup("window", "opening the installed window");
      needGroup("transfer", "comparing trees");
      run("npm", ["run", "--silent", "package"]);
    },
    command: () => nodeTests("package"),
  },
];

function nodeTests(folder, names) {
  const chosen = names ?? readdirSync(join(ROOT, "tests", folder)).filter((name) => name.endsWith(".test.mjs"));
  const paths = chosen.map((name) => join("tests", folder, name));
  const limits = ["--test-concurrency=1", `--test-timeout=${HANGING_AFTER_MS}`];
  return [process.execPath, ["--test", "--test-reporter=spec", ...limits, ...paths]];
}

async function runSuite(suite) {
  const tally = new Tally();
  say(`\n== ${suite.name}`);
  try {
    suite.setUp?.();
  } catch (error) {
    if (error instanceof CannotInstall) {
      say(`skipped: ${suite.name}: ${error.message}`);
      tally.skip(suite.name, error.message);
      return tally;
    }
    say(`${suite.name}: set-up failed: ${error.message}`);
    tally.end(`${suite.name}: set-up`, 1);
    return tally;
  }
  const [command, args, options] = suite.command();
  tally.end(suite.name, await stream(command, args, options, (line) => tally.take(line)));
  return tally;
}

/** Runs a command with its output both shown and read line by line. Resolves to its exit status. */
function stream(command, args, options, onLine) {
  // No colours: the lines are read by a program, here and in CI.
  const env = { ...process.env, NO_COLOR: "1", FORCE_COLOR: "0", CARGO_TERM_COLOR: "never", RINGWAY_TARGET: TARGET };
  const child = spawn(command, args, { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"], ...options });
  const ends = [child.stdout, child.stderr].map((output) => {
    const lines = createInterface({ input: output, crlfDelay: Infinity });
    lines.on("line", (line) => {
      say(line);
      onLine(line);
    });
    return new Promise((resolve) => lines.on("close", resolve));
  });
  return new Promise((resolve) => {
    child.on("error", (error) => {
      say(`${command}: ${error.message}`);
      resolve(127);
    });
    child.on("close", (status) => Promise.all(ends).then(() => resolve(status)));
  });
}

const total = new Tally();
const rows = [];
for (const suite of SUITES) {
  if (quick && !suite.quick) continue;
  if (only.length > 0 && !only.includes(suite.name)) continue;
  const started = Date.now();
  const tally = await runSuite(suite);
  rows.push(`${suite.name}: ${tally} (${((Date.now() - started) / 1000).toFixed(0)} s)`);
  total.add(tally);
}

say("\n== all suites");
rows.forEach(say);
if (total.skips.length > 0) say(`\nskipped here:\n${total.skips.map((skip) => `  ${skip}`).join("\n")}`);
if (total.failures.length > 0) say(`\nfailed:\n${total.failures.map((name) => `  ${name}`).join("\n")}`);
say(`\n${total}`);
process.exitCode = total.failed > 0 || total.passed === 0 ? 1 : 0;
