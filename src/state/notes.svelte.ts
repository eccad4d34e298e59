// Notes that other devices have sent: the list, and the texts of those that somebody has looked at.
import type { Ipc, Note, NoteContents } from "../ipc";

export class Notes {
  /** The latest first, without those that somebody is about to delete. */
  list = $derived.by(() => this.#all.filter(({ number }) => !this.#hidden.has(number)));
  #all = $state.raw<Note[]>([]);
  /** Numbers of notes that are deleted once that can be undone no more. */
  #hidden = $state.raw<ReadonlySet<number>>(new Set());
  /** By the numbers of their notes. */
  #contents = $state.raw<Record<number, NoteContents>>({});
  unread = $derived(this.list.filter((note) => !note.is_read).length);
  readonly #ipc: Ipc;

  constructor(ipc: Ipc) {
    this.#ipc = ipc;
  }

  /** Makes this the list; texts of notes that are gone go, too. */
  fill(list: Note[]): void {
    this.#all = list;
    const kept = list.flatMap(({ number }) => (this.#contents[number] ? [[number, this.#contents[number]] as const] : []));
    this.#contents = Object.fromEntries(kept);
  }

  contentsOf({ number }: Note): NoteContents | undefined {
    return this.#contents[number];
  }

  /** The text of a note; nothing where it is gone. */
  async load(note: Note): Promise<NoteContents | undefined> {
    const known = this.contentsOf(note);
    if (known) return known;
    const answer = await this.#ipc.call({ noteContents: { number: note.number } });
    if (answer.status === "error") return undefined;
    this.#contents = { ...this.#contents, [note.number]: answer.data };
    return answer.data;
  }

  /** Somebody has seen it, or copied it. */
  async read(note: Note): Promise<void> {
    if (!note.is_read) await this.#ipc.call({ readNote: { number: note.number } });
  }

  /** Takes it off the list, and leaves it where it is stored. */
  hide({ number }: Note): void {
    this.#hidden = new Set([...this.#hidden, number]);
  }

  /** Puts it back on the list. */
  show({ number }: Note): void {
    this.#hidden = new Set([...this.#hidden].filter((other) => other !== number));
  }

  /** Deletes it for good; it is listed again if that cannot be done. */
  async forget(note: Note): Promise<void> {
    const answer = await this.#ipc.call({ forgetNote: { number: note.number } });
    if (answer.status === "ok") this.fill(this.#all.filter(({ number }) => number !== note.number));
    this.show(note);
  }
}
