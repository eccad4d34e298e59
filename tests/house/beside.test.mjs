// Suites beside each other: which run at the same time, and that their lines stay together.
import assert from "node:assert/strict";
import { test } from "node:test";
import { besides } from "../beside.mjs";

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Runs suites that last so long, and returns what was shown, and which ran at the same time. */
async function ran(suites, busyMax) {
  const [said, running, pairs, begun] = [[], new Set(), new Set(), []];
  await besides(suites, busyMax, (line) => said.push(line), async ({ name, lasts }, show) => {
    running.forEach((other) => pairs.add(`${other} ${name}`));
    running.add(name);
    begun.push(name);
    show(`${name} begins`);
    await pause(lasts);
    show(`${name} ends`);
    running.delete(name);
  });
  return { said, pairs: [...pairs], begun };
}

test("suites run beside each other as far as the machine bears them, and their lines stay together", async () => {
  const suites = [
    { name: "long", busy: 1.5, lasts: 200 },
    { name: "busy", busy: 1.5, lasts: 10 },
    { name: "short", busy: 0.5, lasts: 20 },
    { name: "other", busy: 0.5, lasts: 10 },
  ];
  const { said, pairs, begun } = await ran(suites, 2.5);
  assert.deepEqual(begun, ["long", "short", "other", "busy"]);
  assert.deepEqual(pairs, ["long short", "long other", "short other"]);
  assert.deepEqual(said, begun.flatMap((name) => [`${name} begins`, `${name} ends`]));
});

test("suites run in turn where they cannot be kept apart, and the unknown and the excessive alone", async () => {
  const alike = ["a", "b", "c"].map((name) => ({ name, busy: 0.1, lasts: 5 }));
  assert.deepEqual((await ran(alike, 0)).pairs, []);
  const alone = [{ name: "a", busy: 0.1, lasts: 30 }, { name: "unknown", lasts: 30 }, { name: "excessive", busy: 3, lasts: 30 }];
  assert.deepEqual((await ran(alone, 2)).pairs, []);
});

test("a suite that names others bears only those", async () => {
  const suites = [
    { name: "picky", busy: 0.1, lasts: 60, beside: ["liked"] },
    { name: "any", busy: 0.1, lasts: 60 },
    { name: "liked", busy: 0.1, lasts: 10 },
  ];
  assert.deepEqual((await ran(suites, 2)).pairs, ["picky liked"]);
});
