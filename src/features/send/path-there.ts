// A path in a drop box of another device, as it is typed.

/** Characters: what the other device takes of a path. */
export const PATH_MAX = 4_000;

export function pathParts(path: string): string[] {
  return path.split("/").map((part) => part.trim()).filter((part) => part !== "" && part !== ".");
}
