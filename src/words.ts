// Every sentence that is made from data, but for those about one transfer: a fault's code and
// fields become what happened, and what to do next.
import { shortId } from "./device-words";
import { bytes, duration } from "./format";
import type {
  Aim,
  DeclineReason,
  NotFoundKind,
  Operation,
  Fault,
  FreeSpace,
  IoPath,
  Means,
  Nearby,
  Offer,
  OsError,
  PathTaken,
  PathText,
  Remedy,
  ShareTrouble,
  Shortage,
  StartAtLogin,
  StoreTrouble,
  SyncIoReason,
  TlsPath,
  TurnedAway,
  Invalid,
  UserTlsReason,
} from "./ipc/bindings";
import { NOTE_LEN_MAX } from "./ipc/bindings";
import { type Key, t } from "./messages";
import type { Arguments } from "./messages/arguments";
import { unfitName } from "./names";

/** What happened, and what to do about it; with commands for a terminal where those do it. */
export interface Sentence {
  what: string;
  next: string;
  commands?: Command[];
}

/** A command, and what it is for. */
export interface Command {
  name: string;
  text: string;
}

const AIMS = {
  ufw: "remedy.ufw",
  firewalld: "remedy.firewalld",
  load_tls: "remedy.loadTls",
  keep_tls: "remedy.keepTls",
  who_listens: "remedy.whoListens",
  serve: "remedy.serve",
  restart_service: "remedy.restartService",
} as const satisfies Record<Aim, Key>;

/** Commands as they are shown. */
export function commandsOf(remedies: Remedy[]): Command[] {
  return remedies.map(({ aim, command }) => ({ name: t(AIMS[aim]), text: command }));
}

/** The views, in their order, and what they are called. */
export const VIEWS = {
  send: "view.send",
  inbox: "view.inbox",
  activity: "view.activity",
  devices: "view.devices",
  settings: "view.settings",
} as const satisfies Record<string, Key>;

/** The errors of errno(3) that people meet, by number (x86-64 and arm64 Linux agree on these). */
const OS_WORDS = {
  1: "os.notPermitted",
  2: "os.notFound",
  5: "os.readOrWrite",
  13: "os.denied",
  17: "os.exists",
  18: "os.otherFilesystem",
  20: "os.notAFolder",
  21: "os.isAFolder",
  22: "os.nameRefused",
  24: "os.tooManyOpen",
  27: "os.tooLarge",
  28: "os.diskFull",
  30: "os.readOnly",
  36: "os.nameTooLong",
  40: "os.tooManyLinks",
  95: "os.unsupported",
  98: "os.portInUse",
  99: "os.notOurAddress",
  101: "os.noNetwork",
  104: "os.closed",
  110: "os.noAnswer",
  111: "os.nothingListens",
  113: "os.noRoute",
  122: "os.quota",
} as const satisfies Record<number, Key>;

/** An error of the system's, of a fault or of a failed entry. */
type SystemError = Pick<OsError, "errno"> & { detail?: string | null };

/** What the system said. */
export function system({ errno, detail }: SystemError): string {
  return errno !== null && errno in OS_WORDS ? t(OS_WORDS[errno as keyof typeof OS_WORDS]) : (detail ?? "");
}

const OPERATIONS = {
  open: "operation.open",
  read: "operation.read",
  write: "operation.write",
  create: "operation.create",
  rename: "operation.rename",
  metadata: "operation.metadata",
  link: "operation.link",
  sync: "operation.sync",
  remove: "operation.remove",
} as const satisfies Record<Operation, Key>;

/** What was being done, as in "could not be …". */
export function operationWords(operation: Operation): string {
  return t(OPERATIONS[operation]);
}

/** Messages that have a next step. */
type Stepped = { [K in Key]: `${K}.next` extends Key ? K : never }[Key];

type Told<K> = K extends keyof Arguments ? Arguments[K] : unknown;

/** What a message and its next step have to be told, together. */
type ToldBoth<K extends string> = Told<K> & Told<`${K}.next`>;

/** A row of the table of sentences: what happened, and its own next step. */
function says<K extends Stepped>(key: K, ...told: unknown extends ToldBoth<K> ? [] : [told: ToldBoth<K>]): Sentence {
  const say = t as (key: Key, told?: unknown) => string;
  return { what: say(key, told[0]), next: say(`${key}.next` as Key, told[0]) };
}

