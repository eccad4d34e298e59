// How comments, documents and texts are written: no phrase that makes a reader guess what a pronoun
// stands for, and no comment that is wider than 100 columns. `npm run check` runs these rules, too.
import assert from "node:assert/strict";
import { test } from "node:test";
import { files, text } from "./sources.mjs";

const rust = [...files("src-tauri/src", ".rs"), ...files("src-tauri/crates", ".rs"), ...files("tests", ".rs")];
const scripts = [...files("tests", ".mjs"), ...files("src", ".ts"), ...files("src-tauri/packaging", ".mjs")].filter((path) => !path.endsWith("/bindings.ts"));
const styled = [...files("src", ".svelte", ".css")];
const settings = [...files("tests", ".sh", ".toml"), ...files("src-tauri", ".sh", ".toml"), ".cargo/config.toml"];
const documents = ["README.md", "SECURITY.md", "src-tauri/ARCHITECTURE.md", ...files("docs", ".md")].filter((path) => path !== "docs/json.md");
const messages = ["src/messages/en.json"];

const SELF = "tests/house/words.test.mjs";
const SLACK = 5;
/** What may follow "is told": then somebody is told something. */
const TOLD_WHAT = "(?! (?:to|that|so|no|only|what|which|whether|how|why|apart|from)\\b)";
const HASHED = /^\s*#(?!\[)/;
const SLASHED = /^\s*(\/\/|\/\*|\* |<!--)/;

test("no comment is wider than 100 columns", () => {
  const wide = (path, comment) =>
    text(path).split("\n").flatMap((line, at) => (comment.test(line) && line.length > 100 ? [`${path}:${at + 1}: ${line.length} columns`] : []));
  assert.ok(rust.length > 100 && scripts.length > 50 && styled.length > 50 && settings.length > 20);
  const found = [...[...rust, ...scripts, ...styled].flatMap((path) => wide(path, SLASHED)), ...settings.flatMap((path) => wide(path, HASHED))];
  assert.deepEqual(found.slice(0, 20), []);
});

/**
 * Phrases that are not used, each with how often it still stands in comments, documents, messages
 * and names of tests. Such a number may only fall: lower it with what you rewrite, at the latest
 * when it is too high by more than `SLACK`.
 */
const PHRASES = {
  "whoever": 0,
  "what came": 0,
  "to whom": 0,
  "to be had": 0,
  "came about": 0,
  "where there is none": 0,
  "who is not there": 0,
  "there is left": 0,
  "say of it": 0,
  "none where": 0,
  "is told": 66,
};

/** Files whose lines count, but for the generated ones. */
const read = [...rust, ...scripts, ...styled, ...settings, ...documents, ...messages].filter((path) => path !== SELF);

/**
 * Every `path:line: text` with the phrase, also where a line ends within it or a test's name has
 * it.
 */
function uses(phrase) {
  const words = new RegExp(`\\b${phrase.split(" ").join("[ _]")}\\b${phrase === "is told" ? TOLD_WHAT : ""}`, "i");
  return read.flatMap((path) => text(path).split("\n").flatMap((line, at) => (words.test(line) ? [`${path}:${at + 1}: ${line.trim().slice(0, 120)}`] : [])));
}

for (const [phrase, most] of Object.entries(PHRASES)) {
  test(`"${phrase}" stands in the sources at most ${most} times`, () => {
    const found = uses(phrase);
    assert.ok(found.length <= most, `${found.length} times; say who does what to which thing:\n${found.slice(-20).join("\n")}`);
    assert.ok(found.length + SLACK >= most, `only ${found.length} times: lower the number in ${SELF} from ${most}`);
  });
}
