// The whole of the window's state: starts it, and hands every event to the part that it concerns.
import type { AppEvent, Chosen, Drag, Earlier, Everything, Fault, Ipc, Moving, Note, PairedDevice } from "../ipc";
import { t } from "../messages";
import { endWords, titleWords } from "../transfer-words";
import { isOfService, type VIEWS } from "../words";
import { percent } from "../format";
import { Announcer } from "./announcer";
import { Browse } from "./browse.svelte";
import { Copying } from "./copying.svelte";
import { Devices } from "./devices.svelte";
import { PairAgain } from "./pair-again.svelte";
import { DropBoxes } from "./drop-boxes.svelte";
import { Inbox } from "./inbox.svelte";
import { Surroundings } from "./nearby.svelte";
import { NoteDraft } from "./note-draft.svelte";
import { Notes } from "./notes.svelte";
import { type Aim, HERE, Outbox } from "./outbox.svelte";
import { Past } from "./past.svelte";
import { forgetLeftOut } from "./left-out";
import { forgetOptions } from "./send-options";
import { getLimitOf, rememberGetLimit } from "./get-limits";
import { Settings } from "./settings.svelte";
import { Shares, SHARES } from "./shares.svelte";
import { Toasts } from "./toasts.svelte";
import { type Transfer, Transfers } from "./transfers.svelte";
import { Unfinished } from "./unfinished.svelte";
import { WaitingTransfers } from "./waiting.svelte";

/** What the navigation lists. */
export type View = keyof typeof VIEWS;

export class AppState {
  /** Browsing a device is a view that its card and its row lead to. */
  view = $state<View | "browse">("send");
  /** Which service is shown, counted from the first; 0 before there is one. */
  service = $state(0);
  fault = $state.raw<Fault | null>(null);
  /** Why there is no service, as long as there is none. */
  lost = $state.raw<Fault | null>(null);
  /** Announced once to screen readers. */
  announcement = $state("");
  /** Whether the keyboard shortcuts are listed. */
  showsKeys = $state(false);
  readonly toasts = new Toasts();
  readonly settings: Settings;
  readonly pairAgain: PairAgain;
  readonly devices: Devices;
  readonly surroundings: Surroundings;
  readonly transfers: Transfers;
  readonly inbox: Inbox;
  /** Past transfers, and those of them that were received. */
  readonly past: Past;
  readonly received: Past;
  readonly unfinished: Unfinished;
  readonly waiting: WaitingTransfers;
  readonly outbox: Outbox;
  /** The note that is about to be sent. */
  readonly note: NoteDraft;
  /** The notes that were received. */
  readonly notes: Notes;
  readonly copying: Copying;
  readonly browse: Browse;
  readonly shares: Shares;
  readonly dropBoxes: DropBoxes;
  readonly #announcer = new Announcer();
  readonly #ipc: Ipc;
  /** Events that came before everything they are about; null once that is there. */
  #early: AppEvent[] | null = [];
  /** Counts who was asked for everything: what one answers that was lost meanwhile is not shown. */
  #asked = 0;

