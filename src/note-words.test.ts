import { expect, test } from "vitest";
import { firstLine, isNote, noteLength } from "./note-words";

test("a note has 1 to 65,536 bytes", () => {
  expect(isNote("")).toBe(false);
  expect(isNote("é".repeat(32_768))).toBe(true);
  expect(isNote("é".repeat(32_768) + "a")).toBe(false);
  expect(noteLength("é")).toBe(2);
});

test("the first line is short, and nothing in it misleads", () => {
  expect(firstLine(" \n\n  https://example.org/ \nmore")).toBe("https://example.org/ …");
  expect(firstLine("hi\n")).toBe("hi");
  expect(firstLine("a\u202eb\u001b[2J<b>\u200d")).toBe("a\\u{202e}b\\u{1b}[2J<b>\u200d");
  expect([...firstLine("x".repeat(500))]).toHaveLength(122);
});
