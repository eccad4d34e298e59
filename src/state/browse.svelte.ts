// What another device shares, as a person browses it: one folder at a time, which is read page by
// page, kept sorted, and chosen from.
import type { EntryThere, Fault, Ipc, ListingPage, OnConflict, PairedDevice, PathText, PathThere, PickedThere, ShareThere, UnreadThere } from "../ipc";
import { getLimitOf, rememberGetLimit } from "./get-limits";
import { keyOf, leftOutOf, rememberLeftOut } from "./left-out";
import { merged, type Order, type Row, rowOf, sorted, unreadRow } from "./rows";
import { Picks } from "./picks.svelte";
import type { Transfer, Transfers } from "./transfers.svelte";

/** Rows of one folder: what a webview shows smoothly, and about 60 MB of its memory. */
export const ROWS_MAX = 200_000;

/** Rows that are kept of folders looked at before, all together. */
const KEPT_ROWS_MAX = ROWS_MAX;

/** Entries of one request, which the other device bounds; their names, with a NUL each. */
const PICKED_MAX = 65_536;
const PICKED_BYTES_MAX = 4 * 1024 * 1024;

/** Bytes of a character in UTF-8 at most, for each of its UTF-16 units. */
const UNIT_BYTES_MAX = 3;

/** A folder as it was listed last. */
interface Listed {
  shares: ShareThere[];
  rows: Row[];
  unread: UnreadThere | null;
  isPart: boolean;
  atMs: number;
}

const NOTHING: Listed = { shares: [], rows: [], unread: null, isPart: false, atMs: 0 };

/** How it is got. */
export interface HowToGet {
  existing: OnConflict;
  verify: boolean;
  /** Bytes a second; null is no limit but the other device's. */
  limit: number | null;
}

export class Browse {
  /** The id of the device that is browsed. */
  device = $state<string | null>(null);
  /** The folder that is shown; null for the device's shares. */
  at = $state.raw<PathThere | null>(null);
  /** What is shown. */
  listed = $state.raw<Listed>(NOTHING);
  /** More of it is on the way. */
  reading = $state(false);
  /** Why it could not be listed. What is shown then is what was there before. */
  fault = $state.raw<Fault | null>(null);
  order = $state.raw<Order>({ by: "name", down: false });
  how = $state.raw<HowToGet>({ existing: "rename_top", verify: false, limit: null });
  /** What was typed to be left out, until another folder is opened. */
  #typed = $state.raw<string | null>(null);
  /** Why nothing could be got. */
  getFault = $state.raw<Fault | null>(null);
  asking = $state(false);
  /** What was got from here, the latest first. */
  got = $state.raw<Transfer[]>([]);
  readonly picks = new Picks();
  /** What was asked for with each of them, to tell a second press of the button. */
  readonly #begun = new WeakMap<Transfer, string>();
  /** Called when something has begun to be got. */
  onBegun: (transfer: Transfer) => void = () => {};
  /** Called instead when the same is still being got. */
  onAlready: (transfer: Transfer) => void = () => {};
  /** Called when a folder has been read. */
  onRead: (rows: number) => void = () => {};
  /** What was looked at before, the latest last. */
  readonly #kept = new Map<string, Listed>();
  /** Counts what was asked for: what is answered late is not shown. */
  #asked = 0;
  readonly #ipc: Ipc;
  readonly #transfers: Transfers;

  constructor(ipc: Ipc, transfers: Transfers) {
    this.#ipc = ipc;
    this.#transfers = transfers;
  }

  /** Whether what is shown is what was there before, and nobody knows whether it still is. */
  get isStale(): boolean {
    return this.fault !== null && this.listed.atMs > 0;
  }

  /** Makes a device's shares what the view lists when it is shown. */
  open(device: PairedDevice): void {
    if (this.device !== device.id) this.got = [];
    this.#typed = null;
    this.device = device.id;
    this.how = { ...this.how, limit: getLimitOf(device.id) };
    this.at = null;
    this.listed = NOTHING;
    this.fault = null;
  }

