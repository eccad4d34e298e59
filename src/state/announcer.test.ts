import { expect, test } from "vitest";
import { Announcer, EVERY_MS } from "./announcer";

test("progress is announced at most once in ten seconds, however often it changes", () => {
  const announcer = new Announcer(0);
  let told = 0;
  for (let ms = 0; ms <= 60_000; ms += 100) if (announcer.mayTell(ms)) told += 1;
  expect(told).toBe(60_000 / EVERY_MS);
});