/** A code or reason of a later version, of which nothing is known here. */
function unknown(_: never): Sentence {
  return { what: t("common.unknownFault"), next: "" };
}

function invalid(why: Invalid): Sentence {
  switch (why.reason) {
    case "nothing_to_send":
      return says("fault.unfit.nothingToSend");
    case "same_name":
      return says("fault.unfit.sameName", { name: why.name.path });
    case "name_too_long":
      return says("fault.unfit.nameTooLong", { name: why.name.path });
    case "device_name":
      return says("fault.unfit.deviceName");
    case "name_taken":
      return says("fault.unfit.nameTaken");
    case "note":
      return says("fault.unfit.note", { n: NOTE_LEN_MAX });
    case "ambiguous_id":
      return says("fault.unfit.ambiguousId");
    case "ambiguous_name":
      return says("fault.unfit.ambiguousName", { name: why.name });
    case "unknown_device":
      return says("fault.unfit.unknownDevice");
    case "port":
      return says("fault.unfit.port");
    case "receive_folder":
    case "rule_folder":
      return says("fault.unfit.folder");
    case "own_folder":
      return { what: t("fault.unfit.ownFolder", { folder: why.folder.path }), next: t("fault.unfit.folder.next") };
    case "home_folder":
      return says("fault.unfit.homeFolder", { folder: why.folder.path });
    case "share_name":
      return says("fault.unfit.shareName");
    case "share_name_taken":
      return says("fault.unfit.shareNameTaken", { name: why.name });
    case "unknown_share":
      return says("fault.unfit.unknownShare", { name: why.name });
    case "shared_own_folder":
      return { what: t("fault.unfit.sharedOwnFolder", { folder: why.folder.path }), next: t("fault.unfit.folder.next") };
    case "drop_in_home":
      return says("fault.unfit.dropInHome", { folder: why.folder.path });
    case "drop_not_writable":
      return says("fault.unfit.dropNotWritable", { folder: why.folder.path });
    case "shared_home_folder":
      return says("fault.unfit.sharedHomeFolder", { folder: why.folder.path });
    case "too_many_shares":
      return says("fault.unfit.tooManyShares");
    case "share_reference":
      return says("fault.unfit.shareReference");
    case "rule_size":
      return says("fault.unfit.ruleSize");
    case "limit":
      return says("fault.unfit.limit");
    case "pairing_off":
      return says("fault.unfit.pairingOff");
    case "transfer_id":
      return says("fault.unfit.transferId");
    case "running":
      return says("fault.unfit.running");
    case "cannot_pause":
      return says("fault.unfit.cannotPause");
    case "cannot_cancel":
      return says("fault.unfit.cannotCancel");
    case "pause_not_begun":
      return says("fault.unfit.pauseNotBegun");
    case "pause_no_retry":
      return says("fault.unfit.pauseNoRetry");
    case "pause_too_many":
      return says("fault.unfit.pauseTooMany", { n: why.max });
    case "no_destination":
      return says("fault.unfit.noDestination");
    case "too_many":
      return says("fault.unfit.tooMany");
    case "pattern":
      return says("fault.unfit.pattern", { pattern: why.pattern.path });
    case "pattern_path":
      return says("fault.unfit.patternPath", { pattern: why.pattern.path });
    case "option":
      return says("fault.invalid", { detail: why.detail });
    default:
      return unknown(why);
  }
}

function declined(why: DeclineReason, peer: string): Sentence {
  switch (why.reason) {
    case "by_choice":
      return says("fault.declined", { peer });
    case "no_answer":
      return says("fault.declined.noAnswer", { peer });
    case "no_room":
      return says("fault.declined.noSpace", { peer, ...roomFigures(why) });
    case "not_writable":
      return says("fault.declined.notWritable", { peer });
    case "paused":
      return says("fault.declined.paused", { peer });
    case "stopped":
      return says("fault.declined.stopped", { peer });
    case "too_many_offers":
      return says("fault.declined.tooManyOffers", { peer, time: waitWords(why.wait_seconds) });
    case "too_many_notes":
      return says("fault.declined.tooManyNotes", { peer, time: waitWords(why.wait_seconds) });
    case "notes_full":
      return says("fault.declined.notesFull", { peer });
    case "busy":
      return says("fault.declined.busy", { peer });
    default:
      return unknown(why);
  }
}

