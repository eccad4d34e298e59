// The window chooses the row that `model::sentences` has for the same fault or reason: what each
// one is was written by `npm run messages`.
import { describe, expect, test } from "vitest";
import { askedWords } from "../device-words";
import type { AskedBecause, Bottleneck, Direction, Failure, Fault, Progress, SyncIoReason, TurnedAway, UserTlsReason } from "../ipc/bindings";
import choices from "../testing/sentences.json";
import { copyStep, failureWords, faultWordsOf, limitWords, stageWords } from "../transfer-words";
import { encryptionHere, faultWords, fileIoWords, pairingFailedWords, type Sentence } from "../words";
import en from "./en.json";

interface Rows {
  what: string;
  next: string | null;
}

interface Choice<Of> extends Rows {
  of: Of;
}

/** A fault, with the rows of a transfer in some direction where those differ. */
type FaultChoice = Choice<Fault> & Partial<Record<Direction | `got_${Direction}`, Rows>>;

const DIRECTIONS: Direction[] = ["sending", "receiving", "copying"];

/**
 * A pattern for that message of the catalogue, whatever its arguments are, of which `missing` alone
 * may be empty; `why` is the message that stands in it as the argument of that name.
 */
function pattern(key: string | null, why?: string): string {
  const message = key === null ? "" : (en as Record<string, string>)[key]!;
  // Plural forms have arguments within braces.
  const parts = message.split(/(\{(?:[^{}]|\{[^{}]*\})*\})/);
  const shown = (part: string) => {
    if (part === "{missing}") return ".*";
    return why !== undefined && part === "{why}" ? pattern(why) : ".+";
  };
  return parts.map((part, at) => (at % 2 === 1 ? shown(part) : part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))).join("");
}

/** Whether a text is that message. */
function shows(key: string | null, why?: string): RegExp {
  return new RegExp(`^${pattern(key, why)}$`);
}

function expectRows({ what, next }: Sentence, rows: Rows): void {
  expect(what).toMatch(shows(rows.what));
  expect(next).toMatch(shows(rows.next));
  expect(what + next).not.toMatch(/[{}]|undefined|NaN/);
}

const faults = choices.faults as FaultChoice[];
const stages = choices.stages as (Choice<{ progress: Progress; direction: Direction; got: boolean }> & { why?: string })[];
const pairing = choices.pairing as Choice<{ fault: Fault; left: number | null }>[];
const failures = choices.failures as Choice<{ failure: Failure; direction: Direction; got: boolean }>[];

describe("what the window says is the row that the table has", () => {
  test.each(faults.map((choice) => [JSON.stringify(choice.of), choice] as const))("%s", (_, choice) => {
    expectRows(faultWords(choice.of, "nas"), choice);
    for (const direction of DIRECTIONS) {
      const rows = choice[direction] ?? choice;
      expectRows(faultWordsOf(choice.of, "nas", direction), rows);
      if (direction !== "copying") expectRows(faultWordsOf(choice.of, "nas", direction, true), choice[`got_${direction}`] ?? rows);
    }
  });

  test.each(stages.map((choice) => [JSON.stringify(choice.of), choice] as const))("%s", (_, { of, what, why }) => {
    expect(stageWords(of.progress, "nas", of.direction, of.got)).toMatch(shows(what, why));
  });

  test.each(pairing.map((choice) => [JSON.stringify(choice.of), choice] as const))("%s", (_, { of, what }) => {
    expect(pairingFailedWords({ from: "nas", code: of.fault.code as TurnedAway["code"], attempts_left: of.left })).toMatch(shows(what));
  });

  test("what to do about an entry that was not copied", () => {
    for (const { of, next } of choices.copy_steps as { of: Failure; next: string }[]) expect(copyStep(of), JSON.stringify(of)).toMatch(shows(next));
  });

  test("why a person is asked in spite of a rule", () => {
    for (const { of, what } of choices.asked as Choice<AskedBecause>[]) expect(askedWords(of)).toMatch(shows(what));
  });

  test.each(failures.map((choice) => [JSON.stringify(choice.of), choice] as const))("%s", (_, { of, what }) => {
    expect(failureWords(of.failure, "nas", of.direction, of.got)).toMatch(shows(what));
  });

  test("why a fast path is not taken", () => {
    const why = (said: string) => said.slice(said.indexOf(": ") + 2);
    for (const { of, what } of choices.tls as Choice<{ user: UserTlsReason }>[]) expect(why(encryptionHere(of))).toMatch(shows(what));
    for (const { of, what } of choices.io as Choice<{ sync: SyncIoReason }>[]) expect(why(fileIoWords(of))).toMatch(shows(what));
  });

  test("what limits a transfer", () => {
    for (const { of, what } of choices.bottlenecks as Choice<{ by: Bottleneck; direction: Direction; got: boolean }>[]) {
      expect(limitWords(of.by, "nas", of.direction, of.got)).toMatch(shows(what));
    }
  });
});

test("a device whose name is not known begins a sentence as such", () => {
  expect(faultWords({ code: "turned_away" }).what).toMatch(/^The connection to the other device was/);
  expect(faultWords({ code: "declined", reason: "busy" }).what).toMatch(/^The other device has/);
});
