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
  outages: Outage[];
}

/** Time without a connection, in seconds since the transfer began. */
export interface Outage {
  from: number;
  to: number;
}

/**
 * When a transfer had no connection and when it resumed, by how often it had resumed by then. No
 * points are sent during an outage, so it begins at the last point before it.
 */
export class RetryHistory {
  #known = 0;
  #seconds: number[] = [];
  #outages: Outage[] = [];
  #last = 0;
  /** When the outage began that is not over. */
  #since: number | null = null;

  /** `isLost`: it has no connection. */
  add(seconds: number, reconnected: number, isLost = false): void {
    const from = this.#since ?? this.#last;
    if (reconnected > this.#known && this.#outages.length < RETRIES_MAX) this.#outages = [...this.#outages, { from, to: seconds }];
    for (; this.#known < reconnected; this.#known += 1) {
      if (this.#seconds.length < RETRIES_MAX) this.#seconds = [...this.#seconds, seconds];
    }
    this.#since = isLost ? from : null;
    this.#last = seconds;
  }

  seconds(): number[] {
    return this.#seconds;
  }

  outages(): Outage[] {
    return this.#since === null ? this.#outages : [...this.#outages, { from: this.#since, to: this.#last }];
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
  return { points, average: rates.average, stretches: limits.stretches(), shares: limits.shares(), retries: retries.seconds(), outages: retries.outages() };
}
