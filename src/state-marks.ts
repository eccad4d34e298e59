// How each state of a transfer is marked: by an icon, and by the role of its colour. Its word is in
// the catalogues. Cancelling and declining are decisions of people, so nothing about them is red.
import type { Direction, TransferState } from "./ipc";
import type { IconName } from "./ui/Icon.svelte";

export interface StateMark {
  icon: IconName;
  tone: "accent" | "good" | "warn" | "bad" | "quiet";
}

const MARKS: Record<Exclude<TransferState, "moving">, StateMark> = {
  waiting_turn: { icon: "list-ordered", tone: "quiet" },
  awaiting_answer: { icon: "hourglass", tone: "quiet" },
  queued: { icon: "list-ordered", tone: "quiet" },
  preparing: { icon: "loader", tone: "accent" },
  stalled: { icon: "timer-off", tone: "warn" },
  interrupted: { icon: "unplug", tone: "warn" },
  paused: { icon: "pause", tone: "quiet" },
  out_of_space: { icon: "hard-drive", tone: "warn" },
  finishing: { icon: "hard-drive", tone: "accent" },
  done: { icon: "check", tone: "good" },
  done_with_failures: { icon: "triangle-alert", tone: "warn" },
  declined: { icon: "ban", tone: "quiet" },
  unanswered: { icon: "clock", tone: "quiet" },
  cancelled_here: { icon: "x", tone: "quiet" },
  cancelled_there: { icon: "x", tone: "quiet" },
  failed: { icon: "circle-alert", tone: "bad" },
};

/** What moves shows which way. */
const MOVING: Record<Direction, IconName> = { sending: "arrow-up-right", receiving: "arrow-down-left", copying: "copy" };

export function stateMark(state: TransferState, direction: Direction): StateMark {
  return state === "moving" ? { icon: MOVING[direction], tone: "accent" } : MARKS[state];
}

/** What kind of message a state is: one that alarms only where something failed. */
export function messageKind(state: TransferState): "good" | "info" | "warn" | "bad" {
  const { tone } = stateMark(state, "sending");
  return tone === "accent" || tone === "quiet" ? "info" : tone;
}
