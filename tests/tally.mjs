// Counts the results in the output of test programs: the closing lines of cargo, node and vitest,
// and every `skipped: name: why`.

/** This many lines of a failed test's output are kept. */
const DETAILS_MAX = 40;
/**
 * This many lines of all failed tests' output are repeated at the end, where who sees only the end
 * of a long output still finds them, and no fewer than the second for each test.
 */
const SHOWN_MAX = 40;
const SHOWN_EACH_MIN = 6;
/** Characters of such a line. */
const SHOWN_WIDTH = 200;
/** What the programs around a test say, which tells nothing about a failure. */
const AROUND = /^\s*(#\s*)?(dbus-daemon\[|SpiRegistry daemon|X connection to)/;
/** After this line, Testing Library prints the whole page. */
const PAGE = /^Ignored nodes: /;

/**
 * The results in one stage's output. `take` gets it line by line; `end` finishes with the exit
 * status.
 */
export class Tally {
  passed = 0;
  failed = 0;
  skipped = 0;
  /** Each skip as `name: why`. */
  skips = [];
  /** Names of failed tests, as far as the output has them. */
  failures = [];
  /** The output of failed tests, as the test programs repeat it: a list of lines for each. */
  details = [];
  /**
   * How many lines of the current failed test may still be kept; null outside the list of failures.
   */
  #detailsLeft = null;
  /** How long each program took, and its processor time. */
  times = [];
  #closings = 0;
  /** Failures when the step before ended: see `broke`. */
  #failedBefore = 0;

  take(line) {
    const plain = line.replace(/\x1b\[[0-9;]*m/g, "").trimEnd();
    this.#detail(plain);
    this.#cargo(plain) || this.#node(plain) || this.#vitest(plain) || this.#said(plain);
  }

  /**
   * A stage that failed without a failed test (a build error, a crash, no closing line) counts as
   * one failure.
   */
  end(name, status) {
    if (status !== 0 && this.failed === 0) this.#fail(`${name} ended with ${status ?? "a signal"}`);
    else if (this.#closings === 0 && this.skipped === 0) this.#fail(`${name} ran no test`);
  }

  /**
   * One of several programs ended with a failure. If it named no failed test, it counts as one
   * failure.
   */
  broke(name, status) {
    if (this.failed === this.#failedBefore) this.#fail(`${name} ended with ${status ?? "a signal"}`);
    this.#failedBefore = this.failed;
  }

  /** A program was killed because it did not end. */
  hung(what) {
    this.#fail(what);
    this.#failedBefore = this.failed;
  }

  /** A program ended. Its list of failures, if there was one, has ended with it. */
  took(name, ms, cpuMs) {
    this.#detailsLeft = null;
    this.times.push({ name, ms, cpuMs });
  }

  /** The processor time of all its programs. */
  get cpuMs() {
    return this.times.reduce((sum, { cpuMs }) => sum + cpuMs, 0);
  }

  skip(name, why) {
    this.skipped += 1;
    this.skips.push(`${name}: ${why}`);
  }

  add(other) {
    for (const count of ["passed", "failed", "skipped"]) this[count] += other[count];
    this.skips.push(...other.skips);
    this.failures.push(...other.failures);
    this.details.push(...other.details);
    this.times.push(...other.times);
  }

  /** The beginning of what each failed test printed. A line that an earlier one has is left out. */
  shown() {
    const each = Math.max(SHOWN_EACH_MIN, Math.floor(SHOWN_MAX / this.details.length));
    const seen = new Set();
    return this.details.flatMap((lines) => {
      const own = lines.filter((line) => line.trim() !== "" && !seen.has(line)).slice(0, each);
      own.forEach((line) => seen.add(line));
      return own.map((line) => line.slice(0, SHOWN_WIDTH));
    });
  }

  toString() {
    return `${this.passed} passed, ${this.failed} failed, ${this.skipped} skipped`;
  }

  #fail(what) {
    this.failed += 1;
    this.failures.push(what);
  }

  /**
   * Keeps the beginning of each failed test's output from the list that cargo, node and vitest
   * print.
   */
  #detail(line) {
    if (/^(failures:|✖ failing tests:|⎯+ Failed Tests \d+ ⎯+)$/.test(line)) this.#detailsLeft = 0;
    else if (/^(test result:|ℹ |successes:| Test Files)/.test(line)) this.#detailsLeft = null;
    if (this.#detailsLeft === null) return;
    if (PAGE.test(line)) this.#detailsLeft = 0;
    if (/^(---- .* ----|✖ .*\([\d.]+ms\)| FAIL .*)$/.test(line)) {
      this.#detailsLeft = DETAILS_MAX;
      this.details.push([]);
    }
    if (this.#detailsLeft > 0 && !AROUND.test(line)) {
      this.details.at(-1).push(line);
      this.#detailsLeft -= 1;
    }
  }

  #cargo(line) {
    const failed = line.match(/^test (.+) \.\.\. FAILED$/);
    if (failed) this.failures.push(failed[1]);
    const ignored = line.match(/^test (.+) \.\.\. ignored(?:, (.*))?$/);
    if (ignored) this.skips.push(`${ignored[1]}: ${ignored[2] ?? "ignored"}`);
    const closing = line.match(/^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;/);
    if (closing) this.#close(...closing.slice(1).map(Number));
    return failed || ignored || closing;
  }

  #node(line) {
    const skip = line.match(/^\s*﹣ (.+?) \([\d.]+ms\) # (.*)$/);
    if (skip) this.skips.push(`${skip[1]}: ${skip[2]}`);
    const failed = line.match(/^\s*✖ (.+?) \([\d.]+ms\)$/);
    // Node repeats the failures after its closing lines.
    if (failed && !this.failures.includes(failed[1])) this.failures.push(failed[1]);
    const closing = line.match(/^ℹ (pass|fail|cancelled|skipped) (\d+)$/);
    if (closing) {
      const count = Number(closing[2]);
      this.#close(
        closing[1] === "pass" ? count : 0,
        closing[1] === "fail" || closing[1] === "cancelled" ? count : 0,
        closing[1] === "skipped" ? count : 0,
      );
    }
    return skip || failed || closing;
  }

  #vitest(line) {
    const closing = line.match(/^\s+Tests\s+(.*\d+ (?:passed|failed|skipped).*)\(\d+\)$/);
    if (!closing) return false;
    const count = (word) => Number(closing[1].match(new RegExp(`(\\d+) ${word}`))?.[1] ?? 0);
    this.#close(count("passed"), count("failed"), count("skipped") + count("todo"));
    return true;
  }

  /**
   * A Rust test that cannot run here prints that and returns. The test harness then counts it as
   * passed.
   */
  #said(line) {
    const said = line.match(/^skipped: (.+)$/);
    if (!said) return false;
    this.skips.push(said[1]);
    this.skipped += 1;
    this.passed -= 1;
    return true;
  }

  #close(passed, failed, skipped) {
    this.#closings += 1;
    this.passed += passed;
    this.failed += failed;
    this.skipped += skipped;
  }
}
