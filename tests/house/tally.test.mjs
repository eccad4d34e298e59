// The runner's counting, with lines as the test programs really print them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { runSteps } from "../limited.mjs";
import { testPrograms } from "../rust.mjs";
import { Tally } from "../tally.mjs";

function tallied(status, ...lines) {
  const tally = new Tally();
  for (const line of lines) tally.take(line);
  tally.end("suite", status);
  return tally;
}

test("cargo: several binaries add up, ignored ones are named", () => {
  const tally = tallied(
    101,
    "test a::b ... ok",
    "test a::c ... FAILED",
    "test slow ... ignored, takes an hour",
    "test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
    "test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
  );
  assert.equal(String(tally), "5 passed, 1 failed, 1 skipped");
  assert.deepEqual(tally.skips, ["slow: takes an hour"]);
  assert.deepEqual(tally.failures, ["a::c"]);
});

test("a test that says it was skipped does not count as passed", () => {
  const tally = tallied(
    0,
    "skipped: ktls: this kernel has no TLS",
    "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
  );
  assert.equal(String(tally), "1 passed, 0 failed, 1 skipped");
  assert.deepEqual(tally.skips, ["ktls: this kernel has no TLS"]);
});

test("node: closing lines count, skips carry their reason", () => {
  const tally = tallied(
    1,
    "✔ one (1.5ms)",
    "﹣ two (0.2ms) # needs root",
    "✖ three (3ms)",
    "ℹ pass 1",
    "ℹ fail 1",
    "ℹ cancelled 0",
    "ℹ skipped 1",
    "✖ three (3ms)",
  );
  assert.equal(String(tally), "1 passed, 1 failed, 1 skipped");
  assert.deepEqual(tally.skips, ["two: needs root"]);
  assert.deepEqual(tally.failures, ["three"]);
});

test("the output of failed tests is repeated at the end, up to a limit for each", () => {
  const long = Array.from({ length: 100 }, (_, line) => `at frame ${line}`);
  const cargo = tallied(
    101,
    "test a ... FAILED",
    "---- b stdout ----",
    "printed by a test that passed",
    "failures:",
    "---- a stdout ----",
    "left: 1",
    ...long,
    "---- c stdout ----",
    "left: 2",
    "test result: FAILED. 0 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
    "of another program",
  );
  assert.deepEqual(cargo.details[0].slice(0, 3), ["---- a stdout ----", "left: 1", "at frame 0"]);
  assert.deepEqual([cargo.details[0].length, cargo.details[1]], [40, ["---- c stdout ----", "left: 2"]]);
  const node = tallied(1, "✖ three (3ms)", "ℹ fail 1", "✖ failing tests:", "", "test at x.mjs:1:1", "✖ three (3ms)", "  AssertionError: no");
  assert.deepEqual(node.details, [["✖ three (3ms)", "  AssertionError: no"]]);
});

test("many failures share what is repeated, and a line that several printed is repeated once", () => {
  const failures = Array.from({ length: 20 }, (_, at) => [`✖ test ${at} (1ms)`, "  dbus-daemon[7]: activated", "  AssertionError: the same", ...Array(30).fill(0).map((_, line) => `  ${at}.${line}`)]);
  const shown = tallied(1, "ℹ fail 20", "✖ failing tests:", ...failures.flat()).shown();
  assert.equal(shown.length, 20 * 6);
  assert.deepEqual(shown.slice(0, 8), ["✖ test 0 (1ms)", "  AssertionError: the same", "  0.0", "  0.1", "  0.2", "  0.3", "✖ test 1 (1ms)", "  1.0"]);
});

test("what is repeated of a failure ends with its program, and has no page in it", () => {
  const tally = new Tally();
  ["✖ failing tests:", "✖ one (1ms)", "  its reason"].forEach((line) => tally.take(line));
  tally.took("a program", 1, 1);
  ["  ✔ another program's (1ms)", " FAIL  a view > shows", "Error: gone", "Ignored nodes: comments", "<html>"].forEach((line) => tally.take(line));
  assert.deepEqual(tally.shown(), ["✖ one (1ms)", "  its reason"]);
  ["⎯⎯⎯ Failed Tests 1 ⎯⎯⎯", " FAIL  a view > shows", "Error: gone", "Ignored nodes: comments", "<html>"].forEach((line) => tally.take(line));
  assert.deepEqual(tally.shown().slice(2), [" FAIL  a view > shows", "Error: gone"]);
});