  constructor(ipc: Ipc) {
    this.#ipc = ipc;
    this.settings = new Settings(ipc);
    this.devices = new Devices(ipc);
    this.pairAgain = new PairAgain(ipc);
    this.pairAgain.onKnown = (id, name) => {
      this.devices.said(id, true);
      this.#sayPaired(name);
    };
    this.surroundings = new Surroundings(ipc);
    this.transfers = new Transfers(ipc);
    this.inbox = new Inbox(ipc);
    this.past = new Past(ipc, null);
    this.received = new Past(ipc, "receiving");
    this.unfinished = new Unfinished(ipc);
    this.waiting = new WaitingTransfers(ipc);
    this.outbox = new Outbox(ipc, this.transfers);
    this.outbox.onWaits = ({ title, target }) => this.toasts.show(() => t("send.waits", { what: title.path, name: target }));
    this.outbox.onPaired = (name) => this.#sayPaired(name);
    this.outbox.onAsksCode = () => (this.view = "send");
    this.note = new NoteDraft(ipc);
    this.note.onSent = (name) => this.toasts.show(() => t("note.sent", { name }));
    this.notes = new Notes(ipc);
    this.copying = new Copying(ipc, this.outbox, this.transfers);
    this.browse = new Browse(ipc, this.transfers);
    this.browse.onBegun = ({ title, more, peer }) => (this.announcement = t("browse.begun", { what: titleWords(title, more), name: peer }));
    this.browse.onAlready = ({ title, more }) => this.toasts.show(() => t("browse.already", { what: titleWords(title, more) }));
    this.browse.onRead = (n) => (this.announcement = t("browse.items", { n }));
    this.shares = new Shares(ipc);
    this.dropBoxes = new DropBoxes(ipc);
    this.copying.onBegun = ({ title, target }) => (this.announcement = t("copy.started", { what: title, folder: target }));
    this.transfers.onUpdate = (transfer) => {
      this.#noteKnown(transfer);
      this.outbox.follow(transfer);
      this.copying.follow(transfer);
      if (!transfer.report) {
        const { progress, status, title } = transfer;
        const isCounted = status.state === "moving" && progress.totals_final && progress.bytes_total > 0;
        if (isCounted && this.#announcer.mayTell()) {
          this.announcement = t("activity.progressSaid", { title, share: percent(progress.bytes_done, progress.bytes_total) });
        }
        return;
      }
      const { what } = endWords(transfer.report, transfer.peer, transfer.direction, transfer.isGot);
      this.announcement = `${transfer.title}: ${what}`;
    };
  }

