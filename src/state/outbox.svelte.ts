// What is about to be sent or copied: the choice, to whom, the code if they have not met; kept
// until the other machine has taken notice.
import type { Chosen, Drag, Fault, Ipc, Nearby, PairedDevice, Pick, Recipient } from "../ipc";
import { asksForCode } from "../words";
import type { Transfer, Transfers } from "./transfers.svelte";

/** Where an offer was tried, for trying again. */
interface Aim {
  target: Recipient;
  /** What to call it. */
  label: string;
}

/** A choice, and which one it was. */
interface Offered {
  chosen: Chosen;
  turn: number;
}

/** The card of this computer, among the ids of paired devices. */
export const HERE = "here";

export class Outbox {
  chosen = $state.raw<Chosen | null>(null);
  /** Counts choices: the same folder chosen again is another one. */
  turn = $state(0);
  /**
   * What is being dragged over the window now, and the card it is over: a paired device's id, or
   * this computer's.
   */
  dragged = $state.raw<Chosen | null>(null);
  over = $state<string | null>(null);
  aim = $state.raw<Aim | null>(null);
  /**
   * Whether the other machine is to read back what it has written. Stays as it is from one choice
   * to the next.
   */
  verify = $state(false);
  attempt = $state.raw<Transfer | null>(null);
  fault = $state.raw<Fault | null>(null);
  /** Wrong codes typed for this aim since the last code that was right. */
  wrongTries = $state(0);
  /** The shell was asked to send and has not answered yet. */
  #asking = $state(false);
  /** What the last attempt offers, or was to offer: something else may have been chosen since. */
  #offered = $state.raw<Offered | null>(null);
  /**
   * Whether what is chosen is being offered already; what is dragged over the window, or was chosen
   * since, need not wait for that.
   */
  busy = $derived(this.#asking || (this.attempt !== null && this.dragged === null && this.#isOffered));
  /** The native picker is open: there is one at a time. */
  #choosing = false;
  asksCode = $derived(this.fault !== null && asksForCode(this.fault));
  readonly #ipc: Ipc;
  readonly #transfers: Transfers;

  get #isOffered(): boolean {
    return this.chosen === null || this.turn === this.#offered?.turn;
  }

  constructor(ipc: Ipc, transfers: Transfers) {
    this.#ipc = ipc;
    this.#transfers = transfers;
  }

  /**
   * Follows a drag; `cardAt` says whose card lies at a position. Returns whether something was
   * dropped, and on which card: the one that was lit when it was let go, whatever lies there by
   * now.
   */
  drag(drag: Drag, cardAt: (x: number, y: number) => string | null): { card: string | null } | null {
    const lit = this.over;
    this.over = null;
    switch (drag.is) {
      case "entered":
        this.dragged = drag.chosen;
        return null;
      case "over":
        this.over = cardAt(drag.x, drag.y);
        return null;
      case "left":
        this.dragged = null;
        return null;
      case "dropped":
        this.dragged = null;
        this.take(drag.chosen);
        return { card: lit ?? cardAt(drag.x, drag.y) };
    }
  }

  take(chosen: Chosen): void {
    this.chosen = chosen;
    this.turn += 1;
    this.fault = null;
  }

  clear(): void {
    this.chosen = null;
    this.aim = null;
    this.fault = null;
    this.wrongTries = 0;
  }

  /** What a choice was made for has begun: it is put away, unless another has taken its place. */
  settle(turn: number | undefined): void {
    if (this.chosen === null || this.turn === turn) return this.clear();
    this.aim = null;
    this.fault = null;
    this.wrongTries = 0;
  }

  /** Forgets what the service knew: there is another one. */
  reset(): void {
    this.attempt = null;
    this.#offered = null;
    this.dragged = null;
    this.clear();
  }

