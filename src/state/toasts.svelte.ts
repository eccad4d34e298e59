// What was just done, said for a while, with a way to undo it.

/** Long enough to read a sentence and to reach for its button. */
const SHOWN_MS = 8_000;

export interface Said {
  id: number;
  /** In the language that is spoken when it is asked. */
  says: () => string;
  undo?: () => void;
  /** Done once it can be undone no more. */
  settle?: (() => void) | undefined;
}

export class Toasts {
  /** One at a time: the latest is the one that can still be undone. */
  current = $state.raw<Said | null>(null);
  #last = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * Says what was done; `undo` takes it back, and `settle` does the part that cannot be taken
   * back.
   */
  show(says: () => string, undo?: () => void, settle?: () => void): void {
    this.close();
    this.#last += 1;
    this.current = { id: this.#last, says, undo, settle };
    this.hold(false);
  }

  /** While it is held it stays; let go, it has its time anew. */
  hold(held: boolean): void {
    clearTimeout(this.#timer);
    if (!held && this.current) this.#timer = setTimeout(() => this.close(), SHOWN_MS);
  }

  undo(): void {
    const { undo } = this.current ?? {};
    clearTimeout(this.#timer);
    this.current = null;
    undo?.();
  }

  close(): void {
    clearTimeout(this.#timer);
    const { settle } = this.current ?? {};
    this.current = null;
    settle?.();
  }
}
