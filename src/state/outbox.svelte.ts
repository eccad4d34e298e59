// What is about to be sent or copied: the list of what was chosen, the target, the code if they
// have not met; kept until the other machine has taken notice.
import type { Answer, AppEvent, Chosen, Drag, Fault, Ipc, Nearby, PairedDevice, Pick, Recipient, Waiting } from "../ipc";
import { asksForCode, tidyCode } from "../words";
import { optionsFor, PLAIN, rememberOptions, type SendOptions } from "./send-options";
import type { Transfer, Transfers } from "./transfers.svelte";

/** Where an offer was tried, for trying again. */
export interface Aim {
  target: Recipient;
  /** What to call it. */
  label: string;
  /** The place in a drop box there, as SHARE/PATH; without one, where that device receives. */
  inShare?: string | null;
}

/** The turn of what was dropped on a card beside the list. */
const ASIDE = -1;

/** Nobody who is known: an address or a code is typed. */
export const ANOTHER = "another";

/** A choice, which one it was, and what is left out of it. */
interface Offered {
  chosen: Chosen;
  turn: number;
  leaveOut: string;
}

/** What is typed is counted after so many milliseconds without another key. */
const COUNT_AFTER = 400;

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
  /** That card is the device's row in the sidebar: one of the two says what a drop does. */
  isOverRow = $state(false);
  aim = $state.raw<Aim | null>(null);
  /** The card that was clicked: the target of the button. */
  picked = $state<string | null>(null);
  /** How it is to be sent. A card that is picked brings those that were last used with it. */
  options = $state.raw<SendOptions>(PLAIN);
  /** What is left out: patterns, one a line. A choice brings those that were last used with it. */
  leaveOut = $state("");
  /** What is wrong with them. */
  leaveOutFault = $state.raw<Fault | null>(null);
  /** They were typed for this list, and stay while it changes. */
  #isTyped = false;
  #countSoon: ReturnType<typeof setTimeout> | undefined;
  /** What was typed and not sent yet; it stays while another view is looked at. */
  draft = $state({ address: "", code: "", retry: "" });
  /** Called when something waits until another transfer to the same device has ended. */
  onWaits: (waiting: Waiting) => void = () => {};
  /** What is sent again needs a code, which is typed where things are sent. */
  onAsksCode: () => void = () => {};
  /** A device has taken the code that was typed here. */
  onPaired: (name: string) => void = () => {};
  attempt = $state.raw<Transfer | null>(null);
  fault = $state.raw<Fault | null>(null);
  /** What the device is called that has asked for a code: it stays while codes are tried. */
  meeting = $state<string | null>(null);
  /** Wrong codes typed for this aim since the last code that was right. */
  wrongTries = $state(0);
  /** The shell was asked to send and has not answered yet. */
  #asking = $state(false);
  /** How the last attempt is sent. */
  #sentWith: SendOptions = PLAIN;
  /** What the last attempt offers, or was to offer: something else may have been chosen since. */
  #offered = $state.raw<Offered | null>(null);
  /** A code goes with the last attempt: what takes it is paired from then on. */
  #isMeeting = false;
  /** The choice that was sent again last. */
  #again: number | null = null;
  /**
   * Whether what is chosen is being offered already; what is dragged over the window, or was chosen
   * since, need not wait for that.
   */
  busy = $derived(this.#asking || (this.attempt !== null && this.dragged === null && this.#isOffered));
  /** The native picker is open: there is one at a time. */
  #choosing = false;
  /** Changes of the list, one after the other: each goes on from what the one before has made. */
  #changes: Promise<unknown> = Promise.resolve();
  asksCode = $derived(this.fault !== null && asksForCode(this.fault));
  /** A device is being asked, or reached. */
  isTrying = $derived(this.#asking || this.attempt !== null);
  readonly #ipc: Ipc;
  readonly #transfers: Transfers;

  /** What the last attempt offers, or was to offer. */
  get offered(): Chosen | null {
    return this.#offered?.chosen ?? null;
  }

  /**
   * Whether the list has something that is not on its way already: what is dropped on a card goes
   * beside it then.
   */
  get isList(): boolean {
    return this.chosen !== null && !(this.attempt !== null && this.#offered?.chosen.id === this.chosen.id);
  }

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
  drag(drag: Exclude<Drag, { is: "textEntered" | "textDropped" }>, cardAt: (x: number, y: number) => string | null): { card: string | null; chosen: Chosen } | null {
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
        return { card: lit ?? cardAt(drag.x, drag.y), chosen: drag.chosen };
    }
  }

  /** Makes this the list. */
  take(chosen: Chosen | null): void {
    if (!chosen) this.#isTyped = false;
    if (!this.#isTyped) {
      this.leaveOut = chosen?.leave_out ?? "";
      this.leaveOutFault = null;
    }
    this.chosen = chosen;
    this.turn += 1;
    this.fault = null;
    void this.#count();
  }

  /** Takes what is typed, and has the choice counted without it. */
  leaveOutNow(text: string): void {
    this.leaveOut = text;
    this.#isTyped = true;
    clearTimeout(this.#countSoon);
    this.#countSoon = setTimeout(() => void this.#count(), COUNT_AFTER);
  }

  /** Adds to the list; what is in it already is merged, and `chosen.merged` says so. */
  async add(added: Chosen): Promise<void> {
    await this.#change(async (chosen) => {
      if (!chosen) return { status: "ok", data: added };
      return this.#ipc.call({ joinChosen: { chosen: chosen.id, added: added.id } });
    });
  }

  /** Takes an item off the list. */
  async remove(item: number): Promise<void> {
    await this.#change(async (chosen) => chosen && this.#ipc.call({ withoutItem: { chosen: chosen.id, item } }));
  }

  /** Goes back to an earlier list. */
  async restore(earlier: Chosen): Promise<void> {
    await this.#change(async (chosen) => {
      if (!chosen) return { status: "ok", data: earlier };
      return this.#ipc.call({ joinChosen: { chosen: earlier.id, added: chosen.id } });
    });
  }

  /** Adds what was copied elsewhere; false where that is nothing. */
  async paste(): Promise<boolean> {
    const answer = await this.#ipc.pasteSources();
    if (answer.status === "error") this.fault = answer.error;
    else if (answer.data) await this.add(answer.data);
    return answer.status === "ok" && answer.data !== null;
  }

  async #change(change: (chosen: Chosen | null) => Promise<Answer<Chosen | null> | null>): Promise<void> {
    const changed = this.#changes.then(async () => {
      const before = this.chosen;
      const answer = await change(before);
      if (answer?.status === "error") this.fault = answer.error;
      // What was sent meanwhile is removed by the call that has sent it.
      else if (answer && this.chosen?.id === before?.id) this.take(answer.data);
    });
    this.#changes = changed.catch(() => {});
    await changed;
  }

  /** Has what is chosen counted, and no more what was. */
  async #count(): Promise<void> {
    clearTimeout(this.#countSoon);
    const leaveOut = this.leaveOut;
    const answer = await this.#ipc.call({ countChosen: { chosen: this.chosen?.id ?? null, leaveOut } });
    if (leaveOut !== this.leaveOut) return;
    this.leaveOutFault = answer.status === "error" && answer.error.code === "invalid" ? answer.error : null;
  }

  /** Takes sizes that were counted. */
  counted({ chosen: id, sizes, total }: Extract<AppEvent, { event: "chosenCounted" }>): void {
    if (this.chosen?.id !== id) return;
    const items = this.chosen.items.map((item) => ({ ...item, size: sizes.find((one) => one.item === item.item)?.size ?? item.size }));
    this.chosen = { ...this.chosen, items, total };
  }

  /** Makes a card the one that the button sends to. What is set for the one that is, stays. */
  pick(card: string | null): void {
    const isOther = card !== this.picked;
    this.picked = card;
    this.fault = null;
    if (isOther && card !== null) this.options = optionsFor(card) ?? PLAIN;
  }

  /** The drop box, and a folder in it, into which a drop on a card goes; null if into none. */
  boxOf(card: string): string | null {
    return (this.picked === card ? this.options : optionsFor(card))?.inShare ?? null;
  }

  clear(): void {
    if (this.chosen) this.take(null);
    this.#forgetAim();
  }

  #forgetAim(): void {
    this.aim = null;
    this.fault = null;
    this.meeting = null;
    this.wrongTries = 0;
    this.draft.retry = "";
  }

  /** Brings the options that a device was sent to with. */
  optionsOf(device: PairedDevice): void {
    this.options = optionsFor(device.id) ?? this.options;
  }

  /**
   * What a choice was made for has begun: it is put away, and what was added since stays. What
   * never was in the list takes nothing out of it.
   */
  settle(turn: number | undefined, sent?: Chosen): void {
    if (this.chosen === null || this.turn === turn) return this.clear();
    this.#forgetAim();
    if (!sent || turn === ASIDE) return;
    void this.#change(async (chosen) => chosen && this.#ipc.call({ withoutChosen: { chosen: chosen.id, other: sent.id } }));
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
      else if (answer.data) await this.add(answer.data);
      return answer.status === "ok" && answer.data !== null;
    } finally {
      this.#choosing = false;
    }
  }

  async sendTo(device: PairedDevice, dropped: Chosen | null = null): Promise<void> {
    const inShare = this.picked === device.id ? this.options.inShare : null;
    await this.send({ target: { to: "device", id: device.id }, label: device.name, inShare }, null, dropped);
  }

  /** Sends to a device that is not paired, with the code that it shows if that is known already. */
  async sendToNearby(nearby: Nearby, code: string | null = null, dropped: Chosen | null = null): Promise<void> {
    const inShare = this.picked === ANOTHER ? this.options.inShare : null;
    await this.send({ target: { to: "nearby", id: nearby.id }, label: nearby.name, inShare }, code, dropped);
  }

  /** Sends to what was typed. */
  async sendToTyped(text: string, code: string): Promise<void> {
    await this.send({ target: { to: "typed", text: text.trim() }, label: text.trim(), inShare: this.options.inShare }, code);
  }

  /**
   * Sends once more what a transfer has sent, to the same machine; the fault where that is not
   * remembered.
   */
  async again(id: string): Promise<Fault | null> {
    const answer = await this.#ipc.call({ chooseAgain: { id } });
    if (answer.status === "error") return answer.error;
    const { chosen: again, target, label, verify, leave_out: leaveOut, in_share: inShare } = answer.data;
    const chosen = { ...again, leave_out: leaveOut };
    this.options = { ...this.options, verify };
    this.#again = chosen.id;
    // What is in the list is for later.
    await this.send({ target, label, inShare }, null, chosen);
    const { fault } = this;
    if (!fault || asksForCode(fault)) return null;
    this.#offered = null;
    this.#forgetAim();
    return fault;
  }

  /** Offers what the last attempt offered to the same target once more, with a code. */
  async retry(code: string | null): Promise<void> {
    if (this.aim && this.#offered) await this.#offer(this.#offered, this.aim, code);
  }

  /**
   * Offers it to the device that answered in another one's place: a person says that it is meant.
   */
  async confirm(): Promise<void> {
    const { fault, aim } = this;
    if (fault?.code !== "unconfirmed" || aim?.target.to !== "typed" || !this.#offered) return;
    const target = { to: "confirmed" as const, id: fault.found, text: aim.target.text };
    await this.#offer(this.#offered, { ...aim, target, label: fault.name }, null);
  }

  /**
   * Offers what is chosen, or what was dropped beside that. Another attempt that is under way goes
   * on by itself, among the transfers.
   */
  async send(aim: Aim, code: string | null, dropped: Chosen | null = null): Promise<void> {
    const offered = dropped ? { chosen: dropped, turn: ASIDE, leaveOut: dropped.leave_out } : await this.#ready();
    if (offered) await this.#offer(offered, aim, code);
  }

  /**
   * What is to be offered now, asked for where nothing is chosen; nothing while that is being
   * offered already.
   */
  async #ready(): Promise<Offered | null> {
    if (this.busy || (!this.chosen && !(await this.choose("folders")))) return null;
    // Something may have been dropped and sent while the picker was open.
    return this.chosen && !this.busy ? { chosen: this.chosen, turn: this.turn, leaveOut: this.leaveOut } : null;
  }

  async #offer(offered: Offered, aim: Aim, code: string | null): Promise<void> {
    const isThere = this.attempt && offered.chosen.id === this.#offered?.chosen.id && isSame(aim, this.aim);
    // It is being asked for, or the same is on its way to the same machine.
    if (this.#asking || isThere) return;
    if (!isSame(aim, this.aim)) {
      this.wrongTries = 0;
      this.meeting = null;
    }
    this.aim = aim;
    this.fault = null;
    this.#offered = offered;
    this.#isMeeting = code !== null && code !== "";
    this.attempt = null;
    this.#asking = true;
    const { verify, limit } = this.options;
    this.#sentWith = { verify, limit, inShare: aim.inShare ?? null };
    let transfer: Transfer;
    try {
      const answer = await this.#ipc.send(offered.chosen.id, aim.target, (code && tidyCode(code)) || null, verify, limit, offered.leaveOut, aim.inShare ?? null);
      if (answer.status === "error") {
        this.#fail(answer.error);
        return;
      }
      if (aim.target.to === "device") rememberOptions(aim.target.id, this.#sentWith);
      if (answer.data.is === "waits") {
        this.settle(offered.turn, offered.chosen);
        this.onWaits(answer.data.waiting);
        return;
      }
      transfer = this.#transfers.add({ ...answer.data.transfer, target: aim.label });
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
    // A repeated send is shown where it was started, unless it needs a code.
    const isToldHere = (error: Fault) => !this.#isAgain || asksForCode(error);
    if (report?.outcome === "failed" && transfer.progress.entries_done === 0 && !wasHeard(report.error) && isToldHere(report.error)) {
      this.attempt = null;
      if (report.error.code === "wrong_code") this.wrongTries += 1;
      this.#fail(report.error.code === "cancelled" ? null : report.error);
      void this.#transfers.dismiss(transfer);
    } else if (transfer.report || transfer.progress.stage !== "connecting") {
      this.attempt = null;
      if (this.#isMeeting && transfer.progress.peer_id !== null) this.onPaired(transfer.peer);
      // Who it is that was typed, or met for the first time, is known now.
      const { peer_id: peer } = transfer.progress;
      if (peer !== null && this.aim && this.aim.target.to !== "device") rememberOptions(peer, this.#sentWith);
      // What was typed has done its work: the device has a card now, if they are paired.
      if (this.picked === ANOTHER && this.aim?.target.to === "typed" && this.draft.address.trim() === this.aim.target.text) {
        this.draft.address = "";
        this.draft.code = "";
        this.pick(transfer.progress.peer_id);
      }
      this.settle(this.#offered?.turn, this.#offered?.chosen);
    }
  }

  get #isAgain(): boolean {
    return this.#offered !== null && this.#offered.chosen.id === this.#again;
  }

  #fail(fault: Fault | null): void {
    this.fault = fault;
    if (this.asksCode && this.#isAgain) this.onAsksCode();
    if (!fault) this.meeting = null;
    else if (asksForCode(fault)) this.meeting ??= fault.code === "pairing_needed" ? fault.peer_name : (this.aim?.label ?? null);
  }

  /** Ends the attempt, or gives it up. */
  async giveUp(): Promise<void> {
    if (this.attempt) await this.cancelAttempt();
    else this.dropAttempt();
  }

  /** Gives up what could not be sent; what was dropped beside the list comes into it. */
  dropAttempt(): void {
    const aside = this.#offered?.turn === ASIDE ? this.#offered.chosen : null;
    this.#offered = null;
    this.#forgetAim();
    if (aside) void this.add(aside);
  }

  async cancelAttempt(): Promise<void> {
    if (this.attempt) await this.#transfers.cancel(this.attempt, "remove");
  }
}

function isSame(one: Aim, other: Aim | null): boolean {
  const key = ({ target, inShare }: Aim) => `${target.to}:${target.to === "typed" ? target.text : target.id}:${inShare ?? ""}`;
  return other !== null && key(one) === key(other);
}

/** Faults that belong in the list of transfers: the other machine had the offer before it ended. */
function wasHeard(fault: Fault): boolean {
  return fault.code === "declined" || fault.code === "connection_lost" || fault.code === "destination_full";
}
