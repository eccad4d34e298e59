import { expect, test } from "vitest";
import { LIMIT_MARKS } from "./limit-marks";

test("every stage is told apart without its colour", () => {
  const patterns = Object.values(LIMIT_MARKS).map(({ path }) => path);
  expect(new Set(patterns).size).toBe(patterns.length);
});