/** How long to wait, of at least a second. */
function waitWords(seconds: number): string {
  return duration(Math.max(1000, seconds * 1000));
}

function roomFigures({ needed, free, entries }: Extract<DeclineReason, { reason: "no_room" }>) {
  return { needed: bytes(needed), free: bytes(free), missing: missingWords(0, entries) };
}

function unreachable({ target, source: os, remedies }: Extract<Fault, { code: "unreachable" }>): Sentence {
  const told = { target, why: system(os) };
  // The resolver's errors have no number.
  if (os.errno === null) return says("fault.unreachable.noName", told);
  const what = t("fault.unreachable", told);
  if (remedies.length > 0) return { what, next: t("fault.unreachable.firewall.next"), commands: commandsOf(remedies) };
  if (os.errno === 111) return { what, next: t("fault.unreachable.refused.next") };
  return { what, next: os.errno === 101 ? t("fault.unreachable.noNetwork.next") : t("fault.unreachable.next") };
}

/** An address with a port that stands for all of this device's. */
const EVERYWHERE = /^(?:0\.0\.0\.0|\[::\]):(\d+)$/;

function listen({ address, source: os, remedies }: Extract<Fault, { code: "listen" }>): Sentence {
  const [, port] = EVERYWHERE.exec(address) ?? [];
  const why = system(os);
  const what = port === undefined ? t("fault.listen.at", { address, why }) : t("fault.listen", { port, why });
  switch (os.errno) {
    case 98:
      return { what, next: t("fault.listen.next"), commands: commandsOf(remedies) };
    case 13:
      return { what, next: t("fault.listen.denied.next") };
    case 99:
      return { what, next: t("fault.listen.noAddress.next") };
    default:
      return { what, next: t("fault.listen.other.next") };
  }
}

/** Errors of errno(3) with an obvious way on. */
export function osNext(os: SystemError): string | null {
  switch (os.errno) {
    case 2:
      return t("fault.path.notFound.next");
    case 5:
      return t("fault.path.disk.next");
    case 1:
    case 13:
      return t("fault.path.denied.next");
    case 20:
      return t("fault.path.notAFolder.next");
    case 24:
      return t("fault.path.tooManyOpen.next");
    case 28:
    case 122:
      return t("fault.path.full.next");
    case 30:
      return t("fault.path.readOnly.next");
    case 36:
      return t("fault.path.nameTooLong.next");
    default:
      return null;
  }
}

/** What to do where a file of this device's own state cannot be used. */
const STORE_NEXT = {
  full: "fault.store.full.next",
  not_writable: "fault.store.notWritable.next",
  not_readable: "fault.store.notReadable.next",
  busy: "fault.store.busy.next",
  damaged_database: "fault.store.damagedDatabase.next",
  damaged_identity: "fault.store.damagedIdentity.next",
  untrusted: "fault.store.untrusted.next",
  other: "fault.store.other.next",
} as const satisfies Record<StoreTrouble, Key>;

/** Why a shared folder cannot be read. */
const SHARE_WHY = {
  missing: "share.why.missing",
  not_mounted: "share.why.notMounted",
  replaced: "share.why.replaced",
  not_readable: "share.why.notReadable",
  failed: "share.why.failed",
  not_answering: "share.why.notAnswering",
  not_writable: "share.why.notWritable",
} as const satisfies Record<ShareTrouble, Key>;

/** Why a shared folder cannot be read now, as a part of a sentence. */
export function shareWhy(why: ShareTrouble): string {
  return t(SHARE_WHY[why]);
}

function failedOn({ path, operation, source }: Pick<Extract<Fault, { code: "path" | "path_there" }>, "path" | "operation" | "source">) {
  return { path: path.path, operation: operationWords(operation), why: system(source) };
}

