// Every sentence the window says but those about one transfer: a fault's code and fields become what happened, and what to do next.
import { bytes, count, duration } from "./format";
import type {
  Declined,
  Doing,
  Ended,
  Encryption,
  Fault,
  FileIo,
  Offer,
  OsFault,
  Paths,
  RoomThere,
  SyncIoWhy,
  UserTlsWhy,
} from "./ipc/bindings";

/** What happened, and what to do about it. */
export interface Sentence {
  what: string;
  next: string;
}

export const one = (n: number, single: string, many: string) => `${count(n)} ${n === 1 ? single : many}`;

export const files = (n: number) => one(n, "file", "files");
export const entries = (n: number) => one(n, "item", "items");

/** The errors of errno(3) that people meet, by number (x86-64 and arm64 Linux agree on these). */
const OS_WORDS: Record<number, string> = {
  1: "the system does not permit it",
  2: "it does not exist",
  5: "the disk reported a read or write error",
  13: "permission was denied",
  17: "something is there already",
  18: "it is on another filesystem",
  20: "a part of the path is not a folder",
  21: "it is a folder",
  22: "the filesystem does not take that name",
  24: "too many files are open",
  27: "the file is too large for the filesystem",
  28: "the disk is full",
  30: "the filesystem is read-only",
  36: "the name is too long for the filesystem",
  40: "there are too many symbolic links in the path",
  95: "the filesystem does not support it",
  98: "another program uses that port",
  99: "this machine does not have that address",
  101: "the network cannot be reached",
  104: "the other side closed the connection",
  110: "nothing answered in time",
  111: "nothing listens there",
  113: "there is no way to that machine",
  122: "the quota is used up",
};

/** What the system said. */
export function system(os: OsFault): string {
  return (os.errno !== null && OS_WORDS[os.errno]) || os.detail;
}

/** What was being done, as in "could not be …". */
export const DOING: Record<Doing, string> = {
  open: "opened",
  read: "read",
  write: "written",
  create: "created",
  rename: "given its final name",
  metadata: "given its mode, times and attributes",
  link: "linked",
  sync: "saved to the disk",
  other: "handled",
};

function declined(why: Declined, peer: string): Sentence {
  switch (why.reason) {
    case "byChoice":
      return { what: `${peer} declined the offer.`, next: "Ask its owner, then send again." };
    case "noAnswer":
      return { what: `Nobody answered the offer on ${peer}.`, next: "Have somebody at that machine, then send again." };
    case "noRoom":
      return {
        what: `${peer} has too little room: ${bytes(why.needed)} are needed, ${bytes(why.free)} are free${missingWords(0, why.entries)}.`,
        next: "Make room there, or have the offer accepted into another folder.",
      };
    case "notWritable":
      return { what: `${peer} cannot write to its receive folder.`, next: "Choose another folder there and send again." };
    case "busy":
      return { what: `${peer} has too many transfers running.`, next: "Send again when one has ended." };
    case "other":
      return { what: `${peer} declined the offer.`, next: "Send again, or update Ringway here to learn why." };
  }
}

function unreachable(target: string, os: OsFault): Sentence {
  const next =
    os.errno === 111
      ? "Start Ringway's receiver there, and check the port."
      : "Check the address, that the machine is awake, and that its firewall lets Ringway's port in.";
  return { what: `${target} cannot be reached: ${system(os)}.`, next };
}

