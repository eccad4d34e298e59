// `npm test`: the set-ups of all suites, then the suites, beside each other where that harms none,
// continuing after a failure. The last line is the count of all.
import { readdirSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { besides } from "./beside.mjs";
import { runSteps } from "./limited.mjs";
import { rustSteps } from "./rust.mjs";
import { APART, canBeApart } from "./setup/apart.mjs";
import { TARGET, buildCommand, buildFrontEnd, buildTools, buildWindow, needRust, scope } from "./setup/build.mjs";
import { memoryForTests } from "./setup/memory.mjs";
import { needModules } from "./setup/npm.mjs";
import { CannotInstall, needGroup, wantGroup } from "./setup/packages.mjs";
import { ROOT, run, say } from "./setup/process.mjs";
import { Tally } from "./tally.mjs";
import { hostHasKernelTls, vmMissing } from "./vm/vm.mjs";

const quick = process.argv.includes("--quick");
/** With `--in-turn`, one suite runs after the other. */
const inTurn = process.argv.includes("--in-turn");
/** With `--on-disk`, no test keeps its trees in memory. */
const memory = process.argv.includes("--on-disk") ? undefined : memoryForTests();
/**
 * With `--release`, packages of release builds, as `npm run package` makes them. Otherwise the
 * builds of the other tests are packed.
 */
const packing = process.argv.includes("--release") ? {} : { RINGWAY_PACKAGE: "trial" };
const only = process.argv.slice(2).filter((argument) => !argument.startsWith("-"));

/**
 * What a test finds that keeps its trees in memory, and what one finds that is about a disk: its
 * order of names, its times, its numbers of inodes. The others do not depend on these, and take a
 * quarter to a half of the time.
 */
const IN_MEMORY = memory && { TMPDIR: memory, RINGWAY_TEST_DISK: tmpdir() };
const ON_DISK = new Set(["contents", "crashes", "destinations", "differential", "edited", "landed", "main", "trees"]);

/** The inner loop leaves out the window, which takes a while to link. */
const BUILDS = { withWindow: !quick, forTests: true };

/**
 * No file of tests takes half as long on two slow cores. A hanging one costs this time and fails.
 */
const HANGING_AFTER_MS = 15 * 60 * 1000;

/** The same for a suite that is one command, for all of its files together. */
const SUITE_HANGS_AFTER_MS = 60 * 60 * 1000;

/**
 * Files of tests that run at once, each in a network of its own, because most of their time is
 * waiting.
 */
const FILES_AT_ONCE = 4;

/** Rust test programs that run at once, each in its own network: they mostly wait. */
const PROGRAMS_AT_ONCE = 3;

/** The same for files that drive windows. They wait for a window to open, and for what it draws. */
const WINDOWS_AT_ONCE = 4;

/**
 * How much suites beside each other may keep busy, for each processor that there is. Deadlines in
 * the tests hold at several times that.
 */
const BUSY_MAX = 1.5;

/** So many programs and files of tests are named with their times: those that cost most. */
const COSTLY_MAX = 40;

/**
 * A suite: its set-up first, then the command whose output is counted, or the steps, each with its
 * own limit. Those with `quick` also run in the inner loop. `busy` is how many processors it keeps
 * busy on average: its processor time by its time alone. Beside it only those run that are named in
 * `beside`, if it names any. They start in this order, as soon as there is room, so the order
 * decides which meet.
 */
const SUITES = [
  // Before anything is built.
  { name: "house", quick: true, isFirst: true, setUp: needRust, command: () => nodeTests("house") },
  {
    name: "rust",
    quick: true,
    setUp: (tally) => {
      needRust();
      wantGroup("copying", "copying on every filesystem");
      if (!quick) prepareWindow(tally);
    },
    steps: () => rustSteps(scope({ withWindow: !quick }), { quick, inMemory: IN_MEMORY }),
    atOnce: canBeApart() ? PROGRAMS_AT_ONCE : 1,
    busy: 1,
  },
  {
    name: "vm",
    setUp: () => {
      needModules();
      needGroup("transfer", "comparing trees");
      buildCommand(BUILDS);
      buildTools();
      fetchGuest("cloud", "generic");
    },
    steps: () => filesTogether("vm"),
    busy: 1.2,
  },
  {
    name: "window",
    setUp: () => {
      needGroup("window", "driving the window");
      wantGroup("wayland", "the window under Wayland");
      wantGroup("everyday", "a file manager, a panel, a notification server and a portal");
      needGroup("transfer", "comparing trees");
      buildTools();
      buildWindow(BUILDS);
    },
    steps: () => filesApart("window", testFiles("window")),
    atOnce: canBeApart() ? WINDOWS_AT_ONCE : 1,
    busy: 1.2,
  },
  {
    name: "transfer",
    quick: true,
    setUp: () => {
      needModules();
      needGroup("transfer", "comparing trees");
      wantGroup("refusing", "disks and networks that refuse");
      buildCommand(BUILDS);
      buildTools();
    },
    steps: () => filesApart("transfer", quick ? ["main.test.mjs"] : testFiles("transfer")),
    atOnce: canBeApart() ? FILES_AT_ONCE : 1,
    busy: 1.25,
  },
  {
    name: "package",
    setUp: () => {
      needGroup("package", "packing");
      needGroup("packed", "judging packages");
      needGroup("window", "opening the installed window");
      needGroup("transfer", "comparing trees");
      fetchGuest("cloud");
      run("npm", ["run", "--silent", "package"], { env: { ...process.env, ...packing } });
    },
    steps: () => filesTogether("package"),
    env: packing,
    busy: 1.1,
    // It may install the package into this machine, and compares /usr and /etc before and after.
    beside: ["vm", "front end", "transfer"],
  },
  {
    name: "desktop",
    setUp: () => {
      needModules();
      wantGroup("session", "tray, notifications and units");
      needGroup("transfer", "comparing trees");
      buildCommand(BUILDS);
      buildTools();
    },
    steps: () => filesTogether("desktop"),
    busy: 0.3,
  },
  {
    name: "front end",
    setUp: needModules,
    command: () => ["npx", ["--no-install", "vitest", "run"]],
    busy: 1,
  },
];

/** The shell is built and tested with the rest. If it cannot be built, it counts as skipped. */
function prepareWindow(tally) {
  try {
    needGroup("desktop", "building the window");
    buildFrontEnd();
  } catch (error) {
    if (!(error instanceof CannotInstall)) throw error;
    say(`skipped: shell: ${error.message}`);
    tally.skip("shell", error.message);
  }
}

function testFiles(folder) {
  return readdirSync(join(ROOT, "tests", folder)).filter((name) => name.endsWith(".test.mjs"));
}

function nodeTests(folder, names = testFiles(folder)) {
  const paths = names.map((name) => join("tests", folder, name));
  const limits = ["--test-concurrency=1", `--test-timeout=${HANGING_AFTER_MS}`];
  // One file runs by itself: `--test` would start a second node, which takes a tenth of a second.
  return [process.execPath, [...(paths.length === 1 ? [] : ["--test"]), "--test-reporter=spec", ...limits, ...paths]];
}

/**
 * A step for each file, in a network namespace of its own if possible, so that ports and
 * announcements of different files do not collide.
 */
function filesApart(folder, names) {
  return names.map((name) => {
    const [command, args] = nodeTests(folder, [name]);
    const [wrapper, ...before] = canBeApart() ? APART : [];
    const env = ON_DISK.has(name.replace(".test.mjs", "")) ? undefined : IN_MEMORY;
    return {
      name: `tests/${folder}/${name}`,
      command: wrapper ?? command,
      args: wrapper ? [...before, command, ...args] : args,
      options: { env },
      limitMs: HANGING_AFTER_MS,
    };
  });
}

/** A step for each file, in this machine's own network. */
function filesTogether(folder) {
  return testFiles(folder).map((name) => {
    const [command, args] = nodeTests(folder, [name]);
    return { name: `tests/${folder}/${name}`, command, args, limitMs: HANGING_AFTER_MS };
  });
}

/**
 * Loads this machine's own module of TLS if it has one, and fetches the guest's kernels and
 * emulator. So nothing is installed, and no module loaded, while other suites run. The tests report
 * what is missing.
 */
function fetchGuest(...flavours) {
  hostHasKernelTls();
  flavours.forEach((flavour) => vmMissing(flavour));
}

/** Sets a suite up. Returns it with what is to be run, without steps if it cannot be run. */
function prepare(suite) {
  const [tally, started] = [new Tally(), Date.now()];
  let steps;
  say(`\n== ${suite.name}: set-up`);
  try {
    suite.setUp?.(tally);
    steps = suite.steps?.() ?? oneStep(suite);
  } catch (error) {
    if (error instanceof CannotInstall) {
      say(`skipped: ${suite.name}: ${error.message}`);
      tally.skip(suite.name, error.message);
    } else {
      say(`${suite.name}: set-up failed: ${error.message}`);
      tally.end(`${suite.name}: set-up`, 1);
    }
  }
  return { ...suite, tally, steps, setUpMs: Date.now() - started };
}

/** Runs what was set up, and says its lines by `show`. */
async function runSuite({ name, tally, steps, env: own, atOnce, setUpMs }, show) {
  const started = Date.now();
  show(`\n== ${name}`);
  // No colours, because a program reads the lines, here and in CI.
  const env = { ...process.env, ...own, NO_COLOR: "1", FORCE_COLOR: "0", CARGO_TERM_COLOR: "never", RINGWAY_TARGET: TARGET };
  try {
    const limited = steps?.map((step) => ({ ...step, options: { cwd: ROOT, ...step.options, env: { ...env, ...step.options?.env } } }));
    if (limited) tally.end(name, await runSteps(limited, tally, show, { atOnce }));
  } catch (error) {
    show(`${name}: ${error.message}`);
    tally.end(name, 1);
  }
  const [took, cpu, before] = [Date.now() - started, tally.cpuMs, setUpMs].map(inSeconds);
  const row = `${name}: ${tally} (${took}, processors ${cpu}, set-up ${before})`;
  show(row);
  return row;
}

function inSeconds(ms) {
  return `${(ms / 1000).toFixed(0)} s`;
}

function oneStep(suite) {
  const [command, args] = suite.command();
  return [{ name: suite.name, command, args, limitMs: SUITE_HANGS_AFTER_MS }];
}

const begun = Date.now();
const chosen = SUITES.filter(({ name, quick: isQuick }) => (!quick || isQuick) && (only.length === 0 || only.includes(name)));
const rows = new Map();
const tallies = [];
const busyMax = inTurn || !canBeApart() ? 0 : BUSY_MAX * availableParallelism();
for (const suites of [chosen.filter(({ isFirst }) => isFirst), chosen.filter(({ isFirst }) => !isFirst)]) {
  const prepared = suites.map(prepare);
  await besides(prepared, busyMax, say, async (suite, show) => rows.set(suite.name, await runSuite(suite, show)));
  tallies.push(...prepared.map(({ tally }) => tally));
}
const total = new Tally();
tallies.forEach((tally) => total.add(tally));

say("\n== all suites");
chosen.forEach(({ name }) => say(rows.get(name)));
say(`all: ${inSeconds(Date.now() - begun)}, processors ${inSeconds(total.cpuMs)}`);
const costly = total.times.sort((one, other) => other.cpuMs - one.cpuMs).slice(0, COSTLY_MAX);
const shown = costly.map(({ name, ms, cpuMs }) => `  ${[cpuMs, ms].map((ms) => inSeconds(ms).padStart(5)).join("  ")}  ${name}`);
say(`\nwhat costs most, by processor time (beside it the time):\n${shown.join("\n")}`);
if (total.skips.length > 0) say(`\nskipped here:\n${total.skips.map((skip) => `  ${skip}`).join("\n")}`);
if (total.failures.length > 0) say(`\nfailed:\n${total.failures.map((name) => `  ${name}`).join("\n")}`);
if (total.details.length > 0) say(`\nwhat they printed:\n${total.shown().map((line) => `  ${line}`).join("\n")}`);
say(`\n${total}`);
process.exitCode = total.failed > 0 || total.passed === 0 ? 1 : 0;
