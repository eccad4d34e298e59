// The paired devices: rename, forget, and pairing without a transfer.
import type { Answer, Consent, Fault, Ipc, Nearby, PairedDevice, Recipient } from "../ipc";
import { tidyCode } from "../words";

export class Devices {
  list = $state.raw<PairedDevice[]>([]);
  fault = $state.raw<Fault | null>(null);
  pairing = $state(false);
  /** What was typed and not used yet; a change of view does not take it away. */
  readonly draft = $state({ address: "", code: "", nearby: "" });
  /** The device nearby whose code is asked for. */
  asking = $state<string | null>(null);
  /** Paired devices that have said that they do not know this one any more. */
  #forgetful = $state.raw<string[]>([]);
  readonly #ipc: Ipc;

  constructor(ipc: Ipc) {
    this.#ipc = ipc;
  }

  /** The paired device that `text` names, by name or by where it was last reached. */
  named(text: string): PairedDevice | undefined {
    const wanted = text.trim();
    return this.list.find((device) => device.name === wanted || (wanted !== "" && device.last_address === wanted));
  }

  /** Whether a paired device has said that it does not know this one any more. */
  hasForgotten({ id }: PairedDevice): boolean {
    return this.#forgetful.includes(id);
  }

  /** Notes whether a device says that it knows this one. */
  said(id: string, knows: boolean): void {
    if (this.#forgetful.includes(id) !== knows) return;
    this.#forgetful = knows ? this.#forgetful.filter((other) => other !== id) : [...this.#forgetful, id];
  }

  /** Asks for the code of a device nearby, which shows it meanwhile. */
  async ask(nearby: Nearby): Promise<void> {
    if (this.asking !== nearby.id) this.draft.nearby = "";
    this.asking = nearby.id;
    const answer = await this.#ipc.call({ requestPairing: { target: { to: "nearby", id: nearby.id } } });
    // Both know each other: no code is needed.
    if (answer.status === "ok" && answer.data !== null && this.asking === nearby.id) this.asking = null;
  }

  /** Why that was refused, if it was: it is said beside the name. */
  async rename(device: PairedDevice, name: string): Promise<Fault | null> {
    const answer = await this.#ipc.call({ renameDevice: { id: device.id, name } });
    return answer.status === "error" ? answer.error : null;
  }

  async forget(device: PairedDevice): Promise<boolean> {
    return this.#did(await this.#ipc.call({ forgetDevice: { id: device.id } }));
  }

  /** Says what is done with a machine's offers; what it is then comes as an event. */
  async setRule(device: PairedDevice, consent: Consent, bytesMax: number | null): Promise<boolean> {
    return this.#did(await this.#ipc.call({ setDeviceRule: { id: device.id, consent, bytesMax } }));
  }

  /** Asks for the folder in which a machine's offers land. */
  async chooseFolder(device: PairedDevice): Promise<void> {
    const answer = await this.#ipc.chooseDeviceFolder(device.id);
    this.fault = answer.status === "error" ? answer.error : null;
  }

  /** Lets them land in the receive folder. */
  async clearFolder(device: PairedDevice): Promise<boolean> {
    return this.#did(await this.#ipc.call({ clearDeviceFolder: { id: device.id } }));
  }

  /** Pairs with the device there; its name, or nothing where that failed. */
  async pair(target: string, code: string): Promise<string | null> {
    return this.#pairing({ to: "typed", text: target.trim() }, code);
  }

  /** Pairs with a device that announces itself. */
  async pairNearby(nearby: Nearby, code: string): Promise<string | null> {
    return this.#pairing({ to: "nearby", id: nearby.id }, code);
  }

  async #pairing(target: Recipient, code: string): Promise<string | null> {
    this.pairing = true;
    this.fault = null;
    try {
      const answer = await this.#ipc.call({ pair: { target, code: tidyCode(code) } });
      return this.#did(answer) ? answer.data : null;
    } finally {
      this.pairing = false;
    }
  }

  #did<T>(answer: Answer<T>): answer is { status: "ok"; data: T } {
    this.fault = answer.status === "error" ? answer.error : null;
    return answer.status === "ok";
  }
}