/** Sentences that need nothing but the peer's name. */
function authWords(fault: Fault, peer: string): Sentence | null {
  switch (fault.code) {
    case "pairingNeeded":
      return { what: `${fault.peer} and this machine do not know each other yet.`, next: "Type the code that it shows." };
    case "wrongCode":
      return { what: `That is not the code ${peer} shows.`, next: "Look again and type it once more." };
    case "notACode":
      return { what: "That is not a code.", next: "A code is a number and two words, as in 42-river-castle." };
    case "unknownWord":
      return {
        what: `No code has that ${fault.position === 1 ? "first" : "second"} word.`,
        next: "It is misspelt: look again. Nothing was sent, and no try was used.",
      };
    case "codeNumberTooLarge":
      return { what: "No code has a number that large.", next: "Look again. Nothing was sent, and no try was used." };
    case "noCodeOpen":
      return { what: `${peer} has no code open.`, next: "Have a new one drawn there (New code), then type that one." };
    case "pairingBusy":
      return {
        what: `${peer} is pairing with somebody else.`,
        next: `Try again in ${duration(Math.max(1000, fault.waitMs))}.`,
      };
    case "identityChanged":
      return {
        what: `${fault.name} answered with another key than the one it was paired with.`,
        next: `It was reinstalled, or something pretends to be it. Known: ${fault.expected}. Answered: ${fault.found}. Compare with the id that machine shows in its settings; if it is right, forget ${fault.name} here and pair again.`,
      };
    case "nameTaken":
      return {
        what: `${peer} knows another machine by the name “${fault.name}” and refused this one.`,
        next: "Give this machine another name in Settings.",
      };
    case "ourselves":
      return { what: "That is this machine.", next: "Type the address of another one." };
    default:
      return null;
  }
}

/** A fault in words; `peer` is what to call the other machine. */
export function faultWords(fault: Fault, peer = "The other machine"): Sentence {
  const auth = authWords(fault, peer);
  if (auth) return auth;
  switch (fault.code) {
    case "path":
      return { what: `${fault.path} cannot be ${DOING[fault.doing]}: ${system(fault.os)}.`, next: "Put that right, then try again." };
    case "unknownTarget":
      return {
        what: `“${fault.target}” is neither a paired machine nor an address.`,
        next: "Type the address that the other machine shows in its Inbox.",
      };
    case "unreachable":
      return unreachable(fault.target, fault.os);
    case "listen":
      return {
        what: `Ringway cannot receive on port ${fault.address.replace(/^.*:/, "")}: ${system(fault.os)}.`,
        next: "Use another port, or end that program and try again.",
      };
    case "declined":
      return declined(fault.why, peer);
    case "cancelled":
      return fault.by === "here"
        ? { what: "Cancelled here.", next: "" }
        : { what: `Cancelled by ${peer}.`, next: "" };
    case "connectionLost":
      return {
        what: `The connection to ${peer} was lost before everything was confirmed: ${system(fault.os)}.`,
        next: "Nothing half-written is left under its final name, and what is whole is kept: send the same again to go on.",
      };
    case "protocol":
      return { what: `${peer} said something that Ringway does not understand: ${fault.detail}.`, next: "Update Ringway on both machines." };
    case "version":
      return {
        what: `${peer} speaks version ${fault.theirs} of Ringway's protocol, this machine version ${fault.ours}.`,
        next: "Update the older of the two.",
      };
    case "tls":
      return { what: `No secure connection to ${peer} came about: ${fault.detail}.`, next: "Check that Ringway answers at that address and port." };
    case "noKernelTls":
      return { what: "TLS in the kernel was demanded and is not available.", next: "Run “sudo modprobe tls”, or let Ringway choose." };
    case "noIoUring":
      return { what: "io_uring was demanded and is not available.", next: "Let Ringway choose." };
    case "store":
      return { what: `Ringway's own file ${fault.path} cannot be used: ${fault.detail}.`, next: "Put that right and start Ringway again." };
    case "invalid":
      return { what: `That cannot be used: ${fault.what}.`, next: "Change it and try again." };
    case "destinationFull":
      return {
        what: `The disk filled up during the transfer${missingWords(fault.missingBytes, fault.missingEntries)}.`, 
        next: "What had arrived whole was kept. Make room and send again.",
      };
    case "destinationGone":
      return { what: "The folder to receive into was removed during the transfer.", next: "Make it again or choose another one, then have it sent again." };
    case "gone":
      return { what: "That is no longer there.", next: "It was answered, withdrawn or forgotten meanwhile." };
    case "noFileManager":
      return { what: "No file manager could be started.", next: `The folder is ${fault.path}.` };
    case "other":
      return { what: `Something went wrong: ${fault.detail}.`, next: "" };
    default:
      return { what: "Something went wrong.", next: "" };
  }
}

/** Whether only another code helps. */
export function asksForCode(fault: Fault): boolean {
  return ["pairingNeeded", "wrongCode", "notACode", "unknownWord", "codeNumberTooLarge", "noCodeOpen"].includes(fault.code);
}

