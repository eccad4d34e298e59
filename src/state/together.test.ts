import { expect, test } from "vitest";
import { failed, moving, progress, told } from "../testing/shell";
import { Together } from "./together.svelte";
import { Transfer } from "./transfers.svelte";

const at = (bytes_done: number) => told({ is: "moved", progress: progress({ bytes_done, entries_done: 0 }) });

test("what runs at once is added up, from when the first began", () => {
  const together = new Together();
  const [one, other] = [new Transfer(moving({ id: "a" })), new Transfer(moving({ id: "b" }))];
  together.begin(one, 5_000);
  together.begin(other, 5_000);
  for (let second = 1; second <= 4; second += 1) {
    one.apply(at(second * 1_000_000));
    other.apply(at(second * 500_000));
    together.follow(one, 5_000 + second * 1_000 - 1);
    together.follow(other, 5_000 + second * 1_000);
  }
  const { seconds, perSecond } = together.points;
  const moved = seconds.slice(1).reduce((sum, now, bin) => sum + (now - seconds[bin]!) * perSecond[bin + 1]!, 0);
  expect(moved / 1e6).toBeCloseTo(5, 0);
  expect(seconds.at(-1)).toBeCloseTo(4, 0);
});

test("what a transfer had moved before the window looked is not counted, nor what is read back", () => {
  const together = new Together();
  const copy = new Transfer(moving({ id: "a", direction: "copying", progress: progress({ bytes_done: 900_000_000, entries_done: 0 }) }));
  together.begin(copy, 0);
  copy.apply(told({ is: "moved", progress: progress({ stage: "verifying", bytes_done: 100 }) }));
  together.follow(copy, 1_000);
  expect(Math.max(...together.points.perSecond)).toBe(0);
});

test("nothing is drawn of the time that all were paused", () => {
  const together = new Together();
  const paused = told({ is: "moved", progress: progress({ stage: "paused", bytes_done: 2_000_000, entries_done: 0 }) });
  const [one, other] = [new Transfer(moving({ id: "a" })), new Transfer(moving({ id: "b" }))];
  together.begin(one, 0);
  one.apply(at(2_000_000));
  together.follow(one, 1_000);
  one.apply(paused);
  for (const second of [2, 500, 3_600]) together.follow(one, second * 1_000);
  together.begin(other, 4_000_000);
  other.apply(at(1_000_000));
  together.follow(other, 4_001_000);
  expect(together.points.seconds.at(-1)).toBe(3);
  one.apply(at(3_000_000));
  together.follow(one, 4_002_000);
  expect(together.points.seconds.at(-1)).toBe(4);
});

test("once none runs, the next one begins anew", () => {
  const together = new Together();
  const one = new Transfer(moving({ id: "a" }));
  together.begin(one, 0);
  one.apply(at(9_000_000));
  together.follow(one, 1_000);
  expect(Math.max(...together.points.perSecond)).toBeGreaterThan(0);
  one.apply(told(failed({ code: "cancelled", by: "here" })));
  together.follow(one, 2_000);
  together.begin(new Transfer(moving({ id: "b" })), 60_000);
  expect(together.points.seconds).toEqual([]);
});
