// What a drop on a device's card does.
import type { Chosen } from "./ipc";
import { t } from "./messages";

/** "Send 3 folders to lab-ws", and into which drop box there. */
export function dropWords(chosen: Chosen, name: string, folder: string | null): string {
  const what = sendWords(chosen, name);
  return folder === null ? what : t("send.dropInto", { what, folder });
}

function sendWords({ items, more }: Chosen, name: string): string {
  const told = { n: items.length + more, name };
  const areAll = (kind: Chosen["items"][number]["kind"]) => more === 0 && items.every((item) => item.kind === kind);
  if (areAll("folder")) return t("send.dropFolders", told);
  return areAll("file") ? t("send.dropFiles", told) : t("send.dropItems", told);
}