const USER_TLS: Record<UserTlsWhy, string> = {
  asked: "as asked for",
  notInKernel: "this kernel has no TLS",
  moduleNotLoaded: "kernel module not loaded (“sudo modprobe tls” turns it on)",
  refused: "the kernel refused it",
};

/** Who encrypts at this machine, with the reason. */
export function encryptionHere(encryption: Encryption): string {
  return encryption.by === "kernel" ? "TLS in the kernel" : `TLS in userspace: ${USER_TLS[encryption.why]}`;
}

/** Who encrypts a transfer at both ends. */
export function encryptionWords(here: Paths | null, there: Paths | null, peer: string): string {
  if (!here) return "";
  const mine = here.encryption;
  if (!there) return mine.by === "kernel" ? "TLS in the kernel here" : `TLS in userspace here: ${USER_TLS[mine.why]}`;
  if (mine.by === "kernel" && there.encryption.by === "kernel") return "TLS in the kernel at both ends";
  if (mine.by === "kernel") return `TLS in the kernel here, in userspace on ${peer}`;
  const where = there.encryption.by === "kernel" ? `here, in the kernel on ${peer}` : "at both ends";
  return `TLS in userspace ${where}. Here: ${USER_TLS[mine.why]}`;
}

const PLAIN_IO: Record<SyncIoWhy, string> = {
  asked: "as asked for",
  faster: "they write files faster",
  notInKernel: "this kernel has no io_uring",
  forbidden: "io_uring is forbidden here",
  noMemory: "too little memory may be locked for io_uring",
  opcodeMissing: "this kernel's io_uring lacks something",
  refused: "the kernel refused io_uring",
};

/** Who moves files at this machine. */
export function fileIoWords(io: FileIo): string {
  return io.by === "uring" ? "io_uring" : `plain system calls: ${PLAIN_IO[io.why]}`;
}

