// What is read out of progress: one announcement in a while for all transfers together, so that a
// screen reader is not talking all the time. What has ended is announced at once.

/** Between two announcements of progress. */
export const EVERY_MS = 10_000;

export class Announcer {
  /** As if the last one was made when the window opened. */
  #saidMs: number;

  constructor(nowMs = performance.now()) {
    this.#saidMs = nowMs;
  }

  /** Whether progress may be announced now; then it counts as announced. */
  mayTell(nowMs = performance.now()): boolean {
    if (nowMs - this.#saidMs < EVERY_MS) return false;
    this.#saidMs = nowMs;
    return true;
  }
}
