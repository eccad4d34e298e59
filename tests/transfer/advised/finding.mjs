// Recommendations for finding a receiver, and for one that cannot be reached.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { capture, which } from "../../setup/process.mjs";
import { CODE, Device, EXIT, isRoot, same, strangers } from "../harness.mjs";
import { etcWith } from "../mounts.mjs";
import { firewall, twoMachines } from "../networks.mjs";
import { says } from "./follow.mjs";

const PORT = 17464;
const cable = ["--net", "ip", "link", "add", "cable", "type", "veth"];
const needsNetworks = (!isRoot || capture("unshare", cable).status !== 0) && "network namespaces take root";
const needsFirewall = needsNetworks || (!which("nft") && "nft is not installed");

const nameOf = (device, name, ...lines) => {
  const config = join(device.env.XDG_CONFIG_HOME, "ringway/config.toml");
  writeFileSync(config, [`name = "${name}"`, ...lines, ""].join("\n"));
};

/** Two machines of their own, and devices that may be paired. `far` is on the machine `there`. */
async function apart(t, { pairs = true, name = "far" } = {}) {
  const [here, there] = twoMachines(t) ?? [];
  assert.ok(there, "there are network namespaces");
  const all = strangers(t);
  const { near, far, inbox, source } = all;
  const tree = join(source, "tree");
  mkdirSync(tree);
  writeFileSync(join(tree, "file"), "content");
  if (pairs) {
    nameOf(far, name);
    const pairing = far.start(["recv", inbox, "--json", "--code-file", far.codeFile(CODE)], { wrap: there.wrap });
    await pairing.event("listening");
    await says(near, ["pair", there.address, "--code-file", near.codeFile(CODE)], EXIT.all, { wrap: here.wrap });
    pairing.kill();
    await pairing.exit();
    await says(far, ["devices", "rule", "near", "--accept"]);
  }
  return { ...all, tree, here, there };
}

