// What the window says, in the language that it speaks: ICU messages, each read once, when it is
// first said.
import { IntlMessageFormat } from "intl-messageformat";
import { type Language, language } from "../language.svelte";
import type { Arguments } from "./arguments";
import de from "./de.json";
import en from "./en.json";

export type Key = keyof typeof en;

const CATALOGUES: Record<Language, Record<Key, string>> = { en, de };

/** What a message has to be told: nothing, or its arguments. */
type Told<K extends Key> = K extends keyof Arguments ? [told: Arguments[K]] : [];

/** The messages that were read so far, of one language and region. */
let read = { locale: "", messages: new Map<Key, IntlMessageFormat>() };

function message(key: Key): IntlMessageFormat {
  const { current, locale } = language;
  if (read.locale !== locale) read = { locale, messages: new Map() };
  let found = read.messages.get(key);
  if (!found) {
    // Messages have no markup: names and paths that are put into one stay text, and so does a "<"
    // of its own.
    found = new IntlMessageFormat(CATALOGUES[current][key], locale, undefined, { ignoreTag: true });
    read.messages.set(key, found);
  }
  return found;
}

/** A message in the window's language. */
export function t<K extends Key>(key: K, ...told: Told<K>): string {
  return message(key).format(told[0] as Record<string, string | number> | undefined) as string;
}
