// What another device shares, as the service lists it, for component tests.
import type { EntryThere, Fault, ListingPage, PathThere, ShareThere, UnreadThere } from "../ipc";

export function entry(path: string, change: Partial<EntryThere> = {}): EntryThere {
  return { path, kind: "file", size: 10, mode: 0o644, modified_seconds: 1_790_000_000, modified_nanos: 0, target: null, ...change };
}

export const folder = (path: string, change: Partial<EntryThere> = {}): EntryThere => entry(path, { kind: "folder", size: 4096, mode: 0o755, ...change });

/** What is at a path: its entries in pages, or why there is none. */
export type Listed = { pages: EntryThere[][]; unread?: UnreadThere[] } | { fault: Fault };

/**
 * Answers of a service whose device has these shares and folders, by `SHARE/NAME/NAME`; one that is
 * not among them is empty. What is put into `folders` later is there from then on.
 */
export function sharing(shares: ShareThere[] | { fault: Fault }, folders: Record<string, Listed> = {}) {
  const listings = new Map<number, (ListingPage | Fault)[]>();
  let last = 0;
  return {
    browse: ({ at }: Record<string, unknown>) => {
      last += 1;
      listings.set(last, pagesAt(at as PathThere | null));
      return last;
    },
    readListing: ({ listing }: Record<string, unknown>) => {
      const next = listings.get(listing as number)?.shift() ?? { code: "gone" as const };
      if ("code" in next) throw next;
      return next;
    },
  };

  function pagesAt(at: PathThere | null): (ListingPage | Fault)[] {
    if (at === null) return "fault" in shares ? [shares.fault] : [{ of: "shares", shares }];
    const listed = folders[[at.share, ...at.names.map(({ path }) => path)].join("/")] ?? { pages: [] };
    if ("fault" in listed) return [listed.fault];
    const pages: ListingPage[] = listed.pages.map((entries) => ({ of: "entries", entries, unread: [], is_last: false }));
    return [...pages, { of: "entries", entries: [], unread: listed.unread ?? [], is_last: true }];
  }
}
