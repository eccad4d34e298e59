// Receivers that announce themselves: found by their code's number and in a list; forged ones; and
// those that do not announce.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { inTime } from "../setup/devices.mjs";
import { capture } from "../setup/process.mjs";
import { CODE, Device, EXIT, asked, ends, eventually, sameInside, strangers } from "./harness.mjs";
import { watchMemory } from "./memory.mjs";
import { twoMachines } from "./networks.mjs";

const FORGER = fileURLToPath(new URL("forger.mjs", import.meta.url));
/**
 * The memory limit while a network is flooded, MiB: what arrives in one second, before it is
 * counted. A receiver has 8 to 18 on two cores.
 */
const FLOODED_MIB_MAX = { list: 40, receiver: 32 };
const FLOODED_MS = 10_000;
/** Entries of a list, equal to `limits::NEARBY_MAX`. */
const NEARBY_MAX = 128;

/** `far` receives on one machine of a network, and `near` is on the other. */
async function met(t, { args = [], network = {} } = {}) {
  const machines = twoMachines(t, network);
  if (!machines) return t.skip("network namespaces take root");
  const [here, there] = machines;
  const all = strangers(t);
  writeFileSync(join(all.source, "file"), "content");
  const start = (device, machine, words) => {
    const running = device.start(words, { wrap: machine.wrap });
    t.after(() => running.kill());
    return running;
  };
  const receiving = start(all.far, there, ["recv", all.inbox, "--json", "--yes", "--once", "--code-file", all.far.codeFile(CODE), ...args]);
  const listening = await receiving.event("listening");
  const send = (code = CODE) =>
    start(all.near, here, ["send", join(all.source, "file"), "--json", "--code-file", all.near.codeFile(code)]);
  const list = async (device = all.near, machine = here) => {
    const listed = start(device, machine, ["devices", "--nearby", "--json"]);
    assert.equal(await listed.exit(), EXIT.all, listed.said());
    return listed.events.filter(({ event }) => event === "nearby");
  };
  /** Starts announcing receivers that do not exist; returns once it has begun. */
  const forge = async (...words) => {
    const [command, ...rest] = [...there.wrap, process.execPath, FORGER, ...words];
    const forger = spawn(command, rest, { stdio: ["ignore", "pipe", "inherit"] });
    t.after(() => forger.kill());
    await once(forger.stdout, "data", inTime());
  };
  return { ...all, here, there, receiving, listening, send, list, forge };
}

test("the receiver that shows a code is found by it, without an address", async (t) => {
  const network = await met(t);
  if (!network) return;
  const { receiving, listening, send, list, source, inbox, there } = network;
  assert.equal(listening.announced, true, receiving.said());
  const [listed, ...others] = await list();
  assert.deepEqual(others, []);
  assert.deepEqual([listed.name, listed.code_number, listed.version, listed.paired_as], ["far", 7, 3, null]);
  assert.ok(listening.id.startsWith(listed.id_begins), JSON.stringify(listed));
  assert.equal(listed.addresses[0], `${there.address}:17464`);
  await ends(send(), receiving);
  sameInside(source, inbox);
});

test("a service that starts before its network shows its address once that is there, and is found", async (t) => {
  const machines = twoMachines(t);
  if (!machines) return t.skip("network namespaces take root");
  const [here, there] = machines;
  const { near, far, inbox } = strangers(t);
  const cable = (state) => assert.equal(capture(there.wrap[0], [...there.wrap.slice(1), "ip", "link", "set", "cable", state]).status, 0);
  cable("down");
  const serving = far.start(["serve", inbox, "--json"], { wrap: there.wrap });
  t.after(() => serving.kill());
  await serving.event("listening");
  const addresses = async () => (await asked(far, ["status"])).find(({ event }) => event === "service").addresses;
  assert.deepEqual(await addresses(), []);
  cable("up");
  await eventually("its address", async () => (await addresses()).includes(there.address));
  await eventually("it to be found", async () => {
    const listed = near.start(["devices", "--nearby", "--json"], { wrap: here.wrap });
    assert.equal(await listed.exit(), EXIT.all, listed.said());
    return listed.events.some(({ event, name }) => event === "nearby" && name === "far");
  });
  cable("down");
  await eventually("no address", async () => (await addresses()).length === 0);
});

test("a receiver that stops says goodbye, and disappears from a list that is being made", async (t) => {
  const network = await met(t);
  if (!network) return;
  const { receiving, list } = network;
  const listing = list();
  await sleep(1_000);
  receiving.kill("SIGINT");
  assert.deepEqual(await listing, []);
});

test("a link without IPv4 works: the address has its interface", async (t) => {
  const network = await met(t, { network: { ipv4: false } });
  if (!network) return;
  const { receiving, send, source, inbox } = network;
  await ends(send(), receiving);
  sameInside(source, inbox);
});

test("a receiver that does not announce itself, or has another code, is not found", async (t) => {
  const network = await met(t, { args: ["--no-announce"] });
  if (!network) return;
  const { listening, send, list, near, far, there } = network;
  assert.equal(listening.announced, false);
  const sending = send();
  assert.equal(await sending.exit(), EXIT.failed, sending.said());
  assert.match(sending.stdout + sending.stderr, /No device on this network shows a code that begins with 7/);
  const open = far.start(["recv", far.folder, "--json", "--listen", ":0", "--code-file", far.codeFile("8-river-canal")], { wrap: there.wrap });
  t.after(() => open.kill());
  await open.event("listening");
  const again = send();
  assert.equal(await again.exit(), EXIT.failed, again.said());
  assert.deepEqual((await list(near)).map(({ code_number }) => code_number), [8]);
  assert.deepEqual(await list(far, there), [], "nobody finds itself");
});

