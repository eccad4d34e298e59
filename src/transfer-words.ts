// Every sentence about one transfer: where it stands, how it ended, what did not come through;
// sent, received or copied.
import { isStopped } from "./device-words";
import { bytes, duration, left } from "./format";
import { getFaultWords, triesAgain } from "./get-words";
import type { CopyReport, Edit, Report, Failure, Interruption, Fault, Bottleneck, Proven, Progress, Direction, TransferState, TransferStatus } from "./ipc/bindings";
import { type Key, t } from "./messages";
import { operationWords, faultWords, offeredFaultWords, osNext, shortageWords, type Sentence, system } from "./words";

const RUNNING = { sending: "stage.sending", receiving: "stage.receiving", copying: "stage.copying" } as const satisfies Record<Direction, Key>;

/** Where a transfer stands; `got` where the receiving device has asked for it. */
export function stageWords(progress: Progress, peer: string, direction: Direction, got = false): string {
  const sending = direction === "sending";
  switch (progress.stage) {
    case "connecting":
      return direction === "copying" ? t("stage.starting") : t("stage.connecting", { peer });
    case "awaiting_answer":
      return t("stage.awaitingAnswer", { peer });
    case "queued":
      return sending ? t("stage.queuedThere", { peer, place: String(progress.place ?? 1) }) : t("stage.queuedHere", { place: String(progress.place ?? 1) });
    case "running":
      return progress.stalled_seconds === null ? t(RUNNING[direction], { peer }) : t("stage.stalled", { time: left(progress.stalled_seconds * 1000) });
    case "finishing":
      return sending ? t("stage.finishingThere", { peer }) : t("stage.finishingHere");
    case "verifying":
      return t("stage.verifying");
    case "reconnecting":
    case "paused":
      return progress.interruption ? waitWords(progress.interruption, peer, direction, got) : t("stage.resuming");
    case "ended":
      return "";
  }
}

/** Why a transfer does not continue, and until when that is waited for. */
function waitWords(interruption: Interruption, peer: string, direction: Direction, got: boolean): string {
  const sending = direction !== "receiving";
  const { next_try_seconds: nextTry, gives_up_seconds: givesUp } = interruption;
  // Only a copy inside this machine is never given up: it was paused here.
  if (givesUp === null) return t("wait.paused");
  const time = left(givesUp * 1000);
  if (interruption.why === "full") {
    const missing = shortageWords(interruption);
    return sending ? t("wait.fullThere", { peer, missing, left: time }) : t("wait.fullHere", { missing, left: time });
  }
  if (interruption.why === "paused") return interruption.by === "here" ? t("wait.pausedHere", { left: time }) : t("wait.pausedThere", { peer, left: time });
  if (!triesAgain(direction, got)) return t("wait.forPeer", { peer, left: time });
  const why = t(WAITS[interruption.why], { peer });
  return nextTry === null ? t("wait.tryingNow", { why }) : t("wait.tryingIn", { why, time: left(nextTry * 1000), left: time });
}

const WAITS = {
  broken: "wait.broken",
  silent: "wait.silent",
  unreachable: "wait.unreachable",
  busy: "wait.busy",
  too_many_offers: "wait.tooManyOffers",
} as const satisfies Record<Exclude<Interruption["why"], "full" | "paused">, Key>;

/**
 * What limits a transfer, as in "limited by …"; `got` where the receiving device has asked for it.
 * Then either end may have set the limit.
 */
export function limitWords(by: Bottleneck, peer: string, direction: Direction, got = false): string {
  if (by === "network") return t("limit.network");
  if (by === "stalled") return t("limit.stalled");
  if (by === "limit" && got) return t("limit.limit.get");
  const { at, here, there } = LIMITS[by];
  return (at === "sender") === (direction !== "receiving") ? t(here) : t(there, { peer });
}

const LIMITS = {
  finding: { at: "sender", here: "limit.finding.here", there: "limit.finding.there" },
  reading: { at: "sender", here: "limit.reading.here", there: "limit.reading.there" },
  encrypting: { at: "sender", here: "limit.encrypting.here", there: "limit.encrypting.there" },
  decrypting: { at: "receiver", here: "limit.decrypting.here", there: "limit.decrypting.there" },
  writing: { at: "receiver", here: "limit.writing.here", there: "limit.writing.there" },
  limit: { at: "sender", here: "limit.limit.here", there: "limit.limit.there" },
} as const satisfies Record<Exclude<Bottleneck, "network" | "stalled">, { at: "sender" | "receiver"; here: Key; there: Key }>;

