// What is chosen, in words: what it is called together, and how large it is.
import { bytes, rate } from "../../format";
import type { Chosen, ChosenSize, ChosenSource, MergedSource } from "../../ipc";
import { t } from "../../messages";
import type { SendOptions } from "../../state/send-options";
import type { IconName } from "../../ui/Icon.svelte";

/** "photos", or "3 folders". */
export function whatWords({ items, more }: Chosen): string {
  const [only] = items;
  const n = items.length + more;
  if (only && n === 1) return only.name;
  if (items.every(({ kind }) => kind === "folder")) return t("send.nFolders", { n });
  return items.every(({ kind }) => kind === "file") ? t("send.nFiles", { n }) : t("send.nItems", { n });
}

/** "1,204 items", as far as they are counted, and as the offer counts them. */
export function itemsWords({ items: n, state }: ChosenSize): string {
  return state === "atLeast" ? t("send.atLeast", { what: t("send.nItems", { n }) }) : t("send.nItems", { n });
}

/** "3.4 GB", as far as it is counted. */
export function sizeWords({ bytes: size, state }: ChosenSize): string {
  return state === "atLeast" ? t("send.atLeast", { what: bytes(size) }) : bytes(size);
}

/** What is in force of the options, each for itself, although they are folded away. */
export function inForceWords({ inShare, verify, limit }: SendOptions, chosen: Chosen | null): string[] {
  const n = chosen?.total.excluded ?? 0;
  const words = [inShare !== null && t("send.intoBox", { folder: inShare }), verify && t("common.verify"), limit !== null && t("send.limited", { rate: rate(limit) }), n > 0 && t("send.leftOut", { n })];
  return words.filter((word) => word !== false);
}

const KINDS = { folder: "folder", file: "file", other: "file-symlink", unreadable: "file-question-mark" } as const satisfies Record<ChosenSource["kind"], IconName>;

export function sourceIcon({ kind }: ChosenSource): IconName {
  return KINDS[kind];
}

/** What one item is, and what is wrong with it. */
export function sourceWords({ kind, size, same_name: sameName }: ChosenSource): string {
  if (kind === "unreadable") return t("send.unreadable");
  if (sameName) return t("send.sameName");
  if (kind !== "folder") return kind === "file" ? t("send.file") : t("send.link");
  return size.state === "counting" ? t("send.folderCounting", { items: itemsWords(size) }) : t("send.folder", { items: itemsWords(size) });
}

/** What was merged into the list when something was added. */
export function mergedWords(merged: MergedSource[], more: number): string {
  const [one] = merged;
  if (!one) return "";
  const n = merged.length + more;
  if (n > 1) return t("send.mergedMany", { n });
  return one.within === null ? t("send.mergedTwice", { name: one.name }) : t("send.mergedWithin", { name: one.name, folder: one.within });
}
