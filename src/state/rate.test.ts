import { expect, test } from "vitest";
import { BIN_MS_FIRST, BINS_MAX, RateHistory } from "./rate";

function area(history: RateHistory): number {
  const { seconds, perSecond } = history.points();
  let bytes = 0;
  for (let at = 1; at < seconds.length; at += 1) {
    bytes += (seconds[at]! - seconds[at - 1]!) * perSecond[at]!;
  }
  return bytes;
}

test("a steady rate is a flat line", () => {
  const history = new RateHistory();
  for (let ms = 66; ms <= 3_960; ms += 66) history.add(ms, ms * 1000, ms);
  for (const value of history.points().perSecond) expect(value).toBeCloseTo(1_000_000, 0);
  expect(history.average).toBeCloseTo(1_000_000, 0);
});

test("the area under the line is what was moved, however uneven", () => {
  const history = new RateHistory();
  let bytes = 0;
  for (let ms = 50; ms <= 60_000; ms += 50) {
    bytes += (ms % 700) * 1000;
    history.add(ms, bytes, 0);
  }
  expect(area(history)).toBeCloseTo(bytes, -3);
});

test("ten hours and a fifth of a second both fit", () => {
  const long = new RateHistory();
  const hours = 10 * 3600 * 1000;
  for (let ms = 1000; ms <= hours; ms += 1000) long.add(ms, ms * 500, ms / 100);
  const points = long.points();
  expect(points.seconds.length).toBeLessThanOrEqual(BINS_MAX + 1);
  expect(points.seconds.length).toBeGreaterThan(BINS_MAX / 2 - 1);
  expect(points.seconds.at(-1)).toBeCloseTo(hours / 1000, 0);
  expect(long.average).toBeCloseTo(500_000, 0);
  for (const files of points.entriesPerSecond) expect(files).toBeCloseTo(10, 3);

  const short = new RateHistory();
  short.add(BIN_MS_FIRST, 1_000_000, 10);
  short.add(2 * BIN_MS_FIRST, 3_000_000, 15);
  expect(short.points().seconds).toEqual([0, 0.1, 0.2]);
  expect(Math.max(...short.points().perSecond)).toBeCloseTo(20_000_000, 0);
  expect(short.points().entriesPerSecond.map(Math.round)).toEqual([100, 100, 50]);
});

test("a clock or count that goes back changes nothing", () => {
  const history = new RateHistory();
  history.add(1000, 5000, 7);
  history.add(500, 6000, 8);
  history.add(2000, 10, 9);
  history.add(3000, 15_000, 2);
  expect(history.average).toBe(5000);
  expect(Math.min(...history.points().entriesPerSecond)).toBe(0);
});

test("frames that are counted whole are a flat line, as far as is known how much came", () => {
  const history = new RateHistory();
  // A megabyte each 350 ms, looked at each 100 ms.
  for (let ms = 100; ms <= 6_000; ms += 100) history.add(ms, Math.floor(ms / 350) * 1_000_000, 0);
  const { seconds, perSecond } = history.points();
  expect(seconds.at(-1), "the frame after that has not come yet").toBe(6);
  for (const rate of perSecond.slice(0, -8)) expect(rate).toBeGreaterThan(2_400_000);
  expect(Math.max(...perSecond)).toBeLessThan(3_400_000);
});

test("nothing that came for a second shows, unless the limit says that it was let through evenly", () => {
  for (const isLimited of [false, true]) {
    const history = new RateHistory();
    // A megabyte each 2.5 s.
    for (let ms = 100; ms <= 9_900; ms += 100) history.add(ms, Math.floor(ms / 2_500) * 1_000_000, 0, isLimited);
    const { seconds, perSecond } = history.points();
    expect(Math.min(...perSecond)).toBeCloseTo(isLimited ? 400_000 : 0, 0);
    expect(Math.max(...perSecond)).toBeCloseTo(isLimited ? 400_000 : 1_000_000, 0);
    expect(seconds.at(-1)).toBe(isLimited ? 7.5 : 9.9);
  }
});
