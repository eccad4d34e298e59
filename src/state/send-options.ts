// How things were sent last, by device.
import { Remembered } from "./remembered";

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

/** Devices remembered: more than anybody sends to. */
const DEVICES_MAX = 100;

const remembered = new Remembered("send-options", DEVICES_MAX, (stored): SendOptions | undefined => {
  const { verify, limit, inShare } = (stored ?? {}) as Partial<SendOptions>;
  // An earlier version knew no folders there.
  const isPlace = inShare === undefined || inShare === null || typeof inShare === "string";
  const isOne = typeof verify === "boolean" && (limit === null || typeof limit === "number") && isPlace;
  return isOne ? { ...PLAIN, ...(stored as SendOptions) } : undefined;
});

/** As something was sent to that device last. */
export const optionsFor = (device: string): SendOptions | undefined => remembered.of([device])[0];

/** Remembers that something was sent so. */
export const rememberOptions = (device: string, options: SendOptions): void => remembered.keep(device, options);

/** Forgets it, with the device. */
export const forgetOptions = (device: string): void => remembered.forget(device);
