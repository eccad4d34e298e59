// All transfers together: what this machine moves, from when the first of them begins until none
// runs any more.
import { GRAPH_EVERY_MS, NO_POINTS, RateHistory, type RatePoints } from "./rate";
import type { Transfer } from "./transfers.svelte";

export class Together {
  /** The graph's points; replaced whole. */
  points = $state.raw<RatePoints>(NO_POINTS);
  #history = new RateHistory();
  #moved = { bytes: 0, entries: 0 };
  #seen = new Map<string, { bytes: number; entries: number; paused: boolean }>();
  /** How long something ran that was not paused, and until when that was counted. */
  #ranMs = 0;
  #countedMs = 0;
  #drawnMs = 0;

  /** Takes in a transfer that has been going for a while, or is about to begin. */
  begin(transfer: Transfer, nowMs = performance.now()): void {
    if (this.#seen.size === 0) {
      this.#history = new RateHistory();
      this.#moved = { bytes: 0, entries: 0 };
      this.points = NO_POINTS;
      this.#ranMs = this.#drawnMs = 0;
      this.#countedMs = nowMs;
    }
    this.#count(nowMs);
    const { bytes_moved, entries_done, stage } = transfer.progress;
    this.#seen.set(transfer.id, { bytes: bytes_moved, entries: entries_done, paused: stage === "paused" });
  }

  /** Counts what it has moved since the last time. Reading back moves nothing. */
  follow(transfer: Transfer, nowMs = performance.now()): void {
    const seen = this.#seen.get(transfer.id);
    if (!seen) return;
    this.#count(nowMs);
    const { bytes_moved, entries_done, stage } = transfer.progress;
    seen.paused = stage === "paused";
    if (stage !== "verifying") {
      this.#moved.bytes += Math.max(0, bytes_moved - seen.bytes);
      this.#moved.entries += Math.max(0, entries_done - seen.entries);
      seen.bytes = Math.max(bytes_moved, seen.bytes);
      seen.entries = Math.max(entries_done, seen.entries);
    }
    if (transfer.report) this.#seen.delete(transfer.id);
    this.#history.add(this.#ranMs, this.#moved.bytes, this.#moved.entries);
    if (this.#ranMs - this.#drawnMs >= GRAPH_EVERY_MS) {
      this.#drawnMs = this.#ranMs;
      this.points = this.#history.points();
    }
  }

  /** Counts the time since the last time, unless all were paused. */
  #count(nowMs: number): void {
    if ([...this.#seen.values()].some(({ paused }) => !paused)) this.#ranMs += nowMs - this.#countedMs;
    this.#countedMs = nowMs;
  }
}
