import { describe, expect, test } from "vitest";
import { ago, axisTime, bytes, chosenBytes, count, dayOf, duration, left, percent, rate } from "./format";

describe("sizes", () => {
  test.each([
    [0, "0\u00a0B"],
    [999, "999\u00a0B"],
    [1000, "1.0\u00a0kB"],
    [999_949, "999.9\u00a0kB"],
    [999_950, "1.0\u00a0MB"],
    [1_400_000_000, "1.4\u00a0GB"],
    [Number.MAX_SAFE_INTEGER, "9.0\u00a0PB"],
  ])("%d bytes are %s", (n, text) => expect(bytes(n)).toBe(text));

  test("a size that somebody chose has no figure that says nothing", () => {
    expect([20e9, 20.5e9, 1_500, 1_000_000].map(chosenBytes)).toEqual(["20\u00a0GB", "20.5\u00a0GB", "1.5\u00a0kB", "1\u00a0MB"]);
  });

  test("rates and counts", () => {
    expect(rate(1_400_000_000)).toBe("1.4\u00a0GB/s");
    expect(count(100_000)).toBe("100,000");
  });
});

describe("times", () => {
  test.each([
    [0, "0.0\u00a0s"],
    [21, "21\u00a0ms"],
    [240, "0.2\u00a0s"],
    [9_940, "9.9\u00a0s"],
    [9_960, "10\u00a0s"],
    [185_000, "3\u00a0min\u00a005\u00a0s"],
    [36_000_000, "10\u00a0h\u00a000\u00a0min"],
  ])("%d ms are %s", (ms, text) => expect(duration(ms)).toBe(text));

  test("time left is whole seconds, and never none", () => {
    expect(left(10)).toBe("1\u00a0s");
    expect(left(2_400)).toBe("3\u00a0s");
    expect(left(61_500)).toBe("1\u00a0min\u00a002\u00a0s");
  });

  test("the past is reported coarsely", () => {
    const now = 1_800_000_000_000;
    expect(ago(now - 5_000, now)).toBe("just now");
    expect(ago(now - 5 * 60_000, now)).toBe("5 minutes ago");
    expect(ago(now - 3 * 3_600_000, now)).toBe("3 hours ago");
    expect(ago(now + 60_000, now)).toBe("just now");
  });

  test("days ago are those of the calendar, as above a day's lines", () => {
    const now = new Date(2026, 10, 28, 1, 0).getTime();
    const lines = [new Date(2026, 10, 26, 20, 0), new Date(2026, 10, 22, 23, 0)].map((at) => at.getTime());
    expect(lines.map((at) => ago(at, now))).toEqual(["2 days ago", "6 days ago"]);
    expect(lines.map((at) => ago(at, now, true).replace(/\s/u, " ")), "below the heading that says the day").toEqual(["8:00 PM", "11:00 PM"]);
    expect(ago(new Date(2026, 10, 27, 0, 30).getTime(), now)).toBe(dayOf(new Date(2026, 10, 27, 0, 30).getTime(), now).toLowerCase());
  });

  test("a time axis is in the form of a clock", () => {
    expect([0, 5, 30, 90, 720, 9000, 36_000].map(axisTime)).toEqual(["0:00", "0:05", "0:30", "1:30", "12:00", "2:30:00", "10:00:00"]);
  });
});

test("nothing is 100 % before it is all there", () => {
  expect(percent(999_999, 1_000_000)).toBe("99\u00a0%");
  expect(percent(5, 5)).toBe("100\u00a0%");
  expect(percent(0, 0)).toBe("0\u00a0%");
});
