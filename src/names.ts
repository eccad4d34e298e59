// What a machine can be called.

/** Of a name, in bytes: the engine's limit. */
const NAME_BYTES_MAX = 64;

/** Whether other machines can see this one by that name, without the blanks around it. */
export function isFitName(name: string): boolean {
  const bytes = new TextEncoder().encode(name.trim()).length;
  return bytes >= 1 && bytes <= NAME_BYTES_MAX;
}
