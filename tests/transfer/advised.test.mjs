// Every message that recommends a command is followed: the test cuts the command out of the
// program's output, a shell runs it unchanged, and it must do what the message says. The
// recommendations are found in the source (advised/recommended.mjs).
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { text } from "../house/sources.mjs";
import copying from "./advised/copying.mjs";
import { CANNOT, ELSEWHERE, IN_THE_WINDOW } from "./advised/elsewhere.mjs";
import finding from "./advised/finding.mjs";
import { Follower } from "./advised/follow.mjs";
import keeping from "./advised/keeping.mjs";
import { isCovered, recommendations } from "./advised/recommended.mjs";
import sending from "./advised/sending.mjs";
import serving from "./advised/serving.mjs";

/** What to do about a recommendation that no test follows. */
const ADD =
  "add a situation to tests/transfer/advised/ that prints the message and runs its command, with the message as a key, or name it in elsewhere.mjs";

/** Situations at a time. They mostly wait. */
const AT_ONCE = 3;

const SITUATIONS = [...copying, ...finding, ...keeping, ...sending, ...serving];

test("every recommended command is followed by a situation or a test, or has a reason why not", () => {
  const listed = [SITUATIONS, ELSEWHERE, CANNOT, IN_THE_WINDOW].flat().flatMap(({ keys }) => keys);
  const all = recommendations();
  assert.ok(all.length > 100, `only ${all.length} recommendations were found`);
  const missing = all.filter((found) => !isCovered(found, listed)).map(({ path, line, text }) => `${path}:${line}: ${text}`);
  assert.deepEqual(missing, [], `nobody follows these: ${ADD}`);
  const stale = listed.filter((key) => !all.some(({ text }) => text.includes(key)));
  assert.deepEqual(stale, [], "no message says these any more: change the keys with the messages");
});

test("the tests that follow recommendations elsewhere exist", () => {
  for (const { file, test: title } of ELSEWHERE) assert.ok(["test", "driven", "mounting"].some((by) => text(file).includes(`${by}("${title}"`)), `${file}: ${title}`);
  for (const { as } of IN_THE_WINDOW) assert.ok(SITUATIONS.some(({ title }) => title === as), as);
});

describe("a recommendation that cannot be followed here", () => {
  for (const { keys, why } of CANNOT) test(keys[0], { skip: why }, () => {});
});

describe("a recommended command does what the message says", { concurrency: AT_ONCE }, () => {
  for (const situation of SITUATIONS) {
    const { title, keys, skip = false, todo = false } = situation;
    test(title, { skip, todo }, async (t) => {
      const follower = new Follower(t);
      await situation.run(t, follower);
      follower.isDone(keys);
    });
  }
});
