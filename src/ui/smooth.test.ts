import { expect, test } from "vitest";
import { mean, smooth } from "./smooth";

/** A course in tenths of a second. */
const course = (values: number[]) => {
  const seconds = [0, ...values.map((_, at) => (at + 1) / 10)];
  return { seconds, perSecond: [values[0]!, ...values], entriesPerSecond: seconds.map(() => 0) };
};

test("a steady rate stays what it is, to its ends", () => {
  for (const value of smooth(course(Array.from({ length: 50 }, () => 7))).perSecond) expect(value).toBeCloseTo(7);
});

test("what comes in bursts is a line of about their mean", () => {
  const bursts = course(Array.from({ length: 70 }, (_, at) => (at % 7 === 0 ? 70 : 0)));
  for (const value of smooth(bursts).perSecond.slice(5, -5)) expect(value).toBeCloseTo(10);
  expect(mean(bursts)).toBeCloseTo(10);
});

test("points that are farther apart stay as they are", () => {
  const coarse = { seconds: [0, 1, 2, 3], perSecond: [4, 4, 8, 0], entriesPerSecond: [1, 1, 1, 1] };
  expect(smooth(coarse)).toEqual(coarse);
  expect(mean(coarse)).toBe(4);
});

test("a course of one point, and of none", () => {
  expect(smooth({ seconds: [0], perSecond: [3], entriesPerSecond: [1] }).perSecond).toEqual([3]);
  expect(mean({ seconds: [], perSecond: [], entriesPerSecond: [] })).toBe(0);
});