/** Plain text that is not made from data. */
export const words = {
  views: { send: "Send", inbox: "Inbox", activity: "Activity", devices: "Devices", settings: "Settings" },
  thisMachine: "This machine",
  someone: "the other machine",
  tryAgain: "Try again",
  cancel: "Cancel",
  close: "Close",
  copy: "Copy",
  copied: "Copied",
  cannotStart: "Ringway could not start.",
  send: {
    drop: "Drop folders or files anywhere in this window",
    dropNow: "Let go to choose what you hold",
    dropOnCard: (name: string) => `Let go to send to ${name}`,
    or: "or choose them:",
    folders: "Choose folders…",
    files: "Choose files…",
    chosen: "To send",
    toCopy: "To copy",
    clear: "Choose something else",
    andMore: (n: number) => `and ${count(n)} more`,
    unreadable: "cannot be read",
    verify: "Verify afterwards",
    verifyHint: "The other machine reads everything back from its disk, and it is compared with what was read here.",
    to: "To",
    noDevices: "No machine is paired yet. Type the address and code that the other machine shows in its Inbox; afterwards the two know each other.",
    verb: "Send to",
    reachedAgo: (when: string) => `reached ${when}`,
    address: "Address of another machine",
    addressHint: "192.168.1.20, or name:port",
    code: "Code it shows",
    codeHint: "42-river-castle",
    codeOptional: "The code is only needed the first time.",
    button: "Send",
    reaching: (peer: string) => `Reaching ${peer}…`,
    tries: (n: number, max: number) => `Wrong try ${n} of ${max}; after ${max} a new code is needed.`,
    recent: "Latest",
    startedElsewhere: "The transfer has started: it is shown below.",
  },
  folder: {
    into: "Into",
    other: "Other folder…",
    free: (size: string) => `${size} free there`,
  },
  copying: {
    here: "This computer",
    note: "copy to a folder",
    form: "Copy on this computer",
    dropOnCard: "Let go to copy",
    thatFolder: "that folder",
    noFolder: "No folder chosen yet.",
    chooseFolder: "Choose a folder…",
    lands: (path: string) => `The copy will be ${path}`,
    existing: "Files that are there already",
    existingChoices: {
      replace: "replace them",
      newer: "replace those that are older",
      keep: "keep them",
    },
    noneThere: "Nothing there has that name yet.",
    oneThere: (name: string, folder: boolean) => `${name} is there already${folder ? ": the two are merged" : ""}.`,
    someThere: (n: number) => `${count(n)} of the names ${n === 1 ? "is" : "are"} there already.`,
    verify: "Verify afterwards",
    verifyHint: "Reads everything back from the disk and compares it. Takes about as long again.",
    button: "Copy",
    starting: "Starting…",
    started: (what: string, folder: string) => `Copying ${what} to ${folder}`,
  },
  inbox: {
    receive: "Receive here",
    explain: "On the other machine, type one of these addresses, and the code the first time.",
    addresses: "Addresses",
    noAddress: "This machine has no network address just now. Connect it to a network.",
    code: "Code",
    codeClosed: "No code is open: it was used, it expired, or it was typed wrongly three times.",
    codeStanding: "A standing secret is in force: no code is shown.",
    newCode: "New code",
    validFor: (ms: number) => (ms < 60_000 ? "valid for less than a minute" : `valid for ${Math.floor(ms / 60_000)} min, for one machine`),
    off: "Not receiving.",
    starting: "Starting to receive…",
    start: "Start receiving",
    otherPort: (port: number) => `On port ${port} for now, instead of the one in Settings.`,
    freePort: "Use a free port for now",
    offers: "Waiting for your answer",
    offered: (from: string) => `${from} wants to send you`,
    inAll: (n: number, size: string, final: boolean) => (final ? `${entries(n)}, ${size}` : `${entries(n)}, ${size} so far, still counting`),
    tooLarge: (missing: string) => `${missing} too little in that folder, unless some of it is there already.`,
    tooMany: (n: number) => `Only ${entries(n)} more can be made there.`,
    notWritable: "You may not write there: choose another folder.",
    existing: "If it is there already",
    existingChoices: {
      renameTop: "keep both, or update an earlier one",
      replace: "replace files that differ",
      keep: "keep the files that are there",
      rename: "number each new file",
    },
    accept: "Accept",
    decline: "Decline",
    came: "What came",
    nothingCame: "Nothing has come yet.",
    open: "Open folder",
    paired: (name: string) => `${name} is paired with this machine now.`,
    pairingFailed: (from: string) => `Somebody at ${from} tried to pair and failed.`,
    wrongCodeFrom: (from: string, left: number | null) =>
      left === 0
        ? `Somebody at ${from} typed a wrong code for the third time. That code is void now.`
        : `Somebody at ${from} typed a wrong code${left === null ? "" : `; ${one(left, "try", "tries")} left`}.`,
    waiting: (n: number) => `${one(n, "offer waits", "offers wait")} for your answer`,
    look: "Open the Inbox",
  },
  activity: {
    all: "All transfers, newest first",
    empty: "Nothing has moved yet.",
    emptyNext: "What you send, receive and copy shows here, with its speed while it runs.",
    clear: "Clear finished",
    resume: "Resume",
    tryNow: "Try now",
    of: (done: string, total: string, final: boolean) => `${done} of ${total}${final ? "" : "+"}`,
    counting: "Still counting",
    left: (time: string) => `${time} left`,
    failed: (n: number) => `${entries(n)} failed so far`,
    failures: (n: number) => `What did not arrive (${count(n)})`,
    notCopied: (n: number) => `What was not copied (${count(n)})`,
    moreFailures: (n: number) => `and ${count(n)} more`,
    graph: (rate: string, highest: string) => `Speed over time: ${rate} now, ${highest} at most`,
    limitedBy: (what: string) => `Limited by ${what}`,
    mostlyLimitedBy: (what: string) => `Mostly limited by ${what}`,
    limitsOverTime: "What limited it, over the whole time",
    average: (rate: string) => `${rate} on average`,
    arrived: "Where it is",
    remove: "Remove from the list",
    progress: (title: string) => `Progress of ${title}`,
    to: (peer: string) => `to ${peer}`,
    from: (peer: string) => `from ${peer}`,
    and: (n: number) => ` and ${count(n)} more`,
  },
  earlier: {
    title: "Earlier",
    search: "Search by name, path or machine",
    failedOnly: "Only what failed",
    failedOnlyHint: "Or of which something failed.",
    nothing: "Nothing of that kind.",
    more: "Show more",
    clear: "Forget all…",
    clearAsk: "Forget everything that has ended? What was brought stays where it is.",
    clearYes: "Yes, forget it",
    forget: "Forget this",
    graph: (average: string, highest: string) => `Speed over time: ${average} on average, ${highest} at most`,
    ended: ({ outcome, failed }: Pick<Ended, "outcome" | "failed">) => {
      if (outcome.is === "complete") return "Complete";
      if (outcome.is === "partial") return `${entries(failed)} failed`;
      if (outcome.fault.code === "cancelled") return "Stopped";
      return outcome.fault.code === "declined" ? "Declined" : "Failed";
    },
  },
  devices: {
    empty: "No machine is paired yet.",
    emptyNext: "Two machines get to know each other with a code, once. The first transfer does it, or do it here.",
    pair: "Pair a machine",
    pairButton: "Pair",
    pairing: "Pairing…",
    paired: (name: string) => `Paired with ${name}.`,
    id: "Id",
    pairedSince: (when: string) => `paired ${when}`,
    lastAddress: "Last address",
    rename: "Rename",
    newName: (name: string) => `New name for ${name}`,
    save: "Save",
    forget: "Forget",
    forgetAsk: (name: string) => `Forget ${name}? It needs a code to come back.`,
    forgetYes: (name: string) => `Yes, forget ${name}`,
    keep: "Keep",
  },
  settings: {
    name: "Name of this machine",
    nameHint: "What other machines call it.",
    folder: "Receive folder",
    folderHint: "Where accepted offers land, unless you choose another folder for one.",
    change: "Change…",
    port: "Port",
    portHint: (port: number) => `Other machines try ${port} by themselves; any other must be typed with the address.`,
    portBad: "A port is a whole number from 1 to 65535.",
    nameBad: "A name has 1 to 64 bytes, without blanks around it.",
    limit: "Limit for sending, in MB a second",
    limitHint: "For each transfer. Leave it empty to send as fast as it goes.",
    limitBad: "A limit is a number of MB a second, 0.001 at least; or nothing.",
    save: "Save",
    saved: "Saved.",
    id: "This machine's id",
    idHint: "Others can compare it with what they see.",
    machine: "What this machine can do",
    encryption: "Encryption",
    fileIo: "Files",
    kernel: "Kernel",
    aes: (has: boolean) => (has ? "with AES instructions" : "without AES instructions: ChaCha20-Poly1305 is used"),
  },
};

