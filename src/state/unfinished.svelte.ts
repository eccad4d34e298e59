// What transfers that did not end keep on this machine's disk: looked for when it is shown, and
// removed when a person says so.
import type { Fault, Ipc, Offer, PathText, Unfinished as Kept } from "../ipc";

export class Unfinished {
  /** Latest first; replaced whole. */
  list = $state.raw<Kept[]>([]);
  /** Folders whose filesystem does not answer: what is kept there is not known. */
  unanswered = $state.raw<PathText[]>([]);
  fault = $state.raw<Fault | null>(null);
  readonly #ipc: Ipc;
  /** Of several questions under way, only the last one's answer counts. */
  #asked = 0;

  constructor(ipc: Ipc) {
    this.#ipc = ipc;
  }

  async load(): Promise<void> {
    const asked = (this.#asked += 1);
    const answer = await this.#ipc.call("unfinished");
    // Where it cannot be looked for there is nothing that anybody could do here; what else does not
    // work says so.
    if (asked !== this.#asked || answer.status === "error") return;
    this.list = answer.data.left;
    this.unanswered = answer.data.unanswered;
  }

  /** What was left of that in its folder by the same device, as far as its names tell. */
  of({ from, destination, names, more_names: more }: Offer): Kept | undefined {
    const count = names.length + more;
    return this.list.find(
      (kept) => kept.from === from && kept.folder.path === destination.path && kept.names[0]?.path === names[0]?.path && kept.names.length + kept.more_names === count,
    );
  }

  async discard({ id, folder }: Kept): Promise<void> {
    const answer = await this.#ipc.call({ discardUnfinished: { id, folder: folder.path } });
    this.fault = answer.status === "error" ? answer.error : null;
    await this.load();
  }
}