/** What to do where a path of a shared folder cannot be opened. */
function pathThereNext({ errno }: SystemError): string {
  switch (errno) {
    case 40:
      return t("fault.pathThere.link.next");
    case 95:
      return t("fault.pathThere.kernel.next");
    default:
      return t("fault.pathThere.next");
  }
}

/** Names of what has arrived that a sentence lists. */
const PUBLISHED_SHOWN_MAX = 10;

function notPublished(fault: Extract<Fault, { code: "not_published" }>): Sentence {
  const next = t("fault.notPublished.next");
  if (fault.published.length === 0) return { what: t("fault.path", failedOn(fault)), next };
  const shown = fault.published.slice(0, PUBLISHED_SHOWN_MAX).map(({ path }) => path).join(", ");
  const n = fault.published.length - PUBLISHED_SHOWN_MAX;
  const names = n > 0 ? t("fault.notPublished.more", { names: shown, n }) : shown;
  return { what: t("fault.notPublished", { ...failedOn(fault), names }), next };
}

function connectionLost(os: SystemError, peer: string): Sentence {
  const next = t("fault.connectionLost.next");
  switch (os.errno) {
    case 32:
    case 104:
      return { what: t("fault.connectionLost.closed", { peer }), next };
    case 110:
      return { what: t("fault.connectionLost.silent", { peer }), next };
    default:
      return { what: t("fault.connectionLost", { peer, why: system(os) }), next };
  }
}

/** The name of a device at the beginning of a sentence, where it stands for an unknown one. */
function begun(text: string): string {
  const unknown = t("common.otherDevice");
  return text.startsWith(unknown) ? t("common.otherDeviceFirst") + text.slice(unknown.length) : text;
}

/** A fault in words; `peer` is what to call the other machine. */
export function faultWords(fault: Fault, peer = t("common.otherDevice")): Sentence {
  const { what, next, ...commands } = rowOf(fault, peer);
  return { what: begun(what), next: begun(next), ...commands };
}

