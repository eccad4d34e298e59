// Silence: a connection that brings nothing while others do, a cable that is pulled out, an end
// that sleeps. Effects that come after 15 or 30 s are tested here all at once.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { capture, which } from "../setup/process.mjs";
import { EXIT, asked, ends, eventually, harmfulNetwork, isRoot, oddTree, receiver, same, sender, strangers } from "./harness.mjs";
import { twoMachines } from "./networks.mjs";
import { finished, getter, sharing } from "./sharing.mjs";

/**
 * After this much silence the other end is given up, ms (`wire::limits`). Here it lasts this much
 * longer.
 */
const SILENCE_MS = 15_000;
const LONGER_MS = 8_000;
/** A silence that a machine's own timers bridge, ms. */
const SHORT_MS = 5_000;
/** Bytes on one connection: after handshake and offer, and on a lane long before the tree's end. */
const MIDWAY_BYTES = 3_000_000;
const GOES_ON = ["--compress", "off", "--retry", "5m"];

const isUnderWay = ({ stage, bytes_done: bytes }) => stage === "running" && bytes > MIDWAY_BYTES;
const isReconnecting = ({ stage }) => stage === "reconnecting";

/** A running transfer, with a rate limit if it has to last. */
async function underWay(t, { limit, bulk = 16, args = [], network = (target) => ({ target }), machines = [{}, {}] } = {}) {
  const { inbox, source, near, far } = strangers(t);
  const tree = join(source, "tree");
  oddTree(tree, "--bulk-mib", String(bulk), "--small", "50");
  const [here, there] = machines;
  const receiving = await receiver(t, far, inbox, { wrap: there.wrap, host: there.address });
  const between = await network(receiving.target);
  const limited = limit ? ["--limit", limit] : [];
  const sending = sender(t, near, tree, between.target, { wrap: here.wrap, args: [...GOES_ON, ...limited, ...args] });
  return { inbox, tree, sending, receiving, between };
}

/**
 * Both succeed, as one transfer that lost its connection this many times. Nothing was sent twice.
 */
async function arrives({ inbox, tree, sending, receiving }, times) {
  await ends(sending, receiving);
  same(tree, join(inbox, "tree"));
  assert.deepEqual(readdirSync(inbox), ["tree"]);
  for (const end of [sending, receiving]) {
    assert.equal(end.events.filter(({ event }) => event === "offer" || event === "started").length, end === sending ? 1 : 2, end.said());
    const { reconnected, unchanged } = end.events.find(({ event }) => event === "finished");
    assert.deepEqual([reconnected, unchanged], [times, 0], end.said());
  }
}

const both = ({ sending, receiving }, wanted) => Promise.all([sending, receiving].map((end) => end.event(wanted)));

/**
 * Drops the packets of one connection to `port` of a machine, in both directions: of the connection
 * that has brought most.
 */
function dropLane(machine, port) {
  const inside = (command, ...args) => capture(machine.wrap[0], [...machine.wrap.slice(1), command, ...args.slice(0, -1)], args.at(-1));
  const listed = inside("ss", "-tinHO", "state", "established", `sport = :${port}`, {}).out.split("\n").filter(Boolean);
  const lanes = listed.map((line) => ({
    peer: Number(line.match(/\S+:\d+\s+\S+:(\d+)/)[1]),
    brought: Number(line.match(/bytes_received:(\d+)/)?.[1] ?? 0),
  }));
  const { peer } = lanes.sort((one, other) => other.brought - one.brought)[0];
  const input = `table inet wall {
    chain in { type filter hook input priority 0; tcp sport ${peer} tcp dport ${port} drop; }
    chain out { type filter hook output priority 0; tcp dport ${peer} tcp sport ${port} drop; }
  }\n`;
  const { status, err } = inside("nft", "-f", "-", { input });
  assert.equal(status, 0, err);
}

