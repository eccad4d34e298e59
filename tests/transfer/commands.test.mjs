// Commands that messages, help and the documents tell people to run: the program understands each
// one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { files, isProduct, text } from "../house/sources.mjs";
import { RINGWAY } from "../setup/build.mjs";
import { capture } from "../setup/process.mjs";

const sources = ["cli", "daemon", "engine"].flatMap((crate) => files(`src-tauri/crates/${crate}/src`, ".rs")).filter(isProduct);
const documents = ["README.md", "SECURITY.md", ...files("docs", ".md"), ...files("src/messages", ".json")];

/** Stand-ins for values that are checked before the help is shown. */
const VALUES = { NUMBER: "1", RATE: "1M", PORT: "17464", "ADDR:PORT": "127.0.0.1:17464" };

/** Commands in backticks, and lines of code blocks, without shell syntax. */
function commandsIn(path) {
  const code = text(path).split("\n").filter((line) => !/^\s*\/\//.test(line)).join("\n");
  const inline = [...code.matchAll(/`(?:sudo )?(ringway [^`\n]*)`/g)].map(([, command]) => command);
  const lines = path.endsWith(".md") ? [...code.matchAll(/^(?:\$ )?(ringway .*)$/gm)].map(([, line]) => line) : [];
  return [...inline, ...lines].map((command) => command.split(/\s+#|\s{2,}|[|<>;&…]|\.\.\./)[0].trim());
}

test("every command in a message or a document exists", () => {
  const all = new Map();
  for (const path of [...sources, ...documents]) {
    for (const command of commandsIn(path)) all.set(command, path);
  }
  assert.ok(all.size > 60, `only ${all.size} commands were found`);
  const wrong = [...all].filter(([command]) => {
    // Placeholders that a program fills in, and those that people fill in.
    const filled = (value) => command.replaceAll(/\{[^}]*\}|\[[^\]]*\]/g, value).split(/\s+/).slice(1).map((word) => VALUES[word] ?? word.replaceAll(/["']/g, ""));
    // A message may name an option without its value.
    return ["X", "1"].every((placeholder) => [[], ["1764014195.000000004"]].every((value) => capture(RINGWAY, [...filled(placeholder), ...value, "--help"]).status !== 0));
  });
  assert.deepEqual(wrong.map(([command, path]) => `${path}: ${command}`), []);
});
