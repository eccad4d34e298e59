// What a machine can be called.

/** Of a name, in bytes: the engine's limit. */
const NAME_BYTES_MAX = 64;

/** Controls, line separators, and Unicode's invisible characters: the engine refuses them, for they make a name show as another. */
const HIDDEN = /[\p{Cc}\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u061c\ufff9-\ufffb]/u;

/** Why a machine cannot be called that, without the blanks around it; null where it can. */
export function unfitName(name: string): "empty" | "tooLong" | "hidden" | null {
  const text = name.trim();
  if (text === "") return "empty";
  if (new TextEncoder().encode(text).length > NAME_BYTES_MAX) return "tooLong";
  return HIDDEN.test(text) ? "hidden" : null;
}