function whatMoved(report: Report): string {
  const n = report.files + report.folders + report.links + (report.copy?.specials ?? 0);
  const told = { items: t("moved.items", { n }), size: bytes(report.bytes), time: duration(report.seconds * 1000) };
  if (report.moved === report.bytes) return t("moved.all", told);
  return report.moved === 0 ? t("moved.none", told) : t("moved.part", { ...told, moved: bytes(report.moved) });
}

/**
 * What of all files was read back, at whose disk, and how long that took. Files that the receiver
 * keeps by its policy are not compared.
 */
function provenWords({ seconds, files }: Proven, all: number, peer: string, sending: boolean): string {
  const kept = Math.max(0, all - files);
  if (files === 0 && kept > 0) return t("end.verifiedNone", { n: kept });
  const told = { time: duration(seconds * 1000) };
  const verified = sending ? t("end.verifiedThere", { ...told, peer }) : t("end.verifiedHere", told);
  return kept > 0 ? `${verified} ${t("end.notVerified", { n: kept })}` : verified;
}

/** Entries that a report names. */
const ENTRIES_LISTED_MAX = 1000;

const MENDED = { sending: "end.fixAndSend", receiving: "end.fixAndReceive", copying: "end.fixAndCopy" } as const satisfies Record<Direction, Key>;

/** What to do about what failed. */
function mendedWords(peer: string, direction: Direction, got: boolean): string {
  if (!got) return t(MENDED[direction]);
  return direction === "receiving" ? t("end.fixAndGet") : t("end.fixAndServe", { peer });
}

/**
 * Whether the same once more can bring something of what failed: no other attempt sends a special
 * file. One that is not named may be of another kind.
 */
export function canRetry({ failures, failed }: Pick<Report, "failures" | "failed">, direction: Direction): boolean {
  return direction === "copying" || failed > failures.length || failures.some(({ reason }) => reason !== "special_file");
}

/** Where those are told that failed, and what to do about them. */
function listedWords(failed: number, peer: string, direction: Direction, got = false): string {
  const where = failed > ENTRIES_LISTED_MAX ? t("end.listedFirst", { n: ENTRIES_LISTED_MAX }) : t("end.listed");
  return `${where} ${mendedWords(peer, direction, got)}`;
}

/** How a transfer ended; `got` where the receiving device has asked for it. */
export function endWords(report: Report, peer: string, direction: Direction, got = false): Sentence {
  if (direction === "copying") return copyEndWords(report, peer);
  const sending = direction === "sending";
  const notes: string[] = [];
  if (report.proven) notes.push(provenWords(report.proven, report.files, peer, sending));
  if (report.edited > 0) notes.push(sending ? t("end.edited.there", { n: report.edited, peer }) : t("end.edited.here", { n: report.edited }));
  if (report.unchanged > 0) notes.push(t("end.unchanged", { n: report.unchanged }));
  if (report.skipped > 0) notes.push(t("end.kept", { n: report.skipped, size: bytes(report.skipped_bytes) }));
  if (report.reused > 0) notes.push(t("end.reused", { size: bytes(report.reused) }));
  if (report.excluded > 0) notes.push(t("end.leftOut", { n: report.excluded }));
  if (report.acls_lost > 0) notes.push(sending ? t("end.aclsLostThere", { n: report.acls_lost, peer }) : t("end.aclsLostHere", { n: report.acls_lost }));
  if (report.owners_by_number > 0) notes.push(t(sending ? "end.ownersByNumberThere" : "end.ownersByNumberHere", { n: report.owners_by_number }));
  if (report.reconnected > 0) notes.push(t("end.reconnected", { n: report.reconnected }));
  if (report.left_behind) notes.push(t("end.leftBehind", { path: report.left_behind.path }));
  const moved = whatMoved(report);
  switch (report.outcome) {
    case "complete":
      if (sending) notes.unshift(t("end.confirmed", { peer }));
      return { what: sending ? t("end.sent", { peer, moved }) : t("end.received", { moved }), next: notes.join(" ") };
    case "partial":
      return { what: t("end.partial", { n: report.failed, moved }), next: [canRetry(report, direction) ? listedWords(report.failed, peer, direction, got) : t("end.specialOnly"), ...notes].join(" ") };
    case "failed":
      return faultWordsOf(report.error, peer, direction, got);
  }
}

