// Copying inside this machine: into which folder and how; kept until the first thing has been
// copied, so that what was wrong is mended here.
import type { Chosen, OnExisting, CopyFolder, Report, Fault, Ipc } from "../ipc";
import { t } from "../messages";
import { cameToNothing, copyRefusedWords, faultWordsOf } from "../transfer-words";
import type { Sentence } from "../words";
import type { Outbox } from "./outbox.svelte";
import type { Transfer, Transfers } from "./transfers.svelte";

export class Copying {
  /** Whether this computer is the target that is being filled in. */
  open = $state(false);
  /** Where it would go; null where a folder has to be chosen first. */
  folder = $state.raw<CopyFolder | null>(null);
  existing = $state<OnExisting>("replace");
  verify = $state(false);
  /** A copy that was asked for and has not copied anything yet. */
  attempt = $state.raw<Transfer | null>(null);
  /** The copy that this form was about, once it has copied something. */
  begun = $state.raw<Transfer | null>(null);
  /** The shell was asked for a copy and has not answered yet. */
  #asking = $state(false);
  /** It was taken back before the answer. */
  #withdrawn = false;
  /** The turn of what the attempt copies: something else may have been chosen since. */
  #turn = 0;
  #copied: Chosen | null = null;
  /** The choice that was last looked up: only its answer counts. */
  #looked: number | null = null;
  /** Whether a copy is about to begin: a second one would write the same files. */
  busy = $derived(this.#asking || this.attempt !== null);
  #fault = $state.raw<Fault | null>(null);
  #refused = $state.raw<Report | null>(null);
  /** Why nothing was copied, and what to do. */
  problem: Sentence | null = $derived.by(() => {
    const folder = this.folder?.path.path ?? t("copy.destinationFolder");
    if (this.#refused) return copyRefusedWords(this.#refused, folder);
    return this.#fault ? faultWordsOf(this.#fault, folder, "copying") : null;
  });
  /** Called once the first thing has been copied. */
  onBegun: (transfer: Transfer) => void = () => {};
  readonly #ipc: Ipc;
  readonly #outbox: Outbox;
  readonly #transfers: Transfers;

  constructor(ipc: Ipc, outbox: Outbox, transfers: Transfers) {
    this.#ipc = ipc;
    this.#outbox = outbox;
    this.#transfers = transfers;
  }

  /** Takes this computer as the target; asks what to copy where nothing is chosen yet. */
  async begin(): Promise<void> {
    if (this.busy || (!this.#outbox.chosen && !(await this.#outbox.choose("folders")))) return;
    this.#outbox.fault = null;
    this.begun = null;
    this.#looked = null;
    await this.look();
    // It may have been put away meanwhile.
    if (this.#outbox.chosen) this.open = true;
  }

  /** Looks where the choice would go now, once for each choice. */
  async look(): Promise<void> {
    const { chosen } = this.#outbox;
    if (!chosen || chosen.id === this.#looked) return;
    this.#looked = chosen.id;
    this.#forgetProblem();
    const answer = await this.#ipc.call({ copyFolder: { chosen: chosen.id } });
    if (this.#isChosen(chosen)) this.#take(answer);
  }

  /** Opens the native picker for another folder. */
  async chooseFolder(): Promise<void> {
    const { chosen } = this.#outbox;
    if (!chosen) return;
    const answer = await this.#ipc.chooseCopyFolder(chosen.id);
    if (answer.status === "ok" && answer.data === null) return;
    this.#forgetProblem();
    if (this.#isChosen(chosen)) return this.#take(answer);
    // The folder is another one for whatever is chosen by now.
    this.#looked = null;
    await this.look();
  }

  #isChosen(chosen: Chosen): boolean {
    return this.#outbox.chosen?.id === chosen.id;
  }

  #take(answer: { status: "ok"; data: CopyFolder | null } | { status: "error"; error: Fault }): void {
    if (answer.status === "ok") this.folder = answer.data;
    else this.#fault = answer.error;
  }

  async start(): Promise<void> {
    const { chosen } = this.#outbox;
    if (!chosen || !this.folder || this.busy) return;
    this.#forgetProblem();
    this.#turn = this.#outbox.turn;
    this.#copied = chosen;
    this.#asking = true;
    this.#withdrawn = false;
    let transfer: Transfer;
    try {
      const answer = await this.#ipc.call({ copy: { chosen: chosen.id, existing: this.existing, verify: this.verify, leaveOut: this.#outbox.leaveOut } });
      if (answer.status === "error") {
        this.#fault = answer.error;
        return;
      }
      transfer = this.#transfers.add(answer.data);
      this.attempt = transfer;
    } finally {
      this.#asking = false;
    }
    if (this.#withdrawn) void this.#transfers.cancel(transfer, "keep");
    this.follow(transfer);
  }

  /** Looks at an update of any transfer: the one asked for is settled once something was copied. */
  follow(transfer: Transfer): void {
    if (transfer.id !== this.attempt?.id) return;
    const { report, progress } = transfer;
    // What failed is done with as well.
    const copied = progress.entries_done - progress.failed;
    if (report && cameToNothing(report)) {
      this.attempt = null;
      this.#refused = report;
      void this.#transfers.dismiss(transfer);
    } else if (report || copied > 0 || progress.bytes_done > 0) {
      this.attempt = null;
      this.begun = transfer;
      this.close();
      this.#outbox.settle(this.#turn, this.#copied ?? undefined);
      this.onBegun(transfer);
    }
  }

  async cancel(): Promise<void> {
    if (this.attempt) await this.#transfers.cancel(this.attempt, "keep");
    else if (this.#asking) this.#withdrawn = true;
    else this.close();
  }

  /** Forgets what the service knew: there is another one. */
  reset(): void {
    this.attempt = null;
    this.begun = null;
    this.#looked = null;
    this.close();
  }

  close(): void {
    this.open = false;
    this.#forgetProblem();
  }

  #forgetProblem(): void {
    this.#fault = null;
    this.#refused = null;
  }
}
