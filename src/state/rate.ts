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

/**
 * What comes after less time than this came evenly in it. Frames are counted whole, so otherwise a
 * slow transfer would rise and fall with them.
 */
const EVEN_WITHIN_MS = 1000;

/** Between two drawings of a graph, which is looked at and not read. */
export const GRAPH_EVERY_MS = 390;

/** No points yet. */
export const NO_POINTS: RatePoints = { seconds: [], perSecond: [], entriesPerSecond: [] };

/** One count over time, in bins of equal length. */
class Bins {
  #counted: number[] = [];
  #last = 0;
  #changedMs = 0;

  get last(): number {
    return this.#last;
  }

  /** When something came last. */
  get changedMs(): number {
    return this.#changedMs;
  }

  /**
   * Spreads the bytes evenly over the bins of the time since something came before: at most
   * [EVEN_WITHIN_MS], or the time since the last snapshot, unless a limit says that it was even.
   */
  add(lastMs: number, toMs: number, count: number, binMs: number, isLimited: boolean): void {
    if (count === this.#last) return;
    const fromMs = isLimited ? this.#changedMs : Math.min(lastMs, Math.max(this.#changedMs, toMs - EVEN_WITHIN_MS));
    const perMs = (count - this.#last) / (toMs - fromMs);
    for (let bin = Math.floor(fromMs / binMs); bin * binMs < toMs; bin += 1) {
      const covered = Math.min(toMs, (bin + 1) * binMs) - Math.max(fromMs, bin * binMs);
      this.#counted[bin] = (this.#counted[bin] ?? 0) + perMs * covered;
    }
    this.#last = count;
    this.#changedMs = toMs;
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
  #isLimited = false;

  /**
   * Adds a snapshot: what is done after `ms` of running, and whether the upload limit holds it
   * back. Times and counts that go back are ignored.
   */
  add(ms: number, bytes: number, entries: number, isLimited = false): void {
    if (ms <= this.#lastMs || bytes < this.#bytes.last) return;
    while (ms > this.#binMs * BINS_MAX) {
      this.#bytes.merge();
      this.#entries.merge();
      this.#binMs *= 2;
    }
    this.#bytes.add(this.#lastMs, ms, bytes, this.#binMs, isLimited);
    this.#entries.add(this.#lastMs, ms, Math.max(entries, this.#entries.last), this.#binMs, isLimited);
    this.#lastMs = ms;
    this.#isLimited = isLimited;
  }

  /** The time up to which is known how much came. */
  get #knownMs(): number {
    const changedMs = Math.max(this.#bytes.changedMs, this.#entries.changedMs);
    return this.#isLimited || this.#lastMs - changedMs < EVEN_WITHIN_MS ? changedMs : this.#lastMs;
  }

  /** What a graph shows. The last bin counts only the time it has had. */
  points(): RatePoints {
    const points: RatePoints = { seconds: [], perSecond: [], entriesPerSecond: [] };
    const knownMs = this.#knownMs;
    for (let bin = 0; bin * this.#binMs < knownMs; bin += 1) {
      const begin = bin * this.#binMs;
      const end = Math.min(knownMs, begin + this.#binMs);
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
