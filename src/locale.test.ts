import { expect, test } from "vitest";
import { mendLanguage } from "./locale";

test("a language that Intl refuses gives way to one it takes", () => {
  const navigator = { language: "c" } as Navigator;
  mendLanguage(navigator);
  expect(navigator.language).toBe("en-US");
  expect(() => new Intl.NumberFormat(navigator.language)).not.toThrow();
});

test("a good language stays", () => {
  const navigator = { language: "de-DE" } as Navigator;
  mendLanguage(navigator);
  expect(navigator.language).toBe("de-DE");
});
