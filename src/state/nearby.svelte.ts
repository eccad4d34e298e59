// Who announces itself on this network: a hint, and never more than that.
import type { Ipc, Nearby, PairedDevice } from "../ipc";
import { notFoundWords, type Sentence } from "../words";

/**
 * How long is looked for who shows a code, as the command does: a person has just read it there.
 */
const FIND_MS = 8_000;
const LOOK_MS = 250;
/** Once one is there, others that show the same number are waited for. */
const OTHERS_MS = 500;

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A machine nearby among the cards that something can be dropped on. */
const CARD = "nearby:";

export class Surroundings {
  list = $state.raw<Nearby[]>([]);
  /** Those that are not paired with this machine. */
  strangers = $derived(this.list.filter(({ paired_id: known }) => known === null));
  readonly #ipc: Ipc;

  constructor(ipc: Ipc) {
    this.#ipc = ipc;
  }

  /** What is heard of a paired machine now. */
  of(device: PairedDevice): Nearby | undefined {
    return this.list.find(({ paired_id: known }) => known === device.id);
  }

  /** The id of a machine's card. */
  cardOf(nearby: Nearby): string {
    return CARD + nearby.id;
  }

  /** Whose card that is. */
  onCard(card: string | null): Nearby | undefined {
    return this.list.find((nearby) => this.cardOf(nearby) === card);
  }

  /**
   * Who shows a code with this number in front, once somebody does; in words why that is not one
   * machine.
   */
  async showing(number: number): Promise<{ nearby: Nearby } | { unfound: Sentence }> {
    const look = () => this.list.filter(({ code_number: code, compatible }) => code === number && compatible);
    for (let waited = 0; waited < FIND_MS && look().length === 0; waited += LOOK_MS) await sleep(LOOK_MS);
    if (look().length > 0) await sleep(OTHERS_MS);
    const found = look();
    const [nearby, other] = found;
    return nearby && !other ? { nearby } : { unfound: notFoundWords(number, found) };
  }

  /** Listens, or no more: nobody has to hear this machine ask while nobody looks at the answers. */
  async listen(on: boolean): Promise<void> {
    await this.#ipc.call({ lookAround: { on } });
  }
}
