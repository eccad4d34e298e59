// The folders that paired devices may read here: listed, shared, taken back, and who reads them.
import type { Chosen, DropBox, Fault, Ipc, Share, SharedWith } from "../ipc";
import { areFolders } from "../share-words";

/** Where a folder is dropped to share it. The dialog then asks with which devices. */
export const SHARES = "shares";

/** The same, with one device. */
export const sharesWith = (id: string): string => `${SHARES}:${id}`;

/** A folder that is about to be shared. */
export interface ToShare {
  chosen: Chosen;
  /** The devices that may read it, as far as is said already. */
  with: SharedWith;
}

export class Shares {
  /** Null until they are known. */
  list = $state.raw<Share[] | null>(null);
  fault = $state.raw<Fault | null>(null);
  /** What is about to be shared, and is asked about. */
  asking = $state.raw<ToShare | null>(null);
  /** Something was dropped that is no folder. */
  noFolder = $state(false);
  readonly #ipc: Ipc;
  #choosing = false;

  constructor(ipc: Ipc) {
    this.#ipc = ipc;
  }

  async load(): Promise<void> {
    const answer = await this.#ipc.call("shares");
    this.fault = answer.status === "error" ? answer.error : null;
    if (answer.status === "ok") this.list = answer.data;
  }

  /** Somebody changed them; who has not looked yet need not know. */
  changed(): void {
    if (this.list) void this.load();
  }

  /** Asks for folders with the desktop's picker, and then with whom to share them. */
  async choose(device: string | null): Promise<void> {
    if (this.#choosing) return;
    this.#choosing = true;
    try {
      const answer = await this.#ipc.chooseSources("folders");
      this.fault = answer.status === "error" ? answer.error : null;
      if (answer.status === "ok" && answer.data) this.ask(answer.data, device);
    } finally {
      this.#choosing = false;
    }
  }

  /** Asks with whom to share what was chosen or dropped. */
  ask(chosen: Chosen, device: string | null): void {
    this.noFolder = !areFolders(chosen);
    if (!this.noFolder) this.asking = { chosen, with: { with: "devices", devices: device ? [device] : [] } };
  }

  /**
   * Shares what was asked about. The fault where it could not be; false where a person was asked
   * about a home folder and said no.
   */
  async add(name: string | null, readers: SharedWith): Promise<Fault | boolean> {
    const { asking } = this;
    if (!asking) return false;
    const answer = await this.#ipc.shareChosen(asking.chosen.id, name, readers);
    // Of several, some may have been shared before one could not be.
    await this.load();
    if (answer.status === "error") return answer.error;
    if (answer.data) this.asking = null;
    return answer.data !== null;
  }

  async setReaders(share: Share, readers: SharedWith): Promise<void> {
    const answer = await this.#ipc.call({ setReaders: { name: share.name, with: readers } });
    // A box that was ticked in vain goes back, too.
    await this.load();
    if (answer.status === "error") this.fault = answer.error;
  }

  /**
   * Makes a share a drop box, which takes so many bytes without asking, or none; why that was
   * refused.
   */
  async setDropBox(share: Share, drop: DropBox | null): Promise<Fault | null> {
    const answer = await this.#ipc.call({ setDropBox: { name: share.name, drop } });
    // A switch that was pressed in vain goes back, too.
    await this.load();
    return answer.status === "error" ? answer.error : null;
  }

  /** Shares a folder no longer; whether that went well. */
  async remove(share: Share): Promise<boolean> {
    const answer = await this.#ipc.call({ removeShare: { name: share.name } });
    await this.load();
    if (answer.status === "error") this.fault = answer.error;
    return answer.status === "ok";
  }
}

/** Whom a share is shared with, without what else it has. */
export function readersOf(share: SharedWith): SharedWith {
  return share.with === "all" ? { with: "all" } : { with: "devices", devices: share.devices };
}

export function mayRead(share: SharedWith, device: string): boolean {
  return share.with === "all" || share.devices.includes(device);
}

/** The same readers, with a device or without it. */
export function withReader(share: SharedWith, device: string, may: boolean): SharedWith {
  if (share.with === "all") return { with: "all" };
  const others = share.devices.filter((other) => other !== device);
  return { with: "devices", devices: may ? [...others, device] : others };
}