  async start(): Promise<void> {
    const asked = (this.#asked += 1);
    const early: AppEvent[] = (this.#early = []);
    const answer = await this.#ipc.start((event) => this.#take(event));
    if (asked !== this.#asked) return;
    if (answer.status === "error") {
      // One may have been found before it was answered that there is none.
      if (isOfService(answer.error) && early.some(({ event }) => event === "serviceFound")) return this.start();
      if (isOfService(answer.error)) this.lost = answer.error;
      else this.fault = answer.error;
      return;
    }
    this.#fill(answer.data);
    this.service += 1;
    this.#early = null;
    early.forEach((event) => this.#apply(event));
  }

  /** Has the service started that was lost. */
  async startService(): Promise<void> {
    await this.#ipc.startService();
  }

  /** Sends once more what a transfer has sent. */
  async #sendAgain(id: string, begun: (transfer: Transfer) => void): Promise<Fault | null> {
    const fault = await this.outbox.again(id);
    if (!fault && this.outbox.attempt) begun(this.outbox.attempt);
    return fault;
  }

  /** Gets once more what a transfer has got from a device, into the same folder. */
  async #getAgain(id: string, device: string | null, begun: (transfer: Transfer) => void): Promise<Fault | null> {
    const limit = device === null ? null : getLimitOf(device);
    const answer = await this.#ipc.call({ getAgain: { id, limit } });
    if (answer.status === "error") return answer.error;
    const transfer = this.transfers.add(answer.data);
    const { title, more, peer } = transfer;
    this.announcement = t("browse.begun", { what: titleWords(title, more), name: peer });
    begun(transfer);
    return null;
  }

  /** What started here once more: what was got, or what was sent. Says which transfer has begun. */
  again({ id, direction, peer_id: device }: Pick<Earlier, "id" | "direction" | "peer_id">, begun: (transfer: Transfer) => void): Promise<Fault | null> {
    return direction === "receiving" ? this.#getAgain(id, device, begun) : this.#sendAgain(id, begun);
  }

  /** The text that was copied elsewhere. */
  async pastedText(): Promise<string | null> {
    const answer = await this.#ipc.pasteText();
    return answer.status === "ok" ? answer.data : null;
  }

  /** Copies a text; false if the desktop did not take it. */
  async copyText(text: string): Promise<boolean> {
    const answer = await this.#ipc.copyText(text);
    return answer.status === "ok" && answer.data;
  }

  /** Makes the text that was copied elsewhere the note; false if there is none. */
  async pasteNote(): Promise<boolean> {
    const text = await this.pastedText();
    if (text) this.note.take(text);
    return Boolean(text);
  }

  /** Transfers with a device that are under way. */
  movingWith({ id, name }: PairedDevice): Transfer[] {
    return this.transfers.running.filter(({ progress, target }) => (progress.peer_id === null ? target === name : progress.peer_id === id));
  }

  /**
   * Whether a device is there now: it announces itself, waits for an answer, or is connected. One
   * that a transfer waits for may have gone without a word.
   */
  isOnline(device: PairedDevice): boolean {
    const moving = this.movingWith(device);
    if (moving.some(({ status: { state } }) => state === "interrupted" || state === "stalled")) return false;
    const isConnected = moving.some(({ progress: { stage } }) => stage !== "connecting");
    return isConnected || this.surroundings.of(device) !== undefined || this.inbox.offers.some(({ from_id: id }) => id === device.id);
  }

  /** Shows what a device shares. */
  browseDevice(device: PairedDevice): void {
    this.browse.open(device);
    this.view = "browse";
  }

  /** What the history has of a transfer, as far as it is read. */
  pastOf(transfer: Transfer): Earlier | undefined {
    return this.past.of(transfer) ?? this.received.of(transfer);
  }

  /** Removes what has ended from the list, and from the history, which would list it again. */
  async removeEnded(transfer: Transfer): Promise<void> {
    await this.transfers.forget(transfer);
    this.past.drop(transfer);
    this.received.drop(transfer);
  }

  /** Empties the selection, which can be undone for a while. */
  clearSelection(): void {
    const { chosen } = this.outbox;
    if (!chosen) return;
    this.copying.close();
    this.outbox.clear();
    this.toasts.show(
      () => t("send.cleared"),
      () => void this.outbox.restore(chosen),
    );
  }

  /** Deletes a note, which can be undone for a while: until then it is stored. */
  deleteNote(note: Note): void {
    this.notes.hide(note);
    this.toasts.show(
      () => t("note.deleted", { from: note.from }),
      () => this.notes.show(note),
      () => void this.notes.forget(note),
    );
  }

  #take(event: AppEvent): void {
    if (event.event === "serviceLost") this.#lose(event.fault);
    // That it was lost is said until there is something of the next one to show.
    else if (event.event === "serviceFound" && this.lost) void this.start();
    else if (this.#early) this.#early.push(event);
    else this.#apply(event);
  }

  #lose(fault: Fault): void {
    this.#asked += 1;
    this.lost = fault;
    this.inbox.listening = { is: "off", refused: null };
    this.inbox.requests = [];
    this.inbox.offers = [];
  }

  #fill(all: Everything): void {
    this.lost = null;
    // Another service knows neither what was chosen nor what ran.
    this.outbox.reset();
    this.note.reset();
    this.pairAgain.giveUp();
    this.notes.fill(all.notes);
    this.copying.reset();
    this.browse.reset();
    this.shares.list = null;
    this.shares.asking = null;
    this.transfers.list = [];
    this.transfers.asked = null;
    this.settings.stored = all.settings;
    this.settings.isSetUp = all.is_set_up;
    this.settings.deviceId = all.device_id;
    this.settings.machine = all.machine;
    this.settings.defaultPort = all.default_port;
    this.settings.codeAttemptsMax = all.code_attempts_max;
    this.devices.list = all.devices;
    this.surroundings.list = all.nearby;
    this.inbox.listening = all.listening;
    this.inbox.requests = all.requests;
    this.inbox.offers = all.offers;
    this.waiting.list = all.waiting;
    all.transfers.forEach((moving) => this.transfers.add(moving));
  }

