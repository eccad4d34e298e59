// A transfer's rate over time in bounded memory: the same for one of 0.2 seconds and one of 10 hours.

/** Bins kept at most: more than a graph has pixels to tell apart. When they are full, neighbours merge and bins double. */
export const BINS_MAX = 240;

/** The first bins' length in milliseconds: a little more than the time between two snapshots. */
export const BIN_MS_FIRST = 100;

/** Seconds since the start, and bytes a second at them. */
export interface RatePoints {
  seconds: number[];
  perSecond: number[];
}

/** Bytes counted into bins of equal length, so that the area under the graph is what was moved. */
export class RateHistory {
  #bins: number[] = [];
  #binMs = BIN_MS_FIRST;
  #lastMs = 0;
  #lastBytes = 0;

  /** Adds a snapshot: `bytes` done after `ms` of running. Times and counts that go back are ignored. */
  add(ms: number, bytes: number): void {
    if (ms <= this.#lastMs || bytes < this.#lastBytes) return;
    while (ms > this.#binMs * BINS_MAX) this.#merge();
    const from = this.#lastMs;
    const perMs = (bytes - this.#lastBytes) / (ms - from);
    // What came since the last snapshot is spread evenly over the bins that the time between covers.
    for (let bin = Math.floor(from / this.#binMs); bin * this.#binMs < ms; bin += 1) {
      const begin = Math.max(from, bin * this.#binMs);
      const end = Math.min(ms, (bin + 1) * this.#binMs);
      this.#bins[bin] = (this.#bins[bin] ?? 0) + perMs * (end - begin);
    }
    this.#lastMs = ms;
    this.#lastBytes = bytes;
  }

  #merge(): void {
    const merged: number[] = [];
    for (let bin = 0; bin < this.#bins.length; bin += 2) {
      merged.push((this.#bins[bin] ?? 0) + (this.#bins[bin + 1] ?? 0));
    }
    this.#bins = merged;
    this.#binMs *= 2;
  }

  /** What a graph shows. The last bin counts only the time it has had. */
  points(): RatePoints {
    const seconds: number[] = [];
    const perSecond: number[] = [];
    this.#bins.forEach((bytes, bin) => {
      const begin = bin * this.#binMs;
      const end = Math.min(this.#lastMs, begin + this.#binMs);
      // A sliver at the end would show one packet as a spike.
      if (end - begin < this.#binMs / 2 && bin > 0) return;
      seconds.push(end / 1000);
      perSecond.push((bytes / (end - begin)) * 1000);
    });
    const [first] = perSecond;
    if (first !== undefined) {
      seconds.unshift(0);
      perSecond.unshift(first);
    }
    return { seconds, perSecond };
  }

  /** Bytes a second over the whole time. */
  get average(): number {
    return this.#lastMs > 0 ? (this.#lastBytes / this.#lastMs) * 1000 : 0;
  }

  /** The highest bin, in bytes a second. */
  get highest(): number {
    return Math.max(0, ...this.points().perSecond);
  }
}
