// The transfers of every way, each fed by its own channel.
import type { Earlier, EntryKind, Report, Fault, Ipc, Moving, OnCancel, Progress, Update, Direction, TransferAction, TransferStatus } from "../ipc";
import { t } from "../messages";
import { isGot, placeOf } from "../get-words";
import { course, type Course, RetryHistory } from "./course";
import { LimitHistory } from "./limits";
import { keyOf } from "./past.svelte";
import { GRAPH_EVERY_MS, NO_POINTS, RateHistory } from "./rate";
import { Together } from "./together.svelte";

/**
 * Cards of transfers that have ended: the latest. What ended before is a line of the history, which
 * opens into the same. Fewer than the service keeps.
 */
const ENDED_MAX = 8;

export class Transfer {
  readonly id: string;
  readonly direction: Direction;
  readonly title: string;
  readonly more: number;
  readonly target: string;
  /** It is sent or got by this device; else the other one has started it. */
  readonly isStartedHere: boolean;
  /** The receiving device has asked for it. */
  readonly isGot: boolean;
  /** The share that it is got from, and the path in that; empty where it is not got. */
  readonly place: string;
  /** The drop box that it is sent into, or what was got first, as `SHARE/PATH`. */
  readonly inShare: string;
  readonly startedAtMs: number;
  readonly #rates = new RateHistory();
  readonly #limits = new LimitHistory();
  readonly #retries = new RetryHistory();
  /** The latest figures; replaced whole. */
  progress = $state.raw() as Progress;
  report = $state.raw<Report | null>(null);
  /** What it is doing and what can be done about it, as the service says. */
  status = $state.raw() as TransferStatus;
  /**
   * Its course; replaced whole, more seldom than the figures. Once it has ended, that is the one of
   * the history.
   */
  course = $state.raw<Course>({ points: NO_POINTS, average: 0, stretches: [], shares: [], retries: [], outages: [] });
  #drawnMs = -GRAPH_EVERY_MS;
  /** It reads back, or is paused while it does. */
  #readsBack = false;
  /** What was counted before reading back began to count anew. */
  #copied = { bytes: 0, entries: 0 };

  /** One that has gone on for a while is taken up with its course so far. */
  constructor(moving: Moving) {
    this.id = moving.id;
    this.direction = moving.direction;
    this.title = moving.title.path;
    this.more = moving.more_names;
    this.target = moving.target ?? "";
    this.isStartedHere = moving.target !== null;
    this.isGot = isGot(moving);
    this.place = placeOf(moving);
    this.inShare = moving.in_share?.path ?? "";
    this.startedAtMs = moving.started_at * 1000;
    for (const { seconds, bytes, entries, limited_by: by, reconnected } of moving.series) {
      const ranMs = Math.round(seconds * 1000);
      this.#rates.add(ranMs, bytes, entries, by === "limit");
      this.#limits.add(ranMs, by, Infinity);
      this.#retries.add(seconds, reconnected);
    }
    this.#look(moving, moving.series.at(-1));
    this.report = moving.report;
    if (moving.report) this.course = course(moving.series);
    this.status = moving.status;
  }

  /** What to call the other machine; of a copy, its folder. */
  get peer(): string {
    return this.progress.peer ?? (this.target || t("common.otherDevice"));
  }

  can(action: TransferAction): boolean {
    return this.status.actions.includes(action);
  }

  /** Takes in what has changed. */
  apply(update: Update): void {
    this.#look(update.progress);
    this.status = update.status;
    if (update.is !== "ended") return;
    this.course = course(update.series);
    this.report = update.report;
  }

