import { expect, test } from "vitest";
import { LIMIT_MARKS } from "./limit-marks";

test("every stage is told apart without its colour", () => {
  const patterns = Object.values(LIMIT_MARKS).map(({ path }) => path);
  expect(new Set(patterns).size).toBe(patterns.length);
});

test("every mark is at least 8 pixels high", () => {
  for (const [by, { path }] of Object.entries(LIMIT_MARKS)) {
    // Each of them begins a part absolutely and goes on relatively.
    let y = 0;
    const heights: number[] = [];
    for (const [, command, args] of path.matchAll(/([Mvlh])([^Mvlhz]*)/g)) {
      const numbers = (args!.match(/-?[\d.]+/g) ?? []).map(Number);
      const downs = command === "v" ? numbers : numbers.filter((_, at) => command !== "h" && at % 2 === 1);
      for (const down of downs) heights.push((y = command === "M" ? down : y + down));
    }
    expect(Math.max(...heights) - Math.min(...heights), by).toBeGreaterThanOrEqual(8);
  }
});
