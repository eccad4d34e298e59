import { expect, test } from "vitest";
import type { Bottleneck } from "../ipc";
import { LimitHistory, STRETCHES_MAX } from "./limits";
import { course } from "./course";

test("neighbours of one kind are one stretch, and what is not known is left open", () => {
  const history = new LimitHistory();
  history.add(100, null);
  for (const ms of [200, 300, 400]) history.add(ms, "writing");
  history.add(500, "network");
  history.add(600, null);
  history.add(700, "network");
  expect(history.stretches()).toEqual([
    { fromMs: 100, toMs: 400, by: "writing" },
    { fromMs: 400, toMs: 500, by: "network" },
    { fromMs: 600, toMs: 700, by: "network" },
  ]);
  expect(history.shares()).toEqual([
    { by: "writing", share: 0.6 },
    { by: "network", share: 0.4 },
  ]);
});

test("however often it changes, memory is bounded and shares are exact", () => {
  const history = new LimitHistory();
  const kinds: Bottleneck[] = ["reading", "writing", "network"];
  for (let at = 1; at <= 3000; at += 1) history.add(at * 100, kinds[at % 3]!);
  const stretches = history.stretches();
  expect(stretches.length).toBeLessThanOrEqual(STRETCHES_MAX);
  expect(stretches.length).toBeGreaterThan(STRETCHES_MAX / 2);
  expect(stretches[0]!.fromMs).toBe(0);
  expect(stretches.at(-1)!.toMs).toBe(300_000);
  for (const [at, stretch] of stretches.entries()) expect(stretch.fromMs).toBe(at === 0 ? 0 : stretches[at - 1]!.toMs);
  for (const { share } of history.shares()) expect(share).toBeCloseTo(1 / 3, 10);
});

test("of the time before the window was opened nothing is claimed", () => {
  const history = new LimitHistory();
  history.add(30_000, "network");
  expect(history.stretches()).toEqual([{ fromMs: 29_000, toMs: 30_000, by: "network" }]);
});

test("a clock that goes back changes nothing", () => {
  const history = new LimitHistory();
  history.add(1000, "limit");
  history.add(500, "network");
  history.add(1000, "network");
  expect(history.shares()).toEqual([{ by: "limit", share: 1 }]);
});

test("points of a course that are far apart leave nothing open between them", () => {
  const { stretches, shares } = course(
    [75, 150, 225, 300].map((second) => ({ seconds: second, bytes: second, entries: second, limited_by: second < 300 ? "network" : "writing", reconnected: 0 })),
  );
  expect(stretches).toEqual([
    { fromMs: 0, toMs: 225_000, by: "network" },
    { fromMs: 225_000, toMs: 300_000, by: "writing" },
  ]);
  expect(shares[0]).toEqual({ by: "network", share: 0.75 });
});
