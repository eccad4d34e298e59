// The same that was received from the same device several times: the latest stands for all.
import { placeOf } from "../get-words";
import type { Earlier } from "../ipc";
import type { Transfer } from "./transfers.svelte";

export type Ended = Earlier | Transfer;

const isLine = (ended: Ended): ended is Earlier => "number" in ended;

function endedAt(ended: Ended): number {
  return isLine(ended) ? ended.ended_at : (ended.report?.ended_at ?? 0);
}

function keyOf(ended: Ended): string {
  const key = isLine(ended)
    ? [ended.peer_id ?? ended.peer, ended.title.path, ended.more_names, placeOf(ended)]
    : [ended.progress.peer_id ?? ended.peer, ended.title, ended.more, ended.place];
  return key.join("\0");
}

/** Those that an entry stands for besides itself, by the entry, the latest first. */
export function repeated(all: Ended[]): Map<Ended, Ended[]> {
  const found = new Map<Ended, Ended[]>();
  const latest = new Map<string, Ended>();
  for (const ended of [...all].sort((one, other) => endedAt(other) - endedAt(one))) {
    const first = latest.get(keyOf(ended));
    if (first) found.get(first)!.push(ended);
    else {
      latest.set(keyOf(ended), ended);
      found.set(ended, []);
    }
  }
  return found;
}
