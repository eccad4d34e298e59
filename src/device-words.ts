// What a machine's card says of it: whether it is there, and what was last moved.
import { now } from "./clock";
import { ago, bytes, chosenBytes } from "./format";
import type { AskedBecause, DeviceKind, DeviceRule, Fault, Nearby, PairedDevice, Past, Report, TransferStatus } from "./ipc";
import { type Key, t } from "./messages";
import type { IconName } from "./ui/Icon.svelte";

const ICONS = { laptop: "laptop", desktop: "monitor", server: "server", other: "monitor-smartphone" } as const satisfies Record<DeviceKind, IconName>;

/** What a machine looks like, as far as it has said so. */
export function machineIcon(nearby: Nearby | undefined): IconName {
  return ICONS[nearby?.kind ?? "other"];
}

const KINDS = { laptop: "kind.laptop", desktop: "kind.desktop", server: "kind.server" } as const satisfies Partial<Record<DeviceKind, Key>>;

/**
 * What its icon says, for those who do not see it; empty where it has not said what it looks like.
 */
export function kindWords(nearby: Nearby | undefined): string {
  return nearby && nearby.kind !== "other" ? t(KINDS[nearby.kind]) : "";
}

/** Whether a paired machine is there now, or else when it last was, or where. */
export function presenceWords(device: PairedDevice, isOnline: boolean): string {
  if (isOnline) return t("send.online");
  return device.last_seen === null ? (device.last_address ?? "") : t("send.lastSeen", { when: ago(device.last_seen * 1000, now()) });
}

/** What was last moved between a machine and this one. */
export function lastWords(last: Past | null): string {
  if (!last) return "";
  const when = ago(last.ended_at * 1000, now());
  if (last.outcome === "failed") return lastFailed(last.error, when);
  if (last.outcome === "partial") return t("send.lastIncomplete", { when });
  const isReceived = last.direction === "receiving";
  const present = presentBytes(last);
  if (present > 0 && last.moved === 0) return t("send.lastNothingNew", { when });
  if (present > 0) {
    const told = { moved: bytes(last.moved), present: bytes(present), when };
    return isReceived ? t("send.lastReceivedPart", told) : t("send.lastSentPart", told);
  }
  // A size is not broken into two lines.
  const told = { size: bytes(last.moved), when };
  return isReceived ? t("send.lastReceived", told) : t("send.lastSent", told);
}

/** Cancelled here, and what had arrived is kept: the same once more brings the rest. */
export function isStopped(fault: Fault): boolean {
  return fault.code === "cancelled" && fault.by === "here" && fault.kept === true;
}

/** Whether the rest of what was stopped can be had from here. */
export function isResumable(report: Report, { actions }: TransferStatus): boolean {
  return report.outcome === "failed" && isStopped(report.error) && actions.some((action) => action === "send_again" || action === "get_again");
}

/** What people have decided is no failure. */
function lastFailed(fault: Fault, when: string): string {
  if (fault.code === "declined") return t("send.lastDeclined", { when });
  if (fault.code !== "cancelled") return t("send.lastFailed", { when });
  return isStopped(fault) ? t("send.lastStopped", { when }) : t("send.lastCancelled", { when });
}

/** Bytes of a transfer that were there already, as `Counts::present_bytes` counts them. */
export function presentBytes({ bytes: all, moved, skipped_bytes: skipped }: Pick<Report, "bytes" | "moved" | "skipped_bytes">): number {
  return Math.max(0, all - moved - skipped);
}

/** What is said of a machine that is nearby and not paired. */
export function strangerWords(nearby: Nearby): string {
  return nearby.compatible ? t("send.notPaired") : t("send.incompatible");
}

/** A device's rule in a few words, which say without a label what they are about. */
export function ruleWords({ consent, bytes_max: most }: DeviceRule): string {
  const rule = consent === "accept" && most !== null ? t("devices.rule.acceptUpTo", { size: chosenBytes(most) }) : t(`devices.rule.${consent}`);
  return t("devices.ruled", { rule });
}

/** Why somebody is asked in spite of a rule. */
export function askedWords(asked: AskedBecause): string {
  return asked.because === "too_much" ? t("offer.tooMuch", { size: bytes(asked.bytes_max) }) : t("offer.noFolder", { folder: asked.folder.path });
}

/** A device's id as people compare it: the first 16 digits in groups. */
export function shortId(id: string): string {
  return id.slice(0, 16).match(/.{4}/g)?.join("-") ?? id;
}
