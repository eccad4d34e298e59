import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Toasts } from "./toasts.svelte";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test("what cannot be taken back waits until nobody can undo it", () => {
  const toasts = new Toasts();
  const settled: string[] = [];
  const show = (name: string) => toasts.show(() => name, () => {}, () => settled.push(name));
  show("one");
  show("two");
  expect(settled, "the next one takes its place").toEqual(["one"]);
  toasts.undo();
  show("three");
  toasts.close();
  toasts.close();
  expect(settled).toEqual(["one", "three"]);
});

test("it goes after a while, and not while it is held", () => {
  const toasts = new Toasts();
  toasts.show(() => "Selection cleared");
  vi.advanceTimersByTime(7_000);
  toasts.hold(true);
  vi.advanceTimersByTime(60_000);
  expect(toasts.current?.says()).toBe("Selection cleared");
  toasts.hold(false);
  vi.advanceTimersByTime(8_000);
  expect(toasts.current).toBeNull();
});

test("undoing takes it back once, and the latest is the one that is said", () => {
  const toasts = new Toasts();
  const [first, second] = [vi.fn(), vi.fn()];
  toasts.show(() => "one", first);
  toasts.show(() => "two", second);
  toasts.undo();
  toasts.undo();
  expect(second).toHaveBeenCalledOnce();
  expect(first).not.toHaveBeenCalled();
});
