// The messages that the service says, in tray and notifications, and the shell in native dialogs,
// as Rust: written from the window's catalogues, so that each language has one.
import { type MessageFormatElement, parse, TYPE } from "@formatjs/icu-messageformat-parser";
import { argumentsOf, type Catalogue } from "./messages";

/** What a Rust program says, and where its source goes. */
interface Spoken {
  keys: RegExp;
  /** The keys, for the file's first line. */
  named: string;
  language: string;
  visible: string;
}

export const SERVICE: Spoken = { keys: /^(tray|notice)\./, named: "`tray.*` and `notice.*`", language: "crate::language::Language", visible: "pub(super)" };
export const SHELL: Spoken = { keys: /^dialog\./, named: "`dialog.*`", language: "ringway_daemon::language::Language", visible: "pub(crate)" };

/** Numbers that a language's plural forms are tried with. */
const TRIED_MAX = 1000;

/** The source of one program's messages.rs. */
export function rustSource(catalogues: Record<string, Catalogue>, { keys: said, named, language, visible }: Spoken): string {
  const languages = Object.keys(catalogues);
  languages.forEach(checkPlurals);
  const keys = Object.keys(catalogues.en!).filter((key) => said.test(key));
  return [
    `//! Generated from ${named} of the window's messages (src/messages) by`,
    "//! `npm run messages`: do not edit.",
    `use ${language};`,
    ...keys.flatMap((key) => ["", ...rustFunction(visible, key, languages.map((language) => [language, catalogues[language]![key]!]))]),
    "",
  ].join("\n");
}

/** Two forms, of which one is for 1 alone: what the generated code decides by. */
function checkPlurals(language: string): void {
  const rules = new Intl.PluralRules(language);
  for (let n = 0; n <= TRIED_MAX; n += 1) {
    if (rules.select(n) !== (n === 1 ? "one" : "other")) throw new Error(`${language} has other plural forms than one and other`);
  }
}

function rustFunction(visible: string, key: string, messages: [string, string][]): string[] {
  const name = key.replace(/[.A-Z]/g, (at) => `_${at === "." ? "" : at.toLowerCase()}`);
  const told = [...argumentsOf(messages[0]![1])];
  const parameters = told.map(([argument, type]) => `, ${argument}: ${type === "number" ? "u64" : "&str"}`).join("");
  const type = told.length > 0 ? "String" : "&'static str";
  const arms = messages.map(([language, message]) => `        Language::${language[0]!.toUpperCase()}${language.slice(1)} => ${rustText(message, told.length > 0)},`);
  return [`${visible} fn ${name}(language: Language${parameters}) -> ${type} {`, "    match language {", ...arms, "    }", "}"];
}

function rustText(message: string, formats: boolean): string {
  const elements = parse(message, { ignoreTag: true });
  const literal = (form: "one" | "other") => {
    const text = JSON.stringify(formText(elements, form, formats, ""));
    return formats ? `format!(${text})` : text;
  };
  const counted = elements.find((element) => element.type === TYPE.plural);
  return counted ? `match ${counted.value} { 1 => ${literal("one")}, _ => ${literal("other")} }` : literal("other");
}

/**
 * The text in one plural form, with the names of arguments in braces, as Rust's format! has them.
 */
function formText(elements: MessageFormatElement[], form: "one" | "other", formats: boolean, counted: string): string {
  return elements
    .map((element) => {
      if (element.type === TYPE.literal) return formats ? element.value.replace(/[{}]/g, "$&$&") : element.value;
      if (element.type === TYPE.pound) return `{${counted}}`;
      if (element.type === TYPE.argument || element.type === TYPE.number) return `{${element.value}}`;
      if (element.type === TYPE.plural) return formText(element.options[form]!.value, form, formats, element.value);
      throw new Error("a kind of argument that no message of the service has had so far");
    })
    .join("");
}
