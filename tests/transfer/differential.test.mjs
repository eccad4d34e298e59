// For half a minute: generated trees, options and surroundings, comparing Ringway with the tools
// that it replaces. `npm run soak` continues for hours.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Differential, drawCase, script } from "./differential.mjs";
import { wrongWhenFull } from "./full.mjs";
import { folder } from "./harness.mjs";
import { surroundingsOf } from "./surroundings.mjs";

const FIRST_SEED = 1;
/** Lines of the case that is shrunk. Each attempt runs most of what is left. */
const SHRUNK_LINES = 40;
const lacks = Differential.lacks();

describe("generated trees", { skip: lacks }, () => {
  for (const [kind, count, tool] of [["copy", 40, "cp -a"], ["send", 20, "rsync -aHX"]]) {
    test(`${kind} does as ${tool} does`, async (t) => {
      const differential = new Differential(folder(t));
      differential.prepare();
      for (let seed = FIRST_SEED; seed < FIRST_SEED + count; seed += 1) await differential.holds(kind, seed);
      for (const line of differential.told()) t.diagnostic(line);
      for (const { title, drawn, full, lacking, mayBeFull } of surroundingsOf(kind).map((name) => differential.tried(kind, name))) {
        assert.ok(drawn > 0, `${title}: no case was drawn`);
        assert.ok(lacking || !mayBeFull || full > 0, `${title}: no case ran out of space`);
      }
    });
  }

  test("a differing case is shrunk to a script of a few lines", async (t) => {
    const differential = new Differential(folder(t));
    const drawn = { ...drawCase("copy", FIRST_SEED), ours: ["--exclude", "odd"], theirs: [], before: "", around: { name: "plain" } };
    const differing = { ...drawn, lines: [...drawn.lines.slice(0, SHRUNK_LINES), "mkdir -p source/in", "echo x > source/in/odd"] };
    assert.ok(differing.lines.length > 10);
    const least = await differential.shrink(differing);
    assert.deepEqual(least.lines, ["mkdir -p source/in", "echo x > source/in/odd"]);
    assert.match(script(least), /mkdir -p source\/in\necho x > source\/in\/odd\n.*\n.*cp -a.*\n.*ringway copy --exclude odd source ours/);
  });

  test("on a full disk a cut file, a lost file and an unnamed missing file are found", () => {
    const file = (contents, time = "5") => ({ kind: "file", contents, size: contents.length, mode: "644", owner: "0:0", time, attributes: "" });
    const source = new Map([["new", file("whole")], ["over", file("whole")]]);
    const was = new Map([["source/over", file("old")], ["source/other", file("other")]]);
    const want = new Map([...was, ["source/new", file("whole")], ["source/over", file("whole")]]);
    const ended = (failures, files) => ({ status: 1, err: "", events: [], failures, finished: { error: { code: "destination_full", next: "" }, files, links: 0, unchanged: 0, skipped: 0 } });
    const wrong = (now, failures = [], files = 0, isAtomic = false) => wrongWhenFull({ was, want, now: new Map(now), source, ours: ended(failures, files), isCopy: true, isAtomic });
    const over = [{ path: "ours/into/source/over" }];
    assert.deepEqual(wrong([...was]), []);
    assert.deepEqual(wrong([...was, ["source/over", file("wh", "0")]], over), [], "cut in place, and named");
    for (const [what, found] of [
      ["source/new is neither", wrong([...was, ["source/new", file("wh")]])],
      ["source/over is neither", wrong([...was, ["source/over", file("wh", "0")]])],
      ["source/over is neither", wrong([...was, ["source/over", file("wh")]], over)],
      ["source/over is neither", wrong([...was, ["source/over", file("wh", "0")]], over, 0, true)],
      ["source/other is lost", wrong([["source/over", file("old")]])],
      [".ringway-1 was left", wrong([...was, [".ringway-1", file("")]])],
      ["1 of 2 entries are counted", wrong([...was], [], 1)],
    ]) assert.ok(found.length === 1 && found[0].startsWith(what), `${what}: ${found}`);
  });
});