/** The rows of a fault, as `model::sentences` chooses them. */
function rowOf(fault: Fault, peer: string): Sentence {
  switch (fault.code) {
    case "pairing_needed":
      return says("fault.pairingNeeded", { name: fault.peer_name });
    case "wrong_code":
      return says("fault.wrongCode", { peer });
    case "not_a_code":
      return says("fault.notACode");
    case "unknown_word":
      return {
        what: fault.position === 1 ? t("fault.unknownWord.first") : t("fault.unknownWord.second"),
        next: t("fault.unknownWord.next"),
      };
    case "code_number_too_large":
      return says("fault.codeNumberTooLarge");
    case "no_code_open":
      return says("fault.noValidCode", { peer });
    case "pairing_busy":
      return says("fault.pairingBusy", { peer, time: waitWords(fault.wait_seconds) });
    case "identity_changed": {
      const { name, expected, found } = fault;
      return says("fault.identityChanged", { name, expected: shortId(expected), found: shortId(found) });
    }
    case "unconfirmed":
      return says("fault.unconfirmed", { last: fault.last, name: fault.name, found: shortId(fault.found) });
    case "other_answered":
      return says("fault.otherAnswered", { announced: fault.announced, found: shortId(fault.found) });
    case "forgotten": {
      const { name, id, now } = fault;
      const what = t("fault.forgotten", { name, id: shortId(id) });
      return { what, next: now === null ? t("fault.forgotten.next") : t("fault.forgotten.other.next", { name, now: shortId(now) }) };
    }
    case "new_target":
      return says("fault.newTarget", { to: fault.to, was: fault.was });
    case "ourselves":
      return says("fault.ourselves");
    case "path":
      return { what: t("fault.path", failedOn(fault)), next: osNext(fault.source) ?? t("fault.path.next") };
    case "not_published":
      return notPublished(fault);
    case "not_shared":
      return says("fault.notShared", { peer, share: fault.share });
    case "no_drop_box":
      return says("fault.noDropBox", { peer, share: fault.share });
    case "share_unavailable":
      return says("fault.shareUnavailable", { peer, share: fault.share, why: shareWhy(fault.trouble) });
    case "not_served":
      return says("fault.notServed", { peer });
    case "no_longer_shared":
      return fault.by === "here" ? says("fault.noLongerShared.here", { peer }) : says("fault.noLongerShared.there", { peer });
    case "path_there":
      return { what: t("fault.pathThere", { ...failedOn(fault), peer }), next: pathThereNext(fault.source) };
    case "answer_lost":
      return fault.errno === 110 ? says("fault.answerLost.silent", { peer }) : says("fault.answerLost", { peer, why: system(fault) });
    case "asking_stopped":
      return says("fault.askingStopped", { peer, time: duration(fault.seconds * 1000) });
    case "asking_interrupted":
      return says("fault.askingInterrupted", { peer, time: duration(fault.seconds * 1000) });
    case "answer_paused":
      return says("fault.answerPaused", { peer });
    case "answer_busy":
      return says("fault.answerBusy", { peer });
    case "unknown_target":
      return fault.target.includes("%") ? says("fault.unknownTarget.scope", { target: fault.target }) : says("fault.unknownTarget", { target: fault.target });
    case "unreachable":
      return unreachable(fault);
    case "listen":
      return listen(fault);
    case "declined":
      return declined(fault, peer);
    case "cancelled":
      return { what: fault.by === "here" ? t("fault.cancelled.here") : t("fault.cancelled.there", { peer }), next: fault.kept ? t("fault.cancelled.kept.next") : "" };
    case "connection_lost":
      return connectionLost(fault, peer);
    case "protocol":
      return says("fault.protocol", { peer, detail: fault.detail });
    case "receipt_contradicts":
      return says("fault.receiptContradicts", { peer, detail: fault.detail });
    case "stalled":
      return says("fault.stalled", { peer, time: duration(fault.seconds * 1000) });
    case "version":
      return says("fault.version", { peer, ours: fault.ours, theirs: fault.theirs });
    case "tls":
      return says("fault.tls", { peer, detail: fault.detail });
    case "no_kernel_tls": {
      const what = t("fault.noKernelTls", { why: userTlsWords(fault.reason) });
      const next = fault.remedies.length > 0 ? t("fault.noKernelTls.loadable.next") : t("fault.noKernelTls.next");
      return { what, next, commands: commandsOf(fault.remedies) };
    }
    case "no_io_uring":
      return says("fault.noIoUring", { why: syncIoWords(fault.reason) });
    case "store":
      return { what: t("fault.store", { path: fault.path.path, detail: fault.detail }), next: t(STORE_NEXT[fault.trouble]) };
    case "config": {
      const { line, detail, nearest } = fault;
      const { path } = fault.path;
      const what = line === null ? t("fault.config.whole", { path, detail }) : t("fault.config", { path, line, detail });
      return { what, next: nearest === null ? t("fault.config.any.next") : t("fault.config.nearest.next", { nearest }) };
    }
    case "invalid":
      return invalid(fault);
    case "destination_full":
      return says("fault.destinationFull", { missing: shortageWords(fault.shortage) });
    case "too_much": {
      const size = bytes(fault.bytes_max);
      return fault.by === "here" ? says("fault.tooMuchHere", { size }) : says("fault.tooMuchThere", { size, peer });
    }
    case "paused":
      return { what: fault.by === "here" ? t("fault.pausedHere") : t("fault.pausedThere", { peer }), next: t("fault.paused.next") };
    case "peer_forgotten":
      return says("fault.peerForgotten");
    case "destination_gone":
      return says("fault.destinationGone");
    case "turned_away":
      return says("fault.turnedAway", { peer });
    case "failed_there":
      return says("fault.failedThere", { peer });
    case "program_ended":
      return says("fault.programEnded");
    case "unanswered":
      return says("fault.unanswered", { peer });
    case "too_many_sent":
      return says("fault.tooManySent");
    case "grown":
      return says("fault.grown", { peer, size: bytes(fault.bytes) });
    case "gone":
      return says("fault.gone");
    case "not_found":
      return nothingFoundWords(fault.kind, fault.name);
    case "service_not_running":
      return { what: t("fault.serviceNotRunning"), next: "" };
    case "service_gone":
      return says("fault.serviceGone");
    case "service_failed":
      return { ...says("fault.serviceFailed", { detail: fault.detail }), commands: commandsOf(fault.remedies) };
    case "service_differs":
      return { ...says("fault.serviceDiffers", { ours: fault.ours, theirs: fault.theirs }), commands: commandsOf(fault.remedies) };
    case "systemd":
      return says("fault.systemd", { detail: fault.detail });
    case "no_program":
      return says("fault.noProgram");
    case "no_file_manager":
      return says("fault.noFileManager", { path: fault.path.path });
    case "few_descriptors":
      return says("fault.fewDescriptors", { has: fault.has, least: fault.least });
    case "misleading_name":
      return says("fault.misleadingName", { peer });
    case "discovery":
      return says("fault.discovery", { detail: fault.detail });
    case "machine":
    case "other":
      return says("fault.other", { detail: fault.detail });
    default:
      return unknown(fault);
  }
}

