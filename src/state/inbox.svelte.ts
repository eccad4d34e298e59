// Receiving: whether this machine listens, the code on show, offers that wait, and who tried to
// pair.
import type { ComparedBefore, Difference, OnConflict, Fault, Ipc, Left, Listening, Moving, Offer, OpenCode, PairingRequest, TurnedAway } from "../ipc";
import { t } from "../messages";
import { pairingFailedWords } from "../words";

/** Notices kept on the screen: the latest are the ones that matter. */
const NOTICES_MAX = 3;

export interface Notice {
  id: number;
  /** In the language that is spoken when it is asked. */
  says: () => string;
  bad: boolean;
  /** The machine that it says is paired. */
  paired?: string;
}

export class Inbox {
  listening = $state.raw<Listening>({ is: "off", refused: null });
  /** Devices that want to pair and have no code, the one that waits longest first. */
  requests = $state.raw<PairingRequest[]>([]);
  /** Devices whose requests are not shown. */
  blocked = $state.raw<PairingRequest[]>([]);
  /** Whose block was taken back here last: its request is led to once it is shown again. */
  unblocked: string | null = null;
  offers = $state.raw<Offer[]>([]);
  /** The offer whose notification was clicked, until its card is shown. */
  picked = $state.raw<string | null>(null);
  notices = $state.raw<Notice[]>([]);
  /** What went wrong with an answer to an offer, and whose it was. */
  problem = $state.raw<{ from: string; fault: Fault } | null>(null);
  #lastNotice = 0;
  readonly #ipc: Ipc;

  constructor(ipc: Ipc) {
    this.#ipc = ipc;
  }

  offerChanged(offer: Offer): void {
    const known = this.offers.some((other) => other.id === offer.id);
    this.offers = known
      ? this.offers.map((other) => (other.id === offer.id ? offer : other))
      : [...this.offers, offer];
  }

  /** A person looks at this one: it stands first. */
  offerPicked(id: string): void {
    const picked = this.offers.find((offer) => offer.id === id);
    if (!picked) return;
    this.offers = [picked, ...this.offers.filter((offer) => offer !== picked)];
    this.picked = id;
  }

  offerGone(id: string, how?: Left): void {
    const gone = this.offers.find((offer) => offer.id === id);
    // A person who was about to answer it shall see why it has gone.
    if (gone && how === "overtaken") this.#notice(() => t("inbox.overtaken", { from: gone.from }), true);
    this.offers = this.offers.filter((offer) => offer.id !== id);
  }

  pairingFailed(failed: TurnedAway): void {
    this.#notice(() => pairingFailedWords(failed), true);
  }

  /** What failed before that holds no more. */
  paired(name: string): void {
    this.notices = this.notices.filter((notice) => !notice.bad && notice.paired !== name);
    this.#notice(() => t("inbox.paired", { name }), false, name);
  }

  /** What was said of a machine that is not paired any more holds no more. */
  forgotten(name: string): void {
    this.notices = this.notices.filter((notice) => notice.paired !== name);
  }

  /** Takes off what is of no use once it was read. */
  seen(): void {
    this.notices = this.notices.filter((notice) => notice.bad);
  }

  dismissNotice(id: number): void {
    this.notices = this.notices.filter((notice) => notice.id !== id);
  }

  #notice(says: () => string, bad: boolean, paired?: string): void {
    this.#lastNotice += 1;
    this.notices = [{ id: this.#lastNotice, says, bad, paired }, ...this.notices].slice(0, NOTICES_MAX);
  }

  async accept(offer: Offer, existing: OnConflict): Promise<Moving | null> {
    const shown = { bytes: offer.bytes_so_far, is_final: offer.totals_final };
    const answer = await this.#ipc.call({ accept: { id: offer.id, shown, onConflict: existing } });
    if (answer.status === "error" && answer.error.code === "grown") {
      // Its card stays, with the new size, to be answered again.
      this.problem = { from: offer.from, fault: answer.error };
      return null;
    }
    return this.#answered(offer, answer) && answer.status === "ok" ? answer.data : null;
  }

  async decline(offer: Offer): Promise<boolean> {
    return this.#answered(offer, await this.#ipc.call({ decline: { id: offer.id } }));
  }

  #answered(offer: Offer, answer: { status: "ok" } | { status: "error"; error: Fault }): boolean {
    this.offerGone(offer.id);
    this.problem = answer.status === "error" ? { from: offer.from, fault: answer.error } : null;
    return answer.status === "ok";
  }

  /** What differs from what is in its folder under that choice, as far as that was found. */
  async differences(offer: Offer, existing: OnConflict): Promise<Difference[]> {
    const answer = await this.#ipc.call({ offerDifferences: { id: offer.id, onConflict: existing } });
    return answer.status === "ok" ? answer.data : [];
  }

  /** How a transfer's offer compared with its folder, as long as the service has it. */
  async comparedBefore(id: string): Promise<ComparedBefore | null> {
    const answer = await this.#ipc.call({ comparedBefore: { id } });
    return answer.status === "ok" ? answer.data : null;
  }

  async chooseFolder(offer: Offer): Promise<void> {
    await this.#ipc.chooseOfferFolder(offer.id);
  }

  /**
   * The code that is open, and how long it is still good for. One that has run out is open no more,
   * whether or not that has been told.
   */
  openCode(nowMs: number): (OpenCode & { validMs: number }) | null {
    const { listening: on } = this;
    if (on.is !== "on" || !on.code) return null;
    const { code_valid_until: until } = on.code;
    const validMs = until === null ? Infinity : until * 1000 - nowMs;
    return validMs > 0 ? { ...on.code, validMs } : null;
  }

  /** Lets a device try a code; what it shows then comes as events. */
  async allowPairing(id: string): Promise<void> {
    await this.#answerRequest(id, await this.#ipc.call({ allowPairing: { id } }));
  }

  /** Takes a device's wish to pair off the screen for a while. */
  async dismissPairing(id: string): Promise<void> {
    await this.#answerRequest(id, await this.#ipc.call({ dismissPairing: { id } }));
  }

  async blockPairing(id: string): Promise<boolean> {
    return this.#answerRequest(id, await this.#ipc.call({ blockPairing: { id } }));
  }

  /** Reads which devices are blocked. */
  async loadBlocked(): Promise<void> {
    const answer = await this.#ipc.call("blockedPairings");
    if (answer.status === "ok") this.blocked = answer.data;
  }

  async unblockPairing(id: string): Promise<void> {
    this.unblocked = id;
    await this.#ipc.call({ unblockPairing: { id } });
    await this.loadBlocked();
  }

  /** One that is gone by now is there no more to be answered. */
  #answerRequest(id: string, { status }: { status: "ok" | "error" }): boolean {
    if (status === "error") this.requests = this.requests.filter((request) => request.id !== id);
    return status === "ok";
  }

  async renewCode(): Promise<void> {
    await this.#ipc.call("renewCode");
  }

  /** Listens on the settings' port, or on `port` for this run; 0 takes any that is free. */
  async listen(port: number | null): Promise<void> {
    await this.#ipc.call({ listen: { port } });
  }
}
