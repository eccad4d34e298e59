// What the shell can send, read from the generated bindings: the codes of faults, and why something
// is not acceptable.
import bindings from "../ipc/bindings.ts?raw";

export const bindingsFaultCodes = () => [...tags("Fault", "code"), ...tags("AuthError", "code")];
export const bindingsInvalidReasons = () => tags("Invalid", "reason");

function tags(type: string, tag: string): string[] {
  const cases = new RegExp(`export type ${type} =([\\s\\S]*?);\n\n`).exec(bindings)?.[1] ?? "";
  const found = [...cases.matchAll(new RegExp(`\\{\\s*${tag}: "(\\w+)"`, "g"))].map((match) => match[1]!);
  if (found.length < 9) throw new Error(`the bindings name no cases of ${type}`);
  return found;
}
