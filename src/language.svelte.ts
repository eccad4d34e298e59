// Which language the window speaks: the one that was chosen here, else the first of the desktop's
// that it has messages in, else English.

/** Each by its own name, so that everybody finds theirs whatever is shown now. */
export const LANGUAGES = { en: "English", de: "Deutsch" } as const;
export type Language = keyof typeof LANGUAGES;
/** As it is kept in the webview's storage. */
export type LanguageChoice = Language | "system";

const STORED_AS = "language";

interface Spoken {
  /** Whose messages are shown. */
  language: Language;
  /**
   * How numbers and dates are written: the language, with the desktop's region where it names one.
   */
  locale: string;
}

/** What is spoken, of the languages that the desktop wishes for, in its order (RFC 5646). */
export function spoken(choice: LanguageChoice, wishes: readonly string[]): Spoken {
  for (const wish of wishes) {
    const [language, locale] = known(wish) ?? [];
    if (language && locale && (choice === "system" || choice === language)) return { language, locale };
  }
  const language = choice === "system" ? "en" : choice;
  return { language, locale: language };
}

/** A tag's language, where there are messages in it; under LANG=C there are tags that are none. */
function known(tag: string): [Language, string] | null {
  try {
    const { language, baseName } = new Intl.Locale(tag);
    return isLanguage(language) ? [language, baseName] : null;
  } catch {
    return null;
  }
}

function isLanguage(text: string): text is Language {
  return Object.hasOwn(LANGUAGES, text);
}

function stored(): LanguageChoice {
  const text = localStorage.getItem(STORED_AS) ?? "";
  return isLanguage(text) ? text : "system";
}

class WindowLanguage {
  #choice = $state<LanguageChoice>("system");
  #spoken = $state.raw<Spoken>({ language: "en", locale: "en" });

  constructor() {
    this.#speak(stored());
  }

  get choice(): LanguageChoice {
    return this.#choice;
  }

  /** Speaks another language from now on, and keeps that. */
  set choice(choice: LanguageChoice) {
    if (choice === "system") localStorage.removeItem(STORED_AS);
    else localStorage.setItem(STORED_AS, choice);
    this.#speak(choice);
  }

  get current(): Language {
    return this.#spoken.language;
  }

  get locale(): string {
    return this.#spoken.locale;
  }

  #speak(choice: LanguageChoice): void {
    this.#choice = choice;
    this.#spoken = spoken(choice, navigator.languages);
    document.documentElement.lang = this.#spoken.language;
  }
}

/** The window's language; whatever was written in it is written anew when it changes. */
export const language = new WindowLanguage();
