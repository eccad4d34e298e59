// Every sentence that is made from data, but for those about one transfer: a fault's code and
// fields become what happened, and what to do next.
import { bytes, duration } from "./format";
import type {
  Aim,
  DeclineReason,
  Operation,
  Fault,
  IoPath,
  Means,
  Nearby,
  Offer,
  OsError,
  PathTaken,
  Remedy,
  RoomThere,
  Shortage,
  StartAtLogin,
  SyncIoReason,
  TlsPath,
  Invalid,
  UserTlsReason,
} from "./ipc/bindings";
import { type Key, t } from "./messages";
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
} as const satisfies Record<Operation, Key>;

/** What was being done, as in "could not be …". */
export function operationWords(operation: Operation): string {
  return t(OPERATIONS[operation]);
}

const INVALID = {
  nothing_to_send: { what: "fault.unfit.nothingToSend", next: "fault.unfit.nothingToSend.next" },
  device_name: { what: "fault.unfit.deviceName", next: "fault.unfit.deviceName.next" },
  name_taken: { what: "fault.unfit.nameTaken", next: "fault.unfit.nameTaken.next" },
  unknown_device: { what: "fault.unfit.unknownDevice", next: "fault.unfit.unknownDevice.next" },
  ambiguous_id: { what: "fault.unfit.ambiguousId", next: "fault.unfit.ambiguousId.next" },
  port: { what: "fault.unfit.port", next: "fault.unfit.port.next" },
  receive_folder: { what: "fault.unfit.folder", next: "fault.unfit.folder.next" },
  rule_folder: { what: "fault.unfit.folder", next: "fault.unfit.folder.next" },
  rule_size: { what: "fault.unfit.ruleSize", next: "fault.unfit.ruleSize.next" },
  limit: { what: "fault.unfit.limit", next: "fault.unfit.limit.next" },
  running: { what: "fault.unfit.running", next: "fault.unfit.running.next" },
  cannot_pause: { what: "fault.unfit.cannotPause", next: "fault.unfit.cannotPause.next" },
  no_destination: { what: "fault.unfit.noDestination", next: "fault.unfit.noDestination.next" },
  too_many: { what: "fault.unfit.tooMany", next: "fault.unfit.tooMany.next" },
} as const satisfies Partial<Record<Invalid["reason"], { what: Key; next: Key }>>;

function invalid(why: Invalid): Sentence {
  switch (why.reason) {
    case "same_name":
      return { what: t("fault.unfit.sameName", { name: why.name.path }), next: t("fault.unfit.sameName.next") };
    case "name_too_long":
      return { what: t("fault.unfit.nameTooLong", { name: why.name.path }), next: t("fault.unfit.nameTooLong.next") };
    case "ambiguous_name":
      return { what: t("fault.unfit.ambiguousName", { name: why.name }), next: t("fault.unfit.ambiguousName.next", { name: why.name }) };
    case "own_folder":
      return { what: t("fault.unfit.ownFolder", { folder: why.folder.path }), next: t("fault.unfit.folder.next") };
    case "home_folder":
      return { what: t("fault.unfit.homeFolder", { folder: why.folder.path }), next: t("fault.unfit.homeFolder.next") };
    case "option":
      return { what: t("fault.invalid", { what: why.detail }), next: t("fault.invalid.next") };
    case "pairing_off":
    case "transfer_id":
      return { what: t("fault.unknown"), next: "" };
    default: {
      const told = INVALID[why.reason];
      return { what: t(told.what), next: t(told.next) };
    }
  }
}

function declined(why: DeclineReason, peer: string): Sentence {
  switch (why.reason) {
    case "by_choice":
      return { what: t("fault.declined", { peer }), next: t("fault.declined.byChoice.next") };
    case "no_answer":
      return { what: t("fault.declined.noAnswer", { peer }), next: t("fault.declined.noAnswer.next") };
    case "no_room":
      return { what: t("fault.declined.noSpace", { peer, ...roomFigures(why) }), next: t("fault.declined.noSpace.next") };
    case "not_writable":
      return { what: t("fault.declined.notWritable", { peer }), next: t("fault.declined.notWritable.next") };
    case "paused":
      return { what: t("fault.declined.paused", { peer }), next: t("fault.declined.paused.next") };
    case "stopped":
      return { what: t("fault.declined.stopped", { peer }), next: t("fault.declined.stopped.next") };
    case "too_many_offers": {
      const time = duration(Math.max(1000, why.wait_seconds * 1000));
      return { what: t("fault.declined.tooManyOffers", { peer }), next: t("fault.declined.tooManyOffers.next", { time }) };
    }
    case "busy":
      return { what: t("fault.declined.busy", { peer }), next: t("fault.declined.busy.next") };
  }
}

