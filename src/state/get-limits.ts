// How fast things were got last, by device.
import { Remembered } from "./remembered";

/** Devices remembered: more than anybody gets from. */
const DEVICES_MAX = 100;

const remembered = new Remembered("get-limits", DEVICES_MAX, (stored) => (typeof stored === "number" && stored > 0 ? stored : undefined));

/** The limit of the last get from that device in bytes a second; null where there was none. */
export const getLimitOf = (device: string): number | null => remembered.of([device])[0] ?? null;

/** Remembers the limit of a get from that device. */
export function rememberGetLimit(device: string, limit: number | null): void {
  if (limit === null) remembered.forget(device);
  else remembered.keep(device, limit);
}
