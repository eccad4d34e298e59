import { readFileSync, writeFileSync } from "node:fs";
import { IntlMessageFormat } from "intl-messageformat";
import { describe, expect, test } from "vitest";
import { argumentsOf, argumentsSource, type Catalogue } from "../testing/messages";
import { rustSource, SERVICE, SHELL } from "../testing/rust-messages";
import { keysIn, sources, stepsIn, textOutside } from "../testing/text";
import de from "./de.json";
import en from "./en.json";
import { t } from ".";
import notes from "./notes.json";

const catalogues: Record<string, Catalogue> = { en, de };
const GENERATED = "src/messages/arguments.ts";
const GENERATED_RUST = [
  { path: "src-tauri/crates/daemon/src/desktop/messages.rs", spoken: SERVICE },
  { path: "src-tauri/src/messages.rs", spoken: SHELL },
];

test("arguments.ts is what en.json says", () => {
  const source = argumentsSource(en);
  if (process.env.RINGWAY_MESSAGES === "write") writeFileSync(GENERATED, source);
  expect(readFileSync(GENERATED, "utf8"), "run npm run messages").toBe(source);
});

test.each(GENERATED_RUST)("$path says what the catalogues say", ({ path, spoken }) => {
  const source = rustSource(catalogues, spoken);
  if (process.env.RINGWAY_MESSAGES === "write") writeFileSync(path, source);
  expect(readFileSync(path, "utf8"), "run npm run messages").toBe(source);
});

test("every language has the same messages in the same order, with the same arguments", () => {
  for (const [name, catalogue] of Object.entries(catalogues)) {
    expect(Object.keys(catalogue), name).toEqual(Object.keys(en));
    for (const [key, message] of Object.entries(en)) {
      expect(Object.fromEntries(argumentsOf(catalogue[key]!)), `${name} ${key}`).toEqual(Object.fromEntries(argumentsOf(message)));
    }
  }
});

test.each(Object.entries(catalogues))("every message of %s can be said, for one and for many", (locale, catalogue) => {
  for (const [key, message] of Object.entries(catalogue)) {
    const format = new IntlMessageFormat(message, locale, undefined, { ignoreTag: true });
    for (const n of [0, 1, 2, 1_234_567]) {
      const told = Object.fromEntries([...argumentsOf(message)].map(([name, type]) => [name, type === "number" ? n : `‹${name}›`]));
      const said = format.format(told) as string;
      expect(said, key).not.toMatch(/undefined|NaN|[{}#]|1234567/);
      for (const value of Object.values(told)) if (typeof value === "string") expect(said, key).toContain(value);
    }
  }
});

test("every message is said somewhere", () => {
  const said = new Set(sources().flatMap(({ source }) => [...keysIn(source), ...stepsIn(source)]));
  // Rust's compiler tells of those that the service and the shell do not say.
  expect(Object.keys(en).filter((key) => !said.has(key) && !SERVICE.keys.test(key) && !SHELL.keys.test(key))).toEqual([]);
});

test("what is not there, or lacks what it has to be told, does not compile", () => {
  const wrong = [
    // @ts-expect-error: no such message
    () => t("send.everything"),
    // @ts-expect-error: it has to be told the peer
    () => t("stage.connecting"),
    // @ts-expect-error: it is told a number, which it formats itself
    () => t("common.andMore", { n: "3" }),
    // @ts-expect-error: it has nothing to be told
    () => t("send.button", { n: 3 }),
  ];
  expect(wrong).toHaveLength(4);
});

test("notes are about messages that are there", () => {
  expect(Object.keys(notes).filter((key) => !(key in en))).toEqual([]);
});

describe("text that people see is in the catalogue alone", () => {
  test.each(sources())("$path", (file) => expect(textOutside(file)).toEqual([]));

  test.each([
    ["text", "<p>Nothing yet</p>"],
    ["an attribute", '<p aria-label="Progress"></p>'],
    ["a component's text", '<Empty icon="activity" what="Nothing yet" />'],
    ["a choice between two", '<p>{busy ? "Sending" : t("send.button")}</p>'],
    ["text beside a value", "<p>{done} items</p>"],
    ["text within a value", "<p>{`${done} items`}</p>"],
    ["a sentence in code", '<script>\n  const hint = "Type it again";\n</script>'],
  ])("%s is found", (_, source) => expect(textOutside({ path: "Made.svelte", source })).not.toEqual([]));

  test("what nobody reads is not", () => {
    const source = '<script>\n  import x from "../a b";\n</script>\n<p class="quiet small" data-direction={direction === "sending" ? "out" : "in"}>{t("send.to")} · {bytes(n)}</p>\n<Icon name="folder" />';
    expect(textOutside({ path: "Made.svelte", source })).toEqual([]);
  });
});