describe("silence", { concurrency: true }, () => {
  for (const [harm, event, what] of [
    ["--hold-one-after", "holding one", "takes no more of a lane"],
    ["--swallow-after", "swallowing", "swallows the rest of a lane"],
  ]) {
    test(`a network that ${what} and lets the session through ends that attempt, and the next one brings the rest`, async (t) => {
      const transfer = await underWay(t, { network: (target) => harmfulNetwork(t, target, harm, MIDWAY_BYTES) });
      await transfer.between.event(event);
      await both(transfer, isReconnecting);
      await arrives(transfer, 1);
    });
  }

  const needs = (tool) => (!isRoot && "network namespaces take root") || (tool && !which(tool) && `${tool} is not installed`);

  test("a lane whose packets alone are dropped is noticed while another one continues", { skip: needs("nft") || needs("ss") }, async (t) => {
    const machines = twoMachines(t);
    if (!machines) return t.skip("network namespaces take root");
    // It must last until the silence is noticed.
    const transfer = await underWay(t, { machines, limit: "400K", bulk: 12, args: ["--lanes", "2"] });
    await both(transfer, ({ stage, bytes_done: bytes }) => stage === "running" && bytes > 500_000);
    dropLane(machines[1], transfer.receiving.port);
    const [seen] = await both(transfer, isReconnecting);
    assert.ok(seen.bytes_done > 10 * 500_000, "the other lane had gone on");
    await arrives(transfer, 1);
  });

  test("a cable that is out for some seconds: the same connections continue", { skip: needs() }, async (t) => {
    const machines = twoMachines(t);
    if (!machines) return t.skip("network namespaces take root");
    const transfer = await underWay(t, { machines, limit: "1M" });
    await both(transfer, isUnderWay);
    machines[0].cable("down");
    await sleep(SHORT_MS);
    machines[0].cable("up");
    await arrives(transfer, 0);
  });

  test("a cable that is out for longer than the silence limit: both ends report it, and resume once it is back", { skip: needs() }, async (t) => {
    const machines = twoMachines(t);
    if (!machines) return t.skip("network namespaces take root");
    const transfer = await underWay(t, { machines, limit: "1M" });
    await both(transfer, isUnderWay);
    machines[0].cable("down");
    const stalled = await both(transfer, ({ stage, stalled_seconds: still }) => stage === "running" && still !== null);
    for (const said of stalled) {
      assert.deepEqual([said.bytes_per_s, said.seconds_left], [0, null]);
    }
    const isStallNamed = ({ limited_by: by, stalled_seconds: still }) => by === "stalled" && still >= 5;
    await both(transfer, (said) => isReconnecting(said) || isStallNamed(said));
    for (const end of [transfer.sending, transfer.receiving]) assert.ok(end.events.some(isStallNamed), end.said());
    await both(transfer, isReconnecting);
    machines[0].cable("up");
    await arrives(transfer, 1);
  });

  for (const [end, other] of [["sending", "receiving"], ["receiving", "sending"]]) {
    test(`a ${end} end that sleeps is noticed by the other, and both resume when it wakes`, async (t) => {
      const transfer = await underWay(t, { limit: "1M" });
      await both(transfer, isUnderWay);
      transfer[end].kill("SIGSTOP");
      t.after(() => transfer[end].kill("SIGCONT"));
      const asleep = sleep(SILENCE_MS + LONGER_MS);
      await transfer[other].event(isReconnecting);
      await asleep;
      transfer[end].kill("SIGCONT");
      await arrives(transfer, 1);
    });
  }

  for (const [asleep, awake] of [["getting", "serving"], ["serving", "getting"]]) {
    test(`of a get, the ${asleep} end that sleeps is noticed by the other, and both resume when it wakes`, async (t) => {
      const { near, far, inbox, shared, serving } = await sharing(t, { tree: ["--bulk-mib", "16", "--small", "50"] });
      const getting = getter(t, near, [`${serving.target}:runs/tree`, inbox], { args: [...GOES_ON, "--limit", "1M"] });
      const ends = { getting, serving };
      await getting.event(isUnderWay);
      ends[asleep].kill("SIGSTOP");
      t.after(() => ends[asleep].kill("SIGCONT"));
      const sleeping = sleep(SILENCE_MS + LONGER_MS);
      // A service reports how far it is when it is asked.
      const noticed = async () => (awake === "getting" ? getting.events.some(isReconnecting) : (await asked(far, ["status"])).some(isReconnecting));
      await eventually("the other end's notice", noticed);
      await sleeping;
      ends[asleep].kill("SIGCONT");
      assert.equal(await getting.exit(), EXIT.all, getting.said());
      same(join(shared, "tree"), join(inbox, "tree"));
      assert.deepEqual(readdirSync(inbox), ["tree"]);
      await eventually("the end there", () => finished(serving));
      for (const end of [getting, serving]) {
        assert.equal(end.events.filter(({ event }) => event === "started").length, 1, end.said());
        const { outcome, reconnected, unchanged } = finished(end);
        assert.deepEqual([outcome, reconnected, unchanged], ["complete", 1, 0], end.said());
      }
    });
  }
});
