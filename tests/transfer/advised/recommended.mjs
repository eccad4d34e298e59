// The commands that messages of the product recommend, found in its source: which text recommends
// what, and where.
import { files, isProduct, text } from "../../house/sources.mjs";

/** Comments and literals of Rust, in the order of the source. */
const TOKEN =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|\b(?:b|c)?r(#*)"[\s\S]*?"\1|(?:b|c)?"(?:\\[\s\S]|[^"\\])*"|b?'(?:\\[^\n]{1,9}?|[^\\'\n])'/g;

/** Programs that messages name without backticks. */
const NAMED =
  "sudo \\w[^.,)]*|(?<!installed )ringway (?=[a-z-]{3,} ?)(?:\\.(?! |$)|[^.,;)`])+|ulimit -\\w+|ls -ld|mkdir -p|chmod [\\w+-]+|chown|mv [^`]+";

/** A command in a message: between backticks, in quotes in the window, or one of those programs. */
const COMMAND = new RegExp(`\`([^\`]+)\`|“(ringway [^”]+)”|(?<![\\w/-])(${NAMED})`, "g");

/** The commands in a text, as printed, and their positions. */
export function commandsIn(said) {
  return [...said.matchAll(COMMAND)].map((found) => ({
    command: (found[1] ?? found[2] ?? found[3]).trim(),
    from: found.index,
    to: found.index + found[0].length,
  }));
}

/** The text of a string literal of Rust. */
const said = (literal) =>
  literal
    .replace(/^\w*?r?#*"|"#*$/g, "")
    .replace(/\\\n\s*/g, "")
    .replace(/\\n/g, "\n")
    .replace(/\\(["\\])/g, "$1");

/** Composes commands. Their messages are found by the calls to it. */
const COMPOSED = "src-tauri/crates/cli/src/words/advised.rs";

/** Descriptions of `--json`'s output for programmers, and the code that makes the page of them. */
const DESCRIBED = /^src-tauri\/crates\/cli\/src\/json\/(events|schema|schema\/\w+)\.rs$/;

/** Other tests follow help texts. Programmers read reasons. */
const NOT_A_MESSAGE = /const \w*(?:HELP|USAGE|ABOUT|EXAMPLES)\w*: &str =\s*$|(?:reason|about|help) = $|include_str!\($/;

/**
 * Every text of the product that recommends a command: `{ path, line, text }`, and `advised::`
 * calls as they are written, except those that only quote a path.
 */
export function recommendations() {
  const found = [];
  for (const path of files("src-tauri", ".rs").filter((path) => !DESCRIBED.test(path) && isProduct(path) && !/\/(tests|benches|examples)\//.test(path))) {
    const source = text(path).replace(/#\[cfg\(test\)\]\s*(?:pub\(crate\)\s+)?mod\s+\w+\s*\{[\s\S]*$/, "");
    const add = (at, text) => found.push({ path, line: source.slice(0, at).split("\n").length, text });
    for (const { 0: token, index } of source.matchAll(TOKEN)) {
      if (!/^\w*#*"/.test(token) || /^b/.test(token) || NOT_A_MESSAGE.test(source.slice(0, index))) continue;
      if (path !== COMPOSED && commandsIn(said(token)).length > 0) add(index, said(token));
    }
    for (const call of source.matchAll(/\badvised::(?!path_word\b)[a-z_]+\([^()]*(?:\([^()]*\)[^()]*)*\)/g)) {
      const line = source.slice(source.lastIndexOf("\n", call.index) + 1, call.index);
      if (!line.includes("//")) add(call.index, call[0]);
    }
  }
  for (const [key, words] of Object.entries(JSON.parse(text("src/messages/en.json")))) {
    if (typeof words === "string" && commandsIn(words).length > 0) found.push({ path: "src/messages/en.json", line: key, text: words });
  }
  return found;
}

/** Whether each command in `text` is part of one of the `keys`. A call counts as itself. */
export function isCovered({ text }, keys) {
  const within = (from, to) => keys.some((key) => {
    for (let at = text.indexOf(key); at >= 0; at = text.indexOf(key, at + 1)) {
      if (at <= from && to <= at + key.length) return true;
    }
    return false;
  });
  const commands = commandsIn(text);
  return commands.length === 0 ? keys.some((key) => text.includes(key)) : commands.every(({ from, to }) => within(from, to));
}