  /** Opens the native picker; false where nothing was chosen. */
  async choose(pick: Pick): Promise<boolean> {
    if (this.#choosing) return false;
    this.#choosing = true;
    try {
      const answer = await this.#ipc.chooseSources(pick);
      if (answer.status === "error") this.fault = answer.error;
      else if (answer.data) this.take(answer.data);
      return answer.status === "ok" && answer.data !== null;
    } finally {
      this.#choosing = false;
    }
  }

  async sendTo(device: PairedDevice): Promise<void> {
    await this.send({ target: { to: "device", id: device.id }, label: device.name }, null);
  }

  /** Sends to a device that is not paired, with the code that it shows if that is known already. */
  async sendToNearby(nearby: Nearby, code: string | null = null): Promise<void> {
    await this.send({ target: { to: "nearby", id: nearby.id }, label: nearby.name }, code);
  }

  /** Sends to what was typed. */
  async sendToTyped(text: string, code: string): Promise<void> {
    await this.send({ target: { to: "typed", text: text.trim() }, label: text.trim() }, code.trim() || null);
  }

  /**
   * Sends once more what a transfer has sent, to the same machine; the fault where that is not
   * remembered.
   */
  async again(id: string): Promise<Fault | null> {
    const answer = await this.#ipc.call({ chooseAgain: { id } });
    if (answer.status === "error") return answer.error;
    const { chosen, target, label, verify } = answer.data;
    this.take(chosen);
    this.verify = verify;
    void this.send({ target, label }, null);
    return null;
  }

  /** What the last attempt offered once more, to whom it was offered, with a code. */
  async retry(code: string | null): Promise<void> {
    if (this.aim && this.#offered) await this.#offer(this.#offered, this.aim, code?.trim() || null);
  }

  /**
   * Offers it to the device that answered in another one's place: a person says that it is meant.
   */
  async confirm(): Promise<void> {
    const { fault, aim } = this;
    if (fault?.code !== "unconfirmed" || aim?.target.to !== "typed" || !this.#offered) return;
    const target = { to: "confirmed" as const, id: fault.found, text: aim.target.text };
    await this.#offer(this.#offered, { target, label: fault.name }, null);
  }

  /**
   * Offers what is chosen. Another attempt that is under way goes on by itself, among the
   * transfers.
   */
  async send(aim: Aim, code: string | null): Promise<void> {
    const offered = await this.#ready();
    if (offered) await this.#offer(offered, aim, code);
  }

  /**
   * What is to be offered now, asked for where nothing is chosen; nothing while that is being
   * offered already.
   */
  async #ready(): Promise<Offered | null> {
    if (this.busy || (!this.chosen && !(await this.choose("folders")))) return null;
    // Something may have been dropped and sent while the picker was open.
    return this.chosen && !this.busy ? { chosen: this.chosen, turn: this.turn } : null;
  }

  async #offer(offered: Offered, aim: Aim, code: string | null): Promise<void> {
    const isThere = this.attempt && offered.chosen.id === this.#offered?.chosen.id && isSame(aim, this.aim);
    // It is being asked for, or the same is on its way to the same machine.
    if (this.#asking || isThere) return;
    if (!isSame(aim, this.aim)) this.wrongTries = 0;
    this.aim = aim;
    this.fault = null;
    this.#offered = offered;
    this.attempt = null;
    this.#asking = true;
    let transfer: Transfer;
    try {
      const answer = await this.#ipc.send(offered.chosen.id, aim.target, code, this.verify);
      if (answer.status === "error") {
        this.fault = answer.error;
        return;
      }
      transfer = this.#transfers.add({ ...answer.data, target: aim.label });
      this.attempt = transfer;
    } finally {
      this.#asking = false;
    }
    this.follow(transfer);
  }

  /**
   * Looks at an update of any transfer: the one being tried is settled once the other machine has
   * taken notice of it.
   */
  follow(transfer: Transfer): void {
    if (transfer.id !== this.attempt?.id) return;
    const { report } = transfer;
    if (report?.outcome === "failed" && transfer.progress.entries_done === 0 && !wasHeard(report.error)) {
      this.attempt = null;
      if (report.error.code === "wrong_code") this.wrongTries += 1;
      this.fault = report.error.code === "cancelled" ? null : report.error;
      void this.#transfers.dismiss(transfer);
    } else if (transfer.report || transfer.progress.stage !== "connecting") {
      this.attempt = null;
      this.settle(this.#offered?.turn);
    }
  }

  async cancelAttempt(): Promise<void> {
    if (this.attempt) await this.#transfers.cancel(this.attempt, "remove");
  }
}

function isSame(one: Aim, other: Aim | null): boolean {
  const key = ({ target }: Aim) => `${target.to}:${target.to === "typed" ? target.text : target.id}`;
  return other !== null && key(one) === key(other);
}

/** Faults that belong in the list of transfers: the other machine had the offer before it ended. */
function wasHeard(fault: Fault): boolean {
  return fault.code === "declined" || fault.code === "connection_lost" || fault.code === "destination_full";
}
