// How entries are ordered, and that a hundred thousand of them are soon.
import { describe, expect, test } from "vitest";
import type { Ipc } from "../ipc";
import { entry, folder } from "../testing/there";
import { Browse, ROWS_MAX } from "./browse.svelte";
import { merged, rowOf, sorted } from "./rows";
import type { Transfers } from "./transfers.svelte";

const order = { by: "name", down: false } as const;
const names = (of: { name: string }[]) => of.map(({ name }) => name);

/** A service that lists these names, so many a page. */
function listing(all: string[], page: number): { ipc: Ipc; calls: string[] } {
  const calls: string[] = [];
  let at = 0;
  const call = (asked: string | Record<string, unknown>) => {
    const name = typeof asked === "string" ? asked : Object.keys(asked)[0]!;
    calls.push(name);
    if (name === "browse") return { status: "ok", data: 1 };
    if (name !== "readListing") return { status: "ok", data: null };
    const entries = all.slice(at, (at += page)).map((path) => entry(path));
    return { status: "ok", data: { of: "entries", entries, unread: [], is_last: at >= all.length } };
  };
  return { ipc: { call: (asked: string) => Promise.resolve(call(asked)) } as unknown as Ipc, calls };
}

function browsing(ipc: Ipc): Browse {
  const browse = new Browse(ipc, {} as Transfers);
  browse.device = "ab";
  return browse;
}

describe("entries", () => {
  test("are in the order of a dictionary, with numbers by their size", () => {
    const all = ["b", "Ä", "a10", "a9", "a", "Zoë", "zoe", "_x", "007", "7a", "70"].map((name) => rowOf(entry(name)));
    expect(names(sorted(all, order))).toEqual(["007", "7a", "70", "_x", "a", "Ä", "a9", "a10", "b", "Zoë", "zoe"]);
  });

  test("are merged as if they had been sorted together", () => {
    const rows = Array.from({ length: 500 }, (_, n) => rowOf(n % 7 === 0 ? folder(`d${(n * 7919) % 500}`) : entry(`f${(n * 7919) % 500}`)));
    const [one, other] = [rows.slice(0, 200), rows.slice(200)];
    expect(names(merged(sorted(one, order), sorted(other, order), order))).toEqual(names(sorted(rows, order)));
  });

  test("are there soon, a hundred thousand of them, and sorted the other way", async () => {
    const all = Array.from({ length: 100_000 }, (_, n) => `run-${String((n * 7919) % 100_000).padStart(6, "0")}.result`);
    const { ipc } = listing(all, 4_000);
    const browse = browsing(ipc);
    const began = performance.now();
    await browse.go({ share: "runs", names: [] });
    browse.sort("name");
    browse.picks.pickAll(browse.listed.rows);
    // About half a second on a fast machine.
    expect(performance.now() - began).toBeLessThan(10_000);
    expect([browse.listed.rows.length, browse.listed.rows[0]!.name, browse.picks.count]).toEqual([100_000, "run-099999.result", 100_000]);
  });

  test("end where there are more than a table takes", async () => {
    const { ipc, calls } = listing(Array.from({ length: ROWS_MAX + 9_000 }, (_, n) => `${n}`), 10_000);
    const browse = browsing(ipc);
    await browse.go({ share: "runs", names: [] });
    expect([browse.listed.rows.length, browse.listed.isPart, calls.at(-1)]).toEqual([ROWS_MAX, true, "stopBrowsing"]);
  });
});
