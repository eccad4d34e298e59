// What a machine can be called: the same as in the engine.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { unfitName } from "./names";

/** The engine's list, as its source has it. */
const RANGES = [...readFileSync("src-tauri/crates/model/src/text/misleading.rs", "utf8").matchAll(/'\\u\{(\w+)\}'\.\.='\\u\{(\w+)\}'/g)].map(([, from, to]) => [parseInt(from!, 16), parseInt(to!, 16)] as const);

test("the characters that are refused are the engine's", () => {
  expect(RANGES.length).toBeGreaterThan(20);
  const misleads = (point: number) => RANGES.some(([from, to]) => from <= point && point <= to);
  // Where the two lists could differ: at the edges of each range, and all over the first plane.
  const points = RANGES.flatMap(([from, to]) => [from - 1, from, to, to + 1]);
  for (let point = 0xa0; point < 0xd800; point += 7) points.push(point);
  const differs = points.filter((point) => (unfitName(`a${String.fromCodePoint(point)}b`) === "hidden") !== misleads(point) && point >= 0xa0);
  expect(differs).toEqual([]);
});

test("what reads as an id or an address is no name", () => {
  for (const id of ["abababab", "ABAB-abab", "12345678", "f".repeat(64)]) expect(unfitName(id)).toBe("id");
  for (const address of ["10.0.0.1", "::1", "nas.lan", "nas:1"]) expect(unfitName(address)).toBe("address");
  for (const name of ["abababa", "cafe", "nas 2", "Übung 日本"]) expect(unfitName(name)).toBeNull();
});
