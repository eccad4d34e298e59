// What has limited a transfer over time, in bounded memory.
import type { Bottleneck } from "../ipc";

/** Stretches kept at most: more than a band beneath a graph has room to show apart. */
export const STRETCHES_MAX = 120;

/**
 * What a snapshot names has held for about so long; what was before, in a window that was opened
 * late, nobody has seen.
 */
const SEEN_MS = 1000;

/** A stretch of time in which one stage limited the transfer. */
export interface Stretch {
  fromMs: number;
  toMs: number;
  by: Bottleneck;
}

/** A stage, and its share of the time in which it was known what limits, from 0 to 1. */
export interface LimitShare {
  by: Bottleneck;
  share: number;
}

/** Stretches one after the other; time in which nothing was known is between them. */
export class LimitHistory {
  #stretches: Stretch[] = [];
  #spentMs = new Map<Bottleneck, number>();
  #lastMs = 0;

  /**
   * Adds a snapshot: what limits after `ms` of running, for the time since the last one, or for all
   * of it that was seen. Times that go back are ignored.
   */
  add(ms: number, by: Bottleneck | null, seenMs = SEEN_MS): void {
    if (ms <= this.#lastMs) return;
    const fromMs = Math.max(this.#lastMs, ms - seenMs);
    this.#lastMs = ms;
    if (by === null) return;
    this.#spentMs.set(by, (this.#spentMs.get(by) ?? 0) + ms - fromMs);
    this.#stretches = joined([...this.#stretches, { fromMs, toMs: ms, by }]);
    if (this.#stretches.length > STRETCHES_MAX) this.#dropShortest();
  }

  /** Gives the shortest stretch to the one before it; the first and the last are not touched. */
  #dropShortest(): void {
    let shortest = 1;
    for (let at = 2; at < this.#stretches.length - 1; at += 1) {
      if (length(this.#stretches[at]!) < length(this.#stretches[shortest]!)) shortest = at;
    }
    const { by } = this.#stretches[shortest - 1]!;
    this.#stretches = joined(this.#stretches.map((stretch, at) => (at === shortest ? { ...stretch, by } : stretch)));
  }

  stretches(): Stretch[] {
    return this.#stretches;
  }

  /** Every stage that has limited it, the longest first. */
  shares(): LimitShare[] {
    const all = [...this.#spentMs.values()].reduce((sum, ms) => sum + ms, 0);
    return [...this.#spentMs].map(([by, ms]) => ({ by, share: ms / all })).sort((a, b) => b.share - a.share);
  }
}

const length = (stretch: Stretch) => stretch.toMs - stretch.fromMs;

/** The same with neighbours of one kind made one. */
function joined(stretches: Stretch[]): Stretch[] {
  const all: Stretch[] = [];
  for (const stretch of stretches) {
    const last = all.at(-1);
    if (last && last.by === stretch.by && last.toMs === stretch.fromMs) all[all.length - 1] = { ...last, toMs: stretch.toMs };
    else all.push(stretch);
  }
  return all;
}
