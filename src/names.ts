// What a machine can be called.

/** Of a name, in bytes: the engine's limit. */
const NAME_BYTES_MAX = 64;

/**
 * Controls, and characters that hide, reorder or show as nothing: the engine's list
 * (`wire/src/text.rs`), with which names.test.ts compares it.
 */
// eslint-disable-next-line no-misleading-character-class
const HIDDEN = /[\p{Cc}\u{ad}\u{34f}\u{61c}\u{115f}-\u{1160}\u{17b4}-\u{17b5}\u{180b}-\u{180f}\u{200b}\u{200e}-\u{200f}\u{2028}-\u{202e}\u{2060}-\u{206f}\u{2800}\u{3164}\u{fe00}-\u{fe0e}\u{feff}\u{ffa0}\u{fff0}-\u{fffb}\u{16fe4}\u{1bca0}-\u{1bca3}\u{1d159}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}\u{a0}\u{70f}\u{1680}\u{2000}-\u{200a}\u{200c}-\u{200d}\u{202f}\u{205f}\u{3000}\u{fe0f}\u{fffc}\u{1107f}\u{13430}-\u{13442}]/u;

/** As many hex digits read as the beginning of a device's id. */
const ID = /^[0-9a-f]{8,}$/i;

/** Why a machine cannot be called that, without the blanks around it; null where it can. */
export function unfitName(name: string): "empty" | "tooLong" | "hidden" | "id" | "address" | null {
  const text = name.trim();
  if (text === "") return "empty";
  if (new TextEncoder().encode(text).length > NAME_BYTES_MAX) return "tooLong";
  if (HIDDEN.test(text) || text.includes("  ")) return "hidden";
  if (/[:.]/.test(text)) return "address";
  return ID.test(text.replaceAll("-", "")) ? "id" : null;
}
