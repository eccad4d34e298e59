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
  type PairingRequest,
  type PastQuery,
  type Progress,
  type Report,
  type SeriesPoint,
  type SettingsInForce,
  type TransferStatus,
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
    limit_bytes_per_s: null,
    reconnected: 0,
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
export type Told = { is: "moved"; progress: Progress } | { is: "ended"; progress: Progress; report: Report; series?: SeriesPoint[] };

/** What the service derives (`model::progress::state`), as far as these tests need it. */
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
  if (progress.can_pause && stage !== "paused") actions.push("pause");
  const states = { connecting: "preparing", awaiting_answer: "awaiting_answer", queued: "queued", running: progress.stalled_seconds === null ? "moving" : "stalled", finishing: "finishing", verifying: "finishing", reconnecting: "interrupted", paused: "paused", ended: "finishing" } as const;
  return { state: states[stage], actions: [...actions, "cancel"] };
}

/** An update as the service says it; of what has ended, with the course that it has kept. */
export function told(update: Told, direction?: Moving["direction"], series: SeriesPoint[] = []): Update {
  if (update.is === "ended") return { ...update, status: statusOf(update.progress, update.report, direction), series };
  return { ...update, status: statusOf(update.progress, null, direction) };
}

/** What the service keeps of what it tells (`engine::store::series`). */
export function pointOf({ seconds, bytes_moved: bytes, entries_done: entries, limited_by, reconnected }: Progress): SeriesPoint {
  return { seconds, bytes, entries, limited_by, reconnected };
}

function endedState(report: Report): TransferStatus["state"] {
  if (report.outcome === "complete") return "done";
  if (report.outcome === "partial") return "done_with_failures";
  const { error } = report;
  if (error.code === "cancelled") return error.by === "here" ? "cancelled_here" : "cancelled_there";
  if (error.code === "unanswered") return "unanswered";
  return error.code === "declined" && error.reason === "by_choice" ? "declined" : "failed";
}

/** With its title as text, and its figures apart. Its status is derived, unless it is given. */
type MovingChange = Partial<Omit<Moving, "title" | "status">> & { title?: string; progress?: Progress; status?: Moving["status"] | undefined };

export function moving({ status, ...change }: MovingChange = {}): Moving {
  const one = begun(change);
  return { ...one, status: status ?? statusOf(one, one.report, one.direction) };
}

