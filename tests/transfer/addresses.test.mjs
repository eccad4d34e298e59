// Addresses that lead nowhere beside one that does.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { capture, run, which } from "../setup/process.mjs";
import { ends, isRoot, receiver, sameInside, sender, strangers } from "./harness.mjs";
import { etcWith } from "./mounts.mjs";
import { twoMachines } from "./networks.mjs";

const HOST = "lab.test";
/** Dialled one after the other, for ten seconds each, they take longer than any test waits. */
const DEAD = Array.from({ length: 15 }, (_, number) => `fd77::${(number + 2).toString(16)}`);

const needs = (...tools) =>
  (!isRoot && "network namespaces take root") || tools.filter((tool) => !which(tool)).map((tool) => `${tool} is not installed`)[0] || false;

const inside = (machine, command, ...args) => run(machine.wrap[0], [...machine.wrap.slice(1), command, ...args]);

/** Two machines and two devices that have never met, with something to send. */
function met(t, network) {
  const machines = twoMachines(t, network);
  if (!machines) return t.skip("network namespaces take root");
  const all = strangers(t);
  writeFileSync(join(all.source, "file"), "content");
  return { ...all, here: machines[0], there: machines[1], file: join(all.source, "file") };
}

/** The far machine has the dead addresses, too, and its firewall drops what comes to them. */
function dropIPv6({ here, there }) {
  inside(here, "ip", "address", "add", "fd77::1/64", "dev", "cable", "nodad");
  for (const address of DEAD) inside(there, "ip", "address", "add", `${address}/64`, "dev", "cable", "nodad");
  const input = "table inet wall { chain in { type filter hook input priority 0; ip6 daddr fd77::/64 meta l4proto tcp drop; }; }\n";
  const { status, err } = capture(there.wrap[0], [...there.wrap.slice(1), "nft", "-f", "-"], { input });
  assert.equal(status, 0, err);
}

test("a live address behind dead ones is reached, and found again where its name is gone", { skip: needs("nft") }, async (t) => {
  const network = met(t);
  if (!network) return;
  const { base, near, far, inbox, source, here, there, file } = network;
  dropIPv6(network);
  const hosts = [...DEAD, there.address].map((address) => `${address} ${HOST}\n`).join("");
  const named = [...here.wrap, ...etcWith(base, { hosts, "resolv.conf": "", "nsswitch.conf": "hosts: files\n" })];
  const first = await receiver(t, far, inbox, { wrap: there.wrap, host: "[::]" });
  await ends(sender(t, near, file, `${HOST}:${first.port}`, { wrap: named, args: ["--lanes", "2"] }), first);
  sameInside(source, inbox);
  const again = await receiver(t, far, inbox, { wrap: there.wrap, host: "[::]", port: first.port });
  await ends(sender(t, near, file, "far", { wrap: here.wrap, code: null }), again);
});

test("an unanswered question for IPv6 addresses keeps nobody waiting", { skip: needs() }, async (t) => {
  const network = met(t);
  if (!network) return;
  const { base, near, far, inbox, source, here, there, file } = network;
  // Longer than any test waits: five times half a minute, the most that resolv.conf(5) takes.
  const etc = { hosts: "", "resolv.conf": "nameserver 127.0.0.1\noptions timeout:30 attempts:5\n", "nsswitch.conf": "hosts: files dns\n" };
  const [command, ...words] = [...here.wrap, process.execPath, new URL("names.mjs", import.meta.url).pathname, there.address];
  const names = spawn(command, words, { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => names.kill());
  await once(names.stdout, "data");
  const receiving = await receiver(t, far, inbox, { wrap: there.wrap, host: there.address });
  const wrap = [...here.wrap, ...etcWith(base, etc)];
  await ends(sender(t, near, file, `${HOST}:${receiving.port}`, { wrap }), receiving);
  sameInside(source, inbox);
});
