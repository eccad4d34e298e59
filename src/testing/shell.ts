// The shell's side of the IPC for component tests: answers commands as the real one does, and
// records them.
import { mockIPC, mockWindows } from "@tauri-apps/api/mocks";
import { render } from "@testing-library/svelte";
import App from "../App.svelte";
import {
  type AppEvent,
  type Chosen,
  type CopyReport,
  type Everything,
  type Fault,
  ipc,
  type Moving,
  type Nearby,
  type Offer,
  type PageCall,
  type PairedDevice,
  type Past,
  type Progress,
  type Report,
  type SettingsInForce,
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

/** With its title as text, and its figures apart. */
type MovingChange = Partial<Omit<Moving, "title">> & { title?: string; progress?: Progress };

export function moving({ title = "dataset-v3", progress: now, ...change }: MovingChange = {}): Moving {
  return {
    id: "t1",
    direction: "sending",
    title: { path: title },
    more_names: 0,
    target: "10.0.0.5",
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
  excluded: 0,
  verified: 0,
  owners_lost: 0,
  attributes_lost: 0,
  began: null,
};

export function failed(fault: Fault): Update {
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
    from_id: "aaaabbbbccccdddd".repeat(4),
    looks_like: null,
    names: [{ path: "holiday" }],
    more_names: 0,
    dot_names: [],
    more_dot_names: 0,
    entries_so_far: 12,
    bytes_so_far: 5_000_000,
    totals_final: false,
    destination: { path: "/home/me/Downloads" },
    is_home: false,
    free_space: { free_bytes: 9_000_000_000, free_entries: null, name_max: 255, writable: true, is_exact: true },
    asked_because: null,
    ...change,
  };
}

/** With its title as text, and its report apart. */
type PastChange = Partial<Omit<Past, "title">> & { title?: string; report?: Partial<Report> };

export function earlier({ title = "survey", report: ended, ...change }: PastChange = {}): Past {
  const { report } = failed({ code: "cancelled", by: "here" }) as Extract<Update, { is: "ended" }>;
  return {
    number: 12,
    id: "p12",
    direction: "receiving",
    title: { path: title },
    more_names: 0,
    peer: "laptop",
    peer_id: null,
    target: null,
    paths: [{ path: "/in/survey" }],
    ...report,
    outcome: "complete",
    files: 3,
    bytes: 6_000_000,
    moved: 6_000_000,
    seconds: 2,
    arrived: [{ path: "/in/survey" }],
    ended_at: Date.now() / 1000 - 7_200,
    ...ended,
    ...change,
  } as Past;
}

export const chosen: Chosen = { id: 7, items: [{ name: "dataset-v3", kind: "folder" }], more: 0 };

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
};

export function everything(change: Partial<Everything> = {}): Everything {
  return {
    device: { name: "here", id: "1111222233334444".repeat(4) },
    settings: stored,
    is_set_up: true,
    default_port: 17464,
    code_attempts_max: 3,
    machine: { kernel: "6.12", ...here, unconfined: null, openat2: true, cpu_aes: true, open_files_max: 1_048_576, remedies: [] },
    devices: [],
    nearby: [],
    listening: { is: "on", addresses: ["10.0.0.9"], port: 17464, other_port: false, code: { code: "42-river-castle", code_valid_until: Date.now() / 1000 + 590 }, firewalls: [] },
    offers: [],
    transfers: [],
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
  update: (id: string, update: Update) => void;
  app: AppState;
}

/** Starts the window over a shell that answers `answers`; a thrown value is a fault. */
export async function startWindow(all: Partial<Everything> = {}, answers: Answers = {}): Promise<Shell> {
  const calls: Shell["calls"] = [];
  let events: { onmessage: (event: AppEvent) => void } | undefined;
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
    return answers[command]?.(args) ?? (["past", "unfinished"].includes(command) ? [] : null);
  });
  const app = new AppState(ipc);
  render(App, { app });
  await app.start();
  return {
    calls,
    called: (command) => calls.filter((call) => call.command === command).map((call) => call.args),
    tell: (event) => events?.onmessage(event),
    update: (id, update) => watched.get(id)?.onmessage(update),
    app,
  };
}
