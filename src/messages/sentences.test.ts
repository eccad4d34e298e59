// The window chooses the row that `model::sentences` has for the same fault or reason: what each
// one is was written by `npm run messages`.
import { describe, expect, test } from "vitest";
import type { Bottleneck, Direction, Failure, Fault, SyncIoReason, UserTlsReason } from "../ipc/bindings";
import choices from "../testing/sentences.json";
import { failureWords, limitWords } from "../transfer-words";
import { encryptionHere, faultWords, fileIoWords } from "../words";
import en from "./en.json";

interface Choice<Of> {
  of: Of;
  what: string;
  next: string | null;
}

/** Whether a text is that message of the catalogue, whatever its arguments are. */
function shows(key: string | null): RegExp {
  const message = key === null ? "" : (en as Record<string, string>)[key]!;
  const parts = message.split(/\{[^{}]*\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".+")}$`);
}

/** An argument that ends with its sentence is empty where nothing is missing. */
const withEmpty = (of: Fault): Fault => (of.code === "destination_full" ? { ...of, shortage: { needed: 9, free: 4, entries: 1 } } : of);

const faults = choices.faults as Choice<Fault>[];
const failures = choices.failures as Choice<{ failure: Failure; direction: Direction }>[];

describe("what the window says is the row that the table has", () => {
  test.each(faults.map((choice) => [JSON.stringify(choice.of), choice] as const))("%s", (_, { of, what, next }) => {
    const said = faultWords(withEmpty(of), "nas");
    expect(said.what).toMatch(shows(what));
    expect(said.next).toMatch(shows(next));
    expect(said.what + said.next).not.toMatch(/[{}]|undefined|NaN/);
  });

  test.each(failures.map((choice) => [JSON.stringify(choice.of), choice] as const))("%s", (_, { of, what }) => {
    expect(failureWords(of.failure, "nas", of.direction)).toMatch(shows(what));
  });

  test("why a fast path is not taken", () => {
    const why = (said: string) => said.slice(said.indexOf(": ") + 2);
    for (const { of, what } of choices.tls as Choice<{ user: UserTlsReason }>[]) expect(why(encryptionHere(of))).toMatch(shows(what));
    for (const { of, what } of choices.io as Choice<{ sync: SyncIoReason }>[]) expect(why(fileIoWords(of))).toMatch(shows(what));
  });

  test("what limits a transfer", () => {
    for (const { of, what } of choices.bottlenecks as Choice<{ by: Bottleneck; direction: Direction }>[]) {
      expect(limitWords(of.by, "nas", of.direction)).toMatch(shows(what));
    }
  });
});

test("a device whose name is not known begins a sentence as such", () => {
  expect(faultWords({ code: "turned_away" }).what).toMatch(/^The connection to the other device was/);
  expect(faultWords({ code: "declined", reason: "busy" }).what).toMatch(/^The other device has/);
});
