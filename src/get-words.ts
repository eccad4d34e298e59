// What is said next of what the receiving device has asked for, at that device and at the one that
// serves it: nobody sends it again.
import type { Direction, Fault, PathText } from "./ipc/bindings";
import { duration } from "./format";
import { t } from "./messages";
import { faultWords, offeredFaultWords, type Sentence } from "./words";

/** What tells who has started something. */
interface Started {
  direction: Direction;
  /** Null where the other device has started it. */
  target: string | null;
}

/** Whether the receiving device asked for it, instead of being offered it. */
export function isGot({ direction, target }: Started): boolean {
  if (direction === "receiving") return target !== null;
  return direction === "sending" && target === null;
}

/**
 * The share that it was got from, and the folder in that; empty where it was not got, and where it
 * is the share itself.
 */
export function placeOf(started: Started & { in_share: PathText | null }): string {
  const path = isGot(started) ? (started.in_share?.path ?? "") : "";
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** Whether this device tries again after an interruption: the one that has started it does. */
export function triesAgain(direction: Direction, got: boolean): boolean {
  return got === (direction === "receiving");
}

/** A fault of what was asked for, with the next step of the device that asks, or that serves it. */
export function getFaultWords(fault: Fault, peer: string, direction: Direction): Sentence {
  return direction === "sending" ? servedFaultWords(fault, peer) : askedFaultWords(fault, peer);
}

function servedFaultWords(fault: Fault, peer: string): Sentence {
  const words = faultWords(fault, peer);
  switch (fault.code) {
    case "cancelled":
    case "peer_forgotten":
      return { ...words, next: t("fault.get.servedKept.next", { peer }) };
    case "connection_lost":
    case "stalled":
    case "failed_there":
    case "not_published":
    case "program_ended":
    case "destination_full":
    case "receipt_contradicts":
    case "paused":
      return { ...words, next: t("fault.get.servedAgain.next", { peer }) };
    default:
      return words;
  }
}

function askedFaultWords(fault: Fault, peer: string): Sentence {
  const words = faultWords(fault, peer);
  switch (fault.code) {
    case "declined":
      switch (fault.reason) {
        case "no_room":
          return { ...offeredFaultWords(fault, peer), next: t("fault.get.room.next") };
        case "busy":
          return { ...words, next: t("fault.get.busy.next") };
        case "paused":
          return { ...words, next: t("fault.get.paused.next") };
        case "too_many_offers":
          return { ...words, next: t("fault.get.tooMany.next", { time: duration(Math.max(1000, fault.wait_seconds * 1000)) }) };
        default:
          return words;
      }
    case "cancelled":
      return { ...words, next: fault.kept ? t("fault.get.resume.next") : t("fault.get.again.next") };
    case "stalled":
      return { ...offeredFaultWords(fault, peer), next: t("fault.get.resume.next") };
    case "failed_there":
    case "program_ended":
    case "paused":
      return { ...words, next: t("fault.get.resume.next") };
    case "connection_lost":
      return { ...words, next: t("fault.get.again.next") };
    case "destination_full":
      return { ...words, next: t("fault.get.full.next") };
    case "not_published":
      return { ...words, next: t("fault.get.notPublished.next") };
    case "peer_forgotten":
      return { ...words, next: t("fault.get.forgotten.next") };
    case "destination_gone":
      return { ...words, next: t("fault.get.gone.next") };
    case "turned_away":
      return { ...words, next: t("fault.get.soon.next") };
    case "unreachable":
      return fault.source.errno === 111 && fault.remedies.length === 0 ? { ...words, next: t("fault.get.refused.next") } : words;
    case "pairing_needed":
    case "no_code_open":
      return { ...words, next: t("fault.get.pairing.next") };
    default:
      return words;
  }
}