  #count(progress: Progress): void {
    const ranMs = Math.round(progress.seconds * 1000);
    this.#rates.add(ranMs, this.#copied.bytes + progress.bytes_moved, this.#copied.entries + progress.entries_done, progress.limited_by === "limit");
    this.#limits.add(ranMs, progress.limited_by);
    this.#retries.add(progress.seconds, progress.reconnected, progress.stage === "reconnecting");
  }

  #look(progress: Progress, before?: { bytes: number; entries: number }): void {
    const readsBack = progress.stage === "verifying" || (progress.stage === "paused" && this.#readsBack);
    if (readsBack && !this.#readsBack) {
      const { bytes_moved, entries_done } = this.progress ?? { bytes_moved: before?.bytes ?? 0, entries_done: before?.entries ?? 0 };
      this.#copied = { bytes: bytes_moved, entries: entries_done };
    }
    this.#readsBack = readsBack;
    this.#count(progress);
    const ranMs = Math.round(progress.seconds * 1000);
    this.progress = progress;
    if (progress.stage !== "ended" && ranMs - this.#drawnMs >= GRAPH_EVERY_MS) {
      this.#drawnMs = ranMs;
      this.course = {
        points: this.#rates.points(),
        average: this.#rates.average,
        stretches: this.#limits.stretches(),
        shares: this.#limits.shares(),
        retries: this.#retries.seconds(),
        outages: this.#retries.outages(),
      };
    }
  }
}

/** Whether something of it failed, so that a person should look at it. */
export function hasFailed({ status: { state } }: { status: TransferStatus }): boolean {
  return state === "failed" || state === "done_with_failures";
}

/** Whether both moved the same between the same two devices, or into the same folder. */
function isSame(one: Transfer, other: Transfer): boolean {
  const key = ({ direction, title, more, inShare }: Transfer) => [direction, title, more, inShare].join("\0");
  const [id, otherId] = [one.progress.peer_id, other.progress.peer_id];
  // One that reached nobody has a target only.
  const areOfOne = id !== null && otherId !== null ? id === otherId : one.target !== "" && one.target === other.target;
  return key(one) === key(other) && areOfOne;
}

/** Whether a line of the history is of the same as one that runs. */
function isLineOf(earlier: Earlier, running: Transfer): boolean {
  const key = [running.direction, running.title, running.more, running.inShare].join("\0");
  const { peer_id: id } = running.progress;
  const areOfOne = id !== null && earlier.peer_id !== null ? id === earlier.peer_id : running.target !== "" && running.target === earlier.target;
  return key === [earlier.direction, earlier.title.path, earlier.more_names, earlier.in_share?.path ?? ""].join("\0") && areOfOne;
}

/** What has ended, the latest first. */
export function endedOf(list: Transfer[]): Transfer[] {
  const at = ({ report }: Transfer) => report?.ended_at ?? 0;
  return list.filter((transfer) => transfer.report).sort((one, other) => at(other) - at(one));
}

export class Transfers {
  /** Newest first. */
  list = $state<Transfer[]>([]);
  /** Whether to stop it is being asked; it may end meanwhile. */
  asked = $state.raw<Transfer | null>(null);
  readonly together = new Together();
  running = $derived(this.list.filter((transfer) => !transfer.report));
  /** The latest first. */
  ended = $derived(endedOf(this.list));
  /** How many have ended since this window opened: with each, the history is longer. */
  ends = $state(0);
  /** Called after every update. */
  onUpdate: (transfer: Transfer) => void = () => {};
  readonly #ipc: Ipc;

  constructor(ipc: Ipc) {
    this.#ipc = ipc;
  }

  find(id: string): Transfer | undefined {
    return this.list.find((transfer) => transfer.id === id);
  }

  /**
   * What became of one that failed when the same was transferred later: all of it arrived, or that
   * one's report says what is missing still.
   */
  afterFailure(transfer: Transfer): "resolved" | "repeated" | null {
    if (!hasFailed(transfer)) return null;
    const later = this.list.slice(0, Math.max(0, this.list.indexOf(transfer))).filter((other) => isSame(other, transfer));
    if (later.some(({ status }) => status.state === "done")) return "resolved";
    return later.some(({ status }) => status.state === "done_with_failures") ? "repeated" : null;
  }

