// Imported first by main.ts: under LANG=C WebKit calls its language "c", and every Intl constructor throws on it.

/** The language for numbers and dates; defines a usable navigator.language where the given one is not. */
export function usableLanguage(nav: Navigator): string {
  try {
    new Intl.NumberFormat(nav.language);
    return nav.language;
  } catch {
    Object.defineProperty(nav, "language", { value: "en-US", configurable: true });
    return "en-US";
  }
}

export const language = usableLanguage(navigator);
