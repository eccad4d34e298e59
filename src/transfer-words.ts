// Every sentence about one transfer: where it stands, how it ended, what did not come through; sent, received or copied.
import { bytes, duration, left } from "./format";
import type { Copied, Ended, EntryFailure, Fault, LimitedBy, OsFault, Proven, Tick, Waits, Way } from "./ipc/bindings";
import { DOING, entries, faultWords, files, missingWords, one, type Sentence, system, words } from "./words";

/** Where a transfer stands. */
export function phaseWords(tick: Tick, peer: string, way: Way): string {
  const sending = way === "sending";
  switch (tick.phase) {
    case "connecting":
      return way === "copying" ? words.copying.starting : `Reaching ${peer}…`;
    case "awaitingAnswer":
      return `Waiting for ${peer} to accept…`;
    case "running":
      return { sending: `Sending to ${peer}`, receiving: `Receiving from ${peer}`, copying: `Copying to ${peer}` }[way];
    case "finishing":
      return sending ? `${peer} puts everything in its place…` : "Putting everything in its place…";
    case "verifying":
      return "Reading back to verify";
    case "reconnecting":
    case "paused":
      return tick.interruption ? waitWords(tick.interruption, peer, sending) : "Going on…";
    case "ended":
      return "";
  }
}

/** Why a transfer does not go on that was under way, and what is done about it. */
function waitWords({ because, missingBytes, missingEntries, nextTryMs, givesUpMs }: Waits, peer: string, sending: boolean): string {
  if (because === "full") {
    const missing = missingWords(missingBytes, missingEntries);
    return sending ? `Paused: the disk of ${peer} is full${missing}. It goes on when there is room` : `Paused: the disk is full${missing}. Make room, and it goes on`;
  }
  const until = `for ${left(givesUpMs)} more`;
  if (!sending) return `Interrupted. Waiting for ${peer} to go on, ${until}`;
  const why = {
    broken: `The connection to ${peer} was lost`,
    silent: `Nothing is heard of ${peer}`,
    unreachable: `${peer} cannot be reached`,
    busy: `${peer} has too many transfers`,
  }[because];
  return nextTryMs === null ? `${why}. Trying again…` : `${why}. Trying again in ${Math.ceil(nextTryMs / 1000)} s, ${until}`;
}

/** The colour of a stage in the band beneath the graph: one for files, processors, the network, and what was asked for. */
export const LIMIT_TOKENS: Record<LimitedBy, string> = {
  finding: "--limit-files",
  reading: "--limit-files",
  encrypting: "--limit-processor",
  network: "--limit-network",
  decrypting: "--limit-processor",
  writing: "--limit-files",
  limit: "--limit-asked",
};

/** What limits a transfer, as in "limited by …". */
export function limitWords(by: LimitedBy, peer: string, way: Way): string {
  const [sender, receiver] = way === "receiving" ? [`on ${peer}`, "here"] : ["here", `on ${peer}`];
  switch (by) {
    case "finding":
      return `finding files ${sender}`;
    case "reading":
      return `reading ${sender}`;
    case "encrypting":
      return `the processor ${sender} (encrypting)`;
    case "network":
      return "the network";
    case "decrypting":
      return `the processor ${receiver} (decrypting)`;
    case "writing":
      return `writing ${receiver}`;
    case "limit":
      return `the limit set ${sender}`;
  }
}

function whatMoved(ended: Ended): string {
  const parts = [files(ended.files)];
  if (ended.folders > 0) parts.push(one(ended.folders, "folder", "folders"));
  if (ended.links > 0) parts.push(one(ended.links, "link", "links"));
  const specials = ended.copied?.specials ?? 0;
  if (specials > 0) parts.push(one(specials, "special file", "special files"));
  return `${parts.join(", ")}, ${bytes(ended.bytes)} in ${duration(ended.runningMs)}`;
}

/** What was read back, and how long that took. */
function provenWords(proven: Proven, disk: string): string {
  return `Verified in ${duration(proven.tookMs)}: ${files(proven.files)} read back from ${disk}, the same as what was read.`;
}

