// The drop boxes of the device that something is about to be sent to, as that device lists them.
import type { Ipc } from "../ipc";

export class DropBoxes {
  /** The device whose boxes these are. */
  device = $state<string | null>(null);
  /** Names of shares; null until the device has said them. */
  names = $state.raw<string[] | null>(null);
  readonly #ipc: Ipc;
  /** Counts what was asked for: what is answered late is not shown. */
  #asked = 0;

  constructor(ipc: Ipc) {
    this.#ipc = ipc;
  }

  /** Asks a device for its boxes. One that does not answer has none to offer. */
  async look(device: string): Promise<void> {
    const asked = (this.#asked += 1);
    if (device !== this.device) this.names = null;
    this.device = device;
    const opened = await this.#ipc.call({ browse: { device, at: null } });
    if (asked !== this.#asked || opened.status === "error") return;
    const page = await this.#ipc.call({ readListing: { listing: opened.data } });
    if (asked !== this.#asked) return;
    void this.#ipc.call("stopBrowsing");
    if (page.status === "ok" && page.data.of === "shares") {
      this.names = page.data.shares.filter(({ drop, unavailable, drop_trouble }) => drop && unavailable === null && drop_trouble === null).map(({ name }) => name);
    }
  }

  /** Nobody asks any more. */
  leave(): void {
    this.#asked += 1;
    void this.#ipc.call("stopBrowsing");
  }
}
