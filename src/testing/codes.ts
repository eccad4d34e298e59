// The fault codes that the shell can send, read from the generated bindings.
import bindings from "../ipc/bindings.ts?raw";

export function bindingsFaultCodes(): string[] {
  const fault = /export type Fault =([\s\S]*?);\n\n/.exec(bindings)?.[1] ?? "";
  const codes = [...fault.matchAll(/\{ code: "(\w+)"/g)].map((match) => match[1]!);
  if (codes.length < 10) throw new Error("the bindings name no fault codes");
  return codes;
}
