// What the messages ask for, read from the catalogue: the types in src/messages/arguments.ts are
// written from it.
import { type MessageFormatElement, parse, TYPE } from "@formatjs/icu-messageformat-parser";

export type Catalogue = Record<string, string>;

/** A message's arguments by name, each with its type in TypeScript. */
export function argumentsOf(message: string): Map<string, string> {
  const found = new Map<string, string>();
  const visit = (elements: MessageFormatElement[]) => {
    for (const element of elements) {
      if (element.type === TYPE.argument) found.set(element.value, "string");
      if (element.type === TYPE.number) found.set(element.value, "number");
      if (element.type === TYPE.plural) {
        found.set(element.value, "number");
        Object.values(element.options).forEach(({ value }) => visit(value));
      }
      if ([TYPE.select, TYPE.date, TYPE.time, TYPE.tag].includes(element.type)) {
        throw new Error(`a kind of argument that no message has had so far: ${message}`);
      }
    }
  };
  visit(parse(message, { ignoreTag: true }));
  return new Map([...found].sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** The source of src/messages/arguments.ts. */
export function argumentsSource(catalogue: Catalogue): string {
  const lines = Object.entries(catalogue).flatMap(([key, message]) => {
    const all = [...argumentsOf(message)].map(([name, type]) => `${name}: ${type}`);
    return all.length > 0 ? [`  ${JSON.stringify(key)}: { ${all.join("; ")} };`] : [];
  });
  return [
    "// Generated from en.json by `npm run messages`: do not edit.",
    "",
    "/**",
    " * What the messages are told that have arguments: text that is put in as it is, and numbers that",
    " * they format.",
    " */",
    "export interface Arguments {",
    ...lines,
    "}",
    "",
  ].join("\n");
}
