// The system's unit as on a real machine: started while a real systemd boots, with its own account
// and all of its hardening, and receiving.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { RINGWAY } from "../setup/build.mjs";
import { Device } from "../setup/devices.mjs";
import { ROOT, capture } from "../setup/process.mjs";
import { linesOf } from "../setup/schema.mjs";
import { EXIT, folder, oddTree, same, sender } from "../transfer/harness.mjs";
import { twoMachines } from "../transfer/networks.mjs";
import { machine } from "./lib/machine.mjs";
import { asking } from "./lib/service.mjs";

const PACKAGING = join(ROOT, "src-tauri/packaging/systemd/system");
/** As in the heading of the unit file. */
const AS_RINGWAY = ["setpriv", "--reuid=ringway", "--regid=ringway", "--clear-groups", "env", "HOME=/var/lib/ringway", "XDG_RUNTIME_DIR=/run/ringway"];

test("the system's unit starts with the machine, receives under its own account with all of its hardening, and ends in order", async (t) => {
  const machines = twoMachines(t);
  if (!machines) return t.skip("network namespaces take root");
  const [here, there] = machines;
  const base = folder(t);
  const booted = await machine(t, {
    network: there.wrap.at(-1),
    files: {
      "bin/ringway": { from: RINGWAY, mode: 0o755 },
      "lib/systemd/system/ringway.service": { from: join(PACKAGING, "ringway.service"), mode: 0o644 },
      "lib/sysusers.d/ringway.conf": { from: join(PACKAGING, "ringway.sysusers"), mode: 0o644 },
    },
    units: ["ringway.service"],
  });
  if (!booted) return;
  const shown = (property) => booted.systemctl("show", "-p", property, "--value", "ringway").out.trim();
  assert.equal(shown("ActiveState"), "active", booted.as("journalctl", "--no-pager", "-u", "ringway").out);
  const owner = booted.id("ringway");
  const status = booted.as("cat", `/proc/${shown("MainPID")}/status`).out;
  assert.match(status, new RegExp(`^Uid:\t${owner}\t${owner}\t`, "m"));
  assert.match(status, /^NoNewPrivs:\t1$/m);
  assert.match(status, /^Seccomp:\t2$/m);
  assert.match(status, /^CapBnd:\t0+$/m);

  const ringway = {
    run: async (args) => {
      const { status, out, err } = booted.as(...AS_RINGWAY, "ringway", ...args);
      return { status, events: linesOf(out), said: () => out + err };
    },
  };
  const { code, accept } = asking(ringway);
  const [service] = (await ringway.run(["status", "--json"])).events;
  assert.equal(service.destination.path, "/var/lib/ringway/Ringway", "never its home, which holds its key");
  assert.match(booted.as("cat", `/proc/${shown("MainPID")}/limits`).out, /^Max core file size +0 +0 /m);
  const tree = join(base, "tree");
  oddTree(tree);
  // Received files belong to the receiving user, so the files that they are compared with do too.
  capture("chown", ["-hR", `${owner}:${owner}`, tree]);
  const sending = sender(t, new Device(base, "far"), tree, there.address, { code: await code(), wrap: here.wrap });
  await accept();
  assert.equal(await sending.exit(), EXIT.all, sending.said());
  same(tree, join(booted.root, service.destination.path, "tree"));

  const stopped = booted.systemctl("stop", "ringway");
  assert.equal(stopped.status, 0, stopped.err);
  assert.equal(shown("Result"), "success");
});
