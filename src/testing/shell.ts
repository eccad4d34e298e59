// The shell's side of the IPC for component tests: answers commands as the real one does, and
// records them.
import { mockIPC, mockWindows } from "@tauri-apps/api/mocks";
import { render } from "@testing-library/svelte";
import App from "../App.svelte";
import {
  type AppEvent,
  type Chosen,
  type ChosenSource,
  type CopyReport,
  type Earlier,
  type Everything,
  type Fault,
  ipc,
  type Moving,
  type Nearby,
  type Offer,
  type PageCall,
  type PairedDevice,
  type Progress,
  type Report,
  type TransferStatus,
  type StoredSettings,
  type Update,
} from "../ipc";
import { AppState } from "../state/app.svelte";

export const here = { tls: { user: "module_not_loaded" }, io: "uring" } as const;

export function progress(change: Partial<Progress> = {}): Progress {
  return {
    stage: "running",
    peer: "lab-ws",
    peer_id: "ab".repeat(32),
    entries_done: 10,
    entries_total: 40,
    bytes_done: 1_000_000,
    bytes_moved: change.bytes_done ?? 1_000_000,
    bytes_total: 4_000_000,
    totals_final: true,
    failed: 0,
    seconds: 1,
    bytes_per_s: 1_000_000,
    entries_per_s: 10,
    seconds_left: 3,
    stalled_seconds: null,
    limited_by: null,
    interruption: null,
    place: null,
    can_pause: false,
    lanes: 1,
    here,
    there: here,
    ...change,
  };
}

/** An update as tests say it: the service adds the status. */
export type Told = { is: "moved"; progress: Progress } | { is: "ended"; progress: Progress; report: Report };

/** What the service derives (`model::state`), as far as these tests need it. */
export function statusOf(progress: Progress, report: Report | null, direction: Moving["direction"] = "sending"): TransferStatus {
  if (report) {
    const state = endedState(report);
    const actions: TransferStatus["actions"] = [];
    if (report.arrived.length > 0) actions.push("open_folder");
    if (direction === "sending") actions.push(["failed", "done_with_failures"].includes(state) ? "retry" : "send_again");
    return { state, actions: [...actions, "remove"] };
  }
  const { stage, interruption } = progress;
  const pausedThere = interruption?.why === "paused" && interruption.by === "there";
  const actions: TransferStatus["actions"] = stage === "reconnecting" && direction === "sending" ? ["try_now"] : [];
  if (stage === "paused" && interruption?.why === "full") return { state: "out_of_space", actions: ["try_now", "cancel"] };
  if (stage === "paused" && !pausedThere) actions.push("resume");
  if (progress.can_pause) actions.push("pause");
  const states = { connecting: "preparing", awaiting_answer: "awaiting_answer", queued: "queued", running: progress.stalled_seconds === null ? "moving" : "stalled", finishing: "finishing", verifying: "finishing", reconnecting: "interrupted", paused: "paused", ended: "finishing" } as const;
  return { state: states[stage], actions: [...actions, "cancel"] };
}

/** An update as the service says it. */
export function told(update: Told, direction?: Moving["direction"]): Update {
  return { ...update, status: statusOf(update.progress, update.is === "ended" ? update.report : null, direction) };
}

function endedState(report: Report): TransferStatus["state"] {
  if (report.outcome === "complete") return "done";
  if (report.outcome === "partial") return "done_with_failures";
  const { error } = report;
  if (error.code === "cancelled") return error.by === "here" ? "cancelled_here" : "cancelled_there";
  if (error.code === "unanswered") return "unanswered";
  return error.code === "declined" && error.reason === "by_choice" ? "declined" : "failed";
}

/** Its status is derived, unless it is given. */
export function moving(change: Partial<Moving> | (Omit<Moving, "status"> & { status: undefined }) = {}): Moving {
  const one = begun(change);
  return { ...one, status: change.status ?? statusOf(one.progress, one.report, one.direction) };
}

function begun({ status: _, ...change }: Parameters<typeof moving>[0] & object): Omit<Moving, "status"> {
  return {
    id: "t1",
    direction: "sending",
    title: "dataset-v3",
    moreTitles: 0,
    target: "10.0.0.5",
    startedAtMs: 1_800_000_000_000,
    progress: progress({ stage: "connecting", peer: null, peer_id: null, entries_done: 0, bytes_done: 0, seconds: 0, here: null, there: null }),
    series: [],
    report: null,
    ...change,
  };
}