test("vitest: its closing line", () => {
  assert.equal(
    String(tallied(1, "      Tests  1 failed | 12 passed | 2 skipped (15)")),
    "12 passed, 1 failed, 2 skipped",
  );
});

test("a suite that breaks, or runs nothing, is a failure", () => {
  assert.equal(String(tallied(101, "error: could not compile")), "0 passed, 1 failed, 0 skipped");
  assert.equal(String(tallied(0)), "0 passed, 1 failed, 0 skipped");
  assert.equal(String(tallied(null, "ℹ pass 3")), "3 passed, 1 failed, 0 skipped");
});

/** A process's state (proc(5)): Z if it has ended and was not waited for; empty once it is gone. */
function stateOf(id) {
  try {
    return readFileSync(`/proc/${id}/stat`, "utf8").match(/\) (\S)/)[1];
  } catch {
    return undefined;
  }
}

/** A test program that prints lines and then ends, or hangs together with a child. */
function program(name, lines, then) {
  const script = `${lines.map((line) => `echo '${line}'`).join("\n")}\n${then}`;
  return { name, command: "sh", args: ["-c", script], limitMs: 500 };
}

test("a program that hangs is killed with its children and named, and the others run", async () => {
  const tally = new Tally();
  const said = [];
  const started = Date.now();
  const steps = [
    program("hangs", ["test a ... ok", "test spins has been running for over 60 seconds"], "sleep 1000 & echo child $!; wait"),
    program("crashes", [], "kill -SEGV $$"),
    program("ends", ["test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s"], ""),
  ];
  tally.end("suite", await runSteps(steps, tally, (line) => said.push(line)));
  assert.ok(Date.now() - started < 20_000, "nobody waited for it");
  assert.equal(String(tally), "2 passed, 2 failed, 0 skipped");
  assert.deepEqual(tally.failures, ["hangs did not end within 0.5 s: spins", "crashes ended with a signal"]);
  const child = said.find((line) => line.startsWith("child ")).split(" ")[1];
  assert.ok(["Z", undefined].includes(stateOf(child)), "its child has been killed, too");
});

test("each program's processor time is counted, with that of its children, and none of a time asleep", async () => {
  const tally = new Tally();
  const works = "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done";
  const steps = [program("works", [], `sh -c '${works}'`), program("sleeps", [], "sleep 0.2")];
  await runSteps(steps.map((step) => ({ ...step, limitMs: 60_000 })), tally, () => {});
  const [busy, idle] = tally.times.map(({ cpuMs }) => cpuMs);
  assert.ok(busy > idle && idle >= 0, `${busy} and ${idle} ms`);
  assert.equal(tally.cpuMs, busy + idle);
});

test("cargo: the test programs are found among its messages, with the package's folder and programs", () => {
  const target = (kind, name) => ({ kind: [kind], name, src_path: `/w/p/${name}.rs`, doctest: kind === "lib" });
  const artifact = (kind, name, isTest) => ({
    reason: "compiler-artifact",
    package_id: "p",
    manifest_path: "/w/p/Cargo.toml",
    target: target(kind, name),
    profile: { test: isTest },
    executable: kind === "lib" && !isTest ? null : `/t/${name}`,
  });
  const messages = [artifact("lib", "p", false), artifact("bin", "tool", false), artifact("lib", "p", true), artifact("test", "it", true)];
  const lines = [...messages.map((message) => JSON.stringify(message)), "   Compiling p", '{"reason":"build-finished","success":true}'];
  const found = testPrograms(lines.join("\n"));
  assert.deepEqual(found.map(({ path, folder, hasDocs }) => [path, folder, hasDocs]), [["/t/p", "/w/p", true], ["/t/it", "/w/p", false]]);
  assert.equal(found[1].env.CARGO_BIN_EXE_tool, "/t/tool");
});
