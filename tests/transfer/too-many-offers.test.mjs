// Offers of one device that came to nothing: people are asked about the next ones less often, and
// rules and waiting senders are not affected.
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { freePort } from "../setup/devices.mjs";
import { EXIT, asked, eventually, receiver, sameInside, sender, strangers } from "./harness.mjs";

/** This many offers may come to nothing, and one more after each of these intervals. */
const IN_VAIN = 16;
const EVERY_S = 15;
const SECRET = "a standing secret of two laptops";

test("after many withdrawn offers a send is told how long to wait, waits within --retry, and a rule takes it without", async (t) => {
  const { near, far, inbox, source } = strangers(t);
  const pairing = await receiver(t, far, inbox, { code: SECRET, once: false });
  const paired = await near.run(["pair", pairing.target, "--code-file", near.codeFile(SECRET), "--json"]);
  assert.equal(paired.status, EXIT.all, paired.said());
  pairing.kill();
  await pairing.exit();
  const target = `127.0.0.1:${await freePort()}`;
  const serving = far.start(["serve", inbox, "--listen", target, "--no-announce", "--json"]);
  t.after(() => serving.kill());
  await serving.event("listening");
  await eventually("the socket", () => existsSync(join(far.env.XDG_RUNTIME_DIR, "ringway/control.sock")));
  const file = join(source, "file");
  writeFileSync(file, "file");
  const send = (...args) => sender(t, near, file, target, { code: null, args });

  // Offers that became allowed meanwhile are asked about, too.
  let turnedAway;
  for (let number = 0; !turnedAway; number++) {
    assert.ok(number < 4 * IN_VAIN, "there is an end to it");
    const withdrawn = send("--retry", "no");
    const asks = () => serving.events.filter(({ event }) => event === "offer_waits").length > number;
    await eventually("an offer, or an end", () => asks() || withdrawn.status !== undefined);
    if (withdrawn.status !== undefined) {
      turnedAway = withdrawn;
      assert.ok(number >= IN_VAIN, `${number} offers`);
      break;
    }
    withdrawn.kill("SIGINT");
    await withdrawn.exit();
    await eventually("no offer", async () => (await asked(far, ["offers"])).length === 0);
  }
  assert.equal(turnedAway.status, EXIT.declined, turnedAway.said());
  const { error } = await turnedAway.event("finished");
  assert.deepEqual([error.code, error.reason], ["declined", "too_many_offers"]);
  assert.ok(error.wait_seconds > 0 && error.wait_seconds <= EVERY_S, turnedAway.said());
  assert.match(turnedAway.stderr, /withdrawn, declined or not answered/);

  const waits = send("--retry", "10m");
  await waits.event(({ interruption }) => interruption?.why === "too_many_offers");
  await asked(far, ["devices", "rule", "near", "--accept"]);
  const ruled = send("--retry", "no");
  assert.equal(await ruled.exit(), EXIT.all, ruled.said());
  sameInside(source, inbox);
  assert.equal(await waits.exit(), EXIT.all, waits.said());
});