/** Of a copy of which there is nothing to tell. */
export const copyReport: CopyReport = {
  threads: 1,
  queue_depth: 1,
  chunk_bytes: 1_048_576,
  io: "uring",
  filesystem: "ext4",
  reflinked_bytes: 0,
  kernel_bytes: 0,
  buffered_bytes: 0,
  uring_bytes: 0,
  specials: 0,
  excluded: 0,
  verified: 0,
  owners_lost: 0,
  attributes_lost: 0,
  began: null,
};

export function failed(fault: Fault): Extract<Told, { is: "ended" }> {
  const none = { files: 0, folders: 0, links: 0, bytes: 0, moved: 0, unchanged: 0, skipped: 0, skipped_bytes: 0, reused: 0, proven: null, edited: 0, edits: [], failed: 0, failures: [], times: null, lanes: 0, lanes_dropped: 0, packed: null, arrived: [], left_behind: null, copy: null };
  return {
    is: "ended",
    progress: progress({ stage: "ended", peer: null, entries_done: 0, bytes_done: 0, seconds: 0, here: null, there: null }),
    report: { outcome: "failed", error: fault, ...none, seconds: 0, reconnected: 0, limited_by: null, here: null, there: null, ended_at: 0 },
  };
}

export function offer(change: Partial<Offer> = {}): Offer {
  return {
    id: "o1",
    from: "laptop",
    fromShortId: "aaaa-bbbb-cccc-dddd",
    looksLike: null,
    names: ["holiday"],
    moreNames: 0,
    dotNames: [],
    moreDotNames: 0,
    entriesSoFar: 12,
    bytesSoFar: 5_000_000,
    totalsFinal: false,
    folder: "/home/me/Downloads",
    isHome: false,
    room: { freeBytes: 9_000_000_000, freeEntries: null, writable: true, namesAtMost: null },
    askedBecause: null,
    ...change,
  };
}

export function earlier(change: Partial<Earlier> = {}): Earlier {
  const { report } = failed({ code: "cancelled", by: "here" });
  const one = {
    number: 12,
    id: "p12",
    direction: "receiving",
    title: "survey",
    moreTitles: 0,
    peer: "laptop",
    report: { ...report, outcome: "complete", files: 3, bytes: 6_000_000, moved: 6_000_000, seconds: 2, arrived: [{ path: "/in/survey" }], ended_at: Date.now() / 1000 - 7_200 },
    ...change,
  } satisfies Omit<Earlier, "status">;
  return { ...one, status: change.status ?? statusOf(progress({ stage: "ended" }), one.report, one.direction) };
}

export function source(change: Partial<ChosenSource> = {}): ChosenSource {
  return { item: 1, name: "dataset-v3", kind: "folder", size: { files: 40, bytes: 4_000_000, state: "exact" }, sameName: false, ...change };
}

export function selection(change: Partial<Chosen> = {}): Chosen {
  return { id: 7, items: [source()], more: 0, total: { files: 40, bytes: 4_000_000, state: "exact" }, merged: [], moreMerged: 0, ...change };
}

export const chosen = selection();

export const labWs = {
  id: "ab".repeat(32),
  shortId: "abab-abab-abab-abab",
  name: "lab-ws",
  looksLike: null,
  pairedAtMs: 1_790_000_000_000,
  lastSeenMs: null,
  lastAddress: "10.0.0.5",
  lastTransfer: null,
  rule: { consent: "ask", folder: null, bytes_max: null },
} satisfies PairedDevice;

export function nearby(change: Partial<Nearby> = {}): Nearby {
  return {
    id: "cdcdcdcdcdcdcdcd-17464",
    shortId: "cdcd-cdcd-cdcd-cdcd",
    name: "desk",
    kind: "laptop",
    address: "10.0.0.7:17464",
    code: null,
    known: null,
    compatible: true,
    ...change,
  };
}

export const stored: StoredSettings = {
  name: "here",
  receiveFolder: "/home/me/Downloads",
  isHome: false,
  port: 17464,
  sendLimit: null,
  background: true,
  announce: true,
  receiving: true,
};