/** Entries of a transfer by name; `total` counts those that are not listed, too. */
export interface EntryList {
  summary: string;
  entries: { path: string; words: string }[];
  total: number;
}

/**
 * Files that the receiver had edited and keeps, each with the name of the new version beside it.
 */
export function editList(edits: Edit[], total: number): EntryList {
  const entries = edits.slice(0, ENTRIES_LISTED_MAX).map(({ path, beside }) => ({ path, words: t("activity.newVersion", { name: beside.path }) }));
  return { summary: t("activity.edited", { n: total }), entries, total };
}

/** Why one entry did not arrive; its path is the subject. */
export function failureWords(failure: Failure, peer: string, direction: Direction, got = false): string {
  if (direction === "copying") return copyFailureWords(failure);
  const here = failure.side === "here";
  // What became of a file that was read back.
  const atReceiver = here === (direction === "receiving");
  switch (failure.reason) {
    case "os": {
      const told = { operation: operationWords(failure.operation), why: system(failure) };
      return here ? t("failure.os.here", told) : t("failure.os.there", { ...told, peer });
    }
    case "special_file":
      return t("failure.specialFile");
    case "changed_while_reading":
      if (atReceiver && failure.operation === "read") {
        if (got) return here ? t("failure.get.saved", { peer }) : t("failure.served.saved", { peer });
        return here ? t("failure.saved.here") : t("failure.saved.there", { peer });
      }
      if (got) return here ? t("failure.served.changed", { peer }) : t("failure.get.changed", { peer });
      return here ? t("failure.changed.here") : t("failure.changed.there", { peer });
    case "path_too_long":
      return t("failure.pathTooLong");
    case "in_the_way":
      return here ? t("failure.conflict.here") : t("failure.conflict.there", { peer });
    case "link_target_missing":
      return t("failure.linkTargetMissing");
    case "kept":
      return here ? t("failure.kept.here") : t("failure.kept.there", { peer });
    case "own_folder":
      return here ? t("failure.ownFolder.here") : t("failure.ownFolder.there", { peer });
    case "dot_name":
      return here ? t("failure.dotName.here") : t("failure.dotName.there", { peer });
    case "home_folder":
      return here ? t("failure.homeFolder.here") : t("failure.homeFolder.there", { peer });
    case "name_not_kept":
      return here ? t("failure.nameUnsupported.here") : t("failure.nameUnsupported.there", { peer });
    case "differs":
      if (atReceiver && failure.operation === "rename") {
        if (got) return here ? t("failure.get.unverified") : t("failure.served.unverified", { peer });
        return here ? t("failure.unverified.here") : t("failure.unverified.there", { peer });
      }
      if (got) return here ? t("failure.get.differs") : t("failure.served.differs", { peer });
      return here ? t("failure.differs.here") : t("failure.differs.there", { peer });
    // Only copies fail so.
    case "same_file":
    case "into_itself":
    case "cut_short":
      return copyFailureWords(failure);
    default:
      return unknownFailure(failure);
  }
}

/** A reason of a later version, of which nothing is known here. */
function unknownFailure(_: never): string {
  return t("common.unknownFailure");
}

/** What could not be kept of what was copied, and how sure it is. */
function copyNotes({ verified, attributes_lost, owners_lost, filesystem }: CopyReport): string[] {
  const notes: string[] = [];
  if (verified > 0) notes.push(t("copied.verified"));
  if (attributes_lost > 0) notes.push(t("copied.attributesLost", { n: attributes_lost, filesystem }));
  if (owners_lost > 0) notes.push(t("copied.ownersLost", { n: owners_lost }));
  return notes;
}