/** That nothing of that kind has this name, ID or number. */
function nothingFoundWords(kind: NotFoundKind, name: string): Sentence {
  switch (kind) {
    case "device":
      return { what: t("fault.notFound.device", { name }), next: "" };
    case "offer":
      return { what: t("fault.notFound.offer", { name }), next: "" };
    case "pairing_request":
      return { what: t("fault.notFound.pairingRequest", { name }), next: "" };
    case "blocked_device":
      return { what: t("fault.notFound.blockedDevice", { name }), next: "" };
    case "transfer":
      return { what: t("fault.notFound.transfer", { name }), next: "" };
    case "past_transfer":
      return { what: t("fault.notFound.pastTransfer", { name }), next: "" };
    case "note":
      return { what: t("fault.notFound.note", { name }), next: "" };
    case "unfinished":
      return { what: t("fault.notFound.unfinished", { name }), next: "" };
    case "receiver":
      return { what: t("code.notFound", { number: name }), next: t("code.notFound.next") };
    default:
      return unknown(kind);
  }
}

/** Whether it is about the service rather than what was asked of it. */
export function isOfService(fault: Fault): boolean {
  return ["service_not_running", "service_gone", "service_failed", "service_differs"].includes(fault.code);
}

/** A fault as a part of a view says it: that there is no service stands above each view already. */
export function faultWithin(fault: Fault | null, peer?: string): Sentence | null {
  return fault && !isOfService(fault) ? faultWords(fault, peer) : null;
}

const UNFIT_NAME = {
  empty: "name.empty",
  tooLong: "name.tooLong",
  hidden: "name.hidden",
  id: "name.id",
  address: "name.address",
} as const satisfies Record<NonNullable<ReturnType<typeof unfitName>>, Key>;

/** What is wrong with a name for a machine; undefined where nothing is. */
export function nameWords(name: string): string | undefined {
  const unfit = unfitName(name);
  return unfit ? t(UNFIT_NAME[unfit]) : undefined;
}

/** Why something was refused, beside what was refused; undefined where nothing was. */
export function refusalWords(fault: Fault | null): string | undefined {
  if (!fault) return undefined;
  const { what, next } = faultWords(fault);
  return `${what} ${next}`.trim();
}

/** Whether only another code helps. */
export function asksForCode(fault: Fault): boolean {
  return ["pairing_needed", "wrong_code", "not_a_code", "unknown_word", "code_number_too_large", "no_code_open"].includes(fault.code);
}

/** Whether what was typed can be no code, so that it is mended, not typed anew. */
export function isMistyped(fault: Fault | null): boolean {
  return fault !== null && ["not_a_code", "unknown_word", "code_number_too_large"].includes(fault.code);
}

const AT_LOGIN = {
  would: { autostart: "settings.login.wouldAutostart", unit: "settings.login.wouldUnit" },
  does: { autostart: "settings.login.autostart", unit: "settings.login.unit" },
} as const satisfies Record<string, Record<Means, Key>>;

/** What starts the service at login, or would. */
export function loginWords({ now, means }: StartAtLogin): string {
  switch (now.by) {
    case "nothing":
      return t(AT_LOGIN.would[means]);
    case "vanished":
      return t("settings.login.vanished", { program: now.program.path });
    default:
      return t(AT_LOGIN.does[now.by]);
  }
}

/** Whether something starts it that is there. */
export function startsAtLogin({ now }: StartAtLogin): boolean {
  return now.by === "autostart" || now.by === "unit";
}

