// Commands that messages, help and the documents tell people to run: the program understands each
// one.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { files, isProduct, text } from "../house/sources.mjs";
import { RINGWAY } from "../setup/build.mjs";
import { ROOT, capture } from "../setup/process.mjs";

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

/** The help of `ringway` and of all its subcommands, by the words of each command. */
function allHelp(words = []) {
  const help = capture(RINGWAY, [...words, "--help"]).out;
  const listed = /^Commands:\n((?: .*\n|\n(?= ))*)/m.exec(help)?.[1] ?? "";
  const names = [...listed.matchAll(/^ {2}([a-z][\w-]*)/gm)].map(([, name]) => name).filter((name) => name !== "help");
  return new Map([[words.join(" "), help], ...names.flatMap((name) => [...allHelp([...words, name])])]);
}

/** The long options that a help defines, each at the beginning of its line. */
const optionsOf = (help) => [...new Set([...help.matchAll(/^ {2}(?:-\w, | {4})--([a-z][\w-]+)(?=[ \[]|$)/gm)].map(([, name]) => name))];

/** Options that the page names of other programs: cp, rsync, firewall-cmd, cargo. */
const OF_OTHERS = ["add-port", "attributes-only", "backup", "checksum", "copy-contents", "no-preserve", "parents", "permanent", "release", "reload", "remove-destination", "sparse", "strip-trailing-slashes"];

const COMMAND_PAGE = "docs/command.md";
const TABLE = /(?<=## All commands and options\n\n)[\s\S]*?(?=\n## |$)/;

/** The commands with the beginning of their help and their own options, as a table. */
function commandTable(all) {
  const row = ([words, help]) => {
    const options = optionsOf(help).filter((name) => !["help", "json"].includes(name)).map((name) => `\`--${name}\``);
    return `| \`ringway${words && ` ${words}`}\` | ${help.split("\n\n")[0].replaceAll("\n", " ").replaceAll("|", "\\|")} | ${options.join(" ")} |`;
  };
  const rows = [...all].filter(([, help]) => !help.startsWith("Usage")).map(row);
  return `Every command has \`--help\`, and all but a few have \`--json\`. \`npm run commands\` writes this table.\n\n| command | does | options |\n|---|---|---|\n${rows.join("\n")}\n`;
}

test("docs/command.md has every command and every long option, and no other option", () => {
  const all = allHelp();
  assert.ok(all.size > 30, `only ${all.size} commands were found`);
  const table = commandTable(all);
  if (process.env.RINGWAY_COMMANDS === "write") writeFileSync(join(ROOT, COMMAND_PAGE), text(COMMAND_PAGE).replace(TABLE, () => table));
  const page = text(COMMAND_PAGE);
  assert.equal(TABLE.exec(page)?.[0], table, "`npm run commands` writes the table anew");
  const known = new Set([...all.values()].flatMap((help) => [...help.matchAll(/--([a-z][\w-]+)/g)].map(([, name]) => name)));
  const named = [...page.matchAll(/(?<![\w-])--([a-z][\w-]+)/g)].map(([, name]) => name);
  assert.deepEqual([...new Set(named)].filter((name) => !known.has(name) && !OF_OTHERS.includes(name)), []);
});
