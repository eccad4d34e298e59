// Which crate may depend on which, and which dependencies are forbidden: read from cargo's
// metadata.
import assert from "node:assert/strict";
import { test } from "node:test";
import { capture } from "../setup/process.mjs";

const metadata = capture("cargo", ["metadata", "--format-version", "1", "--no-deps", "--locked"], {
  cwd: new URL("../../src-tauri", import.meta.url).pathname,
});
assert.equal(metadata.status, 0, metadata.err);
const packages = JSON.parse(metadata.out).packages;
const own = new Set(packages.map((found) => found.name));
const SHELL = "ringway-desktop";

/** The dependencies of a crate's code, or only those of its tests or build script. */
function dependencies(name, kinds = [null, "build"]) {
  const found = packages.find((candidate) => candidate.name === name);
  assert.ok(found, `${name} is not in the workspace`);
  return found.dependencies.filter((one) => kinds.includes(one.kind)).map((one) => one.name);
}

const ARROWS = {
  "ringway-model": [],
  "ringway-wire": ["ringway-model"],
  "ringway-sys": ["ringway-model"],
  "ringway-tree": ["ringway-model", "ringway-sys", "ringway-wire"],
  "ringway-copy": ["ringway-model", "ringway-sys", "ringway-tree"],
  "ringway-link": ["ringway-model", "ringway-sys", "ringway-tree", "ringway-wire"],
  "ringway-bench": ["ringway-link", "ringway-model", "ringway-sys", "ringway-tree", "ringway-wire"],
  "ringway-engine": ["ringway-copy", "ringway-link", "ringway-model", "ringway-sys", "ringway-tree", "ringway-wire"],
  "ringway-daemon": ["ringway-engine", "ringway-model"],
  "ringway-cli": ["ringway-bench", "ringway-daemon", "ringway-engine", "ringway-model"],
  [SHELL]: ["ringway-daemon", "ringway-engine", "ringway-model"],
};

test("every crate has the listed dependencies, and no others", () => {
  for (const name of own) {
    assert.ok(name in ARROWS, `${name}: a new crate; give it its arrows here and in ARCHITECTURE.md`);
    // A crate's tests may ask for a feature of the crate itself.
    const arrows = dependencies(name, [null, "build", "dev"]).filter((one) => own.has(one) && one !== name);
    assert.deepEqual([...new Set(arrows)].sort(), ARROWS[name], `${name} depends on`);
  }
});

const FORBIDDEN = {
  "ringway-engine": /^(serde.*|tauri.*|clap.*|indicatif|console|crossterm|rpassword|anyhow|tracing.*|log)$/,
  "ringway-bench": /^(serde.*|tauri.*|clap.*|indicatif|console|rusqlite|mdns.*|toml.*|anyhow|tracing.*|log)$/,
  "ringway-link": /^(serde.*|tauri.*|clap.*|rusqlite|mdns.*|toml.*|anyhow|tracing.*|log)$/,
  "ringway-copy": /^(tokio.*|async-.*|mio|socket2|rustls.*|serde.*|tauri.*|clap.*|anyhow|tracing.*|log)$/,
  "ringway-tree": /^(tokio.*|async-.*|mio|socket2|rustls.*|serde.*|tauri.*|clap.*|anyhow|tracing.*|log)$/,
  "ringway-daemon": /^(tauri.*|clap.*|indicatif|console|crossterm|rpassword|anyhow|gtk.*|glib.*|wry|tao)$/,
  "ringway-model": /^(tokio.*|async-.*|mio|rustix|libc|nix|rustls.*|tauri.*|clap.*)$/,
  "ringway-wire": /^(tokio.*|async-.*|mio|getrandom|rand|io-uring|rustix|libc|nix|socket2|serde.*|tauri.*)$/,
  "ringway-sys": /^(tokio.*|serde.*|tauri.*|rustls.*|clap.*)$/,
};

for (const [name, forbidden] of Object.entries(FORBIDDEN)) {
  test(`${name} does without ${forbidden.source}`, () => {
    assert.deepEqual(
      dependencies(name).filter((one) => forbidden.test(one)),
      [],
    );
  });
}

test("wire names rand_core's traits, and neither it nor spake2 can draw randomness", () => {
  const wire = packages.find((found) => found.name === "ringway-wire");
  for (const name of ["rand_core", "spake2"]) {
    const found = wire.dependencies.find((one) => one.name === name);
    assert.deepEqual([found.uses_default_features, found.features], [false, []], name);
  }
});

test("only tests have the samples of faults: no program can be built with them by its own dependencies", () => {
  const users = packages.flatMap(({ name, dependencies: all }) => all.filter(({ features }) => features.includes("samples")).map(({ kind }) => ({ name, kind })));
  assert.ok(users.length > 0);
  for (const { name, kind } of users) assert.equal(kind, "dev", name);
  for (const { name, features } of packages) {
    for (const [feature, needs] of Object.entries(features)) assert.ok(!needs.some((need) => /(^|\/)samples$/.test(need)), `${name}/${feature}`);
  }
});

test("the product depends on the listed libraries", () => {
  const all = new Set(packages.flatMap((found) => found.dependencies.map((one) => one.name)));
  for (const name of ["io-uring", "ktls", "rustls", "hkdf", "tokio"]) assert.ok(all.has(name), name);
});
