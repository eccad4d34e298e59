// The note that is about to be sent: a text that was dropped or pasted, kept until the other device
// has it.
import type { Fault, Ipc } from "../ipc";
import { isNote } from "../note-words";
import { asksForCode, tidyCode } from "../words";
import type { Aim } from "./outbox.svelte";

export class NoteDraft {
  /** What is to be sent. */
  text = $state.raw<string | null>(null);
  /** A text hangs over the window. */
  dragged = $state(false);
  /** The target that it was last sent to, or is being sent to. */
  aim = $state.raw<Aim | null>(null);
  sending = $state(false);
  fault = $state.raw<Fault | null>(null);
  /** As of files: what the device is called that has asked for a code. */
  meeting = $state<string | null>(null);
  wrongTries = $state(0);
  /** What was typed of a code and not sent yet. */
  draft = $state({ retry: "" });
  /** As of files: there is none. */
  readonly offered = null;
  asksCode = $derived(this.fault !== null && asksForCode(this.fault));
  isTrying = $derived(this.sending);
  /** Called when a device has the note. */
  onSent: (name: string) => void = () => {};
  readonly #ipc: Ipc;

  constructor(ipc: Ipc) {
    this.#ipc = ipc;
  }

  /** Makes this the note; false where there is nothing in it, or too much. */
  take(text: string): boolean {
    if (text === "" || this.sending) return false;
    this.clear();
    if (!isNote(text)) {
      this.fault = { code: "invalid", reason: "note" };
      return false;
    }
    this.text = text;
    return true;
  }

  clear(): void {
    if (this.sending) return;
    this.text = null;
    this.dropAttempt();
  }

  /** Forgets another service's answers. */
  reset(): void {
    this.sending = false;
    this.dragged = false;
    this.dropAttempt();
  }

  /** Gives up what could not be sent; the text stays. */
  dropAttempt(): void {
    this.aim = null;
    this.fault = null;
    this.meeting = null;
    this.wrongTries = 0;
    this.draft.retry = "";
  }

  giveUp(): void {
    if (!this.sending) this.dropAttempt();
  }

  /** Sends it; true once the other device has it. */
  async send(aim: Aim, code: string | null = null): Promise<boolean> {
    const { text } = this;
    if (text === null || this.sending) return false;
    if (aim.label !== this.aim?.label) {
      this.wrongTries = 0;
      this.meeting = null;
    }
    this.aim = aim;
    this.fault = null;
    this.sending = true;
    try {
      const answer = await this.#ipc.call({ sendNote: { target: aim.target, text, code: (code && tidyCode(code)) || null } });
      if (answer.status === "error") {
        if (answer.error.code === "wrong_code") this.wrongTries += 1;
        this.fault = answer.error;
        if (asksForCode(answer.error)) this.meeting ??= answer.error.code === "pairing_needed" ? answer.error.peer_name : aim.label;
        return false;
      }
      this.sending = false;
      this.clear();
      this.onSent(answer.data);
      return true;
    } finally {
      this.sending = false;
    }
  }

  /** Sends it to the same target once more, with a code. */
  async retry(code: string | null): Promise<void> {
    if (this.aim) await this.send(this.aim, code);
  }

  /**
   * Sends it to the device that answered in another one's place: a person says that it is meant.
   */
  async confirm(): Promise<void> {
    const { fault, aim } = this;
    if (fault?.code !== "unconfirmed" || aim?.target.to !== "typed") return;
    await this.send({ target: { to: "confirmed", id: fault.found, text: aim.target.text }, label: fault.name });
  }
}
