// `npm test`: every suite in order, each with its set-up, going on after a failure; the last line is the count of them all.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { runSteps } from "./limited.mjs";
import { rustSteps } from "./rust.mjs";
import { TARGET, WORKSPACE, buildCommand, buildFrontEnd, buildTools, buildWindow, needRust } from "./setup/build.mjs";
import { needModules } from "./setup/npm.mjs";
import { CannotInstall, needGroup, wantGroup } from "./setup/packages.mjs";
import { ROOT, run, say } from "./setup/process.mjs";
import { Tally } from "./tally.mjs";

const quick = process.argv.includes("--quick");
const only = process.argv.slice(2).filter((argument) => !argument.startsWith("-"));

/** No file of tests takes half as long on two slow cores; a hanging one costs this and fails. */
const HANGING_AFTER_MS = 15 * 60 * 1000;

/** The same for a suite that is one command: all of its files together. */
const SUITE_HANGS_AFTER_MS = 60 * 60 * 1000;

/**
 * A suite: what it needs first, then the command whose output is counted, or the steps, of which each has its own limit. `quick` ones run in the inner loop
 * too.
 */
const SUITES = [
  { name: "house", quick: true, setUp: needRust, command: () => nodeTests("house") },
  {
    name: "rust",
    quick: true,
    setUp: () => {
      needRust();
      wantGroup("copying", "copying on every filesystem");
    },
    steps: () => rustSteps([]),
  },
  {
    name: "shell",
    setUp: () => {
      needRust();
      needGroup("desktop", "building the window");
      buildFrontEnd();
    },
    steps: () => rustSteps(["-p", "ringway-desktop"]),
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
  // No colours: the lines are read by a program, here and in CI.
  const env = { ...process.env, NO_COLOR: "1", FORCE_COLOR: "0", CARGO_TERM_COLOR: "never", RINGWAY_TARGET: TARGET };
  try {
    const steps = (suite.steps ?? (() => oneStep(suite)))();
    const limited = steps.map((step) => ({ ...step, options: { cwd: ROOT, ...step.options, env: { ...env, ...step.options?.env } } }));
    tally.end(suite.name, await runSteps(limited, tally, say));
  } catch (error) {
    say(`${suite.name}: ${error.message}`);
    tally.end(suite.name, 1);
  }
  return tally;
}

function oneStep(suite) {
  const [command, args] = suite.command();
  return [{ name: suite.name, command, args, limitMs: SUITE_HANGS_AFTER_MS }];
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
if (total.details.length > 0) say(`\nwhat they printed:\n${total.details.map((line) => `  ${line}`).join("\n")}`);
say(`\n${total}`);
process.exitCode = total.failed > 0 || total.passed === 0 ? 1 : 0;
