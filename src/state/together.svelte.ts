// All transfers together: what this machine moves, from when the first of them begins until none runs any more.
import { NO_POINTS, RateHistory, type RatePoints } from "./rate";
import type { Transfer } from "./transfers.svelte";

/** Between two drawings of the graph. */
const GRAPH_EVERY_MS = 250;

export class Together {
  /** The graph's points; replaced whole. */
  points = $state.raw<RatePoints>(NO_POINTS);
  #history = new RateHistory();
  #moved = { bytes: 0, entries: 0 };
  #seen = new Map<string, { bytes: number; entries: number }>();
  #beganMs = 0;
  #drawnMs = 0;

  /** Takes in a transfer that has been going for a while, or is about to begin. */
  begin(transfer: Transfer, nowMs = performance.now()): void {
    if (this.#seen.size === 0) {
      this.#history = new RateHistory();
      this.#moved = { bytes: 0, entries: 0 };
      this.points = NO_POINTS;
      this.#beganMs = this.#drawnMs = nowMs;
    }
    this.#seen.set(transfer.id, { bytes: transfer.tick.bytesDone, entries: transfer.tick.entriesDone });
  }

  /** Counts what it has moved since the last time. Reading back moves nothing. */
  follow(transfer: Transfer, nowMs = performance.now()): void {
    const seen = this.#seen.get(transfer.id);
    if (!seen) return;
    if (transfer.tick.phase !== "verifying") {
      const { bytesDone, entriesDone } = transfer.tick;
      this.#moved.bytes += Math.max(0, bytesDone - seen.bytes);
      this.#moved.entries += Math.max(0, entriesDone - seen.entries);
      this.#seen.set(transfer.id, { bytes: Math.max(bytesDone, seen.bytes), entries: Math.max(entriesDone, seen.entries) });
    }
    if (transfer.ended) this.#seen.delete(transfer.id);
    this.#history.add(nowMs - this.#beganMs, this.#moved.bytes, this.#moved.entries);
    if (nowMs - this.#drawnMs >= GRAPH_EVERY_MS) {
      this.#drawnMs = nowMs;
      this.points = this.#history.points();
    }
  }
}