  /** Opens a share, or a folder of the one that is shown. */
  async enter(name: Row | ShareThere): Promise<void> {
    if (!("path" in name)) return this.go({ share: name.name, names: [] });
    if (this.at) await this.go({ share: this.at.share, names: [...this.at.names, name.path] });
  }

  /** The folder above; the row that it was entered by is picked there. */
  async up(): Promise<void> {
    if (!this.at) return;
    const { share, names } = this.at;
    const from = names.at(-1);
    await this.go(from ? { share, names: names.slice(0, -1) } : null, from);
  }

  /** Lists a folder. With `from`, that entry has the keyboard as soon as it is there. */
  async go(at: PathThere | null, from?: PathText): Promise<void> {
    const device = this.device;
    if (device === null) return;
    const asked = (this.#asked += 1);
    const isNow = () => asked === this.#asked;
    const key = keyOf(device, at);
    const before = this.#kept.get(key);
    if (key !== keyOf(device, this.at)) this.#typed = null;
    this.at = at;
    this.fault = null;
    this.getFault = null;
    this.reading = true;
    this.picks.clear();
    this.listed = before ? { ...before, rows: sorted(before.rows, this.order) } : NOTHING;
    this.picks.startAt(this.listed.rows, from);
    const opened = await this.#ipc.call({ browse: { device, at } });
    if (!isNow()) return;
    if (opened.status === "error") return this.#ended(opened.error);
    const reading = new Reading(this.order);
    for (;;) {
      const page = await this.#ipc.call({ readListing: { listing: opened.data } });
      if (!isNow()) return;
      if (page.status === "error") {
        // The part that has arrived is shown.
        if (!before && reading.has) this.#show(reading.listed(this.order), from);
        return this.#ended(page.error);
      }
      const isLast = reading.take(page.data);
      const isFull = reading.count >= ROWS_MAX;
      if (isLast || isFull) {
        if (isFull && !isLast) void this.#ipc.call("stopBrowsing");
        this.#show({ ...reading.listed(this.order), isPart: !isLast, atMs: Date.now() }, from);
        this.#keep(key, this.listed);
        this.reading = false;
        this.onRead(this.listed.rows.length);
        return;
      }
      // What was there before stays until all of it is known anew.
      if (!before && reading.isDue) this.#show(reading.listed(this.order), from);
    }
  }

  /** Lists the folder that is shown once more. */
  async again(): Promise<void> {
    await this.go(this.at);
  }

  /** Nobody looks any more. */
  leave(): void {
    this.#asked += 1;
    this.reading = false;
    void this.#ipc.call("stopBrowsing");
  }

  /** Forgets what it knew: there is another service. */
  reset(): void {
    this.#asked += 1;
    this.got = [];
    this.reading = false;
  }

  sort(by: Order["by"]): void {
    this.order = { by, down: this.order.by === by && !this.order.down };
    this.listed = { ...this.listed, rows: sorted(this.listed.rows, this.order) };
  }

  /** Whether the folder that is shown would be got, and not what is picked in it. */
  get isWhole(): boolean {
    return this.picks.count === 0 || this.isTooMuch;
  }

  /** What would be got: the picked entries, or else the folder that is shown. */
  get picked(): PickedThere | null {
    const { at: folder, picks } = this;
    return folder && { folder, names: this.isWhole ? [] : picks.all().map((row) => row.path) };
  }

  /** The folders of that. Only what is in them can be left out. */
  get folders(): PathThere[] {
    const { at, picks } = this;
    if (!at) return [];
    if (this.isWhole) return [at];
    return picks.all().filter(({ kind }) => kind === "folder").map((row) => ({ share: at.share, names: [...at.names, row.path] }));
  }

  /** What is left out of them: patterns, one a line. Folders bring those last used with them. */
  leaveOut = $derived.by(() => this.#typed ?? leftOutOf(this.device ?? "", this.folders));

  leaveOutNow(text: string): void {
    this.#typed = text;
    this.getFault = null;
  }

  /** Whether more is picked than can be asked for at once; then the folder is got. */
  isTooMuch = $derived.by(() => {
    const { count } = this.picks;
    if (count > PICKED_MAX) return true;
    const rows = this.picks.all();
    // Counting bytes takes some milliseconds for names that may be too many, and a click few.
    const most = rows.reduce((all, { path }) => all + UNIT_BYTES_MAX * path.path.length, count);
    return most > PICKED_BYTES_MAX && rows.reduce((all, { path }) => all + lengthOf(path), count) > PICKED_BYTES_MAX;
  });

  /** Gets what is picked, into the receive folder or one that is asked for. */
  async get(elsewhere: boolean): Promise<void> {
    const { device, picked } = this;
    if (this.asking || device === null || picked === null) return;
    const { existing: onConflict, verify, limit } = this.how;
    const folders = this.folders;
    const leaveOut = folders.length > 0 ? this.leaveOut : "";
    this.getFault = null;
    // Another folder is another copy of it; the receive folder has one coming already.
    const asked = JSON.stringify([device, picked, onConflict, verify, limit, leaveOut]);
    const same = this.#transfers.running.find((transfer) => this.#begun.get(transfer) === asked);
    if (same && !elsewhere) return this.onAlready(same);
    this.asking = true;
    try {
      const answer = elsewhere ? await this.#ipc.getInto(device, picked, onConflict, verify, limit, leaveOut) : await this.#ipc.call({ get: { device, picked, onConflict, verify, limit, leaveOut } });
      if (answer.status === "error") {
        this.getFault = answer.error;
      } else if (answer.data) {
        rememberLeftOut(device, folders, leaveOut);
        rememberGetLimit(device, limit);
        const transfer = this.#transfers.add(answer.data);
        this.got = [transfer, ...this.got.filter((other) => other !== transfer)];
        if (!elsewhere) this.#begun.set(transfer, asked);
        this.onBegun(transfer);
      }
    } finally {
      this.asking = false;
    }
  }

  #show(listed: Listed, from: PathText | undefined): void {
    this.listed = listed;
    this.picks.keep(listed.rows, from);
  }

  #ended(fault: Fault): void {
    this.fault = fault;
    this.reading = false;
    this.picks.clear();
  }

