// The project's own source files, as text; without comments for rules about code.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../setup/process.mjs";

const LEFT_OUT = new Set(["target", "node_modules", "dist", ".git", ".cache", ".out", "gen"]);

/** Every file below `folder` (relative to the clone) whose name ends with one of `endings`. */
export function files(folder, ...endings) {
  const found = [];
  const visit = (relative) => {
    for (const entry of readdirSync(join(ROOT, relative), { withFileTypes: true })) {
      const path = `${relative}/${entry.name}`;
      if (entry.isDirectory() && !LEFT_OUT.has(entry.name)) visit(path);
      else if (entry.isFile() && endings.some((ending) => entry.name.endsWith(ending))) found.push(path);
    }
  };
  if (existsSync(join(ROOT, folder))) visit(folder);
  return found;
}

export function text(path) {
  return readFileSync(join(ROOT, path), "utf8");
}

/** Rust source without comments and string literals. Line numbers stay. */
export function rustCode(source) {
  const blank = (match) => match.replace(/[^\n]/g, " ");
  return source.replace(
    /\/\/[^\n]*|\/\*[\s\S]*?\*\/|\b(?:b|c)?r(#*)"[\s\S]*?"\1|(?:b|c)?"(?:\\[\s\S]|[^"\\])*"|b?'(?:\\[^\n]{1,9}|[^\\'\n])'/g,
    blank,
  );
}

/**
 * Whether a Rust file is code rather than a module of unit tests, which may use what the code may
 * not.
 */
export function isProduct(path) {
  return !/\/src\/(.*\/)?tests(\/|\.rs$)/.test(path);
}

/**
 * Like `rustCode`, without the unit tests at the file's end, which may use what the code may not.
 */
export function rustProductCode(source) {
  return rustCode(source).replace(/#\[cfg\(test\)\]\s*(?:pub\(crate\)\s+)?mod\s+\w+\s*\{[\s\S]*$/, "");
}

/** `path:line: text` for every match of `pattern` in `code`. */
export function hits(path, code, pattern) {
  return code
    .split("\n")
    .flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : []));
}
