// What the window remembers by key in the webview's storage, as it does the language: it is a
// convenience of this window, and losing it costs a click. The command says the same by options.

/** Values by key. The one that was kept last stays longest. */
export class Remembered<T> {
  readonly #storedAs: string;
  readonly #max: number;
  readonly #read: (stored: unknown) => T | undefined;

  /** `read` makes a value of what any version has stored; undefined where it is none. */
  constructor(storedAs: string, max: number, read: (stored: unknown) => T | undefined) {
    this.#storedAs = storedAs;
    this.#max = max;
    this.#read = read;
  }

  /** The values of these keys, of those that have one. */
  of(keys: string[]): T[] {
    const all = new Map(this.#all());
    return keys.flatMap((key) => (all.has(key) ? [all.get(key) as T] : []));
  }

  keep(key: string, value: T): void {
    const others = this.#all().filter(([known]) => known !== key);
    const kept: [string, T][] = [[key, value], ...others];
    this.#store(kept.slice(0, this.#max));
  }

  /** Forgets those whose key begins so. */
  forget(beginning: string): void {
    this.#store(this.#all().filter(([key]) => !key.startsWith(beginning)));
  }

  #all(): [string, T][] {
    try {
      const stored: unknown = JSON.parse(localStorage.getItem(this.#storedAs) ?? "[]");
      return Array.isArray(stored) ? stored.flatMap((entry) => this.#entry(entry)) : [];
    } catch {
      return [];
    }
  }

  #entry(entry: unknown): [string, T][] {
    if (!Array.isArray(entry) || typeof entry[0] !== "string") return [];
    const value = this.#read(entry[1]);
    return value === undefined ? [] : [[entry[0], value]];
  }

  #store(all: [string, T][]): void {
    try {
      localStorage.setItem(this.#storedAs, JSON.stringify(all));
    } catch {
      // The storage is full: the next window does not know it.
    }
  }
}
