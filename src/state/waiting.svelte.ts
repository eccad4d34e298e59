// Transfers that wait until another one to the same device has ended. The service keeps them.
import type { Ipc, Waiting } from "../ipc";

export class WaitingTransfers {
  /** In the order in which they begin; replaced whole. */
  list = $state.raw<Waiting[]>([]);
  readonly #ipc: Ipc;

  constructor(ipc: Ipc) {
    this.#ipc = ipc;
  }

  /** Those that go to the same device, in their order. */
  #siblings({ device }: Waiting): Waiting[] {
    return this.list.filter((other) => other.device === device);
  }

  /** The one that begins before it. */
  before(waiting: Waiting): Waiting | undefined {
    const siblings = this.#siblings(waiting);
    return siblings[siblings.findIndex(({ id }) => id === waiting.id) - 1];
  }

  isFirst(waiting: Waiting): boolean {
    return this.#siblings(waiting)[0]?.id === waiting.id;
  }

  isLast(waiting: Waiting): boolean {
    return this.#siblings(waiting).at(-1)?.id === waiting.id;
  }

  /** One that has begun meanwhile needs no moving: what waits then comes as an event. */
  async shift(waiting: Waiting, up: boolean): Promise<void> {
    if (up ? this.isFirst(waiting) : this.isLast(waiting)) return;
    const { id } = waiting;
    await this.#ipc.call({ shiftWaiting: { id, up } });
  }

  async remove({ id }: Waiting): Promise<void> {
    await this.#ipc.call({ removeWaiting: { id } });
  }
}
