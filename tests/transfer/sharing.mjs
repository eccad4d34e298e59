// Two devices, one of which serves a folder that it shares with the other one.
import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../setup/devices.mjs";
import { EXIT, asked, eventually, oddTree, strangers } from "./harness.mjs";

/** The link's rate in tests that act on what runs: a few seconds for the whole tree. */
export const SLOW = ["--limit", "8M", "--compress", "off"];

/**
 * By when what uses a right has ended once that is taken back, ms: within a second
 * (docs/design/getting.md), and another one in which a busy machine comes to it.
 */
export const TAKEN_BACK_MS = 2_000;

/** Starts `ringway serve` on `device`, and waits until it listens. It is killed with the test. */
export async function service(t, device, inbox, { port, args = [], ...how } = {}) {
  port ??= await freePort();
  const target = `127.0.0.1:${port}`;
  const running = device.start(["serve", inbox, "--listen", target, "--no-announce", "--json", ...args], how);
  t.after(() => running.kill());
  await running.event("listening");
  await eventually("the socket", () => existsSync(join(device.env.XDG_RUNTIME_DIR, "ringway/control.sock")));
  return Object.assign(running, { target, port });
}

/**
 * Two paired devices: `far` serves `shared` under the name `runs`, and `near` gets into `inbox`.
 * With a network, that is between the two. `inbox` makes the receive folder of `far`.
 */
export async function sharing(t, { tree = null, share = true, inbox = null, ...how } = {}) {
  const all = strangers(t);
  const shared = join(all.base, "shared");
  const inboxThere = inbox ? await inbox(all.base) : join(all.base, "inbox there");
  for (const path of [shared, inboxThere]) mkdirSync(path, { recursive: true });
  if (tree) oddTree(join(shared, "tree"), ...tree);
  const serving = await service(t, all.far, inboxThere, how);
  const [{ code }] = await asked(all.far, ["code"]);
  const paired = await all.near.run(["pair", serving.target, "--code-file", all.near.codeFile(code)]);
  assert.equal(paired.status, EXIT.all, paired.said());
  if (share) {
    const added = await all.far.run(["share", "add", shared, "--name", "runs", "--with", "near"]);
    assert.equal(added.status, EXIT.all, added.said());
  }
  return { ...all, shared, inboxThere, serving };
}

/** Starts `ringway get` on `device`. It is killed with the test. */
export function getter(t, device, words, { args = [], ...how } = {}) {
  const running = device.start(["get", ...[words].flat(), "--json", ...args], how);
  t.after(() => running.kill());
  return running;
}

export const finished = (end) => end.events.find(({ event }) => event === "finished");

/** Gets, and must end with the expected status. */
export async function got(t, device, words, { wanted = EXIT.all, ...how } = {}) {
  const running = getter(t, device, words, how);
  assert.equal(await running.exit(), wanted, running.said());
  return running;
}

/** Waits until so many entries have arrived. */
export const moving = (getting) => eventually("the first bytes", () => getting.events.some(({ event, bytes_done: bytes }) => event === "progress" && bytes > 0));