  #keep(key: string, listed: Listed): void {
    this.#kept.delete(key);
    this.#kept.set(key, listed);
    let rows = [...this.#kept.values()].reduce((all, one) => all + one.rows.length, 0);
    for (const [oldest, { rows: gone }] of this.#kept) {
      if (rows <= KEPT_ROWS_MAX || oldest === key) return;
      this.#kept.delete(oldest);
      rows -= gone.length;
    }
  }
}

/** A listing that is being read. */
class Reading {
  count = 0;
  #shares: ShareThere[] = [];
  #rows: Row[] = [];
  #fresh: Row[] = [];
  #unread: UnreadThere | null = null;
  readonly #order: Order;

  constructor(order: Order) {
    this.#order = order;
  }

  get has(): boolean {
    return this.count > 0;
  }

  /**
   * Whether so much has come that it is worth showing: merging costs as much as all that is there,
   * so it is done each time that there is twice as much.
   */
  get isDue(): boolean {
    return this.#fresh.length > 0 && this.#fresh.length >= this.#rows.length;
  }

  /** Takes a page; whether it was the last one. */
  take(page: ListingPage): boolean {
    if (page.of === "shares") {
      this.#shares = page.shares;
      return true;
    }
    const rows: Row[] = page.entries.map((entry: EntryThere) => rowOf(entry));
    for (const unread of page.unread) {
      if (unread.path === "") this.#unread = unread;
      else rows.push(unreadRow(unread));
    }
    this.count += rows.length;
    this.#fresh.push(...rows);
    return page.is_last;
  }

  listed(order: Order): Listed {
    // Somebody may have sorted it otherwise meanwhile.
    const all = order === this.#order ? this.#rows : sorted(this.#rows, order);
    this.#rows = merged(all, sorted(this.#fresh, order), order);
    this.#fresh = [];
    return { shares: this.#shares, rows: this.#rows, unread: this.#unread, isPart: false, atMs: 0 };
  }
}

const encoder = new TextEncoder();

/** Bytes of a name. */
function lengthOf({ path, path_bytes: bytes }: PathText): number {
  return bytes ? bytes.length / 2 : encoder.encode(path).length;
}