function roomFigures({ needed, free, entries }: Extract<DeclineReason, { reason: "no_room" }>) {
  return { needed: bytes(needed), free: bytes(free), missing: missingWords(0, entries) };
}

function unreachable({ target, source: os, remedies }: Extract<Fault, { code: "unreachable" }>): Sentence {
  // The resolver's errors have no number.
  if (os.errno === null) return { what: t("fault.unreachable.noName", { target }), next: t("fault.unreachable.noName.next") };
  const what = t("fault.unreachable", { target, why: system(os) });
  if (remedies.length > 0) return { what, next: t("fault.unreachable.firewall.next"), commands: commandsOf(remedies) };
  if (os.errno === 111) return { what, next: t("fault.unreachable.refused.next") };
  return { what, next: os.errno === 101 ? t("fault.unreachable.noNetwork.next") : t("fault.unreachable.next") };
}

function listen({ address, source: os, remedies }: Extract<Fault, { code: "listen" }>): Sentence {
  const what = t("fault.listen", { port: address.replace(/^.*:/, ""), why: system(os) });
  if (os.errno === 98) return { what, next: t("fault.listen.next"), commands: commandsOf(remedies) };
  return { what, next: os.errno === 13 ? t("fault.listen.denied.next") : t("fault.listen.other.next") };
}

/** Errors of errno(3) with an obvious way on. */
export function osNext(os: SystemError): string | null {
  switch (os.errno) {
    case 2:
      return t("refused.notFound.next");
    case 5:
      return t("fault.path.disk.next");
    case 1:
    case 13:
      return t("refused.denied.next");
    case 28:
    case 122:
      return t("refused.full.next");
    case 30:
      return t("refused.readOnly.next");
    default:
      return null;
  }
}

/** The beginning of a device's id, as people compare it. */
function shortId(id: string): string {
  return (id.slice(0, 16).match(/.{4}/g) ?? []).join("-");
}

