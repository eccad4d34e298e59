// docs/json.schema.json, and whether a line of `--json` is what it says.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { ROOT } from "./process.mjs";

const PAGE = "docs/json.schema.json";
const require = createRequire(import.meta.url);

/**
 * One validator for each event, by its name: what they find is about that event alone. Made when
 * the first line comes, since most of what reads lines needs no validator before.
 */
let validators;

function load() {
  const { default: Ajv } = require("ajv/dist/2020");
  const schema = JSON.parse(readFileSync(join(ROOT, PAGE), "utf8"));
  // Formats say which integers they are, for people.
  const ajv = new Ajv({ validateFormats: false, allowUnionTypes: true, strictTypes: false });
  ajv.addSchema(schema, PAGE);
  const names = schema.oneOf.map((event) => event.properties.event.const);
  const compiled = names.map((name, at) => [name, ajv.compile({ $ref: `${PAGE}#/oneOf/${at}`, unevaluatedProperties: false })]);
  return new Map(compiled);
}

/** The names of all events. */
export function eventNames() {
  validators ??= load();
  return [...validators.keys()];
}

/** What is wrong with an event, as text; null where it is as the schema says. */
export function fault(event) {
  validators ??= load();
  const validate = validators.get(event?.event);
  if (!validate) return `there is no event ${JSON.stringify(event?.event)}`;
  if (validate(event)) return null;
  return validate.errors.map(({ instancePath, message, params }) => `${instancePath || "/"} ${message} ${JSON.stringify(params)}`).join("\n");
}

/** One line as an event; fails where the schema does not describe it. */
export function parsed(line) {
  const event = JSON.parse(line);
  const wrong = fault(event);
  if (wrong) throw new Error(`${PAGE} does not describe ${line}\n${wrong}`);
  return event;
}

/** All lines of JSON in a text, as events. */
export function linesOf(text) {
  return text.split("\n").filter((line) => line.startsWith('{"event":')).map(parsed);
}