  /** Whether a person should look at it: the last failure of something that nobody tries again. */
  needsLook(transfer: Transfer): boolean {
    if (!hasFailed(transfer) || this.afterFailure(transfer) !== null) return false;
    const later = this.list.slice(0, Math.max(0, this.list.indexOf(transfer))).filter((other) => isSame(other, transfer));
    return !later.some((other) => !other.report || hasFailed(other));
  }

  /** Those of past failures that are not listed here, and that nobody tries again. */
  unresolved(past: Earlier[]): Earlier[] {
    return this.without(past).filter((earlier) => !this.running.some((running) => isLineOf(earlier, running)));
  }

  /** What each of the paths is now that it brought. */
  async kinds(transfer: Transfer): Promise<(EntryKind | null)[]> {
    const answer = await this.#ipc.call({ arrivedKinds: { id: transfer.id } });
    return answer.status === "ok" ? answer.data : [];
  }

  /** Lists a transfer, once, and follows it until it has ended. */
  add(moving: Moving): Transfer {
    const known = this.find(moving.id);
    if (known && known.startedAtMs === moving.started_at * 1000) return known;
    const transfer = new Transfer(moving);
    // The service gives each id once: what has it already is of one that was started anew.
    this.list = [transfer, ...this.list.filter((other) => other !== known)];
    if (!moving.report) {
      this.together.begin(transfer);
      void this.#ipc.watch(transfer.id, (update) => {
        transfer.apply(update);
        this.together.follow(transfer);
        this.onUpdate(transfer);
        if (transfer.report) {
          this.ends += 1;
          this.#fold();
        }
      });
    } else {
      this.#fold();
    }
    return transfer;
  }

  /** Takes those off the list that ended first. */
  #fold(): void {
    const ended = this.list.filter((transfer) => transfer.report);
    if (ended.length <= ENDED_MAX) return;
    const at = ({ report }: Transfer) => report?.ended_at ?? 0;
    const folded = new Set(ended.sort((a, b) => at(b) - at(a)).slice(ENDED_MAX));
    this.list = this.list.filter((transfer) => !folded.has(transfer));
  }

  /** Those of past transfers that are not listed here. */
  without(past: Earlier[]): Earlier[] {
    const listed = new Set(this.list.map(({ id, direction }) => `${direction} ${id}`));
    return past.filter((earlier) => !listed.has(`${earlier.direction} ${keyOf(earlier)}`));
  }

  async cancel(transfer: Transfer, then: OnCancel): Promise<void> {
    await this.#ipc.call({ cancel: { id: transfer.id, then } });
  }

  async pause(transfer: Transfer): Promise<void> {
    await this.#ipc.call({ pause: { id: transfer.id } });
  }

  /** Lets a paused one go on, and has one that waits look at once whether it can. */
  async resume(transfer: Transfer): Promise<void> {
    await this.#ipc.call({ resume: { id: transfer.id } });
  }

  /**
   * Shows the received entries in the desktop's file manager; the fault where that cannot be done.
   */
  async open(transfer: Transfer): Promise<Fault | null> {
    const answer = await this.#ipc.openArrived(transfer.id);
    return answer.status === "error" ? answer.error : null;
  }

  /**
   * Selects the received entries in the desktop's file manager; the fault where that cannot be
   * done.
   */
  async reveal(transfer: Transfer): Promise<Fault | null> {
    const answer = await this.#ipc.revealArrived(transfer.id);
    return answer.status === "error" ? answer.error : null;
  }

  /** Takes an ended transfer off the list. */
  async dismiss(transfer: Transfer): Promise<void> {
    this.list = this.list.filter((other) => other.id !== transfer.id);
    await this.#ipc.call({ dismiss: { id: transfer.id } });
  }

  /** The same for good: the history has it no more either. */
  async forget(transfer: Transfer): Promise<void> {
    this.list = this.list.filter((other) => other.id !== transfer.id);
    await this.#ipc.call({ forgetTransfer: { id: transfer.id } });
  }

  /** Takes those off the list that have ended. */
  async dismissEnded(): Promise<void> {
    await Promise.all(this.ended.map((transfer) => this.dismiss(transfer)));
  }
}