function copyEndWords(report: Report, folder: string): Sentence {
  const moved = whatMoved(report);
  if (report.outcome === "failed") {
    const { what, next } = faultWordsOf(report.error, folder, "copying");
    return { what, next: report.files > 0 ? `${next} ${t("copyFault.soFar", { moved })}` : next };
  }
  const partial = report.outcome === "partial";
  if (cameToNothing(report)) return { what: t("copyFault.nothing"), next: listedWords(report.failed, folder, "copying") };
  const next = partial ? [listedWords(report.failed, folder, "copying")] : [];
  const kept = report.unchanged + report.skipped;
  const unchanged = t("copied.unchanged", { n: kept });
  if (!partial && kept > 0 && report.files + report.links === 0) return { what: t("copied.nothingNeeded", { unchanged }), next: "" };
  if (kept > 0) next.push(unchanged);
  if (report.excluded > 0) next.push(t("end.leftOut", { n: report.excluded }));
  if (report.copy) next.push(...copyNotes(report.copy));
  return { what: partial ? t("copied.partial", { n: report.failed, moved }) : t("copied.whole", { moved }), next: next.join(" ") };
}

/**
 * Whether a copy came to nothing, so that it is shown where it was started, and can be mended
 * there.
 */
export function cameToNothing(report: Report): boolean {
  if (report.outcome === "complete" || (report.outcome === "failed" && report.error.code === "cancelled")) return false;
  // An existing file is harmed: the list names it.
  if (report.failures.some(({ reason }) => reason === "cut_short")) return false;
  return report.files + report.folders + report.links + report.unchanged + report.skipped + (report.copy?.specials ?? 0) === 0;
}

/** Why a copy came to nothing, and what to do. */
export function copyRefusedWords(report: Report, folder: string): Sentence {
  if (report.outcome === "failed") return faultWordsOf(report.error, folder, "copying");
  const [first] = report.failures;
  if (!first) return copyEndWords(report, folder);
  const what = [t("copyFault.nothing"), t("copied.refused", { path: first.path, reason: copyFailureWords(first) })];
  if (report.failed > 1) what.push(t("copied.refusedToo", { n: report.failed - 1 }));
  return { what: what.join(" "), next: copyStep(first) };
}

/** What to do about an entry that was not copied. */
export function copyStep(failure: Failure): string {
  switch (failure.reason) {
    case "into_itself":
      return t("refused.intoItself.next");
    case "same_file":
      return t("refused.sameFile.next");
    case "in_the_way":
      return t("refused.conflict.next");
    case "os":
      return osNext(failure) ?? t("refused.other.next");
    default:
      return t("refused.other.next");
  }
}

/**
 * A fault of a transfer in that direction; `peer` is what to call the other machine, or the folder
 * of a copy; `got` where the receiving device has asked for it.
 */
export function faultWordsOf(fault: Fault, peer: string, direction: Direction, got = false): Sentence {
  if (got) return getFaultWords(fault, peer, direction);
  switch (direction) {
    case "sending":
      return faultWords(fault, peer);
    case "receiving":
      return offeredFaultWords(fault, peer);
    case "copying":
      return copyFaultWords(fault, peer);
  }
}

function copyFaultWords(fault: Fault, destination: string): Sentence {
  switch (fault.code) {
    case "destination_full":
      return { what: t("copyFault.full", { destination }), next: t("copyFault.full.next") };
    case "destination_gone":
      return { what: t("copyFault.gone", { destination }), next: t("copyFault.gone.next") };
    case "cancelled":
      return { what: t("copyFault.cancelled"), next: t("copyFault.cancelled.next", { destination }) };
    case "program_ended":
      return { ...faultWords(fault), next: t("copyFault.cancelled.next", { destination }) };
    case "gone":
      return { what: t("copyFault.selectionGone"), next: t("copyFault.selectionGone.next") };
    default:
      return faultWords(fault);
  }
}

function copyFailureWords(failure: Failure): string {
  switch (failure.reason) {
    case "os":
      return t("copyFailure.os", { operation: operationWords(failure.operation), why: system(failure) });
    case "special_file":
      return t("copyFailure.specialFile");
    case "changed_while_reading":
      return t("copyFailure.changed");
    case "in_the_way":
      return t("copyFailure.conflict");
    case "link_target_missing":
      return t("copyFailure.linkTargetMissing");
    case "kept":
      return t("copyFailure.kept");
    case "same_file":
      return t("copyFailure.sameFile");
    case "into_itself":
      return t("copyFailure.intoItself");
    case "differs":
      return t("copyFailure.differs");
    case "cut_short":
      // ECANCELED: nothing but the end of the copy was in the way.
      if (failure.errno === 125) return t("copyFailure.cutShort");
      return t("copyFailure.cutShort.os", { operation: operationWords(failure.operation), why: system(failure) });
    // Only transfers fail so, or both alike.
    case "path_too_long":
      return t("failure.pathTooLong");
    case "own_folder":
      return t("failure.ownFolder.here");
    case "dot_name":
      return t("failure.dotName.here");
    case "home_folder":
      return t("failure.homeFolder.here");
    case "name_not_kept":
      return t("failure.nameUnsupported.here");
    default:
      return unknownFailure(failure);
  }
}

