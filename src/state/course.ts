// A transfer's course by the points that the service keeps of it: what has ended shows the same
// figures on its card and for ever in the history, because both are made of these.
import type { SeriesPoint } from "../ipc";
import { LimitHistory, type LimitShare, type Stretch } from "./limits";
import { RateHistory, type RatePoints } from "./rate";

/** Marks of retries kept at most: more than a graph has room to tell apart. */
export const RETRIES_MAX = 120;

export interface Course {
  points: RatePoints;
  /** Bytes a second over the whole time in which bytes moved. */
  average: number;
  stretches: Stretch[];
  shares: LimitShare[];
  /** When it went on after a lost connection, in seconds since it began. */
  retries: number[];
}

/** When a transfer went on after a lost connection, by how often it had by then. */
export class RetryHistory {
  #known = 0;
  #seconds: number[] = [];

  add(seconds: number, reconnected: number): void {
    for (; this.#known < reconnected; this.#known += 1) {
      if (this.#seconds.length < RETRIES_MAX) this.#seconds = [...this.#seconds, seconds];
    }
  }

  seconds(): number[] {
    return this.#seconds;
  }
}

export function course(series: SeriesPoint[]): Course {
  const rates = new RateHistory();
  const limits = new LimitHistory();
  const retries = new RetryHistory();
  for (const { seconds, bytes, entries, limited_by: by, reconnected } of series) {
    const ranMs = Math.round(seconds * 1000);
    rates.add(ranMs, bytes, entries, by === "limit");
    // The longer it took, the farther apart its points are.
    limits.add(ranMs, by, Infinity);
    retries.add(seconds, reconnected);
  }
  const points = rates.points();
  return { points, average: rates.average, stretches: limits.stretches(), shares: limits.shares(), retries: retries.seconds() };
}
