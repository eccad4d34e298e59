// Long links: round-trip time and loss from netem, which this machine's own kernel may lack. Its
// loopback must not be changed either.
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { RINGWAY } from "../setup/build.mjs";
import { ROOT, which } from "../setup/process.mjs";
import { runInVm, vmMissing } from "./vm.mjs";

const SCRIPT = join(ROOT, "tests/vm/links.sh");
const TIMEOUT_SECONDS = 800;
const EXPECTED = [
  "there is a long link",
  ...["many-files", "large-file", "large-file-one-lane", "full-link"].map((name) => `${name}: the tree arrives`),
  "a long link is given several lanes",
  "the network is named as what limits",
  "a full link is given no more lanes",
  "got full-link: the tree arrives",
  "a get is given more lanes on the way while the network limits it",
];

test("long links", async (t) => {
  const why = vmMissing() ?? (which("tc") && which("ip") ? null : "tc and ip (iproute2) are missing");
  if (why) return t.skip(`links: no virtual machine with a long link: ${why}`);
  const { status, lines } = await runInVm({
    name: "links",
    script: SCRIPT,
    files: { "payload/transfer.sh": join(dirname(SCRIPT), "transfer.sh") },
    programs: [RINGWAY, ...["rsync", "ip", "tc"].map((name) => which(name))],
    modules: ["sch_netem", "tcp_bbr"],
    timeoutSeconds: TIMEOUT_SECONDS,
    instructionClock: true,
    onLine: (line) => process.stdout.write(`  guest| ${line}\n`),
  });
  const output = lines.slice(-40).join("\n");
  for (const name of EXPECTED) {
    await t.test(name, () => assert.ok(lines.includes(`ok ${name}`), output));
  }
  assert.equal(status, 0, output);
});
