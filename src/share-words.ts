// What is said of folders that are shared.
import { bytes } from "./format";
import type { Chosen, DropBox, PairedDevice, SharedWith } from "./ipc";
import { t } from "./messages";

/** Names that are read; more are counted. */
const NAMED_MAX = 2;

/** Who may read a shared folder. */
export function readersWords(share: SharedWith, devices: PairedDevice[]): string {
  if (share.with === "all") return t("share.withAll");
  const names = devices.filter(({ id }) => share.devices.includes(id)).map(({ name }) => name);
  if (names.length === 0) return t("share.withNobody");
  const more = names.length - NAMED_MAX;
  return [...names.slice(0, NAMED_MAX), ...(more > 0 ? [t("common.andMore", { n: more })] : [])].join(", ");
}

/** That a share takes what is sent into it, and how much of it. */
export function dropBoxWords({ bytes_max: max }: DropBox): string {
  return max === null ? t("share.dropBox") : t("share.dropBoxUpTo", { size: bytes(max) });
}

/** Whether all of it are folders: nothing else can be shared. */
export function areFolders({ items, more }: Chosen): boolean {
  return more === 0 && items.every(({ kind }) => kind === "folder");
}

/** What a drop on shared folders does. */
export function shareDropWords(chosen: Chosen): string {
  const [first] = chosen.items;
  if (!first || !areFolders(chosen)) return t("share.onlyFolders");
  return chosen.items.length === 1 ? t("share.dropOne", { name: first.name }) : t("share.dropMany", { n: chosen.items.length });
}
