// Checks that each crate has few modules side by side, and that they form no cycle. `modules.mjs`
// defines arrows.
import assert from "node:assert/strict";
import { test } from "node:test";
import { arrowsOf, cyclesOf, modulesOf } from "./modules.mjs";
import { files } from "./sources.mjs";

const ROOTS = files("src-tauri", "lib.rs", "main.rs").filter((path) => /^src-tauri\/(crates\/\w+\/)?src\/(lib|main)\.rs$/.test(path));

function nameOf(root) {
  return /crates\/(\w+)\//.exec(root)?.[1] ?? "shell";
}

/** A reader can take in a dozen at once. */
const SIDE_BY_SIDE_MAX = 12;

test("no crate has more than a dozen modules side by side", () => {
  assert.ok(ROOTS.length > 10, ROOTS.join(", "));
  const counts = ROOTS.map((root) => [nameOf(root), modulesOf(root).get("").children.length]);
  const many = counts.filter(([, count]) => count > SIDE_BY_SIDE_MAX);
  assert.deepEqual(many, [], "group modules that belong together in one");
});

test("modules side by side form no cycle", () => {
  const found = ROOTS.flatMap((root) =>
    [...arrowsOf(modulesOf(root))].flatMap(([level, arrows]) =>
      cyclesOf(arrows).map((cycle) => [[nameOf(root), level].filter(Boolean).join("::"), cycle.join(" ")]),
    ),
  );
  const cycles = {};
  for (const [where, cycle] of found.sort()) (cycles[where] ??= []).push(cycle);
  assert.deepEqual(cycles, {}, "move what both need below both");
});

/** The arrows of a crate with these files, as `from -> to`, with the folder before it. */
function arrows(sources) {
  const tree = { text: (file) => sources[file], has: (file) => file in sources };
  return [...arrowsOf(modulesOf("lib.rs", tree))].flatMap(([level, from]) =>
    [...from].flatMap(([start, ends]) => [...ends.keys()].map((end) => `${level}: ${start} -> ${end}`)),
  );
}

test("arrows are found in use lines, in paths, through re-exports, and at each level", () => {
  const found = arrows({
    "lib.rs": "mod a;\nmod b;\nmod c;\npub use c::Shown;\nfn root() {}",
    "a.rs": "mod inside;\nmod other;\nuse crate::{b::{self, B}, Shown};",
    "a/inside.rs": "use super::other::{Other as O};\nfn f() { crate::root(); }",
    "a/other.rs": "// use super::inside::X;\nfn f() -> super::Own { todo() }",
    "b.rs": "fn f() { crate::c::g(\"crate::a\") }\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}",
    "c.rs": "use std::io;\nuse tokio::net::TcpStream;",
  });
  assert.deepEqual(found.sort(), [": a -> b", ": a -> c", ": a -> crate", ": b -> c", ": crate -> c", "a: inside -> other"]);
});

test("cycles are found, of two modules and of more", () => {
  const arrows = (pairs) => {
    const all = new Map();
    for (const [from, to] of pairs) all.set(from, (all.get(from) ?? new Map()).set(to, new Set()));
    return all;
  };
  assert.deepEqual(cyclesOf(arrows([["a", "b"], ["b", "c"], ["a", "c"]])), []);
  assert.deepEqual(cyclesOf(arrows([["a", "b"], ["b", "a"], ["c", "a"]])), [["a", "b"]]);
  assert.deepEqual(cyclesOf(arrows([["a", "b"], ["b", "c"], ["c", "a"], ["d", "e"], ["e", "d"]])), [["a", "b", "c"], ["d", "e"]]);
});
