// House rules that can be checked in the sources: where unsafe may be, what wire may not use, which
// code may import which.
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { ROOT } from "../setup/process.mjs";
import { files, hits, isProduct, rustCode, rustProductCode, text } from "./sources.mjs";

/** Fails with one line for each finding. */
function none(found) {
  assert.ok(found.length === 0, `\n${found.slice(0, 20).join("\n")}`);
}

const CRATES = ["model", "wire", "tree", "link", "copy", "bench", "engine", "daemon", "cli"];
const rust = [...files("src-tauri/src", ".rs"), ...files("src-tauri/crates", ".rs"), ...files("tests", ".rs")];

test("no file has marks of an unfinished merge", () => {
  const documents = ["README.md", "SECURITY.md", "src-tauri/ARCHITECTURE.md", ...files("docs", "")];
  const others = [...files("src", ""), ...files("tests", ".mjs", ".sh", ".json"), ...files("src-tauri/packaging", ""), ...rust];
  assert.ok(documents.length > 30 && others.length > rust.length + 100);
  none([...documents, ...others].filter((path) => /^([<>]{7}) /m.test(text(path))));
});

test("unsafe code is in crates/sys only", () => {
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

test("tree, link, copy, bench and engine write nothing to a terminal", () => {
  const sources = ["tree", "link", "copy", "bench", "engine"].flatMap((name) => files(`src-tauri/crates/${name}/src`, ".rs"));
  const found = sources.filter(isProduct).flatMap((path) =>
    hits(path, rustProductCode(text(path)), /\b(println|print|eprintln|eprint|dbg)!|\bstd::io::(stdout|stderr|stdin)\b/),
  );
  none(found);
});

test("plaintext lanes exist in one module of the benchmark only", () => {
  const home = "src-tauri/crates/bench/src/loopback.rs";
  const elsewhere = rust.filter((path) => path !== home);
  none(elsewhere.flatMap((path) => hits(path, rustCode(text(path)), /\bPlainLane\b/)));
  const outside = elsewhere.filter((path) => !path.startsWith("src-tauri/crates/bench/src"));
  none(outside.flatMap((path) => hits(path, rustCode(text(path)), /\bloopback::/)));
  assert.match(rustCode(text(home)), /Ipv4Addr::LOCALHOST/);
});

test("every module says in its first line what it owns", () => {
  none(rust.filter((path) => /\/src\//.test(path) && !text(path).startsWith("//!")));
});

test("the sources have no marks of unfinished work", () => {
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

test("the window knows how long a page of the history is", () => {
  const length = (path, line) => line.exec(text(path))?.[1];
  const service = length("src-tauri/crates/daemon/src/app/history.rs", /^const PAGE: u32 = (\d+);$/m);
  const page = length("src/state/past.svelte.ts", /^const PAGE = (\d+);$/m);
  assert.ok(service && page === service, `${page} in the window, ${service} in the service`);
});

/** Functions of `rustix::fs` that only look, or lock. */
const LOOKS = ["accessat", "fgetxattr", "flock", "fstat", "fstatvfs", "stat", "statat", "statx"];

/** Whether a line of the receiver reaches a file by other means than the `Disk`. */
function isPastTheDisk(line) {
  const [, inBraces, name] = /\brustix::fs::(?:\{([^}]*)\}|(\w+))/.exec(line) ?? [];
  const functions = (inBraces ?? name ?? "").split(",").map((one) => one.trim()).filter((one) => /^[a-z]/.test(one));
  return (
    functions.some((one) => !LOOKS.includes(one)) ||
    /\bstd::fs\b|\bringway_sys::(advice|contents|dir::(?!Entries\b))|\bfile_io::(?!FileIo\b|WriteAt\b|read_at\b|\{)|\.(set_permissions|sync_all|write_all_at)\(/.test(line)
  );
}

/** Modules that do, each with the reason. What they change, no simulated kill can interrupt. */
const PAST_THE_DISK = {
  "destination.rs": "makes the folder that a person named, before there is a receiver",
  "landings/log.rs": "reads a log",
  "lane/links/copies.rs": "reads what it copies",
  "protected/homes.rs": "looks for the homes of this machine",
  "protected/own_folders.rs": "looks for the folders of this program",
  "staging/exchanges.rs": "reads a record",
  "staging/journal.rs": "reads a journal",
  "staging/spool.rs": "writes a file without a name, of which nothing is found after a crash",
  "staging/unfinished.rs": "reads what was noted of a transfer",
  "staging/writeback.rs": "gives memory back",
};

test("the receiver changes files through the Disk only", () => {
  const receiving = ["src-tauri/crates/tree/src/receive.rs", ...files("src-tauri/crates/tree/src/receive", ".rs")].filter(isProduct);
  assert.ok(receiving.length > 40, `${receiving.length} modules`);
  const found = receiving.map((path) => [
    path.replace("src-tauri/crates/tree/src/receive/", ""),
    rustProductCode(text(path)).split("\n").filter(isPastTheDisk).map((line) => `${path}: ${line.trim()}`),
  ]);
  none(found.filter(([name]) => !(name in PAST_THE_DISK)).flatMap(([, lines]) => lines));
  const needed = found.filter(([, lines]) => lines.length > 0).map(([name]) => name);
  assert.deepEqual(Object.keys(PAST_THE_DISK).filter((name) => !needed.includes(name)), [], "named without need");
});

test("what goes past the Disk is noticed", () => {
  for (const line of ["use std::fs;", "std::fs::rename(a, b)?;", "rustix::fs::renameat(a, b, c, d)?;", "use rustix::fs::{AtFlags, unlinkat};", "use ringway_sys::dir::Dir;", "ringway_sys::contents::sync(file)?;", "file_io::write_at(file, 0, bytes)?;", "file.sync_all()?;"]) {
    assert.ok(isPastTheDisk(line), line);
  }
  for (const line of ["use rustix::fs::{AtFlags, StatxFlags};", "rustix::fs::fstat(&dir)?;", "use ringway_sys::file_io::{FileIo, WriteAt};", "ringway_sys::dir::Entries", "disk.sync_data(file)?;"]) {
    assert.ok(!isPastTheDisk(line), line);
  }
});

/** Whether a Rust source has a test of that name that is not ignored. */
function hasRustTest(source, name) {
  const attributes = new RegExp(`((?:^[ \\t]*(?:#\\[.*\\]|//.*)\\n)+)[ \\t]*(?:async )?fn ${name}\\(\\)`, "m").exec(source)?.[1] ?? "";
  const lines = attributes.split("\n").map((line) => line.trim());
  return lines.some((line) => /^#\[(tokio::)?test\b/.test(line)) && !lines.some((line) => /^#\[ignore\b/.test(line));
}

/**
 * The functions that begin a test in JavaScript: `test`, and those that also provide a machine or a
 * window.
 */
const SCRIPT_TEST = /^[ \t]*(?:test|mounting|hanging|driven)\(\s*(["'`])((?:(?!\1).)*)\1/gm;

/**
 * Whether a source in JavaScript has a test with that title. If a part of the title comes from a
 * constant, the text before or after it counts.
 */
function hasScriptTest(source, name) {
  const beginsWithIt = (title) => ["", " ", " ("].some((between) => title.startsWith(`${name}${between}\${`));
  const isIt = (title) => title === name || title.endsWith(`} ${name}`) || beginsWithIt(title);
  return [...source.matchAll(SCRIPT_TEST)].some(([, , title]) => isIt(title));
}

test("a skipped test, or a mention of one, does not count as a test", () => {
  const rust = (attributes) => `${attributes}fn it_works() {\n`;
  assert.ok(hasRustTest(rust("/// Why.\n#[test]\n"), "it_works"));
  assert.ok(hasRustTest(`mod tests {\n    #[tokio::test(flavor = "multi_thread")]\n    async ${rust("")}`, "it_works"));
  for (const attributes of ["", "// #[test]\n", "#[test]\n#[ignore = \"slow\"]\n", "#[ignore]\n#[test]\n", "#[test]\nfn another() {}\n"]) {
    assert.ok(!hasRustTest(rust(attributes), "it_works"), attributes);
  }
  assert.ok(hasScriptTest('test("it works", () => {', "it works") && hasScriptTest("test(`${COUNT} of them work`, async (t) => {", "of them work"));
  for (const source of ['// test("it works", () => {', 'test.skip("it works", () => {', '// it works', 'test("it works not", () => {', 'const title = "it works";']) {
    assert.ok(!hasScriptTest(source, "it works"), source);
  }
});

for (const page of ["SECURITY.md", "docs/environments.md"]) {
  test(`every test that ${page} names exists`, () => {
    const named = [...text(page).matchAll(/`([\w./-]+\.(?:rs|mjs))::([^`]+)`/g)];
    assert.ok(named.length > 20, `${named.length} tests are named`);
    const all = [...files("src-tauri/crates", ".rs"), ...files("src-tauri/src", ".rs"), ...files("tests", ".test.mjs")];
    const missing = named.filter(([, path, name]) => {
      const found = [`src-tauri/crates/${path}`, `src-tauri/${path}`, path].find((candidate) => all.includes(candidate));
      if (!found) return true;
      return !(path.endsWith(".rs") ? hasRustTest : hasScriptTest)(text(found), name);
    });
    none(missing.map(([reference]) => reference));
  });
}

test("every event of docs/json.schema.json is checked by a test", () => {
  const events = JSON.parse(text("docs/json.schema.json")).oneOf.map((event) => event.properties.event.const);
  const tests = [...files("tests/transfer", ".mjs"), ...files("tests/desktop", ".mjs"), ...files("tests/window", ".mjs"), ...files("src-tauri/crates/cli/tests", ".rs")].map(text).join("\n");
  assert.ok(events.includes("finished") && events.length > 35, events.join(", "));
  none(events.filter((event) => !tests.includes(`"${event}"`)));
});

/** A newcomer reads it to the end; everything else is in docs/. */
const README_WORDS_MAX = 900;

test("the README stays short", () => {
  const words = text("README.md").split(/\s+/).filter(Boolean).length;
  assert.ok(words <= README_WORDS_MAX, `${words} words; at most ${README_WORDS_MAX}: move details to docs/`);
});

/** The map of the code can be read in one sitting. Each subject has a page in docs/design. */
const ARCHITECTURE = "src-tauri/ARCHITECTURE.md";
const ARCHITECTURE_LINES_BELOW = 250;

test("ARCHITECTURE.md stays short", () => {
  const lines = text(ARCHITECTURE).trimEnd().split("\n").length;
  assert.ok(lines < ARCHITECTURE_LINES_BELOW, `${lines} lines; fewer than ${ARCHITECTURE_LINES_BELOW}: move details to docs/design/`);
});

const designPages = files("docs/design", ".md");

/**
 * The links of a document to files of the repository: paths from its top, each with the named
 * heading.
 */
function links(page) {
  return [...text(page).matchAll(/\]\(([^)#:\s]*)(?:#([^)]*))?\)/g)]
    .filter(([, path, heading]) => path || heading)
    .map(([, path, heading]) => ({ path: path ? join(dirname(page), path) : page, heading }));
}

test("ARCHITECTURE.md links every page of docs/design", () => {
  assert.ok(designPages.length > 10, `${designPages.length} pages`);
  const linked = links(ARCHITECTURE).map(({ path }) => path);
  assert.deepEqual(designPages.filter((page) => !linked.includes(page)), []);
});

const pages = ["README.md", "SECURITY.md", ARCHITECTURE, ...files("docs", ".md")];

test("every file that a document links to exists", () => {
  assert.deepEqual(designPages.filter((page) => !pages.includes(page)), []);
  const gone = pages.flatMap((page) =>
    links(page)
      .filter(({ path }) => !existsSync(join(ROOT, path)))
      .map(({ path }) => `${page}: ${path}`),
  );
  assert.deepEqual(gone, []);
});

/** A heading's name in links, as on GitHub. */
function anchors(page) {
  const headings = text(page).replace(/^```[\s\S]*?^```/gm, "").matchAll(/^#+ (.*)$/gm);
  return [...headings].map(([, heading]) => heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(" ", "-"));
}

test("every heading that a document links to exists", () => {
  const gone = pages.flatMap((page) =>
    links(page)
      .filter(({ path, heading }) => heading && path.endsWith(".md") && !anchors(path).includes(heading))
      .map(({ path, heading }) => `${page}: ${path}#${heading}`),
  );
  assert.deepEqual(gone, []);
});

test("every page of docs/design that a comment names exists", () => {
  const named = [...rust, ".cargo/config.toml"].flatMap((path) =>
    [...text(path).matchAll(/\bdocs\/design\/[\w-]+\.md\b/g)].map(([page]) => ({ path, page })),
  );
  assert.ok(named.length >= 5, `${named.length} are named`);
  none(named.filter(({ page }) => !designPages.includes(page)).map(({ path, page }) => `${path}: ${page}`));
});

test("docs/design/session.md names every control message", () => {
  const body = /^pub enum Message \{\n([\s\S]*?)^\}/m.exec(text("src-tauri/crates/wire/src/control.rs"))[1];
  const messages = [...body.matchAll(/^ {4}([A-Z]\w+)/gm)].map(([, name]) => name);
  assert.ok(messages.length > 25, messages.join(", "));
  const named = text("docs/design/session.md").match(/\b[A-Z][A-Za-z]+\b/g);
  assert.deepEqual(messages.filter((name) => !named.includes(name)), []);
});

test("docs/protocol.md has the version, the port and the limits of the code", () => {
  const page = text("docs/protocol.md");
  const limits = text("src-tauri/crates/wire/src/limits.rs");
  const of = (name) => new RegExp(`pub const ${name}: \\w+ = (.*);`).exec(limits)[1];
  const number = (name) => Function(`return ${of(name).replaceAll("_", "")}`)();
  assert.match(page, new RegExp(`^Version ${of("VERSION")}\\.`, "m"));
  assert.ok(page.includes(`${number("NAME_MAX")}, ${number("PATH_MAX").toLocaleString("en")} and ${number("DEVICE_NAME_MAX")} bytes`));
  assert.ok(page.includes(`| a control message | ${number("CONTROL_FRAME_MAX") / 1024} KiB |`));
  assert.ok(page.includes(`| top-level names of an offer | ${number("OFFERED_NAMES_MAX").toLocaleString("en")}, and ${number("OFFERED_BYTES_MAX") / 1048576} MiB |`));
  assert.ok(page.includes(`| lanes of a transfer | ${number("LANES_MAX")} |`));
});

test("the operation that docs/design/service.md shows is the one of the code", () => {
  const [, sample] = /```rust\n\/\/\/ .*\n([\s\S]*?)```/.exec(text("docs/design/service.md"));
  const plain = (source) => source.replace(/\s+/g, " ").trim();
  assert.ok(plain(text("src-tauri/crates/daemon/src/control/api.rs")).includes(plain(sample)));
});

/** Whether `crate::module::Item` exists: a module's file or folder, or an item in such a file. */
function isInCode(name) {
  const [crate, ...rest] = name.split("::");
  const file = (modules) => {
    const path = join("src-tauri/crates", crate, "src", ...modules);
    if (modules.length === 0) return `${path}/lib.rs`;
    // A crate re-exports the modules of these folders at its root, so their names leave the folder
    // out.
    const src = join("src-tauri/crates", crate, "src");
    const rooms = readdirSync(join(ROOT, src)).filter((name) => !name.includes("."));
    const places = [path, ...rooms.map((room) => join(src, room, ...modules))];
    return places.map((place) => `${place}.rs`).find((candidate) => existsSync(join(ROOT, candidate)));
  };
  if (file(rest)) return true;
  const home = file(rest.slice(0, -1));
  return Boolean(home) && new RegExp(`\\b(struct|enum|trait|type|fn|const) ${rest.at(-1)}\\b`).test(text(home));
}

test("the glossary is in order, and the modules that it names exist", () => {
  const rows = text("docs/design/glossary.md").split("\n").filter((line) => line.startsWith("| ")).slice(1);
  const words = rows.map((row) => row.split(" | ")[0].slice(2));
  assert.ok(words.length > 40, `${words.length} words`);
  assert.deepEqual(words, [...words].sort((a, b) => a.localeCompare(b, "en")));
  const named = rows.flatMap((row) => [...row.split(" | ").at(-1).matchAll(/`([\w:]+)`/g)].map(([, name]) => name));
  assert.deepEqual(named.filter((name) => !isInCode(name)), []);
});