  #apply(event: AppEvent): void {
    switch (event.event) {
      case "listeningChanged":
        this.inbox.listening = event.listening;
        return;
      case "settingsChanged":
        this.settings.stored = event.settings;
        // Somebody has stored them elsewhere: nothing is left to ask.
        this.settings.isSetUp = true;
        return;
      case "devicesChanged":
        this.devices.list
          .filter((before) => !event.devices.some(({ id }) => id === before.id))
          .forEach(({ id, name }) => {
            this.inbox.forgotten(name);
            forgetOptions(id);
            rememberGetLimit(id, null);
            forgetLeftOut(id);
          });
        this.devices.list = event.devices;
        this.#carryPick();
        return;
      case "nearbyChanged":
        this.surroundings.list = event.nearby;
        this.#carryPick();
        return;
      case "devicePaired":
        this.devices.said(event.device.id, true);
        this.inbox.paired(event.device.name);
        this.#sayPaired(event.device.name);
        return;
      case "requestsChanged": {
        const before = this.inbox.requests;
        const added = event.requests.find(({ id }) => !before.some((other) => other.id === id));
        if (added) this.announcement = t("request.wants", { name: added.name });
        this.inbox.requests = event.requests;
        for (const { paired_as: name } of event.requests) if (name !== null) this.inbox.forgotten(name);
        return;
      }
      case "pairingFailed":
        this.inbox.pairingFailed(event.failed);
        return;
      case "offerChanged":
        if (!this.inbox.offers.some((offer) => offer.id === event.offer.id)) {
          this.announcement = t("inbox.offerFrom", { from: event.offer.from });
        }
        this.inbox.offerChanged(event.offer);
        return;
      case "offerPicked":
        this.inbox.offerPicked(event.id);
        return;
      case "offerGone":
        this.inbox.offerGone(event.id, event.how);
        return;
      case "transferStarted":
        // What was asked for in this window is listed by the caller, which knows what its target
        // is called; unless it has waited for its turn.
        if (event.transfer.direction === "receiving" || isServed(event.transfer) || this.#hasWaited(event.transfer)) this.transfers.add(event.transfer);
        return;
      case "chosenCounted":
        this.outbox.counted(event);
        return;
      case "noteReceived":
        this.announcement = t("note.from", { from: event.note.from });
        return;
      case "notesChanged":
        this.notes.fill(event.notes);
        return;
      case "sharesChanged":
        this.shares.changed();
        return;
      case "waitingChanged":
        this.waiting.list = event.waiting;
        return;
      case "dragged":
        this.#drag(event.drag);
        return;
      case "opened":
        if (event.chosen) void this.outbox.add(event.chosen);
        this.view = event.view ?? (event.chosen ? "send" : this.view);
        return;
    }
  }

