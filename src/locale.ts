// Imported first by main.ts: under LANG=C WebKit calls its language "c", and every Intl constructor
// throws on it.

/**
 * Defines a usable navigator.language where the given one is not: uPlot reads it as it is loaded.
 */
export function mendLanguage(nav: Navigator): void {
  try {
    new Intl.NumberFormat(nav.language);
  } catch {
    Object.defineProperty(nav, "language", { value: "en-US", configurable: true });
  }
}

mendLanguage(navigator);
