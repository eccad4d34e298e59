// Finds text for people in the sources of the window: all of it belongs in the catalogue.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "svelte/compiler";

export interface Source {
  path: string;
  source: string;
}

/** What has nothing to show: tests, generated types, and the catalogue itself. */
const LEFT_OUT = /\.test\.ts$|^src\/(testing|ipc|messages)\//;

/** The front end's own sources. */
export function sources(): Source[] {
  return readdirSync("src", { recursive: true, encoding: "utf8" })
    .map((path) => join("src", path))
    .filter((path) => /\.(ts|svelte)$/.test(path) && !LEFT_OUT.test(path))
    .map((path) => ({ path, source: readFileSync(path, "utf8") }));
}

/** Everything in quotes that looks like a message's key. */
export function keysIn(source: string): string[] {
  return [...source.matchAll(/"([a-z]\w*(?:\.\w+)+)"/g)].map((match) => match[1]!);
}

/** The next steps that are said together with what happened. */
export function stepsIn(source: string): string[] {
  return [...source.matchAll(/\bsays\("([\w.]+)"/g)].map((match) => `${match[1]!}.next`);
}

/** Attributes, and properties of our components, that are read by people. */
const SEEN = new Set(
  "aria-label aria-description aria-roledescription aria-valuetext title placeholder alt label hint error what next note verb text".split(" "),
);
const LETTERS = /\p{L}/u;
/** Two words, or one beside a blank: identifiers, tokens and class names have none. */
const SENTENCE = /\p{L}[,;]? \p{L}/u;
const BESIDE_A_VALUE = /(?:^|[^\p{L}\d])\p{L}{2,} | \p{L}{2,}/u;

interface Node {
  type: string;
  [field: string]: unknown;
}

/** Pieces of text in a source that somebody would read, each with its line. */
export function textOutside({ path, source }: Source): string[] {
  const markup = path.endsWith(".svelte") ? source : `<script lang="ts">${source}</script>`;
  const found: string[] = [];
  const tell = (node: Node, text: unknown) => {
    const line = markup.slice(0, node.start as number).split("\n").length;
    found.push(`${path}:${line}: ${String(text).trim()}`);
  };

  /** `shown`: whatever is text here is read by people; else only what is plainly a sentence. */
  function visit(value: unknown, shown: boolean): void {
    if (Array.isArray(value)) return value.forEach((each) => visit(each, shown));
    if (typeof value !== "object" || value === null || typeof (value as Node).type !== "string") return;
    const node = value as Node;
    switch (node.type) {
      case "Text":
        if (shown && LETTERS.test(String(node.data))) tell(node, node.data);
        return;
      case "Literal":
        if (typeof node.value === "string" && (shown ? LETTERS : SENTENCE).test(node.value)) tell(node, node.value);
        return;
      case "TemplateElement": {
        const { cooked } = node.value as { cooked: string };
        if ((shown ? LETTERS : BESIDE_A_VALUE).test(cooked)) tell(node, cooked);
        return;
      }
      case "Attribute":
        return visit(node.value, SEEN.has(String(node.name)));
      case "CallExpression":
      case "BinaryExpression":
      case "MemberExpression":
        return fields(node, false);
      case "Fragment":
        return fields(node, true);
      // Classes and the like; what only a developer reads; whence something is imported.
      case "StyleSheet":
      case "ThrowStatement":
      case "ImportDeclaration":
        return;
      default:
        return fields(node, shown && node.type !== "Script" && !node.type.endsWith("Directive"));
    }
  }

  function fields(node: Node, shown: boolean): void {
    for (const [name, value] of Object.entries(node)) if (name !== "metadata" && name !== "parent") visit(value, shown);
  }

  visit(parse(markup, { modern: true }), false);
  return found;
}
