import { expect, test } from "vitest";
import { usableLanguage } from "./locale";

test("a language that Intl refuses gives way to one it takes", () => {
  const navigator = { language: "c" } as Navigator;
  expect(usableLanguage(navigator)).toBe("en-US");
  expect(navigator.language).toBe("en-US");
  expect(() => new Intl.NumberFormat(navigator.language)).not.toThrow();
});

test("a good language stays", () => {
  expect(usableLanguage({ language: "de-DE" } as Navigator)).toBe("de-DE");
});
