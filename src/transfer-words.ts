// Every sentence about one transfer: where it stands, how it ended, what did not come through;
// sent, received or copied.
import { bytes, duration, left } from "./format";
import type { Copied, Edit, Ended, Failure, Interruption, Outcome, Fault, Bottleneck, Proven, Progress, Direction } from "./ipc/bindings";
import { type Key, t } from "./messages";
import { operationWords, faultWords, osNext, shortageWords, type Sentence, system } from "./words";

const RUNNING = { sending: "stage.sending", receiving: "stage.receiving", copying: "stage.copying" } as const satisfies Record<Direction, Key>;

/** Where a transfer stands. */
export function stageWords(progress: Progress, peer: string, direction: Direction): string {
  const sending = direction === "sending";
  switch (progress.stage) {
    case "connecting":
      return direction === "copying" ? t("copy.starting") : t("send.connecting", { peer });
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
      return progress.interruption ? waitWords(progress.interruption, peer, sending) : t("stage.resuming");
    case "ended":
      return "";
  }
}

/** Why a transfer does not go on that was under way, and what is done about it. */
function waitWords(interruption: Interruption, peer: string, sending: boolean): string {
  if (interruption.why === "full") {
    const missing = shortageWords(interruption);
    return sending ? t("wait.fullThere", { peer, missing }) : t("wait.fullHere", { missing });
  }
  const { next_try_seconds: nextTry, gives_up_seconds: givesUp } = interruption;
  // A copy inside this machine waits for as long as one likes.
  if (givesUp === null) return t("wait.paused");
  const time = left(givesUp * 1000);
  if (interruption.why === "paused") return interruption.by === "here" ? t("wait.pausedHere", { left: time }) : t("wait.pausedThere", { peer, left: time });
  if (!sending) return t("wait.forPeer", { peer, left: time });
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

/** What limits a transfer, as in "limited by …". */
export function limitWords(by: Bottleneck, peer: string, direction: Direction): string {
  if (by === "network") return t("limit.network");
  if (by === "stalled") return t("limit.stalled");
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

function whatMoved(ended: Ended): string {
  const things = [t("moved.files", { n: ended.files })];
  if (ended.folders > 0) things.push(t("moved.folders", { n: ended.folders }));
  if (ended.links > 0) things.push(t("moved.links", { n: ended.links }));
  const specials = ended.copied?.specials ?? 0;
  if (specials > 0) things.push(t("moved.specials", { n: specials }));
  const told = { things: things.join(", "), size: bytes(ended.bytes), time: duration(ended.runningMs) };
  if (ended.moved === ended.bytes) return t("moved.all", told);
  return ended.moved === 0 ? t("moved.none", told) : t("moved.part", { ...told, moved: bytes(ended.moved) });
}

/**
 * What of all files was read back, at whose disk, and how long that took. Files that the receiver
 * keeps by its policy are not compared.
 */
function provenWords({ seconds, files }: Proven, all: number, peer: string, sending: boolean): string {
  const kept = Math.max(0, all - files);
  if (files === 0 && kept > 0) return t("end.verifiedNone", { n: kept });
  const told = { time: duration(seconds * 1000), n: files };
  const verified = sending ? t("end.verifiedThere", { ...told, peer }) : t("end.verifiedHere", told);
  return kept > 0 ? `${verified} ${t("end.notVerified", { n: kept })}` : verified;
}

/**
 * Entries that are listed by name: the report may name a thousand, and nobody reads so many on a
 * screen.
 */
const ENTRIES_LISTED_MAX = 100;

const MENDED = { sending: "end.fixAndSend", receiving: "end.fixAndReceive", copying: "end.fixAndCopy" } as const satisfies Record<Direction, Key>;

/** Where those are told that failed, and what to do about them. */
function listedWords(failed: number, direction: Direction): string {
  const where = failed > ENTRIES_LISTED_MAX ? t("end.listedFirst", { n: ENTRIES_LISTED_MAX }) : t("end.listed");
  return `${where} ${t(MENDED[direction])}`;
}

/** How a transfer ended. */
export function endWords(ended: Ended, peer: string, direction: Direction): Sentence {
  if (direction === "copying") return copyEndWords(ended, peer);
  const sending = direction === "sending";
  const notes: string[] = [];
  if (ended.proven) notes.push(provenWords(ended.proven, ended.files, peer, sending));
  if (ended.edited > 0) notes.push(sending ? t("end.edited.there", { n: ended.edited, peer }) : t("end.edited.here", { n: ended.edited }));
  if (ended.unchanged > 0) notes.push(t("end.unchanged", { n: ended.unchanged }));
  if (ended.skipped > 0) notes.push(t("end.kept", { n: ended.skipped, size: bytes(ended.skipped_bytes) }));
  if (ended.reused > 0) notes.push(t("end.reused", { size: bytes(ended.reused) }));
  if (ended.reconnected > 0) notes.push(t("end.reconnected", { n: ended.reconnected }));
  const moved = whatMoved(ended);
  switch (ended.outcome) {
    case "complete":
      if (sending) notes.unshift(t("end.confirmed", { peer }));
      return { what: sending ? t("end.sent", { peer, moved }) : t("end.received", { moved }), next: notes.join(" ") };
    case "partial":
      return { what: t("end.partial", { n: ended.failed, moved }), next: [listedWords(ended.failed, direction), ...notes].join(" ") };
    case "failed":
      return faultWords(ended.error, peer);
  }
}

/** Entries of a transfer by name; `total` counts those that are not listed, too. */
export interface EntryList {
  summary: string;
  entries: { path: string; words: string }[];
  total: number;
}

/** What did not come through, each with its reason. */
export function failureList(failures: Failure[], total: number, peer: string, direction: Direction): EntryList {
  const summary = direction === "copying" ? t("activity.notCopied", { n: total }) : t("activity.notTransferred", { n: total });
  const entries = failures.slice(0, ENTRIES_LISTED_MAX).map((failure) => ({ path: failure.path, words: failureWords(failure, peer, direction) }));
  return { summary, entries, total };
}

/**
 * Files that the receiver had edited and keeps, each with the name of the new version beside it.
 */
export function editList(edits: Edit[], total: number): EntryList {
  const entries = edits.slice(0, ENTRIES_LISTED_MAX).map(({ path, beside }) => ({ path, words: t("activity.newVersion", { name: beside.path }) }));
  return { summary: t("activity.edited", { n: total }), entries, total };
}

/** Why one entry did not arrive. */
export function failureWords(failure: Failure, peer: string, direction: Direction): string {
  if (direction === "copying") return copyFailureWords(failure);
  const here = failure.side === "here";
  switch (failure.reason) {
    case "os": {
      const told = { operation: operationWords(failure.operation), why: system(failure) };
      return here ? t("failure.os.here", told) : t("failure.os.there", { ...told, peer });
    }
    case "special_file":
      return t("failure.specialFile");
    case "changed_while_reading":
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
      return here ? t("failure.differs.here") : t("failure.differs.there", { peer });
    default:
      return t("failure.other");
  }
}

/** What could not be kept of what was copied, and how sure it is. */
function copyNotes({ verified, attributesLost, ownersLost, filesystem }: Copied): string[] {
  const notes: string[] = [];
  if (verified > 0) notes.push(t("copied.verified", { n: verified }));
  if (attributesLost > 0) notes.push(t("copied.attributesLost", { n: attributesLost, filesystem }));
  if (ownersLost > 0) notes.push(t("copied.ownersLost", { n: ownersLost }));
  return notes;
}

function copyEndWords(ended: Ended, folder: string): Sentence {
  const moved = whatMoved(ended);
  if (ended.outcome === "failed") {
    const { what, next } = copyFaultWords(ended.error, folder);
    return { what, next: ended.files > 0 ? `${next} ${t("copied.soFar", { moved })}` : next };
  }
  const partial = ended.outcome === "partial";
  if (cameToNothing(ended)) return { what: t("copied.nothing"), next: listedWords(ended.failed, "copying") };
  const next = partial ? [listedWords(ended.failed, "copying")] : [];
  const kept = ended.unchanged + ended.skipped;
  const unchanged = t("copied.unchanged", { n: kept });
  if (!partial && kept > 0 && ended.files + ended.links === 0) return { what: t("copied.nothingNeeded", { unchanged }), next: "" };
  if (kept > 0) next.push(unchanged);
  if (ended.copied) next.push(...copyNotes(ended.copied));
  return { what: partial ? t("copied.partial", { n: ended.failed, moved }) : t("copied.whole", { moved }), next: next.join(" ") };
}

/**
 * Whether a copy came to nothing, so that it is told where it was asked for, and can be mended
 * there.
 */
export function cameToNothing(ended: Ended): boolean {
  if (ended.outcome === "complete" || (ended.outcome === "failed" && ended.error.code === "cancelled")) return false;
  // What was there before is harmed: that is told by name, in the list.
  if (ended.failures.some(({ reason }) => reason === "cut_short")) return false;
  return ended.files + ended.folders + ended.links + ended.unchanged + ended.skipped + (ended.copied?.specials ?? 0) === 0;
}

/** Why a copy came to nothing, and what to do. */
export function copyRefusedWords(ended: Ended, folder: string): Sentence {
  if (ended.outcome === "failed") return copyFaultWords(ended.error, folder);
  const [first] = ended.failures;
  if (!first) return copyEndWords(ended, folder);
  const what = [t("refused.entry", { path: first.path, reason: copyFailureWords(first) })];
  if (ended.failed > 1) what.push(t("refused.others", { n: ended.failed - 1 }));
  return { what: what.join(" "), next: refusedNext(first) };
}

function refusedNext(failure: Failure): string {
  switch (failure.reason) {
    case "into_itself":
      return t("refused.intoItself.next");
    case "same_file":
      return t("refused.sameFile.next");
    case "os":
      return osNext(failure) ?? t("refused.other.next");
    default:
      return t("refused.other.next");
  }
}

/** A fault of a copy in words; `folder` is where it was to go. */
export function copyFaultWords(fault: Fault, folder: string): Sentence {
  switch (fault.code) {
    case "path":
      return { what: faultWords(fault).what, next: osNext(fault.source) ?? t("refused.other.next") };
    case "destination_full":
      return { what: t("copyFault.full", { folder }), next: t("copyFault.full.next") };
    case "destination_gone":
      return { what: t("copyFault.gone", { folder }), next: t("copyFault.gone.next") };
    case "cancelled":
      return { what: t("copyFault.cancelled"), next: t("copyFault.cancelled.next", { folder }) };
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
    case "path_too_long":
      return t("failure.pathTooLong");
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
      return t("copyFailure.cutShort");
    default:
      return t("copyFailure.other");
  }
}

/** How the bytes of a copy came to be there, where that is worth a word. */
export function copyPathWords(copied: Copied): string {
  if (copied.sharedBytes === 0) return "";
  return t("copied.shared", { size: bytes(copied.sharedBytes), filesystem: copied.filesystem });
}

/**
 * How an ended transfer is called in one word or two; `failed` is how many entries did not come
 * through.
 */
export function outcomeWords(ended: Outcome & Pick<Ended, "failed">): string {
  if (ended.outcome === "complete") return t("history.complete");
  if (ended.outcome === "partial") return t("activity.failed", { n: ended.failed });
  if (ended.error.code === "cancelled") return t("history.cancelled");
  if (ended.error.code === "unanswered") return t("history.unanswered");
  return ended.error.code === "declined" ? t("history.declined") : t("history.failed");
}

/** Whom it goes to or comes from; of a copy, its folder. */
export function whomWords(peer: string, direction: Direction): string {
  return t(WHOM[direction], { peer });
}

const WHOM = { sending: "activity.to", receiving: "activity.from", copying: "activity.copiedTo" } as const satisfies Record<Direction, Key>;

/** What a transfer is called: its first top-level name, and how many more there are. */
export function titleWords(title: string, more: number): string {
  return more > 0 ? t("activity.titleMore", { title, n: more }) : title;
}
