// What was left out last of folders of other devices: patterns, one a line. Those of this device's
// own folders the service keeps, because the page does not know their paths.
import type { PathThere } from "../ipc";
import { Remembered } from "./remembered";

/** Folders remembered. With the longest texts, they fill most of what a webview stores. */
const FOLDERS_MAX = 100;

/** Folders of one selection that are remembered or looked for. */
const FOLDERS_OF_SELECTION_MAX = 20;

const remembered = new Remembered("left-out", FOLDERS_MAX, (stored) => (typeof stored === "string" ? stored : undefined));

/** What stands for a folder of a device, and begins with the device; without one, its shares. */
export function keyOf(device: string, at: PathThere | null): string {
  const names = at?.names.map(({ path, path_bytes: bytes }) => bytes ?? `/${path}`) ?? [];
  return at ? `${device}:${JSON.stringify([at.share, ...names])}` : device;
}

/** The lines that were last used with these folders, each line once. */
export function leftOutOf(device: string, folders: PathThere[]): string {
  const texts = remembered.of(folders.slice(0, FOLDERS_OF_SELECTION_MAX).map((at) => keyOf(device, at)));
  return [...new Set(texts.flatMap((text) => text.split("\n")))].join("\n");
}

/** Remembers what was left out of these folders; nothing is remembered too. */
export function rememberLeftOut(device: string, folders: PathThere[], text: string): void {
  for (const at of folders.slice(0, FOLDERS_OF_SELECTION_MAX)) remembered.keep(keyOf(device, at), text.trimEnd());
}

/** Forgets it, with the device. */
export const forgetLeftOut = (device: string): void => remembered.forget(device);

/** How many patterns a text has. */
export const patternsIn = (text: string): number => text.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("#")).length;