/** How the bytes of a copy came to be there, where that is worth a word. */
export function copyPathWords(copied: CopyReport): string {
  if (copied.reflinked_bytes === 0) return "";
  return t("copied.shared", { size: bytes(copied.reflinked_bytes), filesystem: copied.filesystem });
}

const STATES = {
  waiting_turn: "state.waitingTurn",
  awaiting_answer: "state.awaitingAnswer",
  queued: "state.queued",
  preparing: "state.preparing",
  stalled: "state.stalled",
  interrupted: "state.interrupted",
  paused: "state.paused",
  out_of_space: "state.outOfSpace",
  finishing: "state.finishing",
  declined: "state.declined",
  unanswered: "state.unanswered",
  cancelled_here: "state.cancelled",
  failed: "state.failed",
} as const satisfies Record<Exclude<TransferState, "moving" | "done" | "done_with_failures" | "cancelled_there">, Key>;

const MOVES = { sending: "state.sending", receiving: "state.receiving", copying: "state.copying" } as const satisfies Record<Direction, Key>;
const ENDS = { sending: "state.sent", receiving: "state.received", copying: "state.copied" } as const satisfies Record<Direction, Key>;

/** How it ended in one word or two; of what was stopped here, that it is kept. */
export function outcomeWords(report: Report, status: TransferStatus, direction: Direction, peer: string): string {
  if (direction !== "copying" && report.outcome === "failed" && isStopped(report.error)) return t("state.stoppedKept");
  return stateWords(status.state, direction, peer, report.failed);
}

/** A transfer's state in one word or two; `failed` is how many entries did not come through. */
export function stateWords(state: TransferState, direction: Direction, peer: string, failed = 0): string {
  switch (state) {
    case "moving":
      return t(MOVES[direction]);
    case "done":
      return t(ENDS[direction]);
    case "done_with_failures":
      return t("activity.failed", { n: failed });
    case "cancelled_there":
      return t("state.cancelledBy", { peer });
    default:
      return t(STATES[state]);
  }
}

/** What failed for one reason, or several entries for the same one. */
export interface FailureGroup {
  reason: string;
  paths: string[];
}

/** Failures by their reason, the most frequent first. */
export function failureGroups(failures: Failure[], peer: string, direction: Direction, got = false): FailureGroup[] {
  const groups = new Map<string, string[]>();
  for (const failure of failures) {
    const reason = failureWords(failure, peer, direction, got);
    const paths = groups.get(reason);
    if (paths) paths.push(failure.path);
    else groups.set(reason, [failure.path]);
  }
  return [...groups].map(([reason, paths]) => ({ reason, paths })).sort((one, other) => other.paths.length - one.paths.length);
}

/** Failures as text: a path a line, below their reason; and how many have no name there. */
export function failureText(groups: FailureGroup[], unnamed: number): string {
  const parts = groups.map(({ reason, paths }) => [`${reason}:`, ...paths].join("\n"));
  if (unnamed > 0) parts.push(t("activity.notInList", { n: unnamed }));
  return parts.join("\n\n") + "\n";
}

/** Whom it goes to or comes from; of a copy, its folder. */
export function whomWords(peer: string, direction: Direction, place = ""): string {
  if (place === "") return t(WHOM[direction], { peer });
  return t(direction === "sending" ? "activity.servedTo" : "activity.gotFrom", { peer, place });
}

const WHOM = { sending: "activity.to", receiving: "activity.from", copying: "activity.copiedTo" } as const satisfies Record<Direction, Key>;

/** What a transfer is called: its first top-level name, and how many more there are. */
export function titleWords(title: string, more: number): string {
  return more > 0 ? t("activity.titleMore", { title, n: more }) : title;
}
