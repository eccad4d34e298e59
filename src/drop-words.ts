// What a drop on a device's card does.
import type { Chosen } from "./ipc";
import { t } from "./messages";

/** "Send 3 folders to lab-ws". */
export function dropWords({ items, more }: Chosen, name: string): string {
  const told = { n: items.length + more, name };
  const areAll = (kind: Chosen["items"][number]["kind"]) => more === 0 && items.every((item) => item.kind === kind);
  if (areAll("folder")) return t("send.dropFolders", told);
  return areAll("file") ? t("send.dropFiles", told) : t("send.dropItems", told);
}