test("if another receiver announces the same number the sender chooses neither, and asks for the address", async (t) => {
  const network = await met(t);
  if (!network) return;
  const { base, send, there } = network;
  const other = new Device(base, "other");
  const words = ["recv", other.folder, "--json", "--listen", ":0", "--code-file", other.codeFile("7-zebra-zebra")];
  const receiving = other.start(words, { wrap: there.wrap });
  t.after(() => receiving.kill());
  await receiving.event("listening");
  const sending = send();
  assert.equal(await sending.exit(), EXIT.failed, sending.said());
  assert.match(sending.stdout + sending.stderr, /Several devices show a code that begins with 7: far \(10.77.0.2:17464\), other \(/);
});

test("a thousand made-up receivers fill a list and no more, and keep nobody from being found by the code", async (t) => {
  const network = await met(t);
  if (!network) return;
  const { receiving, send, list, forge, source, inbox, there } = network;
  await forge("1000", "<img src=x onerror=alert(1)>", "", there.address);
  const listed = await list();
  assert.ok(listed.length > 20 && listed.length <= NEARBY_MAX, `${listed.length} are listed`);
  await ends(send(), receiving);
  sameInside(source, inbox);
});

test("a paired device that has moved is found by its key, whatever device has its old address", async (t) => {
  const network = await met(t);
  if (!network) return;
  const { base, receiving, send, near, far, source, here, there, list } = network;
  await ends(send(), receiving);
  // Another device has the old port now, and the intended device has another one.
  const other = new Device(base, "other");
  const landing = join(base, "landing");
  mkdirSync(landing);
  const elsewhere = (device, ...words) => {
    const running = device.start(["recv", landing, "--json", "--yes", ...words], { wrap: there.wrap });
    t.after(() => running.kill());
    return running;
  };
  const taken = elsewhere(other, "--listen", ":17464");
  await taken.event("listening");
  const again = () => {
    const sending = near.start(["send", join(source, "file"), "far", "--json", "--retry", "no"], { wrap: here.wrap });
    t.after(() => sending.kill());
    return sending;
  };
  const lost = again();
  assert.equal(await lost.exit(), EXIT.notAuthenticated, lost.said());
  const moved = elsewhere(far, "--listen", ":0", "--once");
  const { address } = await moved.event("listening");
  assert.ok((await list()).some(({ paired_as }) => paired_as === "far"), address);
  writeFileSync(join(source, "file"), "content that is new");
  const found = again();
  assert.equal(await found.exit(), EXIT.all, found.said());
  assert.equal(await moved.exit(), EXIT.all, moved.said());
  sameInside(source, landing);
});

test("a receiver that announces a paired device's id without its key is passed over", async (t) => {
  const network = await met(t);
  if (!network) return;
  const { base, receiving, listening, send, near, source, here, there, forge } = network;
  await ends(send(), receiving);
  const other = new Device(base, "other");
  const landing = join(base, "landing");
  mkdirSync(landing);
  const liar = other.start(["recv", landing, "--json", "--yes", "--no-announce"], { wrap: there.wrap });
  t.after(() => liar.kill());
  await liar.event("listening");
  await forge("20", "far", "", there.address, listening.id.replaceAll("-", "").slice(0, 16));
  const sending = near.start(["send", join(source, "file"), "far", "--json", "--retry", "no"], { wrap: here.wrap });
  t.after(() => sending.kill());
  assert.equal(await sending.exit(), EXIT.notAuthenticated, sending.said());
  assert.deepEqual(readdirSync(landing), []);
});

test("a sender that is led to its own address sends nothing to itself", async (t) => {
  const network = await met(t, { args: ["--no-announce"] });
  if (!network) return;
  const { base, send, near, here, there, forge } = network;
  const landing = join(base, "landing");
  mkdirSync(landing);
  // It would accept itself: it listens where the announcement says, and has the right code.
  const code = "9-river-canal";
  const own = near.start(["recv", landing, "--json", "--yes", "--no-announce", "--code-file", near.codeFile(code)], { wrap: here.wrap });
  t.after(() => own.kill());
  await own.event("listening");
  await forge("1", "far", "9", here.address, "", "1", "", there.address);
  const sending = send(code);
  assert.equal(await sending.exit(), EXIT.notAuthenticated, sending.said());
  assert.match(sending.stdout + sending.stderr, /That is this device/);
  assert.deepEqual(readdirSync(landing), []);
  assert.ok(!own.events.some(({ event }) => ["paired", "started", "finished"].includes(event)), own.said());
});

test("a network full of made-up records costs a receiver and a list only bounded memory", async (t) => {
  const network = await met(t);
  if (!network) return;
  const { receiving, forge, near, here, there } = network;
  const [most, running] = [watchMemory(receiving), sleep(FLOODED_MS)];
  await forge("100000000", "nobody", "", there.address, "", "1000", "bare");
  await forge("100000000", "nobody", "", there.address, "", "1000");
  const listing = near.start(["devices", "--nearby", "--json"], { wrap: here.wrap });
  t.after(() => listing.kill());
  const mostListing = watchMemory(listing);
  assert.equal(await listing.exit(), EXIT.all, listing.said());
  await running;
  receiving.kill();
  for (const [who, mib] of [["list", await mostListing], ["receiver", await most]]) {
    assert.ok(mib < FLOODED_MIB_MAX[who], `the ${who} held ${mib.toFixed(0)} MiB`);
  }
});