const USER_TLS = {
  asked: "tls.why.configured",
  not_in_kernel: "tls.why.notInKernel",
  module_not_loaded: "tls.why.moduleNotLoaded",
  modules_unseen: "tls.why.modulesUnseen",
} as const satisfies Record<Extract<UserTlsReason, string>, Key>;

/** What the kernel refused with, where it was about no file: people know the words for two. */
function kernelSaid(errno: number): string {
  return errno === 1 || errno === 13 ? system({ errno }) : t("os.number", { errno: String(errno) });
}

function userTlsWords(reason: UserTlsReason): string {
  if (typeof reason === "object") return t("tls.why.refused", { why: kernelSaid(reason.refused) });
  return t(USER_TLS[reason]);
}

/** Who encrypts at this machine, with the reason. */
export function encryptionHere(tls: TlsPath): string {
  return tls === "kernel" ? t("tls.kernel") : t("tls.userspace", { why: userTlsWords(tls.user) });
}

/** Who encrypts a transfer at both ends. */
export function encryptionWords(here: PathTaken | null, there: PathTaken | null, peer: string): string {
  if (!here) return "";
  if (here.tls === "kernel") {
    if (!there) return t("tls.kernelHere");
    return there.tls === "kernel" ? t("tls.kernelBoth") : t("tls.kernelHereOnly", { peer });
  }
  const why = userTlsWords(here.tls.user);
  if (!there) return t("tls.userspaceHere", { why });
  return there.tls === "kernel" ? t("tls.kernelThereOnly", { peer, why }) : t("tls.userspaceBoth", { why });
}

const PLAIN_IO = {
  asked: "files.why.configured",
  faster: "files.why.faster",
  not_in_kernel: "files.why.notInKernel",
  forbidden: "files.why.forbidden",
  no_memory: "files.why.noMemory",
  opcode_missing: "files.why.opcodeMissing",
} as const satisfies Record<Extract<SyncIoReason, string>, Key>;

/** Who moves files at this machine. */
export function fileIoWords(io: IoPath): string {
  if (io === "uring") return t("files.uring");
  return t("files.plain", { why: syncIoWords(io.sync) });
}

function syncIoWords(reason: SyncIoReason): string {
  if (typeof reason === "object") return t("files.why.refused", { why: kernelSaid(reason.refused) });
  return t(PLAIN_IO[reason]);
}

/**
 * That a device failed to pair with this one; `left` is how many attempts the code has, where that
 * is known.
 */
export function pairingFailedWords({ from, code, attempts_left: left }: Pick<TurnedAway, "from" | "code" | "attempts_left">): string {
  if (code === "no_code_open") return t("pairing.noCode", { from });
  if (code !== "wrong_code") return t("pairing.failed", { from });
  if (left === null) return t("pairing.wrongCode", { from });
  return left === 0 ? t("pairing.wrongCodeLast", { from }) : t("pairing.wrongCodeLeft", { from, n: left });
}

/** Why nobody is meant by a code whose number `found` show. */
export function notFoundWords(number: number, found: Pick<Nearby, "name" | "addresses">[]): Sentence {
  const shown = String(number);
  if (found.length === 0) return { what: t("code.notFound", { number: shown }), next: t("code.notFound.next") };
  const names = found.map(({ name, addresses: [first] }) => `${name} (${first ?? ""})`).join(", ");
  return { what: t("code.ambiguous", { number: shown, names }), next: t("code.ambiguous.next") };
}

/** The number of a code, as it is typed; none of anything else, a standing secret too. */
export function codeNumber(typed: string): number | null {
  const [, number] = /^(\d{1,5})-\p{L}+-\p{L}+$/u.exec(tidyCode(typed)) ?? [];
  return number === undefined ? null : Number(number);
}

/**
 * The same in a field that takes nothing but a code. There the parts need no separators: the
 * service finds the words. Where an address can be typed as well, "42rivercastle" may be a host.
 */
export function codeNumberAlone(typed: string): number | null {
  const [, number] = /^(\d{1,3})[\s\p{Pd}_.]*\p{L}{3,}[\s\p{Pd}_.]*\p{L}{3,}$/u.exec(typed.trim()) ?? [];
  return codeNumber(typed) ?? (number === undefined ? null : Number(number));
}