  /** The Inbox has it in a notice. */
  #sayPaired(name: string): void {
    if (this.view !== "inbox") this.toasts.show(() => t("inbox.paired", { name }));
  }

  /** The card of a device nearby gives way to another one once it is paired: that one is picked. */
  #carryPick(): void {
    const paired = this.surroundings.onCard(this.outbox.picked)?.paired_id;
    if (paired && this.devices.list.some(({ id }) => id === paired)) this.outbox.picked = paired;
  }

  /** What a transfer tells of whether the device that it goes to still knows this one. */
  #noteKnown({ direction, progress, report, target }: Transfer): void {
    if (direction !== "sending") return;
    const device = this.devices.list.find(({ id, name }) => id === progress.peer_id || (progress.peer_id === null && name === target));
    if (!device) return;
    if (report?.outcome === "failed" && report.error.code === "pairing_needed") this.devices.said(device.id, false);
    else if (!report && progress.peer_id === device.id && progress.stage !== "connecting") this.devices.said(device.id, true);
  }

  /** Where what is sent goes, by the card of a device; nothing for other cards. */
  aimOf(card: string | null): Aim | null {
    const device = this.devices.list.find(({ id }) => id === card);
    if (device) return { target: { to: "device", id: device.id }, label: device.name };
    const nearby = this.surroundings.onCard(card);
    return nearby ? { target: { to: "nearby", id: nearby.id }, label: nearby.name } : null;
  }

  /** A text hangs over a position of the page. */
  textOver(x: number, y: number): void {
    this.note.dragged = true;
    const card = this.#cardUnder(x, y);
    this.outbox.over = this.aimOf(card) && card;
  }

  textLeft(): void {
    this.note.dragged = false;
    this.outbox.over = null;
  }

  /** A text was dropped: on a device's card it goes there at once. */
  textDropped(text: string): void {
    const card = this.outbox.over;
    this.textLeft();
    this.view = "send";
    const aim = this.aimOf(card);
    if (!this.note.take(text) || !aim) return;
    this.outbox.pick(card);
    void this.note.send(aim);
  }

  /** Whose card is drawn at a position of the window, where it can be used now. */
  #cardAt = (x: number, y: number): string | null => {
    // A desktop that enlarges letters has WebKitGTK enlarge the page, whose pixels are larger then
    // than those that the window counts in.
    const enlarged = outerWidth / innerWidth || 1;
    return this.#cardUnder(x / enlarged, y / enlarged);
  };

  /** The same at a position of the page. */
  #cardUnder(x: number, y: number): string | null {
    const card = document.elementFromPoint(x, y)?.closest<HTMLElement>("[data-card]");
    this.outbox.isOverRow = card?.dataset.row !== undefined;
    return card && !card.matches(":disabled") && card.ariaDisabled !== "true" ? (card.dataset.card ?? null) : null;
  }

  #drag(drag: Drag): void {
    if (drag.is === "textEntered") {
      this.note.dragged = true;
      return;
    }
    if (this.note.dragged && drag.is === "over") {
      const card = this.#cardAt(drag.x, drag.y);
      this.outbox.over = this.aimOf(card) && card;
      return;
    }
    if (drag.is === "left") this.textLeft();
    if (drag.is === "textDropped") {
      if (!this.outbox.over) {
        const card = this.#cardAt(drag.x, drag.y);
        this.outbox.over = this.aimOf(card) && card;
      }
      this.textDropped(drag.text);
      return;
    }
    const dropped = this.outbox.drag(drag, this.#cardAt);
    if (!dropped) return;
    const { chosen } = dropped;
    if (dropped.card?.startsWith(SHARES)) {
      this.shares.ask(chosen, dropped.card.slice(SHARES.length + 1) || null);
      return;
    }
    this.view = "send";
    const device = this.devices.list.find(({ id }) => id === dropped.card);
    const nearby = this.surroundings.onCard(dropped.card);
    if (!device && !nearby) {
      void this.#addDropped(chosen, dropped.card);
      return;
    }
    // The card says what goes there: what is in the list already is for later.
    const beside = this.outbox.isList ? chosen : null;
    if (!beside) this.outbox.take(chosen);
    this.outbox.pick(dropped.card);
    if (device) void this.outbox.sendTo(device, beside);
    else if (nearby) void this.outbox.sendToNearby(nearby, null, beside);
  }

  async #addDropped(chosen: Chosen, card: string | null): Promise<void> {
    await this.outbox.add(chosen);
    if (card === HERE) await this.copying.begin();
  }

  /** One that waited begins before it is said that it waits no more. */
  #hasWaited({ direction, title, target }: Moving): boolean {
    return direction === "sending" && this.waiting.list.some((waiting) => waiting.title.path === title.path && waiting.target === target);
  }
}

/** Whether another device gets it from here. */
function isServed({ direction, target }: Moving): boolean {
  return direction === "sending" && target === null;
}
