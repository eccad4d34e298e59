import { expect, test } from "vitest";
import { shiftOff } from "./off-bar";

const toast = { top: 640, bottom: 680 };

test("a toast stays where it is without a bar beneath it", () => {
  expect(shiftOff(toast, undefined)).toBe(0);
  expect(shiftOff(toast, { top: 300, bottom: 400 })).toBe(0);
});

test("a toast stands above a bar that it would cover", () => {
  expect(shiftOff(toast, { top: 600, bottom: 688 })).toBe(88);
});

test("a toast goes to the window's top where a bar leaves no room above it", () => {
  expect(shiftOff(toast, { top: 20, bottom: 688 })).toBe(632);
});
