// A transfer's rates over time in bounded memory: the same for one of 0.2 seconds and one of 10
// hours.

/**
 * Bins kept at most: more than a graph has pixels to tell apart. When they are full, neighbours
 * merge and bins double.
 */
export const BINS_MAX = 240;

/** The first bins' length in milliseconds: a little more than the time between two snapshots. */
export const BIN_MS_FIRST = 100;

/** Seconds since the start, and bytes and files (with folders and links) a second at them. */
export interface RatePoints {
  seconds: number[];
  perSecond: number[];
  entriesPerSecond: number[];
}

/** Between two drawings of a graph, which is looked at and not read. */
export const GRAPH_EVERY_MS = 390;

/** No points yet. */
export const NO_POINTS: RatePoints = { seconds: [], perSecond: [], entriesPerSecond: [] };

/** One count over time, in bins of equal length. */
class Bins {
  #counted: number[] = [];
  #last = 0;

  get last(): number {
    return this.#last;
  }

  /** Spreads what came since the last time evenly over the bins that the time between covers. */
  add(fromMs: number, toMs: number, count: number, binMs: number): void {
    const perMs = (count - this.#last) / (toMs - fromMs);
    for (let bin = Math.floor(fromMs / binMs); bin * binMs < toMs; bin += 1) {
      const covered = Math.min(toMs, (bin + 1) * binMs) - Math.max(fromMs, bin * binMs);
      this.#counted[bin] = (this.#counted[bin] ?? 0) + perMs * covered;
    }
    this.#last = count;
  }

  merge(): void {
    const pairs = Math.ceil(this.#counted.length / 2);
    this.#counted = Array.from({ length: pairs }, (_, pair) => (this.#counted[2 * pair] ?? 0) + (this.#counted[2 * pair + 1] ?? 0));
  }

  at(bin: number): number {
    return this.#counted[bin] ?? 0;
  }
}

/** Bytes and entries counted into bins, so that the area under the graph is what was moved. */
export class RateHistory {
  #bytes = new Bins();
  #entries = new Bins();
  #binMs = BIN_MS_FIRST;
  #lastMs = 0;

  /**
   * Adds a snapshot: what is done after `ms` of running. Times and counts that go back are ignored.
   */
  add(ms: number, bytes: number, entries: number): void {
    if (ms <= this.#lastMs || bytes < this.#bytes.last) return;
    while (ms > this.#binMs * BINS_MAX) {
      this.#bytes.merge();
      this.#entries.merge();
      this.#binMs *= 2;
    }
    this.#bytes.add(this.#lastMs, ms, bytes, this.#binMs);
    this.#entries.add(this.#lastMs, ms, Math.max(entries, this.#entries.last), this.#binMs);
    this.#lastMs = ms;
  }

  /** What a graph shows. The last bin counts only the time it has had. */
  points(): RatePoints {
    const points: RatePoints = { seconds: [], perSecond: [], entriesPerSecond: [] };
    for (let bin = 0; bin * this.#binMs < this.#lastMs; bin += 1) {
      const begin = bin * this.#binMs;
      const end = Math.min(this.#lastMs, begin + this.#binMs);
      // A sliver at the end would show one packet as a spike.
      if (end - begin < this.#binMs / 2 && bin > 0) continue;
      points.seconds.push(end / 1000);
      points.perSecond.push((this.#bytes.at(bin) / (end - begin)) * 1000);
      points.entriesPerSecond.push((this.#entries.at(bin) / (end - begin)) * 1000);
    }
    // The first bin's rate is that of its whole time, from the very beginning.
    if (points.seconds.length > 0) {
      points.seconds.unshift(0);
      points.perSecond.unshift(points.perSecond[0]!);
      points.entriesPerSecond.unshift(points.entriesPerSecond[0]!);
    }
    return points;
  }

  /** Bytes a second over the whole time. */
  get average(): number {
    return this.#lastMs > 0 ? (this.#bytes.last / this.#lastMs) * 1000 : 0;
  }
}
