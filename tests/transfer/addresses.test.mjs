// Dead addresses beside one that works, link-local addresses, and the addresses that a machine
// shows for itself.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { inTime } from "../setup/devices.mjs";
import { capture, run, which } from "../setup/process.mjs";
import { EXIT, ends, isRoot, receiver, sameInside, sender, strangers } from "./harness.mjs";
import { etcWith } from "./mounts.mjs";
import { twoMachines } from "./networks.mjs";

const HOST = "lab.test";
const PORT = 17464;
/**
 * If they were dialled one after the other, for ten seconds each, they would take longer than any
 * test waits.
 */
const DEAD = Array.from({ length: 15 }, (_, number) => `fd77::${(number + 2).toString(16)}`);

const needs = (...tools) =>
  (!isRoot && "network namespaces take root") || tools.filter((tool) => !which(tool)).map((tool) => `${tool} is not installed`)[0] || false;

const inside = (machine, command, ...args) => run(machine.wrap[0], [...machine.wrap.slice(1), command, ...args]);

/** Two machines and two devices that are not paired, with something to send. */
function met(t, network) {
  const machines = twoMachines(t, network);
  if (!machines) return t.skip("network namespaces take root");
  const all = strangers(t);
  writeFileSync(join(all.source, "file"), "content");
  return { ...all, here: machines[0], there: machines[1], file: join(all.source, "file") };
}

/** The far machine has the dead addresses, too, and its firewall drops packets to them. */
function dropIPv6({ here, there }) {
  inside(here, "ip", "address", "add", "fd77::1/64", "dev", "cable", "nodad");
  for (const address of DEAD) inside(there, "ip", "address", "add", `${address}/64`, "dev", "cable", "nodad");
  const input = "table inet wall { chain in { type filter hook input priority 0; ip6 daddr fd77::/64 meta l4proto tcp drop; }; }\n";
  const { status, err } = capture(there.wrap[0], [...there.wrap.slice(1), "nft", "-f", "-"], { input });
  assert.equal(status, 0, err);
}

test("a live address behind dead ones is reached, and found again after its name is gone", { skip: needs("nft") }, async (t) => {
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

test("an unanswered query for IPv6 addresses delays no transfer", { skip: needs() }, async (t) => {
  const network = met(t);
  if (!network) return;
  const { base, near, far, inbox, source, here, there, file } = network;
  // Longer than any test waits: five times half a minute, the maximum of resolv.conf(5).
  const etc = { hosts: "", "resolv.conf": "nameserver 127.0.0.1\noptions timeout:30 attempts:5\n", "nsswitch.conf": "hosts: files dns\n" };
  const [command, ...words] = [...here.wrap, process.execPath, new URL("names.mjs", import.meta.url).pathname, there.address];
  const names = spawn(command, words, { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => names.kill());
  await once(names.stdout, "data", inTime());
  const receiving = await receiver(t, far, inbox, { wrap: there.wrap, host: there.address });
  const wrap = [...here.wrap, ...etcWith(base, etc)];
  await ends(sender(t, near, file, `${HOST}:${receiving.port}`, { wrap }), receiving);
  sameInside(source, inbox);
});

test("a link-local address is dialled with its interface by name, by number, and without", { skip: needs() }, async (t) => {
  const network = met(t, { ipv4: false });
  if (!network) return;
  const { near, far, inbox, source, here, there, file } = network;
  const [{ ifindex }] = JSON.parse(capture("ip", ["-j", "-n", here.wrap[3], "link", "show", "cable"]).out);
  for (const way of ["plain", "name", "number", "default port"]) {
    const port = way === "default port" ? PORT : 0;
    const receiving = await receiver(t, far, inbox, { wrap: there.wrap, host: "[::]", port, args: ["--on-conflict", "replace"] });
    const { addresses } = receiving.events.find(({ event }) => event === "listening");
    assert.equal(addresses.length, 1, receiving.said());
    const [, address] = addresses[0].match(/^\[(fe80::[0-9a-f:]+)\]:\d+$/);
    const target = {
      plain: addresses[0],
      name: `[${address}%cable]:${receiving.port}`,
      number: `[${address}%${ifindex}]:${receiving.port}`,
      "default port": `${address}%cable`,
    }[way];
    const sending = sender(t, near, file, target, { wrap: here.wrap });
    await ends(sending, receiving);
    sameInside(source, inbox);
  }
  const gone = sender(t, near, file, "fe80::1%no-such-one", { wrap: here.wrap });
  assert.equal(await gone.exit(), EXIT.failed, gone.said());
  const { message } = gone.events.find(({ event }) => event === "finished" || event === "error");
  assert.match(message ?? gone.said(), /interface/);
  const doctor = far.start(["doctor"], { wrap: there.wrap });
  assert.equal(await doctor.exit(), EXIT.all, doctor.said());
  assert.match(doctor.said(), new RegExp(`Others reach this machine at \\[fe80::[0-9a-f:]+\\]:${PORT}\\.`));
});

test("another user's port is reported, and a container bridge is not shown as an address", { skip: needs("setpriv") }, async (t) => {
  const network = met(t);
  if (!network) return;
  const { far, there } = network;
  inside(there, "ip", "link", "add", "docker0", "type", "bridge");
  inside(there, "ip", "link", "add", "guest", "type", "veth", "peer", "name", "inside");
  inside(there, "ip", "link", "set", "guest", "master", "docker0");
  inside(there, "ip", "address", "add", "172.17.0.1/16", "dev", "docker0");
  for (const name of ["inside", "guest", "docker0"]) inside(there, "ip", "link", "set", name, "up");
  const look = async () => {
    const doctor = far.start(["doctor", "--json"], { wrap: there.wrap });
    assert.equal(await doctor.exit(), EXIT.all, doctor.said());
    const of = (wanted) => doctor.events.find(({ check }) => check === wanted);
    return { addresses: of("addresses"), port: of("port"), firewall: of("firewall") };
  };
  const free = await look();
  assert.deepEqual([free.addresses.state, free.port.state], ["good", "good"]);
  assert.equal(free.addresses.message, `Others reach this machine at ${there.address}:${PORT}.`);

  const listen = `require("net").createServer().listen(${PORT}, "::", () => console.log("listens"))`;
  const [command, ...words] = [...there.wrap, "setpriv", "--reuid=65534", "--clear-groups", process.execPath, "-e", listen];
  const other = spawn(command, words, { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => other.kill());
  await once(other.stdout, "data", inTime());
  const taken = await look();
  assert.match(taken.port.message, new RegExp(`Port ${PORT} is taken by the user `));
  assert.deepEqual([taken.addresses.state, taken.firewall], ["note", undefined]);
  assert.ok(taken.addresses.message.includes(there.address) && !taken.addresses.message.includes(`:${PORT}`), taken.addresses.message);
  other.kill();
  await once(other, "exit", inTime());

  const own = await receiver(t, far, network.inbox, { wrap: there.wrap, host: "[::]", port: PORT });
  const ours = await look();
  assert.deepEqual([ours.port.state, ours.port.message], ["good", `A receiver of this user listens on port ${PORT}.`]);
  assert.equal(ours.addresses.message, `Others reach this machine at ${there.address}:${PORT}.`);
  own.kill();
});
