// The modules of a crate as a graph: which module uses which, read from `use` lines and paths in
// the code, without unit tests.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "../setup/process.mjs";
import { rustProductCode, text } from "./sources.mjs";

/** The end of the body of a `{` at `open`. */
function closing(code, open) {
  let depth = 0;
  for (let at = open; at < code.length; at += 1) {
    if (code[at] === "{") depth += 1;
    if (code[at] === "}" && (depth -= 1) === 0) return at;
  }
  return code.length;
}

/** The paths of a `use` tree, each with its name in this module: `a::{b, c as d}` is two. */
function useTree(tree, before = []) {
  const open = tree.indexOf("{");
  const prefix = (open < 0 ? tree : tree.slice(0, open)).split("::").map((part) => part.trim()).filter(Boolean);
  if (open >= 0) {
    const parts = [];
    let depth = 0;
    let from = open + 1;
    for (let at = from; at <= closing(tree, open); at += 1) {
      if (tree[at] === "{") depth += 1;
      if ((tree[at] === "," && depth === 0) || at === closing(tree, open)) {
        parts.push(tree.slice(from, at));
        from = at + 1;
      }
      if (tree[at] === "}") depth -= 1;
    }
    return parts.filter((part) => part.trim()).flatMap((part) => useTree(part, [...before, ...prefix]));
  }
  const [last, name] = prefix.at(-1).split(/\s+as\s+/);
  const path = [...before, ...prefix.slice(0, -1), last].filter((part, at) => part !== "self" || at === 0);
  return [{ path, name: name ?? path.at(-1) }];
}

/** A module: its path, the paths in its code, the names that it imports, its modules. */
function read(tree, file, folder, path, into) {
  const code = rustProductCode(tree.text(file));
  const uses = [...code.matchAll(/^[ \t]*(?:pub(?:\([^)]*\))? )?use ([^;]+);/gm)].flatMap(([, tree]) => useTree(tree));
  const rest = code.replace(/^[ \t]*(?:pub(?:\([^)]*\))? )?use [^;]+;/gm, "");
  const paths = [...rest.matchAll(/\b(?:crate|super|self)(?:::\w+)+/g)].map(([found]) => found.split("::"));
  const children = [...code.matchAll(/((?:^[ \t]*#\[[^\n]*\]\n)*)^[ \t]*(?:pub(?:\([^)]*\))? )?mod (\w+);/gm)]
    .filter(([, attributes]) => !/cfg\(test\)/.test(attributes))
    .map(([, , name]) => name);
  const module = { path, file, children, imports: new Map(uses.map((one) => [one.name, one.path])) };
  module.named = [...uses.map((one) => one.path), ...paths];
  into.set(path.join("::"), module);
  for (const name of children) {
    const found = [join(folder, `${name}.rs`), join(folder, name, "mod.rs")].find((one) => tree.has(one));
    if (!found) throw new Error(`${file}: no file for module ${name}`);
    read(tree, found, join(folder, name), [...path, name], into);
  }
}

const SOURCES = { text, has: (file) => existsSync(join(ROOT, file)) };

/** Every module of the crate whose root is `file`, by its path; the root's path is empty. */
export function modulesOf(file, tree = SOURCES) {
  const modules = new Map();
  read(tree, file, dirname(file), [], modules);
  return modules;
}

/**
 * The module to which `named`, a path in `from`'s code, leads; undefined if it is in another crate.
 */
function resolve(modules, from, named, depth = 0) {
  let at;
  let [first, ...rest] = named;
  if (first === "crate") at = [];
  else if (first === "self") at = [...from];
  else if (first === "super") {
    at = from.slice(0, -1);
    while (rest[0] === "super") [at, rest] = [at.slice(0, -1), rest.slice(1)];
  } else if (modules.get(from.join("::")).children.includes(first)) [at, rest] = [[...from], named];
  else if (modules.get(from.join("::")).imports.has(first) && depth < 8) {
    return resolve(modules, from, [...modules.get(from.join("::")).imports.get(first), ...rest], depth + 1);
  } else return undefined;
  while (rest.length > 0) {
    const here = modules.get(at.join("::"));
    if (here.children.includes(rest[0])) [at, rest] = [[...at, rest[0]], rest.slice(1)];
    else if (here.imports.has(rest[0]) && depth < 8) {
      const imported = here.imports.get(rest[0]);
      // A name that stands for itself (`use tokio;`) belongs to another crate.
      if (imported[0] === rest[0] && !here.children.includes(rest[0])) return undefined;
      return resolve(modules, at, [...imported, ...rest.slice(1)], depth + 1);
    } else break;
  }
  return at;
}

/**
 * The arrows between modules side by side, for each folder, with the files they are in. If a module
 * below `a` uses one below `b`, that is an arrow from `a` to `b`. Using the own parent is no arrow,
 * except for the crate's root, which is named `crate` and is above everything.
 */
export function arrowsOf(modules) {
  const levels = new Map();
  for (const module of modules.values()) {
    for (const named of module.named) {
      const target = resolve(modules, module.path, named);
      if (!target) continue;
      let shared = 0;
      while (shared < module.path.length && shared < target.length && module.path[shared] === target[shared]) shared += 1;
      const from = module.path[shared];
      let to = target[shared];
      if (shared === 0 && target.length === 0 && module.path.length > 0) to = "crate";
      const start = shared === 0 && module.path.length === 0 ? "crate" : from;
      if (!start || !to || start === to) continue;
      const level = module.path.slice(0, shared).join("::");
      if (!levels.has(level)) levels.set(level, new Map());
      const arrows = levels.get(level);
      if (!arrows.has(start)) arrows.set(start, new Map());
      if (!arrows.get(start).has(to)) arrows.get(start).set(to, new Set());
      arrows.get(start).get(to).add(module.file);
    }
  }
  return levels;
}

/** The cycles of such arrows. Each is a sorted list of the modules that reach each other. */
export function cyclesOf(arrows) {
  const reach = (start) => {
    const seen = new Set();
    const open = [...(arrows.get(start)?.keys() ?? [])];
    while (open.length > 0) {
      const next = open.pop();
      if (!seen.has(next)) {
        seen.add(next);
        open.push(...(arrows.get(next)?.keys() ?? []));
      }
    }
    return seen;
  };
  const reached = new Map([...arrows.keys()].map((name) => [name, reach(name)]));
  const cycles = new Set();
  for (const [name, seen] of reached) {
    if (seen.has(name)) cycles.add([...seen].filter((other) => reached.get(other)?.has(name)).sort().join(" "));
  }
  return [...cycles].map((cycle) => cycle.split(" "));
}
