// docs/json.schema.json, and whether a line of `--json` matches it.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { ROOT } from "./process.mjs";

const PAGE = "docs/json.schema.json";
const require = createRequire(import.meta.url);

/**
 * One validator for each event, by its name, so that its errors are about that event. Each is made
 * when its first event arrives, because making all of them takes a while.
 */
const validators = new Map();
let ajv;
let schema;

function load() {
  const { default: Ajv } = require("ajv/dist/2020");
  schema = JSON.parse(readFileSync(join(ROOT, PAGE), "utf8"));
  // Formats are for people: they say which integers these are. A test validates the schema itself.
  // Optimised validators take longer to make than they save.
  const trusting = { meta: false, validateSchema: false, code: { optimize: false } };
  ajv = new Ajv({ validateFormats: false, allowUnionTypes: true, strictTypes: false, ...trusting });
}

/** The schema. */
export function described() {
  if (!schema) load();
  return schema;
}

/** The names of all events. */
export function eventNames() {
  return described().oneOf.map((event) => event.properties.event.const);
}

function validator(name) {
  if (!validators.has(name)) {
    const event = described().oneOf.find((event) => event.properties.event.const === name);
    validators.set(name, event ? ajv.compile({ ...event, $defs: schema.$defs, unevaluatedProperties: false }) : null);
  }
  return validators.get(name);
}

/** What is wrong with an event, as text; null if it matches the schema. */
export function fault(event) {
  const validate = validator(event?.event);
  if (!validate) return `there is no event ${JSON.stringify(event?.event)}`;
  if (validate(event)) return null;
  return validate.errors.map(({ instancePath, message, params }) => `${instancePath || "/"} ${message} ${JSON.stringify(params)}`).join("\n");
}

/** One line as an event. Fails if the schema does not describe it. */
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
