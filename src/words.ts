// Every sentence that is made from data, but for those about one transfer: a fault's code and
// fields become what happened, and what to do next.
import { bytes, duration } from "./format";
import type {
  Aim,
  Declined,
  Operation,
  Encryption,
  Fault,
  FileIo,
  Means,
  Nearby,
  Offer,
  OsFault,
  Paths,
  Remedy,
  RoomThere,
  StartAtLogin,
  SyncIoWhy,
  Unfit,
  UserTlsWhy,
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
  loadTls: "remedy.loadTls",
  keepTls: "remedy.keepTls",
  whoListens: "remedy.whoListens",
  serve: "remedy.serve",
  restartService: "remedy.restartService",
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

/** What the system said. */
export function system(os: OsFault): string {
  return os.errno !== null && os.errno in OS_WORDS ? t(OS_WORDS[os.errno as keyof typeof OS_WORDS]) : os.detail;
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

const UNFIT = {
  nothingToSend: { what: "fault.unfit.nothingToSend", next: "fault.unfit.nothingToSend.next" },
  deviceName: { what: "fault.unfit.deviceName", next: "fault.unfit.deviceName.next" },
  nameTaken: { what: "fault.unfit.nameTaken", next: "fault.unfit.nameTaken.next" },
  unknownDevice: { what: "fault.unfit.unknownDevice", next: "fault.unfit.unknownDevice.next" },
  ambiguousId: { what: "fault.unfit.ambiguousId", next: "fault.unfit.ambiguousId.next" },
  port: { what: "fault.unfit.port", next: "fault.unfit.port.next" },
  receiveFolder: { what: "fault.unfit.folder", next: "fault.unfit.folder.next" },
  ruleFolder: { what: "fault.unfit.folder", next: "fault.unfit.folder.next" },
  ruleSize: { what: "fault.unfit.ruleSize", next: "fault.unfit.ruleSize.next" },
  limit: { what: "fault.unfit.limit", next: "fault.unfit.limit.next" },
  running: { what: "fault.unfit.running", next: "fault.unfit.running.next" },
  cannotPause: { what: "fault.unfit.cannotPause", next: "fault.unfit.cannotPause.next" },
  noDestination: { what: "fault.unfit.noDestination", next: "fault.unfit.noDestination.next" },
  tooMany: { what: "fault.unfit.tooMany", next: "fault.unfit.tooMany.next" },
} as const satisfies Partial<Record<Unfit["reason"], { what: Key; next: Key }>>;

function unfit({ why, what }: Extract<Fault, { code: "invalid" }>): Sentence {
  switch (why.reason) {
    case "sameName":
      return { what: t("fault.unfit.sameName", { name: why.name }), next: t("fault.unfit.sameName.next") };
    case "nameTooLong":
      return { what: t("fault.unfit.nameTooLong", { name: why.name }), next: t("fault.unfit.nameTooLong.next") };
    case "ambiguousName":
      return { what: t("fault.unfit.ambiguousName", { name: why.name }), next: t("fault.unfit.ambiguousName.next", { name: why.name }) };
    case "ownFolder":
      return { what: t("fault.unfit.ownFolder", { folder: why.folder }), next: t("fault.unfit.folder.next") };
    case "homeFolder":
      return { what: t("fault.unfit.homeFolder", { folder: why.folder }), next: t("fault.unfit.homeFolder.next") };
    case "other":
      return { what: t("fault.invalid", { what }), next: t("fault.invalid.next") };
    default: {
      const told = UNFIT[why.reason];
      return { what: t(told.what), next: t(told.next) };
    }
  }
}

function declined(why: Declined, peer: string): Sentence {
  switch (why.reason) {
    case "byChoice":
      return { what: t("fault.declined", { peer }), next: t("fault.declined.byChoice.next") };
    case "noAnswer":
      return { what: t("fault.declined.noAnswer", { peer }), next: t("fault.declined.noAnswer.next") };
    case "noRoom":
      return { what: t("fault.declined.noSpace", { peer, ...roomFigures(why) }), next: t("fault.declined.noSpace.next") };
    case "notWritable":
      return { what: t("fault.declined.notWritable", { peer }), next: t("fault.declined.notWritable.next") };
    case "paused":
      return { what: t("fault.declined.paused", { peer }), next: t("fault.declined.paused.next") };
    case "stopped":
      return { what: t("fault.declined.stopped", { peer }), next: t("fault.declined.stopped.next") };
    case "tooManyOffers": {
      const time = duration(Math.max(1000, why.waitMs));
      return { what: t("fault.declined.tooManyOffers", { peer }), next: t("fault.declined.tooManyOffers.next", { time }) };
    }
    case "busy":
      return { what: t("fault.declined.busy", { peer }), next: t("fault.declined.busy.next") };
    case "other":
      return { what: t("fault.declined", { peer }), next: t("fault.declined.other.next") };
  }
}

function roomFigures({ needed, free, entries }: Extract<Declined, { reason: "noRoom" }>) {
  return { needed: bytes(needed), free: bytes(free), missing: missingWords(0, entries) };
}

function unreachable({ target, os, remedies }: Extract<Fault, { code: "unreachable" }>): Sentence {
  // The resolver's errors have no number.
  if (os.errno === null) return { what: t("fault.unreachable.noName", { target }), next: t("fault.unreachable.noName.next") };
  const what = t("fault.unreachable", { target, why: system(os) });
  if (remedies.length > 0) return { what, next: t("fault.unreachable.firewall.next"), commands: commandsOf(remedies) };
  if (os.errno === 111) return { what, next: t("fault.unreachable.refused.next") };
  return { what, next: os.errno === 101 ? t("fault.unreachable.noNetwork.next") : t("fault.unreachable.next") };
}

function listen({ address, os, remedies }: Extract<Fault, { code: "listen" }>): Sentence {
  const what = t("fault.listen", { port: address.replace(/^.*:/, ""), why: system(os) });
  if (os.errno === 98) return { what, next: t("fault.listen.next"), commands: commandsOf(remedies) };
  return { what, next: os.errno === 13 ? t("fault.listen.denied.next") : t("fault.listen.other.next") };
}

/** Errors of errno(3) with an obvious way on. */
export function osNext(os: OsFault): string | null {
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

/** Sentences that need nothing but the peer's name. */
function authWords(fault: Fault, peer: string): Sentence | null {
  switch (fault.code) {
    case "pairingNeeded":
      return { what: t("fault.pairingNeeded", { peer: fault.peer }), next: t("fault.pairingNeeded.next") };
    case "wrongCode":
      return { what: t("fault.wrongCode", { peer }), next: t("fault.wrongCode.next") };
    case "notACode":
      return { what: t("fault.notACode"), next: t("fault.notACode.next") };
    case "unknownWord":
      return { what: t("fault.unknownWord", { position: fault.position }), next: t("fault.unknownWord.next") };
    case "codeNumberTooLarge":
      return { what: t("fault.codeNumberTooLarge"), next: t("fault.codeNumberTooLarge.next") };
    case "noCodeOpen":
      return { what: t("fault.noValidCode", { peer }), next: t("fault.noValidCode.next") };
    case "pairingBusy": {
      const time = duration(Math.max(1000, fault.waitMs));
      return { what: t("fault.pairingBusy", { peer }), next: t("fault.pairingBusy.next", { time }) };
    }
    case "identityChanged": {
      const { name, expected, found } = fault;
      return { what: t("fault.identityChanged", { name }), next: t("fault.identityChanged.next", { name, expected, found }) };
    }
    case "unconfirmed": {
      const { last, name, found } = fault;
      return { what: t("fault.unconfirmed", { last, name, found }), next: t("fault.unconfirmed.next", { name }) };
    }
    case "otherAnswered": {
      const { announced, found } = fault;
      return { what: t("fault.otherAnswered", { peer }), next: t("fault.otherAnswered.next", { announced, found }) };
    }
    case "forgotten": {
      const { name, id, now } = fault;
      const what = t("fault.forgotten", { name, id });
      return { what, next: now === null ? t("fault.forgotten.next") : t("fault.forgotten.other.next", { name, now }) };
    }
    case "newTarget": {
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

/** A fault in words; `peer` is what to call the other machine. */
export function faultWords(fault: Fault, peer = t("common.otherDeviceFirst")): Sentence {
  const auth = authWords(fault, peer);
  if (auth) return auth;
  switch (fault.code) {
    case "path": {
      const what = t("fault.path", { path: fault.path, operation: operationWords(fault.operation), why: system(fault.os) });
      return { what, next: osNext(fault.os) ?? t("fault.path.next") };
    }
    case "unknownTarget":
      return { what: t("fault.unknownTarget", { target: fault.target }), next: t("fault.unknownTarget.next") };
    case "unreachable":
      return unreachable(fault);
    case "listen":
      return listen(fault);
    case "declined":
      return declined(fault.why, peer);
    case "cancelled":
      return { what: fault.by === "here" ? t("fault.cancelled.here") : t("fault.cancelled.there", { peer }), next: "" };
    case "connectionLost":
      return { what: t("fault.connectionLost", { peer, why: system(fault.os) }), next: t("fault.connectionLost.next") };
    case "protocol":
      return { what: t("fault.protocol", { peer, detail: fault.detail }), next: t("fault.protocol.next") };
    case "receiptContradicts":
      return { what: t("fault.receiptContradicts", { peer, detail: fault.detail }), next: t("fault.receiptContradicts.next", { peer }) };
    case "stalled":
      return { what: t("fault.stalled", { peer, time: duration(fault.seconds * 1000) }), next: t("fault.stalled.next") };
    case "version": {
      const { ours, theirs } = fault;
      return { what: t("fault.version", { peer, ours, theirs }), next: t("fault.version.next") };
    }
    case "tls":
      return { what: t("fault.tls", { peer, detail: fault.detail }), next: t("fault.tls.next") };
    case "noKernelTls":
      return { what: t("fault.noKernelTls"), next: t("fault.noKernelTls.next"), commands: commandsOf(fault.remedies) };
    case "noIoUring":
      return { what: t("fault.noIoUring"), next: t("fault.noIoUring.next") };
    case "store":
      return { what: t("fault.store", { path: fault.path, detail: fault.detail }), next: t(STORE_NEXT[fault.trouble]) };
    case "config": {
      const { path, line, detail, nearest } = fault;
      const what = line === null ? t("fault.config.whole", { path, detail }) : t("fault.config", { path, line, detail });
      return { what, next: nearest === null ? t("fault.config.next") : t("fault.config.nearest.next", { nearest }) };
    }
    case "invalid":
      return unfit(fault);
    case "destinationFull": {
      const missing = missingWords(fault.missingBytes, fault.missingEntries);
      return { what: t("fault.destinationFull", { missing }), next: t("fault.destinationFull.next") };
    }
    case "tooMuch": {
      const size = bytes(fault.maxBytes);
      return fault.by === "here"
        ? { what: t("fault.tooMuchHere", { size }), next: t("fault.tooMuchHere.next") }
        : { what: t("fault.tooMuchThere", { size, peer }), next: t("fault.tooMuchThere.next") };
    }
    case "paused":
      return { what: fault.by === "here" ? t("fault.pausedHere") : t("fault.pausedThere", { peer }), next: t("fault.paused.next") };
    case "peerForgotten":
      return { what: t("fault.peerForgotten"), next: t("fault.peerForgotten.next") };
    case "destinationGone":
      return { what: t("fault.destinationGone"), next: t("fault.destinationGone.next") };
    case "turnedAway":
      return { what: t("fault.turnedAway", { peer }), next: t("fault.turnedAway.next") };
    case "failedThere":
      return { what: t("fault.failedThere", { peer }), next: t("fault.failedThere.next") };
    case "unanswered":
      return { what: t("fault.unanswered"), next: t("fault.unanswered.next", { peer }) };
    case "tooManySent":
      return { what: t("fault.tooManySent"), next: t("fault.tooManySent.next") };
    case "grown":
      return { what: t("fault.grown", { peer, size: bytes(fault.bytes) }), next: t("fault.grown.next") };
    case "gone":
      return { what: t("fault.gone"), next: t("fault.gone.next") };
    case "serviceGone":
      return { what: t("fault.serviceGone"), next: t("fault.serviceGone.next") };
    case "serviceFailed":
      return { what: t("fault.serviceFailed", { detail: fault.detail }), next: t("fault.serviceFailed.next"), commands: commandsOf(fault.remedies) };
    case "serviceDiffers": {
      const { ours, theirs, remedies } = fault;
      return { what: t("fault.serviceDiffers", { ours, theirs }), next: t("fault.serviceDiffers.next"), commands: commandsOf(remedies) };
    }
    case "systemd":
      return { what: t("fault.systemd", { detail: fault.detail }), next: t("fault.systemd.next") };
    case "noProgram":
      return { what: t("fault.noProgram"), next: t("fault.noProgram.next") };
    case "noFileManager":
      return { what: t("fault.noFileManager"), next: t("fault.noFileManager.next", { path: fault.path }) };
    case "other":
      return { what: t("fault.other", { detail: fault.detail }), next: t("fault.other.next") };
    default:
      return { what: t("fault.unknown"), next: "" };
  }
}

/** Whether it is about the service rather than what was asked of it. */
export function isOfService(fault: Fault): boolean {
  return ["serviceGone", "serviceFailed", "serviceDiffers"].includes(fault.code);
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
  return ["pairingNeeded", "wrongCode", "notACode", "unknownWord", "codeNumberTooLarge", "noCodeOpen"].includes(fault.code);
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

const USER_TLS = {
  asked: "tls.why.configured",
  notInKernel: "tls.why.notInKernel",
  moduleNotLoaded: "tls.why.moduleNotLoaded",
  modulesUnseen: "tls.why.modulesUnseen",
  refused: "tls.why.refused",
} as const satisfies Record<UserTlsWhy, Key>;

/** Who encrypts at this machine, with the reason. */
export function encryptionHere(encryption: Encryption): string {
  return encryption.by === "kernel" ? t("tls.kernel") : t("tls.userspace", { why: t(USER_TLS[encryption.why]) });
}

/** Who encrypts a transfer at both ends. */
export function encryptionWords(here: Paths | null, there: Paths | null, peer: string): string {
  if (!here) return "";
  const mine = here.encryption;
  if (mine.by === "kernel") {
    if (!there) return t("tls.kernelHere");
    return there.encryption.by === "kernel" ? t("tls.kernelBoth") : t("tls.kernelHereOnly", { peer });
  }
  const why = t(USER_TLS[mine.why]);
  if (!there) return t("tls.userspaceHere", { why });
  return there.encryption.by === "kernel" ? t("tls.kernelThereOnly", { peer, why }) : t("tls.userspaceBoth", { why });
}

const PLAIN_IO = {
  asked: "files.why.configured",
  faster: "files.why.faster",
  notInKernel: "files.why.notInKernel",
  forbidden: "files.why.forbidden",
  noMemory: "files.why.noMemory",
  opcodeMissing: "files.why.opcodeMissing",
  refused: "files.why.refused",
} as const satisfies Record<SyncIoWhy, Key>;

/** Who moves files at this machine. */
export function fileIoWords(io: FileIo): string {
  return io.by === "uring" ? t("files.uring") : t("files.plain", { why: t(PLAIN_IO[io.why]) });
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
  if (fault.code !== "declined" || fault.why.reason !== "noRoom") return faultWords(fault, from);
  return { what: t("fault.declined.noSpaceHere", roomFigures(fault.why)), next: t("fault.declined.noSpaceHere.next", { from }) };
}

/** What is missing at a disk, as the end of a sentence about it. */
export function missingWords(missingBytes: number, missingEntries: number): string {
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