/**
 * A number and two words, with anything between that a hand or a messenger puts there; never what
 * is in an address.
 */
const CODE = /^(?:.*[\s:])?(\d{1,5})[\s\p{Pd}\p{Cf}_,;+/|*·]+(\p{L}+)[\s\p{Pd}\p{Cf}_,;+/|*·]+(\p{L}+)[.!]?$/su;

/** What stands around a code that was quoted, and what nobody sees. */
const AROUND = /^[\s\p{Cf}\p{Pi}\p{Ps}"'`*]+|[\s\p{Cf}\p{Pf}\p{Pe}"'`*]+$/gu;

/**
 * A code as it is shown, however it was typed or pasted: with spaces, capitals, other dashes, or
 * words in front. A secret that is not of this form stays as it is.
 */
export function tidyCode(typed: string): string {
  const text = typed.normalize("NFC").trim();
  // Also as a keyboard for Chinese or Japanese writes digits and letters.
  const [, ...parts] = CODE.exec(text.normalize("NFKC").replace(AROUND, "")) ?? [];
  return parts.length > 0 ? parts.join("-").toLowerCase() : text;
}

/** How long a code is still good for. */
export function codeValidWords(ms: number): string {
  return ms < 60_000 ? t("inbox.validForLess") : t("inbox.validFor", { minutes: Math.floor(ms / 60_000) });
}

/** A fault of what was to be received here: this device may itself have declined or ended it. */
export function offeredFaultWords(fault: Fault, from: string): Sentence {
  const words = faultWords(fault, from);
  switch (fault.code) {
    case "stalled":
      return says("fault.stalledHere", { peer: from, time: duration(fault.seconds * 1000) });
    case "cancelled":
      return { ...words, next: fault.kept ? t("fault.offered.kept.next") : "" };
    case "destination_full":
      return { ...words, next: t("fault.offered.full.next") };
    case "peer_forgotten":
      return { ...words, next: t("fault.offered.forgotten.next") };
    case "not_published":
      return { ...words, next: t("fault.offered.notPublished.next") };
    case "connection_lost":
    case "failed_there":
    case "program_ended":
    case "paused":
      return { ...words, next: t("fault.offered.again.next") };
    case "declined":
      if (fault.reason === "no_room") return says("fault.declinedHere.noSpace", { peer: from, ...roomFigures(fault) });
      if (fault.reason === "stopped") return says("fault.declinedHere.stopped", { peer: from });
      return fault.reason === "busy" ? says("fault.declinedHere.busy", { peer: from }) : words;
    default:
      return words;
  }
}

/** What a disk lacks by its figures, as the end of a sentence about it. */
export function shortageWords(shortage: Shortage | null): string {
  return shortage ? missingWords(Math.max(0, shortage.needed - shortage.free), shortage.entries) : "";
}

/** What is missing at a disk, as the end of a sentence about it. */
function missingWords(missingBytes: number, missingEntries: number): string {
  const size = bytes(missingBytes);
  if (missingEntries === 0) return missingBytes > 0 ? t("missing.bytes", { size }) : "";
  return missingBytes > 0 ? t("missing.both", { size, n: missingEntries }) : t("missing.items", { n: missingEntries });
}

/** What an offer's folder has no room for; empty where it will do. */
export function roomWords(offer: Pick<Offer, "bytes_so_far" | "entries_so_far" | "names">, free: FreeSpace): string {
  if (!free.writable) return `${t("offer.notWritable")} ${t("offer.notWritable.next")}`;
  const missing = offer.bytes_so_far - free.free_bytes;
  const lacking = missing > 0 ? [t("offer.tooLarge", { missing: bytes(missing) })] : [];
  if (free.free_entries !== null && free.free_entries < offer.entries_so_far) lacking.push(t("offer.tooMany", { n: free.free_entries }));
  const max = free.name_max;
  if (max !== null && offer.names.some((name) => length(name) > max)) lacking.push(t("offer.namesTooLong", { n: max }));
  return lacking.join(" ");
}

/** Bytes of a name. */
function length({ path, path_bytes: hex }: PathText): number {
  return hex ? hex.length / 2 : new TextEncoder().encode(path).length;
}
