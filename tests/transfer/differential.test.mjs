// For half a minute: generated trees, options and surroundings, Ringway against the tools that it replaces. `npm run soak` goes on for hours.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Differential, drawCase, script } from "./differential.mjs";
import { folder } from "./harness.mjs";

const FIRST_SEED = 1;
const lacks = Differential.lacks();

describe("generated trees", { skip: lacks }, () => {
  for (const [kind, count, tool] of [["copy", 60, "cp -a"], ["send", 20, "rsync -aHX"]]) {
    test(`${kind} does as ${tool} does`, async (t) => {
      const differential = new Differential(folder(t));
      differential.prepare();
      for (let seed = FIRST_SEED; seed < FIRST_SEED + count; seed += 1) await differential.holds(kind, seed);
    });
  }

  test("what differs is shrunk to a script of a few lines", async (t) => {
    const differential = new Differential(folder(t));
    const drawn = { ...drawCase("copy", FIRST_SEED), ours: ["--exclude", "odd"], theirs: [], before: "" };
    const differing = { ...drawn, lines: [...drawn.lines, "mkdir -p source/in", "echo x > source/in/odd"] };
    assert.ok(differing.lines.length > 10);
    const least = await differential.shrink(differing);
    assert.deepEqual(least.lines, ["mkdir -p source/in", "echo x > source/in/odd"]);
    assert.match(script(least), /mkdir -p source\/in\necho x > source\/in\/odd\n.*\n.*cp -a.*\n.*ringway copy --exclude odd source ours/);
  });
});
