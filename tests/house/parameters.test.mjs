// Parameters that take a tuple apart: `(a, b): (A, B)` counts as one for clippy's limit of
// arguments, and tells no reader what the two are together. A pair that is one thing gets a struct
// with named fields; two things are two parameters.
import assert from "node:assert/strict";
import { test } from "node:test";
import { tupleParameters } from "./parameters.mjs";
import { files, rustCode, text } from "./sources.mjs";

/** How many each crate still has. The numbers may only fall; crates without a number have none. */
const LEFT = {};

const found = ["src-tauri/src", "src-tauri/crates", "tests"].flatMap((folder) =>
  files(folder, ".rs").map((path) => ({
    crate: /^src-tauri\/crates\/(\w+)\//.exec(path)?.[1] ?? folder,
    lines: tupleParameters(rustCode(text(path))).map(({ line, name, parameter }) => `${path}:${line}: ${name} takes ${parameter}`),
  })),
);

for (const crate of [...new Set(found.map((file) => file.crate))]) {
  test(`functions of ${crate} take no tuple apart in their parameters`, () => {
    const lines = found.filter((file) => file.crate === crate).flatMap((file) => file.lines);
    const left = LEFT[crate] ?? 0;
    assert.ok(lines.length <= left, `${lines.length}, at most ${left}:\n${lines.join("\n")}`);
    assert.equal(lines.length, left, `fewer than before: set the number of ${crate} in LEFT to ${lines.length}`);
  });
}

test("tuples in parameters of functions are found, and those of closures are not", () => {
  const parameters = (code) => tupleParameters(rustCode(code)).map(({ name, line, parameter }) => `${name}:${line} ${parameter}`);
  assert.deepEqual(parameters("fn f((a, b): (A, B), c: C) {}"), ["f:1 (a, b): (A, B)"]);
  assert.deepEqual(parameters("impl S {\n    async fn g<'a, F: Fn(u8) -> u8>(\n        &self,\n        (a, mut b): (\n            &'a A,\n            B<C, D>,\n        ),\n        #[allow(unused)] (c, _): &(C, D),\n    ) {}\n}"), [
    "g:2 (a, mut b): ( &'a A, B<C, D>, )",
    "g:2 #[allow(unused)] (c, _): &(C, D)",
  ]);
  assert.deepEqual(parameters("fn h(&(a, b): &(A, B)) { let inner = |x| x; fn i(mut self, (c, d): Pair) {} }"), [
    "h:1 &(a, b): &(A, B)",
    "i:1 (c, d): Pair",
  ]);
  for (const code of [
    "fn f(a: (A, B), b: impl Fn((A, B)) -> C, c: fn(A) -> (B, C)) {}",
    "fn f(pairs: &[(A, B)]) { pairs.iter().map(|(a, b): &(A, B)| a + b); }",
    "fn f(Pair { a, b }: Pair, [c, d]: [C; 2], Some(e): Only<E>) {}",
    "let f: fn((A, B)) = g; // fn f((a, b): (A, B)) {}",
    'const TEXT: &str = "fn f((a, b): (A, B)) {}";',
  ]) {
    assert.deepEqual(parameters(code), [], code);
  }
});
