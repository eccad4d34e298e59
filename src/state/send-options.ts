// How things were sent last, by device. Kept in the webview's storage, as the language is: it is a
// convenience of this window, and losing it costs a click. The command says the same by options.

/** How a transfer is to be sent. */
export interface SendOptions {
  /** Whether the other device reads back what it has written. */
  verify: boolean;
  /** Bytes a second; null is what the settings say. */
  limit: number | null;
  /** The drop box there, and a folder in it, as SHARE/PATH; null is where that device receives. */
  inShare: string | null;
}

export const PLAIN: SendOptions = { verify: false, limit: null, inShare: null };

const STORED_AS = "send-options";

/** Devices remembered: more than anybody sends to. The one that was used last stays longest. */
const DEVICES_MAX = 100;

type Stored = [id: string, options: SendOptions][];

function stored(): Stored {
  try {
    const read: unknown = JSON.parse(localStorage.getItem(STORED_AS) ?? "[]");
    return Array.isArray(read) ? read.filter(isEntry).map(([id, options]) => [id, { ...PLAIN, ...options }]) : [];
  } catch {
    return [];
  }
}

function isEntry(entry: unknown): entry is Stored[number] {
  if (!Array.isArray(entry) || typeof entry[0] !== "string") return false;
  const { verify, limit, inShare } = (entry[1] ?? {}) as Partial<SendOptions>;
  // An earlier version knew no folders there.
  const isPlace = inShare === undefined || inShare === null || typeof inShare === "string";
  return typeof verify === "boolean" && (limit === null || typeof limit === "number") && isPlace;
}

/** As something was sent to that device last. */
export function optionsFor(device: string): SendOptions | undefined {
  return stored().find(([id]) => id === device)?.[1];
}

/** Remembers that something was sent so. */
export function rememberOptions(device: string, options: SendOptions): void {
  const others = stored().filter(([id]) => id !== device);
  localStorage.setItem(STORED_AS, JSON.stringify([[device, options], ...others].slice(0, DEVICES_MAX)));
}

/** Forgets it, with the device. */
export function forgetOptions(device: string): void {
  localStorage.setItem(STORED_AS, JSON.stringify(stored().filter(([id]) => id !== device)));
}
