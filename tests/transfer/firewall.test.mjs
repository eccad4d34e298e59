// Firewalls in the way: what the sender reports about another machine's, and a receiver about its
// own, with the commands that open the port.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { capture, which } from "../setup/process.mjs";
import { CODE, EXIT, ends, eventually, isRoot, sameInside, strangers } from "./harness.mjs";
import { etcWith } from "./mounts.mjs";
import { firewall, twoMachines } from "./networks.mjs";

const PORT = 17464;
const UFW = `sudo ufw allow ${PORT}/tcp`;
const FIREWALLD = `sudo firewall-cmd --permanent --add-port=${PORT}/tcp && sudo firewall-cmd --reload`;

const skip = (!isRoot && "network namespaces take root") || (!which("nft") && "nft is not installed");

for (const [verdict, commands, what] of [
  // As ufw does it, and firewalld, and an administrator who hides the machine.
  ["drop", [UFW, FIREWALLD], /cannot be reached/],
  ["reject with icmpx type admin-prohibited", [UFW, FIREWALLD], /cannot be reached/],
  ["reject with tcp reset", ["ringway doctor"], /cannot be reached: Connection refused/],
]) {
  test(`a port that is closed by "${verdict}" is reported with the command that opens it, and then the same send works`, { skip }, async (t) => {
    const machines = twoMachines(t);
    if (!machines) return t.skip("network namespaces take root");
    const [here, there] = machines;
    const { near, far, source, inbox } = strangers(t);
    writeFileSync(join(source, "file"), "content");
    const start = (device, machine, words) => {
      const running = device.start(words, { wrap: machine.wrap });
      t.after(() => running.kill());
      return running;
    };
    firewall(there, PORT, verdict);
    const receiving = start(far, there, ["recv", inbox, "--json", "--yes", "--once", "--code-file", far.codeFile(CODE)]);
    await receiving.event("listening");
    const send = () => start(near, here, ["send", join(source, "file"), there.address, "--json", "--code-file", near.codeFile(CODE)]);
    const refused = send();
    assert.equal(await refused.exit(), EXIT.failed, refused.said());
    const { error, message, next } = refused.events.find(({ event }) => event === "finished");
    assert.equal(error.code, "unreachable");
    assert.match(message, what);
    for (const command of commands) assert.ok(next.includes(`\`${command}\``), next);
    firewall(there, PORT, "");
    await ends(send(), receiving);
    sameInside(source, inbox);
  });
}

test("a receiver behind ufw shows how to open its port until a device has connected", { skip: !isRoot && "namespaces take root" }, async (t) => {
  const machines = twoMachines(t);
  if (!machines) return t.skip("network namespaces take root");
  const [here, there] = machines;
  const { base, near, far, source, inbox } = strangers(t);
  const wrap = [...there.wrap, ...etcWith(base, { "ufw/ufw.conf": "ENABLED=yes\n", "ufw/applications.d/ringway": "[Ringway]\n" })];
  if (capture(wrap[0], [...wrap.slice(1), "true"]).status !== 0) return t.skip("no overlay can be mounted here");
  writeFileSync(join(source, "file"), "content");
  const allow = "With ufw: `sudo ufw allow Ringway`.";
  const receive = async () => {
    const receiving = far.start(["recv", inbox, "--yes", "--once", "--code-file", far.codeFile(CODE)], { wrap });
    t.after(() => receiving.kill());
    await eventually("how others reach it", () => receiving.stdout.includes("On the other machine") || receiving.status !== undefined);
    const sending = near.start(["send", join(source, "file"), there.address, "--json", "--code-file", near.codeFile(CODE)], { wrap: here.wrap });
    t.after(() => sending.kill());
    await ends(sending, receiving);
    return receiving.said();
  };
  const first = await receive();
  assert.ok(first.includes(allow), first);
  const second = await receive();
  assert.ok(!second.includes("ufw"), second);
  const doctor = far.start(["doctor"], { wrap });
  assert.equal(await doctor.exit(), EXIT.all);
  assert.match(doctor.said(), /The firewall ufw is on[\s\S]*Open the port: sudo ufw allow Ringway/);
});
