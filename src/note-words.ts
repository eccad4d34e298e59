// A note that is about to be sent, in words: what was dropped or pasted may come from anywhere, so
// what could mislead is escaped.
import { NOTE_LEN_MAX } from "./ipc/bindings";

/** Characters of the line that is shown. */
const LINE_LEN_MAX = 120;

/** Controls, format characters and separators of lines, but not what joins letters and emoji. */
const MISLEADS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const JOINERS = ["\u200c", "\u200d"];

/** How long a text is, in bytes. */
export function noteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** Whether a text can be sent as a note. */
export function isNote(text: string): boolean {
  const length = noteLength(text);
  return length > 0 && length <= NOTE_LEN_MAX;
}

/** The first line of a text that has something, short and safe to show. */
export function firstLine(text: string): string {
  const line = text.split(/[\n\r]/).find((one) => one.trim() !== "")?.trim() ?? "";
  const short = [...line].slice(0, LINE_LEN_MAX).join("");
  const isShort = short.length < text.trim().length;
  const shown = short.replaceAll(MISLEADS, (c) => (JOINERS.includes(c) ? c : `\\u{${c.codePointAt(0)!.toString(16)}}`));
  return isShort ? `${shown} …` : shown;
}