/** A fault of an offer that was accepted here, in words; `from` is who made it. */
export function acceptFaultWords(fault: Fault, from: string): Sentence {
  if (fault.code !== "declined" || fault.why.reason !== "noRoom") return faultWords(fault, from);
  const { needed, free, entries } = fault.why;
  return {
    what: `There is too little room in that folder: ${bytes(needed)} are needed, ${bytes(free)} are free${missingWords(0, entries)}.`,
    next: `Make room or choose another folder, then have ${from} send it again.`,
  };
}

/** What is missing at a disk, as the end of a sentence about it. */
export function missingWords(missingBytes: number, missingEntries: number): string {
  const missing = [missingBytes > 0 ? bytes(missingBytes) : "", missingEntries > 0 ? `places for ${entries(missingEntries)}` : ""];
  const said = missing.filter(Boolean).join(" and ");
  return said && `, ${said} missing for the rest`;
}

/** What an offer's folder has no room for; empty where it will do. */
export function roomWords(offer: Pick<Offer, "bytesSoFar" | "entriesSoFar">, room: RoomThere): string {
  const text = words.inbox;
  if (!room.writable) return text.notWritable;
  const missing = offer.bytesSoFar - room.freeBytes;
  const lacking = missing > 0 ? [text.tooLarge(bytes(missing))] : [];
  if (room.freeEntries !== null && room.freeEntries < offer.entriesSoFar) lacking.push(text.tooMany(room.freeEntries));
  return lacking.join(" ");
}