export function everything(change: Partial<Everything> = {}): Everything {
  return {
    device: { name: "here", shortId: "1111-2222-3333-4444" },
    settings: stored,
    isSetUp: true,
    defaultPort: 17464,
    codeTriesMax: 3,
    machine: { kernel: "6.12", ...here, cpuAes: true, remedies: [] },
    devices: [],
    nearby: [],
    listening: { is: "on", addresses: ["10.0.0.9"], port: 17464, otherPort: false, code: { text: "42-river-castle", validUntilMs: Date.now() + 590_000 }, firewalls: [] },
    offers: [],
    transfers: [],
    waiting: [],
    ...change,
  };
}

type Args = Record<string, unknown>;
type Answers = Record<string, (args: Args) => unknown>;

/** What was asked for: a call of the service by its name and fields, or a command of the shell. */
export function askedFor(command: string, payload: unknown): { command: string; args: Args } {
  const args = (payload ?? {}) as Args;
  if (command !== "call") return { command, args };
  const { call } = args as { call: PageCall };
  const [name, fields] = typeof call === "string" ? [call, {}] : (Object.entries(call) as [string, Args][])[0]!;
  return { command: name, args: fields };
}

export interface Shell {
  /** Calls and commands that were made, with their fields, oldest first. */
  calls: { command: string; args: Args }[];
  called: (command: string) => Args[];
  /** Sends an event to the window. */
  tell: (event: AppEvent) => void;
  /** Sends a transfer's update. */
  update: (id: string, update: Told) => void;
  app: AppState;
}

/** Starts the window over a shell that answers `answers`; a thrown value is a fault. */
export async function startWindow(all: Partial<Everything> = {}, answers: Answers = {}): Promise<Shell> {
  const calls: Shell["calls"] = [];
  let events: { onmessage: (event: AppEvent) => void } | undefined;
  /** Every choice that the window has heard of, by its number. */
  const choices = new Map<unknown, Chosen>([[chosen.id, chosen]]);
  const remember = (made: unknown) => {
    const choice = made as Chosen | null;
    if (choice && typeof choice === "object" && Array.isArray(choice.items)) choices.set(choice.id, choice);
    return made;
  };
  /** As the service does it, but for numbers: a list keeps that of what was added last. */
  const listed = (command: string, { chosen: id, added, item, other }: Args) => {
    const all = choices.get(id)?.items ?? [];
    const others = choices.get(command === "joinChosen" ? added : other)?.items ?? [];
    const gone = new Set(command === "withoutItem" ? [item] : others.map((one) => one.item));
    const left = all.filter((one) => !gone.has(one.item));
    if (command === "joinChosen") return remember(selection({ id: added as number, items: [...left, ...others] }));
    return left.length > 0 ? remember(selection({ id: id as number, items: left })) : null;
  };
  const watched = new Map<unknown, { onmessage: (update: Update) => void }>();
  mockWindows("main");
  mockIPC((invoked, payload) => {
    const { command, args } = askedFor(invoked, payload);
    calls.push({ command, args });
    if (command === "start") {
      events = args.events as typeof events;
      return everything(all);
    }
    if (command === "watch") watched.set(args.id, args.updates as { onmessage: (update: Update) => void });
    // A transfer that is answered has begun.
    if (command === "send") return Promise.resolve(answers.send?.(args)).then((sent) => (sent && typeof sent === "object" && !("is" in sent) ? { is: "begun", transfer: sent } : sent));
    if (["joinChosen", "withoutItem", "withoutChosen"].includes(command) && !answers[command]) return listed(command, args);
    if (command === "choose_sources" || command === "paste_sources") return Promise.resolve(answers[command]?.(args) ?? null).then(remember);
    return remember(answers[command]?.(args)) ?? (["past", "unfinished"].includes(command) ? [] : null);
  });
  const app = new AppState(ipc);
  render(App, { app });
  await app.start();
  return {
    calls,
    called: (command) => calls.filter((call) => call.command === command).map((call) => call.args),
    tell: (event) => {
      if (event.event === "opened") remember(event.chosen);
      if (event.event === "dragged" && "chosen" in event.drag) remember(event.drag.chosen);
      events?.onmessage(event);
    },
    update: (id, update) => {
      watched.get(id)?.onmessage(told(update, app.transfers.find(id)?.direction));
    },
    app,
  };
}
