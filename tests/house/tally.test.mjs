// The runner's own arithmetic, on lines as the test programs really print them.
import assert from "node:assert/strict";
import { test } from "node:test";
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