function begun({ title = "dataset-v3", progress: now, ...change }: Omit<MovingChange, "status">): Omit<Moving, "status"> {
  return {
    id: "t1",
    direction: "sending",
    title: { path: title },
    more_names: 0,
    target: "10.0.0.5",
    in_share: null,
    started_at: 1_800_000_000,
    ...(now ?? progress({ stage: "connecting", peer: null, peer_id: null, entries_done: 0, bytes_done: 0, seconds: 0, here: null, there: null })),
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
  verified: 0,
  owners_lost: 0,
  attributes_lost: 0,
  began: null,
};

export function failed(fault: Fault): Extract<Told, { is: "ended" }> {
  const none = { bytes_planned: 0, files: 0, folders: 0, links: 0, bytes: 0, moved: 0, unchanged: 0, skipped: 0, skipped_bytes: 0, reused: 0, excluded: 0, acls_lost: 0, owners_by_number: 0, proven: null, edited: 0, edits: [], failed: 0, failures: [], times: null, lanes: 0, lanes_dropped: 0, packed: null, arrived: [], left_behind: null, copy: null };
  return {
    is: "ended",
    progress: progress({ stage: "ended", peer: null, entries_done: 0, bytes_done: 0, seconds: 0, here: null, there: null }),
    report: { outcome: "failed", error: fault, ...none, seconds: 0, reconnected: 0, limited_by: null, limit_bytes_per_s: null, here: null, there: null, ended_at: 0 },
  };
}

export function offer(change: Partial<Offer> = {}): Offer {
  return {
    id: "o1",
    from: "laptop",
    from_id: "aaaabbbbccccdddd".repeat(4),
    looks_like: null,
    names: [{ path: "holiday" }],
    kinds: [],
    more_names: 0,
    dot_names: [],
    more_dot_names: 0,
    entries_so_far: 12,
    bytes_so_far: 5_000_000,
    totals_final: false,
    destination: { path: "/home/me/Downloads" },
    in_share: null,
    is_home: false,
    free_space: { free_bytes: 9_000_000_000, free_entries: null, name_max: 255, writable: true, is_exact: true },
    asked_because: null,
    comparison: null,
    in_place: null,
    updates: [],
    renamed: [],
    ...change,
  };
}

export function pairingRequest(change: Partial<PairingRequest> = {}): PairingRequest {
  return { id: "adaadaadaadaadaa".repeat(4), name: "ada-laptop", paired_as: null, looks_like: null, from: "10.0.0.7", allowed: false, ...change };
}

/** With its title as text, and its report apart. Its status is derived, unless it is given. */
type EarlierChange = Partial<Omit<Earlier, "title">> & { title?: string; report?: Partial<Report> };

export function earlier({ title = "survey", report: ended, ...change }: EarlierChange = {}): Earlier {
  const { report } = failed({ code: "cancelled", by: "here" });
  const one = {
    number: 12,
    id: "p12",
    direction: "receiving",
    title: { path: title },
    more_names: 0,
    peer: "laptop",
    peer_id: null,
    target: null,
    in_share: null,
    paths: [{ path: "/in/survey" }],
    ...report,
    outcome: "complete",
    files: 3,
    bytes: 6_000_000,
    moved: 6_000_000,
    seconds: 2,
    arrived: [{ path: "/in/survey" }],
    ended_at: Date.now() / 1000 - 7_200,
    after: null,
    ...ended,
    ...change,
  } as Omit<Earlier, "status">;
  return { ...one, status: change.status ?? statusOf(progress({ stage: "ended" }), one as Report, one.direction) } as Earlier;
}

export function source(change: Partial<ChosenSource> = {}): ChosenSource {
  return { item: 1, name: "dataset-v3", kind: "folder", size: { items: 40, bytes: 4_000_000, excluded: 0, state: "exact" }, same_name: false, ...change };
}

export function selection(change: Partial<Chosen> = {}): Chosen {
  return { id: 7, items: [source()], more: 0, total: { items: 40, bytes: 4_000_000, excluded: 0, state: "exact" }, leave_out: "", merged: [], more_merged: 0, ...change };
}

export const chosen = selection();

export const labWs = {
  id: "ab".repeat(32),
  name: "lab-ws",
  looks_like: null,
  paired_at: 1_790_000_000,
  last_seen: null,
  last_address: "10.0.0.5",
  last_transfer: null,
  rule: { consent: "ask", folder: null, bytes_max: null },
} satisfies PairedDevice;

export function nearby(change: Partial<Nearby> = {}): Nearby {
  return {
    id: "cdcdcdcdcdcdcdcd-17464",
    name: "desk",
    id_begins: "cdcdcdcdcdcdcdcd",
    kind: "laptop",
    code_number: null,
    version: 2,
    compatible: true,
    addresses: ["10.0.0.7:17464"],
    paired_as: null,
    paired_id: null,
    ...change,
  };
}

export const stored: SettingsInForce = {
  name: "here",
  receive_folder: { path: "/home/me/Downloads" },
  is_home: false,
  port: 17464,
  send_limit: null,
  background: true,
  announce: true,
  receiving: true,
  acls: false,
};

export function everything(change: Partial<Everything> = {}): Everything {
  return {
    device_id: "1111222233334444".repeat(4),
    settings: stored,
    is_set_up: true,
    default_port: 17464,
    code_attempts_max: 3,
    machine: { kernel: "6.12", ...here, unconfined: null, openat2: true, cpu_aes: true, open_files_max: 1_048_576, remedies: [] },
    devices: [],
    nearby: [],
    listening: { is: "on", addresses: ["10.0.0.9"], port: 17464, other_port: false, code: { code: "42-river-castle", code_valid_until: Date.now() / 1000 + 590 }, firewalls: [] },
    requests: [],
    offers: [],
    transfers: [],
    waiting: [],
    notes: [],
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
  const kept = new Map<string, SeriesPoint[]>();
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
    // A device that shares nothing.
    if (command === "readListing" && !answers[command]) return { of: "shares", shares: [] };
    // As the service does it: tests have all of it in one list.
    if (command === "past" && (args.query as PastQuery).unresolved_only) {
      const failed = ({ status: { state }, after }: Earlier) => after === null && ["failed", "done_with_failures"].includes(state);
      return Promise.resolve(answers.past?.(args) ?? []).then((all) => (all as Earlier[]).filter(failed));
    }
    if (["arrivedKinds", "pastKinds"].includes(command)) return answers[command]?.(args) ?? [];
    if (command === "copy_text") return answers.copy_text?.(args) ?? true;
    return remember(answers[command]?.(args)) ?? (command === "unfinished" ? { left: [], unanswered: [] } : ["blockedPairings", "past"].includes(command) ? [] : null);
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
      const before = app.transfers.find(id)?.progress;
      const series = kept.get(id) ?? (before && before.seconds > 0 ? [pointOf(before)] : []);
      const { progress: now } = update;
      const isCourse = now.stage !== "verifying" && now.stage !== "ended" && now.bytes_moved >= (series.at(-1)?.bytes ?? 0);
      kept.set(id, isCourse ? [...series, pointOf(now)] : series);
      watched.get(id)?.onmessage(told(update, app.transfers.find(id)?.direction, update.is === "ended" ? (update.series ?? series) : []));
    },
    app,
  };
}