/** How a transfer ended. */
export function endWords(ended: Ended, peer: string, way: Way): Sentence {
  if (way === "copying") return copyEndWords(ended, peer);
  const sending = way === "sending";
  const unchanged = ended.unchanged > 0 ? `${files(ended.unchanged)} were there already.` : "";
  const reused = ended.reused > 0 ? `${bytes(ended.reused)} were there already, in the files that were replaced.` : "";
  const proven = ended.proven ? provenWords(ended.proven, sending ? `${peer}'s disk` : "the disk") : "";
  const lost = ended.reconnected > 0 ? `The connection was lost ${ended.reconnected === 1 ? "once" : `${ended.reconnected} times`} on the way.` : "";
  switch (ended.outcome.is) {
    case "complete":
      return {
        what: sending ? `Arrived whole on ${peer}: ${whatMoved(ended)}.` : `Arrived whole: ${whatMoved(ended)}.`,
        next: [sending ? `${peer} confirmed it.` : "", proven, unchanged, reused, lost].filter(Boolean).join(" "),
      };
    case "partial":
      return {
        what: `Arrived, but for ${entries(ended.failed)}: ${whatMoved(ended)}.`,
        next: ["Each one is listed below.", proven, unchanged, reused, lost].filter(Boolean).join(" "),
      };
    case "failed":
      return faultWords(ended.outcome.fault, peer);
  }
}

/** Why one entry did not arrive. */
export function failureWords(failure: EntryFailure, peer: string, way: Way): string {
  if (way === "copying") return copyFailureWords(failure);
  const where = failure.end === "here" ? "here" : `on ${peer}`;
  switch (failure.fault.why) {
    case "os":
      return `could not be ${DOING[failure.doing]} ${where}: ${system(failure.fault.os)}`;
    case "specialFile":
      return "is a socket, pipe or device, which are not sent";
    case "changedWhileReading":
      return `changed ${where} while it was being read, so no copy was made`;
    case "pathTooLong":
      return "has too long a path";
    case "inTheWay":
      return `something of another kind has its name ${where}`;
    case "linkTargetMissing":
      return "is a hard link to a file that did not arrive";
    case "kept":
      return `was kept as it was ${where}`;
    case "differs":
      return `read back differently ${where} and was removed: send it again, and if that repeats, check that machine's disk`;
    default:
      return "did not arrive";
  }
}

/** What could not be kept of what was copied, and how sure it is. */
function copyNotes(copied: Copied): string[] {
  const notes: string[] = [];
  if (copied.verified > 0) notes.push(`${files(copied.verified)} read back from the disk in that time: the same.`);
  if (copied.attributesLost > 0) {
    notes.push(`${entries(copied.attributesLost)} lost access lists or attributes: ${copied.filesystem} there cannot keep them.`);
  }
  if (copied.ownersLost > 0) {
    notes.push(`${entries(copied.ownersLost)} ${copied.ownersLost === 1 ? "belongs" : "belong"} to you now: only root may keep another owner.`);
  }
  return notes;
}

function copyEndWords(ended: Ended, folder: string): Sentence {
  if (ended.outcome.is === "failed") {
    const { what, next } = copyFaultWords(ended.outcome.fault, folder);
    return { what, next: ended.files > 0 ? `${next} So far: ${whatMoved(ended)}.` : next };
  }
  const partial = ended.outcome.is === "partial";
  if (cameToNothing(ended)) return { what: "Nothing was copied.", next: "Each one is listed below." };
  const next = partial ? ["Each one is listed below."] : [];
  const left = `${entries(ended.unchanged)} left as ${ended.unchanged === 1 ? "it was" : "they were"} there.`;
  if (!partial && ended.unchanged > 0 && ended.files + ended.links === 0) return { what: `Nothing had to be copied: ${left}`, next: "" };
  if (ended.unchanged > 0) next.push(left);
  if (ended.copied) next.push(...copyNotes(ended.copied));
  return { what: `Copied${partial ? `, but for ${entries(ended.failed)}` : ""}: ${whatMoved(ended)}.`, next: next.join(" ") };
}

