// Who announces itself on this network: a hint, and never more than that.
import type { Ipc, Nearby, PairedDevice } from "../ipc";

/** A machine nearby among the cards that something can be dropped on. */
const CARD = "nearby:";

export class Surroundings {
  list = $state.raw<Nearby[]>([]);
  /** Those that are not paired with this machine. */
  strangers = $derived(this.list.filter(({ known }) => known === null));
  readonly #ipc: Ipc;

  constructor(ipc: Ipc) {
    this.#ipc = ipc;
  }

  /** What is heard of a paired machine now. */
  of(device: PairedDevice): Nearby | undefined {
    return this.list.find(({ known }) => known === device.id);
  }

  /** The id of a machine's card. */
  cardOf(nearby: Nearby): string {
    return CARD + nearby.id;
  }

  /** Whose card that is. */
  onCard(card: string | null): Nearby | undefined {
    return this.list.find((nearby) => this.cardOf(nearby) === card);
  }

  /** Listens, or no more: nobody has to hear this machine ask while nobody looks at the answers. */
  async listen(on: boolean): Promise<void> {
    await this.#ipc.lookAround(on);
  }
}