export default [
  {
    title: "a receiver announces itself while it runs",
    skip: needsNetworks,
    keys: ["No receiver announces itself on this network. `ringway recv` does while it runs"],
    async run(t, follower) {
      const { near, far, inbox, here, there } = await apart(t, { pairs: false });
      const list = () => says(near, ["devices", "--nearby"], EXIT.all, { wrap: here.wrap });
      const [receive] = follower.reads(await list(), this.keys[0]);
      await follower.listens(far, receive, { wrap: there.wrap, cwd: inbox });
      assert.match(await list(), /^far +.*10\.77\.0\.2:17464/m);
    },
  },
  {
    title: "a target is named, or found by its code",
    skip: needsNetworks,
    keys: ["For example: ringway send FOLDER lab-ws, or ringway send FOLDER --code-file FILE."],
    async run(t, follower) {
      const { near, far, inbox, tree, here, there } = await apart(t, { pairs: false });
      nameOf(far, "lab-ws");
      const receiving = far.start(["recv", inbox, "--json", "--yes", "--code-file", far.codeFile(CODE)], { wrap: there.wrap });
      t.after(() => receiving.kill());
      await receiving.event("listening");
      const said = await says(near, ["send", tree], EXIT.usage, { wrap: here.wrap });
      const [byName, byCode] = follower.reads(said, this.keys[0]);
      const fill = { FOLDER: tree };
      await follower.runs(near, byCode, { fill: { ...fill, FILE: near.codeFile(CODE) }, wrap: here.wrap });
      same(tree, join(inbox, "tree"));
      writeFileSync(join(tree, "more"), "more");
      await follower.runs(near, byName, { fill, wrap: here.wrap });
      same(tree, join(inbox, "tree"));
    },
  },
  {
    title: "a receiver that is not found by its code is reached by the address below it",
    skip: needsNetworks,
    keys: ["ringway send FOLDER ADDRESS. `ringway recv` shows its address below its code."],
    async run(t, follower) {
      const { near, far, inbox, source, here, there } = await apart(t);
      nameOf(far, "far", "announce = false");
      const env = { RINGWAY_CODE: CODE };
      const said = await says(near, ["send", source], EXIT.failed, { env, wrap: here.wrap });
      const [send, receive] = follower.reads(said, this.keys[0]);
      const receiving = await follower.listens(far, receive, { wrap: there.wrap, cwd: inbox });
      assert.match(receiving.stdout, /Code: .*\n +Address: /);
      await follower.runs(near, send, { fill: { FOLDER: source, ADDRESS: receiving.address }, wrap: here.wrap });
      same(source, join(inbox, "source"));
    },
  },
  {
    title: "doctor at an announced receiver that cannot be reached leads to the rule in the way",
    skip: needsFirewall,
    keys: [
      "Look whether a firewall is in between: `ringway doctor` there.",
      "a router or a hand-made rule is in the way (sudo nft list ruleset).",
    ],
    async run(t, follower) {
      const { near, far, inbox, source, here, there } = await apart(t, { pairs: false });
      firewall(there, PORT, "reject with icmpx type admin-prohibited");
      const receiving = far.start(["recv", inbox, "--json", "--yes", "--once", "--code-file", far.codeFile(CODE)], { wrap: there.wrap });
      t.after(() => receiving.kill());
      await receiving.event("listening");
      const env = { RINGWAY_CODE: CODE };
      const said = await says(near, ["send", source], EXIT.failed, { env, wrap: here.wrap });
      const [doctor] = follower.reads(said, this.keys[0]);
      const found = await follower.runs(far, doctor, { wrap: there.wrap });
      const [rules] = follower.reads(found.stdout, this.keys[1]);
      const listed = await follower.runs(far, rules, { wrap: there.wrap });
      assert.match(listed.stdout, /tcp dport 17464 reject/);
      firewall(there, PORT, "");
      await says(near, ["send", source], EXIT.all, { env, wrap: here.wrap });
      assert.equal(await receiving.exit(), EXIT.all, receiving.said());
    },
  },
  {
    title: "interfaces are listed for an address of the link",
    skip: !which("ip") && "ip is not installed",
    keys: ["with the interface of this machine that leads there (`ip link` lists them)"],
    async run(t, follower) {
      const { near, source } = strangers(t);
      const [list] = follower.reads(await says(near, ["send", source, "fe80::1%no-such-one"], EXIT.failed), this.keys[0]);
      assert.match((await follower.runs(near, list)).stdout, /^\d+: lo: /m);
    },
  },
  {
    title: "a port at which nobody listens is opened by a receiver, and doctor there names a firewall",
    skip: needsNetworks,
    keys: [
      "Start `ringway recv` there, and use the address and port that it shows.",
      "If it receives already, a firewall refuses: `ringway doctor` there shows the command that opens the port.",
    ],
    async run(t, follower) {
      const { base, near, far, inbox, tree, here, there } = await apart(t);
      const send = (target, status) => says(near, ["send", tree, target], status, { wrap: here.wrap });
      const said = await send(`${there.address}:9`, EXIT.failed);
      const [[receive], [doctor]] = this.keys.map((key) => follower.reads(said, key));
      const receiving = await follower.listens(far, receive, { wrap: there.wrap, cwd: inbox });
      await send(receiving.address, EXIT.all);
      same(tree, join(inbox, "tree"));
      const wrap = [...there.wrap, ...etcWith(base, { "ufw/ufw.conf": "ENABLED=yes\n" })];
      if (capture(wrap[0], [...wrap.slice(1), "true"]).status !== 0) return follower.skips("no overlay can be mounted here");
      const found = await follower.runs(far, doctor, { wrap });
      assert.match(found.stdout, /The firewall ufw is on.*\n +Open the port: sudo ufw allow 17464\/tcp$/m);
    },
  },
  {
    title: "doctor lists the addresses of a machine that has no way to a network",
    skip: needsNetworks,
    keys: ["Connect this device to a network, then try again. `ringway doctor` lists its addresses."],
    async run(t, follower) {
      const { near, tree, here } = await apart(t, { pairs: false });
      const { wrap } = here;
      const [doctor] = follower.reads(await says(near, ["send", tree, "192.0.2.1"], EXIT.failed, { wrap }), this.keys[0]);
      assert.match((await follower.runs(near, doctor, { wrap })).stdout, /Others reach this machine at 10\.77\.0\.1:/);
    },
  },
  {
    title: "doctor lists the addresses that can be listened on",
    skip: needsNetworks,
    keys: ["This device has no such address; `ringway doctor` lists the ones it has."],
    async run(t, follower) {
      const { far, inbox, there } = await apart(t, { pairs: false });
      const { wrap } = there;
      const said = await says(far, ["recv", inbox, "--listen", "10.79.0.1:0"], EXIT.failed, { wrap });
      const [doctor] = follower.reads(said, this.keys[0]);
      const found = await follower.runs(far, doctor, { wrap });
      const [, address] = found.stdout.match(/Others reach this machine at ([\d.]+):/);
      await follower.listens(far, "ringway recv", { wrap, words: [inbox, "--listen", `${address}:0`] });
    },
  },
  ...[
    { name: "far", title: "of two paired devices at one address the meant one is named" },
    {
      name: "a/b",
      title: "of two paired devices at one address one with a slash in its name is named",
    },
  ].map(({ name, ...about }) => ({
    ...about,
    skip: needsNetworks,
    keys: [
      "advised::send_to(last, *last_id)",
      "Name the device that you mean, for example `{send}`; or give the code that the receiver shows.",
    ],
    async run(t, follower) {
      const { base, near, far, inbox, tree, here, there } = await apart(t, { name });
      const other = new Device(base, "other");
      const elsewhere = join(base, "elsewhere");
      mkdirSync(elsewhere);
      const start = async (device, folder, at) => {
        const recv = ["recv", folder, "--json", "--yes", "--code-file", device.codeFile(CODE), "--listen", `:${at}`];
        const running = device.start(recv, { wrap: there.wrap });
        t.after(() => running.kill());
        await running.event("listening");
        return running;
      };
      const paired = await start(other, elsewhere, 4000);
      await says(near, ["pair", `${there.address}:4000`, "--code-file", near.codeFile(CODE)], EXIT.all, { wrap: here.wrap });
      paired.kill();
      await paired.exit();
      // Now each device has the other one's address.
      await start(other, elsewhere, PORT);
      await start(far, inbox, 4000);
      const said = await says(near, ["send", tree, there.address], EXIT.notAuthenticated, { wrap: here.wrap });
      const [send] = follower.reads(said, this.keys[1]);
      await follower.runs(near, send, { fill: { FOLDER: tree }, wrap: here.wrap });
      same(tree, join(inbox, "tree"));
      assert.ok(!existsSync(join(elsewhere, "tree")));
    },
  })),
];