/** Whether a copy came to nothing, so that it is told where it was asked for, and can be mended there. */
export function cameToNothing(ended: Ended): boolean {
  const { outcome } = ended;
  if (outcome.is === "complete" || (outcome.is === "failed" && outcome.fault.code === "cancelled")) return false;
  // What was there before is harmed: that is told by name, in the list.
  if (ended.failures.some(({ fault }) => fault.why === "cutShort")) return false;
  return ended.files + ended.folders + ended.links + ended.unchanged + (ended.copied?.specials ?? 0) === 0;
}

/** Why a copy came to nothing, and what to do. */
export function copyRefusedWords(ended: Ended, folder: string): Sentence {
  if (ended.outcome.is === "failed") return copyFaultWords(ended.outcome.fault, folder);
  const [first] = ended.failures;
  if (!first) return copyEndWords(ended, folder);
  const others = ended.failed > 1 ? ` So it is with ${entries(ended.failed - 1)} more.` : "";
  return { what: `Nothing was copied. ${first.path} ${copyFailureWords(first)}.${others}`, next: refusedNext(first) };
}

function refusedNext({ fault }: EntryFailure): string {
  switch (fault.why) {
    case "intoItself":
      return "Choose a folder outside of it.";
    case "sameFile":
      return "Choose another folder.";
    case "os":
      return osNext(fault.os);
    default:
      return "Put that right, then copy again.";
  }
}

/** Errors of errno(3) with an obvious way on. */
function osNext(os: OsFault): string {
  switch (os.errno) {
    case 2:
      return "It was moved, removed or disconnected meanwhile: choose again.";
    case 1:
    case 13:
      return "Change its permissions, or choose something else.";
    case 28:
    case 122:
      return "Make room there, or choose another folder.";
    case 30:
      return "Choose a folder that can be written to.";
    default:
      return "Put that right, then copy again.";
  }
}

/** A fault of a copy in words; `folder` is where it was to go. */
export function copyFaultWords(fault: Fault, folder: string): Sentence {
  switch (fault.code) {
    case "path":
      return { what: faultWords(fault).what, next: osNext(fault.os) };
    case "destinationFull":
      return {
        what: `There is no room left in ${folder}.`,
        next: "What was copied whole stays. Make room there or choose another folder, then copy again.",
      };
    case "destinationGone":
      return { what: `${folder} is gone.`, next: "Connect or make it again, or choose another folder." };
    case "cancelled":
      return { what: "Cancelled.", next: `What was copied so far stays in ${folder}.` };
    case "gone":
      return { what: "What you chose is not remembered any more.", next: "Choose it again." };
    default:
      return faultWords(fault);
  }
}

function copyFailureWords(failure: EntryFailure): string {
  switch (failure.fault.why) {
    case "os":
      return `could not be ${DOING[failure.doing]}: ${system(failure.fault.os)}`;
    case "specialFile":
      return "is a special file, which could not be made there";
    case "changedWhileReading":
      return "changed while it was being copied";
    case "pathTooLong":
      return "has too long a path";
    case "inTheWay":
      return "has its name taken there by something of another kind";
    case "linkTargetMissing":
      return "is a hard link to a file that was not copied";
    case "kept":
      return "was left as it was there";
    case "sameFile":
      return "would be copied onto itself";
    case "intoItself":
      return "would be copied into itself";
    case "differs":
      return "was read back and is not what was copied: check that disk, then copy it again";
    case "cutShort":
      return "was being written over when the copy was stopped, and is incomplete: copy it again";
    default:
      return "was not copied";
  }
}

/** How the bytes of a copy came to be there, where that is worth a word. */
export function copyPathWords(copied: Copied): string {
  if (copied.sharedBytes === 0) return "";
  return `${bytes(copied.sharedBytes)} share their blocks with the source on ${copied.filesystem} and take no room of their own`;
}
