// Which rows of a table are picked, and which one has the keyboard; as file managers do it.
import type { PathText } from "../ipc";
import { isGettable, plain, type Row } from "./rows";

/** What is typed within this time goes on with what was typed before. */
const TYPED_WITHIN_MS = 1000;

export interface Held {
  /** As far as from where picking began. */
  shift: boolean;
  /** One more or one less, and the others stay. */
  ctrl: boolean;
}

export class Picks {
  /** The row that has the keyboard. */
  active = $state.raw<Row | null>(null);
  count = $state(0);
  #picked = new Set<Row>();
  /** Counts changes: the set itself is no state, so that picking one of many costs little. */
  #changes = $state(0);
  /** Where a range begins. */
  #anchor: Row | null = null;
  /** The row that had the keyboard before anybody has moved it. */
  #first: Row | null = null;
  #typed = { text: "", atMs: 0 };

  has(row: Row): boolean {
    return this.#changes >= 0 && this.#picked.has(row);
  }

  all(): Row[] {
    return this.#changes >= 0 ? [...this.#picked] : [];
  }

  clear(): void {
    if (this.#picked.size > 0) this.#set(new Set());
    this.#anchor = null;
  }

  /** The keyboard begins at the row of that name, or at the first one. */
  startAt(rows: readonly Row[], from?: PathText): void {
    const isFrom = ({ path }: Row) => from !== undefined && path.path === from.path && path.path_bytes === from.path_bytes;
    this.active = this.#first = rows.find(isFrom) ?? rows[0] ?? null;
  }

  /** More rows, or others for the same entries: nothing moves but what nobody has touched. */
  keep(rows: readonly Row[], from?: PathText): void {
    const { active } = this;
    if (active === this.#first) this.startAt(rows, from);
    else if (active && !rows.includes(active)) this.startAt(rows, active.path);
    if (this.#picked.size === 0) return;
    const there = new Set(rows);
    this.#set(new Set([...this.#picked].filter((row) => there.has(row))));
  }

  /** A click on a row, or the space bar. */
  pick(rows: readonly Row[], row: Row, { shift, ctrl }: Held): void {
    this.active = row;
    if (shift && this.#anchor) {
      const [from, to] = [rows.indexOf(this.#anchor), rows.indexOf(row)];
      const range = rows.slice(Math.min(from, to), Math.max(from, to) + 1);
      this.#set(new Set(ctrl ? [...this.#picked, ...range] : range));
      return;
    }
    this.#anchor = row;
    if (!ctrl) return this.#set(new Set([row]));
    const picked = new Set(this.#picked);
    if (!picked.delete(row)) picked.add(row);
    this.#set(picked);
  }

  pickAll(rows: readonly Row[]): void {
    this.#set(new Set(rows));
  }

  /** An arrow key: the keyboard goes to a row, which is picked unless Ctrl is held. */
  moveTo(rows: readonly Row[], at: number, held: Held): void {
    const row = rows[Math.max(0, Math.min(at, rows.length - 1))];
    if (!row) return;
    if (held.shift) {
      this.#anchor ??= this.active;
      this.pick(rows, row, { shift: true, ctrl: held.ctrl });
    } else if (held.ctrl) {
      this.active = row;
    } else {
      this.pick(rows, row, held);
    }
  }

  /** Whether letters were typed just now, to which a blank would belong. */
  isTyping(nowMs: number): boolean {
    return this.#typed.text !== "" && nowMs - this.#typed.atMs < TYPED_WITHIN_MS;
  }

  /** Letters that are typed: the next row whose name begins with them. */
  type(rows: readonly Row[], key: string, nowMs: number): void {
    const text = plain(this.isTyping(nowMs) ? this.#typed.text + key : key);
    this.#typed = { text, atMs: nowMs };
    const isSame = [...text].every((letter) => letter === text[0]);
    const begins = isSame ? text[0]! : text;
    const now = this.active ? rows.indexOf(this.active) : -1;
    // The same letter again goes on to the next; more letters may be of the row that it is at.
    const first = isSame ? now + 1 : Math.max(now, 0);
    for (let step = 0; step < rows.length; step += 1) {
      const row = rows[(first + step) % rows.length]!;
      if (plain(row.name).startsWith(begins)) return this.pick(rows, row, { shift: false, ctrl: false });
    }
  }

  #set(picked: Set<Row>): void {
    this.#picked = new Set([...picked].filter(isGettable));
    this.count = this.#picked.size;
    this.#changes += 1;
  }
}
