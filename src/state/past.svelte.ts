// What has ended before, as every program of this machine remembers it: a page at a time, searched
// by the shell.
import type { Direction, Earlier, EntryKind, Fault, Ipc, PastDetails, UnderWay } from "../ipc";

/** As many as the service gives at once: only the last page has fewer. */
const PAGE = 30;

/** The id that a past transfer had while it ran. */
export function keyOf({ id, direction, peer_id: from, target }: Earlier): string {
  // Where the other one has started it, it has drawn the id.
  return direction === "receiving" && target === null && from !== null ? `${id}-${from}` : id;
}

/** A transfer as the service lists it. */
type Listed = Pick<UnderWay, "id" | "direction">;

function isOf(earlier: Earlier, { id, direction }: Listed): boolean {
  return earlier.direction === direction && keyOf(earlier) === id;
}

export class Past {
  /** Latest first; replaced whole. */
  list = $state.raw<Earlier[]>([]);
  /** What failed and was not transferred since, however long ago: one page, the latest first. */
  unresolved = $state.raw<Earlier[]>([]);
  /** Whether there may be earlier ones. */
  hasMore = $state(false);
  search = $state("");
  failedOnly = $state(false);
  fault = $state.raw<Fault | null>(null);
  readonly #ipc: Ipc;
  /** Only what went that way. */
  readonly #direction: Direction | null;
  /** Of several questions under way, only the last one's answer counts. */
  #asked = 0;
  /** The question by which it is being read on, if that is the last one. */
  #readsOn: number | null = null;

  constructor(ipc: Ipc, direction: Direction | null) {
    this.#ipc = ipc;
    this.#direction = direction;
  }

  /** Whether all is asked for, not a part of it. */
  get isWhole(): boolean {
    return this.search.trim() === "" && !this.failedOnly;
  }

  /** Reads the latest page anew. */
  async load(): Promise<void> {
    const page = await this.#page(null);
    if (page) this.list = page;
  }

  /** Reads the failures anew that a person should look at. */
  async loadUnresolved(): Promise<void> {
    const query = { direction: this.#direction, failed_only: true, unresolved_only: true, search: "", before: null };
    const answer = await this.#ipc.call({ past: { query } });
    // What was read before still holds; why nothing can be read is said by the list.
    if (answer.status === "ok") this.unresolved = answer.data;
  }

  /** Reads on where the list ends. Scrolling asks for the same page many times. */
  async readOn(): Promise<void> {
    if (this.#readsOn === this.#asked) return;
    const page = this.#page(this.list.at(-1)?.number ?? null);
    const asked = (this.#readsOn = this.#asked);
    const read = await page;
    if (this.#readsOn === asked) this.#readsOn = null;
    if (read) this.list = [...this.list, ...read];
  }

  async #page(before: number | null): Promise<Earlier[] | null> {
    const asked = (this.#asked += 1);
    const query = { direction: this.#direction, failed_only: this.failedOnly, unresolved_only: false, search: this.search, before };
    const answer = await this.#ipc.call({ past: { query } });
    if (asked !== this.#asked || !this.#did(answer)) return null;
    this.hasMore = answer.data.length === PAGE;
    return answer.data;
  }

  /** What is known of a transfer, as far as the list is read. */
  of(transfer: Listed): Earlier | undefined {
    return this.list.find((earlier) => isOf(earlier, transfer));
  }

  /** What each of the paths is now that it has. */
  async kinds(earlier: Earlier): Promise<(EntryKind | null)[]> {
    const answer = await this.#ipc.call({ pastKinds: { number: earlier.number } });
    return answer.status === "ok" ? answer.data : [];
  }

  async details(earlier: Earlier): Promise<PastDetails | null> {
    const answer = await this.#ipc.call({ pastDetails: { number: earlier.number } });
    return this.#did(answer) ? answer.data : null;
  }

  /** Takes one off the list for good; what it brought stays. */
  async forget(earlier: Earlier): Promise<void> {
    if (this.#did(await this.#ipc.call({ forgetPast: { number: earlier.number } }))) {
      this.list = this.list.filter(({ number }) => number !== earlier.number);
      this.unresolved = this.unresolved.filter(({ number }) => number !== earlier.number);
    }
  }

  /** Takes off the list what is forgotten of a transfer. */
  drop(transfer: Listed): void {
    this.list = this.list.filter((earlier) => !isOf(earlier, transfer));
    this.unresolved = this.unresolved.filter((earlier) => !isOf(earlier, transfer));
  }

  async clear(): Promise<void> {
    if (!this.#did(await this.#ipc.call("clearPast"))) return;
    this.list = [];
    this.unresolved = [];
    this.hasMore = false;
  }

  /** Shows what it brought in the desktop's file manager; the fault where that cannot be done. */
  async open(earlier: Earlier): Promise<Fault | null> {
    const answer = await this.#ipc.openPast(earlier.number);
    return answer.status === "error" ? answer.error : null;
  }

  /** Selects what it brought in the desktop's file manager; the fault where that cannot be done. */
  async reveal(earlier: Earlier): Promise<Fault | null> {
    const answer = await this.#ipc.revealPast(earlier.number);
    return answer.status === "error" ? answer.error : null;
  }

  #did<T>(answer: { status: "ok"; data: T } | { status: "error"; error: Fault }): answer is { status: "ok"; data: T } {
    this.fault = answer.status === "error" ? answer.error : null;
    return answer.status === "ok";
  }
}
