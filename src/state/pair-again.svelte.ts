// Pairing again with a device that has forgotten this one, without sending anything.
import type { Fault, Ipc, PairedDevice } from "../ipc";
import { tidyCode } from "../words";
import type { Aim } from "./outbox.svelte";

export class PairAgain {
  /** The device; null while that is not under way. */
  aim = $state.raw<Aim | null>(null);
  fault = $state.raw<Fault | null>(null);
  meeting = $derived(this.aim?.label ?? null);
  wrongTries = $state(0);
  /** What was typed of a code and not tried yet. */
  draft = $state({ retry: "" });
  isTrying = $state(false);
  /** As of files: nothing is sent. */
  readonly offered = null;
  /** Called when the device knows this one. */
  onKnown: (id: string, name: string) => void = () => {};
  readonly #ipc: Ipc;

  constructor(ipc: Ipc) {
    this.#ipc = ipc;
  }

  /** Asks the device to show that this one wants to connect, and its code. */
  async begin({ id, name }: PairedDevice): Promise<void> {
    this.giveUp();
    const aim: Aim = { target: { to: "device", id }, label: name };
    this.aim = aim;
    this.fault = { code: "pairing_needed", peer_name: name };
    const answer = await this.#ipc.call({ requestPairing: { target: aim.target } });
    if (this.aim !== aim || this.isTrying) return;
    if (answer.status === "error") this.fault = answer.error;
    // It knows this device after all.
    else if (answer.data !== null) this.#end(id, answer.data);
  }

  /** Tries a code. */
  async retry(code: string): Promise<void> {
    const { aim } = this;
    if (aim?.target.to !== "device" || this.isTrying) return;
    this.fault = null;
    this.isTrying = true;
    const answer = await this.#ipc.call({ pair: { target: aim.target, code: tidyCode(code) } });
    this.isTrying = false;
    // Both are paired, whatever the window shows by now.
    if (answer.status === "ok") {
      if (this.aim === aim) this.giveUp();
      return this.onKnown(aim.target.id, answer.data);
    }
    if (this.aim !== aim) return;
    if (answer.error.code === "wrong_code") this.wrongTries += 1;
    this.fault = answer.error;
  }

  giveUp(): void {
    this.aim = null;
    this.fault = null;
    this.wrongTries = 0;
    this.draft.retry = "";
  }

  #end(id: string, name: string): void {
    this.giveUp();
    this.onKnown(id, name);
  }
}
