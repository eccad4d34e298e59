// This machine: its identity, what it can do, and the stored settings.
import type { Fault, Ipc, Machine, OwnDevice, StoredSettings } from "../ipc";

export class Settings {
  stored = $state.raw<StoredSettings>({ name: "", receiveFolder: "", port: 0, sendLimit: null, background: true, announce: true });
  device = $state.raw<OwnDevice>({ name: "", shortId: "" });
  machine = $state.raw<Machine | null>(null);
  defaultPort = $state(0);
  codeTriesMax = $state(0);
  fault = $state.raw<Fault | null>(null);
  /** Whether the last thing asked for was stored. */
  saved = $state(false);
  readonly #ipc: Ipc;

  constructor(ipc: Ipc) {
    this.#ipc = ipc;
  }

  /** `sendLimit` is bytes a second. */
  async save(name: string, port: number, sendLimit: number | null): Promise<void> {
    this.#stored(await this.#ipc.saveSettings(name, port, sendLimit));
  }

  async setAnnounce(announce: boolean): Promise<void> {
    this.#stored(await this.#ipc.setAnnounce(announce));
  }

  async setBackground(background: boolean): Promise<void> {
    this.#stored(await this.#ipc.setBackground(background));
  }

  async chooseFolder(): Promise<void> {
    this.#stored(await this.#ipc.chooseReceiveFolder());
  }

  #stored(answer: { status: "ok"; data: StoredSettings | null } | { status: "error"; error: Fault }): void {
    this.fault = answer.status === "error" ? answer.error : null;
    this.saved = answer.status === "ok" && answer.data !== null;
    if (answer.status === "ok" && answer.data) this.stored = answer.data;
  }
}
