import { describe, expect, test } from "vitest";
import { ago, axisTime, bytes, chosenBytes, count, duration, left, percent, rate } from "./format";

describe("sizes", () => {
  test.each([
    [0, "0 B"],
    [999, "999 B"],
    [1000, "1.0 kB"],
    [999_949, "999.9 kB"],
    [999_950, "1.0 MB"],
    [1_400_000_000, "1.4 GB"],
    [Number.MAX_SAFE_INTEGER, "9.0 PB"],
  ])("%d bytes are %s", (n, text) => expect(bytes(n)).toBe(text));

  test("a size that somebody chose has no figure that says nothing", () => {
    expect([20e9, 20.5e9, 1_500, 1_000_000].map(chosenBytes)).toEqual(["20 GB", "20.5 GB", "1.5 kB", "1 MB"]);
  });

  test("rates and counts", () => {
    expect(rate(1_400_000_000)).toBe("1.4 GB/s");
    expect(count(100_000)).toBe("100,000");
  });
});

describe("times", () => {
  test.each([
    [0, "0.0 s"],
    [240, "0.2 s"],
    [9_940, "9.9 s"],
    [9_960, "10 s"],
    [185_000, "3 min 05 s"],
    [36_000_000, "10 h 00 min"],
  ])("%d ms are %s", (ms, text) => expect(duration(ms)).toBe(text));

  test("time left is whole seconds, and never none", () => {
    expect(left(10)).toBe("1 s");
    expect(left(2_400)).toBe("3 s");
    expect(left(61_500)).toBe("1 min 02 s");
  });

  test("the past is told coarsely", () => {
    const now = 1_800_000_000_000;
    expect(ago(now - 5_000, now)).toBe("just now");
    expect(ago(now - 5 * 60_000, now)).toBe("5 minutes ago");
    expect(ago(now - 3 * 3_600_000, now)).toBe("3 hours ago");
    expect(ago(now + 60_000, now)).toBe("just now");
  });

  test("a time axis changes its unit", () => {
    expect([30, 300, 9000].map(axisTime)).toEqual(["30 s", "5 min", "2.5 h"]);
  });
});

test("nothing is 100 % before it is all there", () => {
  expect(percent(999_999, 1_000_000)).toBe("99 %");
  expect(percent(5, 5)).toBe("100 %");
  expect(percent(0, 0)).toBe("0 %");
});