/** Sentences that need nothing but the peer's name. */
function authWords(fault: Fault, peer: string): Sentence | null {
  switch (fault.code) {
    case "pairing_needed":
      return { what: t("fault.pairingNeeded", { peer: fault.peer_name }), next: t("fault.pairingNeeded.next") };
    case "wrong_code":
      return { what: t("fault.wrongCode", { peer }), next: t("fault.wrongCode.next") };
    case "not_a_code":
      return { what: t("fault.notACode"), next: t("fault.notACode.next") };
    case "unknown_word":
      return { what: t("fault.unknownWord", { position: fault.position }), next: t("fault.unknownWord.next") };
    case "code_number_too_large":
      return { what: t("fault.codeNumberTooLarge"), next: t("fault.codeNumberTooLarge.next") };
    case "no_code_open":
      return { what: t("fault.noValidCode", { peer }), next: t("fault.noValidCode.next") };
    case "pairing_busy": {
      const time = duration(Math.max(1000, fault.wait_seconds * 1000));
      return { what: t("fault.pairingBusy", { peer }), next: t("fault.pairingBusy.next", { time }) };
    }
    case "identity_changed": {
      const { name } = fault;
      const [expected, found] = [shortId(fault.expected), shortId(fault.found)];
      return { what: t("fault.identityChanged", { name }), next: t("fault.identityChanged.next", { name, expected, found }) };
    }
    case "unconfirmed": {
      const { last, name, found } = fault;
      return { what: t("fault.unconfirmed", { last, name, found: shortId(found) }), next: t("fault.unconfirmed.next", { name }) };
    }
    case "other_answered": {
      const { announced, found } = fault;
      return { what: t("fault.otherAnswered", { peer }), next: t("fault.otherAnswered.next", { announced, found: shortId(found) }) };
    }
    case "forgotten": {
      const { name, id, now } = fault;
      const what = t("fault.forgotten", { name, id: shortId(id) });
      return { what, next: now === null ? t("fault.forgotten.next") : t("fault.forgotten.other.next", { name, now: shortId(now) }) };
    }
    case "new_target": {
      const { to, was } = fault;
      return { what: t("fault.newTarget", { to, was }), next: t("fault.newTarget.next") };
    }
    case "ourselves":
      return { what: t("fault.ourselves"), next: t("fault.ourselves.next") };
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
} as const;

function pathWords({ path, operation, source }: Extract<Fault, { code: "path" | "not_published" }>): string {
  return t("fault.path", { path: path.path, operation: operationWords(operation), why: system(source) });
}

/** A fault in words; `peer` is what to call the other machine. */
export function faultWords(fault: Fault, peer = t("common.otherDeviceFirst")): Sentence {
  const auth = authWords(fault, peer);
  if (auth) return auth;
  switch (fault.code) {
    case "path":
      return { what: pathWords(fault), next: osNext(fault.source) ?? t("fault.path.next") };
    case "not_published":
      return { what: pathWords(fault), next: t("fault.notPublished.next") };
    case "unknown_target":
      return { what: t("fault.unknownTarget", { target: fault.target }), next: t("fault.unknownTarget.next") };
    case "unreachable":
      return unreachable(fault);
    case "listen":
      return listen(fault);
    case "declined":
      return declined(fault, peer);
    case "cancelled":
      return { what: fault.by === "here" ? t("fault.cancelled.here") : t("fault.cancelled.there", { peer }), next: "" };
    case "connection_lost":
      return { what: t("fault.connectionLost", { peer, why: system(fault) }), next: t("fault.connectionLost.next") };
    case "protocol":
      return { what: t("fault.protocol", { peer, detail: fault.detail }), next: t("fault.protocol.next") };
    case "receipt_contradicts":
      return { what: t("fault.receiptContradicts", { peer, detail: fault.detail }), next: t("fault.receiptContradicts.next", { peer }) };
    case "stalled":
      return { what: t("fault.stalled", { peer, time: duration(fault.seconds * 1000) }), next: t("fault.stalled.next") };
    case "version": {
      const { ours, theirs } = fault;
      return { what: t("fault.version", { peer, ours, theirs }), next: t("fault.version.next") };
    }
    case "tls":
      return { what: t("fault.tls", { peer, detail: fault.detail }), next: t("fault.tls.next") };
    case "no_kernel_tls":
      return { what: t("fault.noKernelTls"), next: t("fault.noKernelTls.next"), commands: commandsOf(fault.remedies) };
    case "no_io_uring":
      return { what: t("fault.noIoUring"), next: t("fault.noIoUring.next") };
    case "store":
      return { what: t("fault.store", { path: fault.path.path, detail: fault.detail }), next: t(STORE_NEXT[fault.trouble]) };
    case "config": {
      const { line, detail, nearest } = fault;
      const { path } = fault.path;
      const what = line === null ? t("fault.config.whole", { path, detail }) : t("fault.config", { path, line, detail });
      return { what, next: nearest === null ? t("fault.config.next") : t("fault.config.nearest.next", { nearest }) };
    }
    case "invalid":
      return invalid(fault);
    case "destination_full": {
      const missing = shortageWords(fault.shortage);
      return { what: t("fault.destinationFull", { missing }), next: t("fault.destinationFull.next") };
    }
    case "too_much": {
      const size = bytes(fault.bytes_max);
      return fault.by === "here"
        ? { what: t("fault.tooMuchHere", { size }), next: t("fault.tooMuchHere.next") }
        : { what: t("fault.tooMuchThere", { size, peer }), next: t("fault.tooMuchThere.next") };
    }
    case "paused":
      return { what: fault.by === "here" ? t("fault.pausedHere") : t("fault.pausedThere", { peer }), next: t("fault.paused.next") };
    case "peer_forgotten":
      return { what: t("fault.peerForgotten"), next: t("fault.peerForgotten.next") };
    case "destination_gone":
      return { what: t("fault.destinationGone"), next: t("fault.destinationGone.next") };
    case "turned_away":
      return { what: t("fault.turnedAway", { peer }), next: t("fault.turnedAway.next") };
    case "failed_there":
      return { what: t("fault.failedThere", { peer }), next: t("fault.failedThere.next") };
    case "unanswered":
      return { what: t("fault.unanswered"), next: t("fault.unanswered.next", { peer }) };
    case "too_many_sent":
      return { what: t("fault.tooManySent"), next: t("fault.tooManySent.next") };
    case "grown":
      return { what: t("fault.grown", { peer, size: bytes(fault.bytes) }), next: t("fault.grown.next") };
    case "gone":
      return { what: t("fault.gone"), next: t("fault.gone.next") };
    case "service_gone":
      return { what: t("fault.serviceGone"), next: t("fault.serviceGone.next") };
    case "service_failed":
      return { what: t("fault.serviceFailed", { detail: fault.detail }), next: t("fault.serviceFailed.next"), commands: commandsOf(fault.remedies) };
    case "service_differs": {
      const { ours, theirs, remedies } = fault;
      return { what: t("fault.serviceDiffers", { ours, theirs }), next: t("fault.serviceDiffers.next"), commands: commandsOf(remedies) };
    }
    case "systemd":
      return { what: t("fault.systemd", { detail: fault.detail }), next: t("fault.systemd.next") };
    case "no_program":
      return { what: t("fault.noProgram"), next: t("fault.noProgram.next") };
    case "no_file_manager":
      return { what: t("fault.noFileManager"), next: t("fault.noFileManager.next", { path: fault.path.path }) };
    case "few_descriptors":
      return { what: t("fault.fewDescriptors", { has: String(fault.has), least: String(fault.least) }), next: t("fault.fewDescriptors.next") };
    case "misleading_name":
      return { what: t("fault.misleadingName", { peer }), next: t("fault.misleadingName.next") };
    case "machine":
    case "discovery":
    case "other":
      return { what: t("fault.other", { detail: fault.detail }), next: t("fault.other.next") };
    default:
      return { what: t("fault.unknown"), next: "" };
  }
}

/** Whether it is about the service rather than what was asked of it. */
export function isOfService(fault: Fault): boolean {
  return ["service_gone", "service_failed", "service_differs"].includes(fault.code);
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

/** Whether only another code helps. */
export function asksForCode(fault: Fault): boolean {
  return ["pairing_needed", "wrong_code", "not_a_code", "unknown_word", "code_number_too_large", "no_code_open"].includes(fault.code);
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
      return t("settings.login.vanished", { program: now.program });
    default:
      return t(AT_LOGIN.does[now.by]);
  }
}

/** Whether something starts it that is there. */
export function startsAtLogin({ now }: StartAtLogin): boolean {
  return now.by === "autostart" || now.by === "unit";
}

/** A reason's name: one that comes with an errno is an object with that name. */
type ReasonName<Reason> = Reason extends string ? Reason : keyof Reason;

const USER_TLS = {
  asked: "tls.why.configured",
  not_in_kernel: "tls.why.notInKernel",
  module_not_loaded: "tls.why.moduleNotLoaded",
  modules_unseen: "tls.why.modulesUnseen",
  refused: "tls.why.refused",
} as const satisfies Record<ReasonName<UserTlsReason>, Key>;

function userTlsWords(reason: UserTlsReason): string {
  return t(USER_TLS[typeof reason === "string" ? reason : "refused"]);
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
  refused: "files.why.refused",
} as const satisfies Record<ReasonName<SyncIoReason>, Key>;

/** Who moves files at this machine. */
export function fileIoWords(io: IoPath): string {
  if (io === "uring") return t("files.uring");
  return t("files.plain", { why: t(PLAIN_IO[typeof io.sync === "string" ? io.sync : "refused"]) });
}

/**
 * That somebody elsewhere typed a wrong code; `left` is how many tries the code has, where that is
 * known.
 */
export function wrongCodeWords(from: string, left: number | null): string {
  if (left === null) return t("inbox.wrongCode", { from });
  return left === 0 ? t("inbox.wrongCodeLast", { from }) : t("inbox.wrongCodeLeft", { from, n: left });
}

/** Why nobody is meant by a code whose number `found` show. */
export function notFoundWords(number: number, found: Pick<Nearby, "name" | "address">[]): Sentence {
  const shown = String(number);
  if (found.length === 0) return { what: t("send.codeNotFound", { number: shown }), next: t("send.codeNotFound.next") };
  const names = found.map(({ name, address }) => `${name} (${address})`).join(", ");
  return { what: t("send.codeAmbiguous", { number: shown, names }), next: t("send.codeAmbiguous.next") };
}

/** The number of a code, as it is typed; none of anything else, a standing secret too. */
export function codeNumber(typed: string): number | null {
  const [, number] = /^(\d{1,5})-\p{L}+-\p{L}+$/u.exec(typed.trim()) ?? [];
  return number === undefined ? null : Number(number);
}

/** How long a code is still good for. */
export function codeValidWords(ms: number): string {
  return ms < 60_000 ? t("inbox.validForLess") : t("inbox.validFor", { minutes: Math.floor(ms / 60_000) });
}

/** A fault of an offer that was accepted here, in words; `from` is who made it. */
export function acceptFaultWords(fault: Fault, from: string): Sentence {
  if (fault.code !== "declined" || fault.reason !== "no_room") return faultWords(fault, from);
  return { what: t("fault.declined.noSpaceHere", roomFigures(fault)), next: t("fault.declined.noSpaceHere.next", { from }) };
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
export function roomWords(offer: Pick<Offer, "bytesSoFar" | "entriesSoFar">, room: RoomThere): string {
  if (!room.writable) return t("inbox.notWritable");
  const missing = offer.bytesSoFar - room.freeBytes;
  const lacking = missing > 0 ? [t("inbox.tooLarge", { missing: bytes(missing) })] : [];
  if (room.freeEntries !== null && room.freeEntries < offer.entriesSoFar) lacking.push(t("inbox.tooMany", { n: room.freeEntries }));
  if (room.namesAtMost !== null) lacking.push(t("inbox.namesTooLong", { n: room.namesAtMost }));
  return lacking.join(" ");
}
