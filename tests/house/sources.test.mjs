// House rules that the sources themselves show: where unsafe may stand, what wire may not touch, who may import whom.
import assert from "node:assert/strict";
import { test } from "node:test";
import { files, hits, isProduct, rustCode, rustProductCode, text } from "./sources.mjs";

/** Fails with one line for each finding. */
function none(found) {
  assert.ok(found.length === 0, `\n${found.slice(0, 20).join("\n")}`);
}

const CRATES = ["wire", "engine", "service", "cli"];
const rust = [...files("src-tauri/src", ".rs"), ...files("src-tauri/crates", ".rs"), ...files("tests", ".rs")];

test("unsafe stands in crates/sys alone", () => {
  const found = rust
    .filter((path) => !path.startsWith("src-tauri/crates/sys/"))
    .flatMap((path) => hits(path, rustCode(text(path)), /\bunsafe\b/));
  none(found);
});

test("every other crate forbids unsafe code at its root", () => {
  const roots = [
    ...files("src-tauri/src", "/main.rs", "main.rs", "lib.rs").filter((path) => path.split("/").length === 3),
    ...CRATES.flatMap((name) => files(`src-tauri/crates/${name}/src`, "main.rs", "lib.rs")).filter(
      (path) => path.split("/").length === 5,
    ),
    "tests/tools/src/main.rs",
  ];
  assert.ok(roots.length >= CRATES.length + 1);
  none(roots.filter((path) => !/^#!\[forbid\(unsafe_code\)\]$/m.test(text(path))));
});

test("wire does no IO, reads no clock, draws no randomness", () => {
  const forbidden =
    /\bstd::(net|fs|process|thread|env|os)\b|\bstd::io::(stdin|stdout|stderr)|\btokio\b|\bInstant::now|\bSystemTime\b|\bgetrandom\b|\b(thread_rng|OsRng|SysRng)\b|\b(println|eprintln|dbg)!/;
  const paths = files("src-tauri/crates/wire/src", ".rs").filter(isProduct);
  assert.ok(paths.length > 0);
  none(paths.flatMap((path) => hits(path, rustProductCode(text(path)), forbidden)));
});

test("engine writes nothing to a terminal", () => {
  const found = files("src-tauri/crates/engine/src", ".rs").filter(isProduct).flatMap((path) =>
    hits(path, rustProductCode(text(path)), /\b(println|print|eprintln|eprint|dbg)!|\bstd::io::(stdout|stderr|stdin)\b/),
  );
  none(found);
});

test("plaintext lanes are made and known in one module of the engine, and nowhere near a transfer", () => {
  const home = "src-tauri/crates/engine/src/modes/loopback.rs";
  const elsewhere = rust.filter((path) => path !== home);
  none(elsewhere.flatMap((path) => hits(path, rustCode(text(path)), /\bPlainLane\b/)));
  const outside = elsewhere.filter((path) => !path.startsWith("src-tauri/crates/engine/src/modes"));
  none(outside.flatMap((path) => hits(path, rustCode(text(path)), /\bloopback::/)));
  assert.match(rustCode(text(home)), /Ipv4Addr::LOCALHOST/);
});

test("every module says in its first line what it owns", () => {
  none(rust.filter((path) => /\/src\//.test(path) && !text(path).startsWith("//!")));
});

test("nothing is left for later in the sources", () => {
  const sources = [...rust, ...files("src", ".ts", ".svelte"), ...files("tests", ".mjs", ".sh", ".py")];
  const mark = new RegExp(["TO" + "DO", "FIX" + "ME", "\\bXX" + "X\\b", "to" + "do!\\(", "unimple" + "mented!\\("].join("|"));
  none(sources.flatMap((path) => hits(path, text(path), mark)));
});

test("only src/ipc imports the desktop API, and plain components import neither state nor ipc", () => {
  const front = files("src", ".ts", ".svelte");
  const outside = front.filter((path) => !path.startsWith("src/ipc/") && !/\.test\.ts$|\/testing?\//.test(path));
  none(outside.flatMap((path) => hits(path, text(path), /from\s+["']@tauri-apps\//)));
  const plain = files("src/ui", ".ts", ".svelte");
  none(plain.flatMap((path) => hits(path, text(path), /from\s+["'][^"']*\/(state|ipc)\//)));
});

test("every test that SECURITY.md names exists", () => {
  const named = [...text("SECURITY.md").matchAll(/`([\w./-]+\.(?:rs|mjs))::([^`]+)`/g)];
  assert.ok(named.length > 20, `${named.length} tests are named`);
  const all = [...files("src-tauri/crates", ".rs"), ...files("tests", ".test.mjs")];
  const missing = named.filter(([, path, name]) => {
    const found = [`src-tauri/crates/${path}`, path].find((candidate) => all.includes(candidate));
    if (!found) return true;
    const source = text(found);
    // A title in JavaScript may have its figures from constants: what stands after them is named.
    return path.endsWith(".rs") ? !new RegExp(`#\\[(tokio::)?test[\\s\\S]{0,80}\\bfn ${name}\\(\\)`).test(source) : !source.includes(name);
  });
  none(missing.map(([reference]) => reference));
});
