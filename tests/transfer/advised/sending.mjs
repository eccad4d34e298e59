// Recommendations about devices, targets and sent files.
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Running } from "../../setup/devices.mjs";
import { which } from "../../setup/process.mjs";
import { CODE, Device, EXIT, asked, eventually, receiver, same, sender, strangers } from "../harness.mjs";
import { known, says, word } from "./follow.mjs";

const codeShown = async (running) => eventually("a code", () => running.stdout.match(/Code: +(\S+-\S+-\S+)/)?.[1]);

export default [
  {
    title: "a device that is not known is looked up in the list",
    keys: ["`ringway devices` lists them."],
    async run(t, follower) {
      const { near } = await known(t);
      const [list] = follower.reads(await says(near, ["devices", "forget", "nobody"], EXIT.failed), this.keys[0]);
      const listed = await follower.runs(near, list);
      assert.match(listed.stdout, /^far /m);
      await says(near, ["devices", "forget", "far"]);
    },
  },
  {
    title: "the first device is paired with, and sent to from now on",
    keys: [
      "run `ringway pair HOST`: the receiver's code makes the two known.",
      "advised::send_to(&device.name, device.id)",
      "advised::send_to_address(first)",
    ],
    async run(t, follower) {
      const { near, far, inbox, source } = strangers(t);
      writeFileSync(join(source, "file"), "content");
      const receiving = await receiver(t, far, inbox, { once: false });
      const [pair] = follower.reads(await says(near, ["devices"]), this.keys[0]);
      const paired = await follower.runs(near, pair, { fill: { HOST: receiving.target }, env: { RINGWAY_CODE: CODE } });
      const [send] = follower.reads(paired.stdout, "From now on: {}", /: (.*)$/);
      await follower.runs(near, send, { fill: { FOLDER: source } });
      same(source, join(inbox, "source"));
      receiving.kill();
      await receiving.exit();
      // A receiver shows this for the other machine.
      await says(far, ["devices", "rule", "near", "--accept"]);
      const shown = far.start(["recv", inbox, "--listen", receiving.target]);
      t.after(() => shown.kill());
      await eventually("what to run", () => shown.stdout.includes("On the other machine"));
      const [there] = follower.reads(shown.stdout, "On the other machine:  {}", /: +(.*)$/);
      writeFileSync(join(source, "more"), "more");
      await follower.runs(near, there, { fill: { FOLDER: source } });
      same(source, join(inbox, "source"));
    },
  },
  {
    title: "a name that a device has, and the host of another one, leads to either by what is said",
    keys: ["For the host say {name}:17464; for the device give its id, which `ringway devices` lists."],
    async run(t, follower) {
      const { base, near, far, inbox, source } = strangers(t);
      writeFileSync(join(source, "file"), "content");
      const code = ["--code-file", near.codeFile(CODE)];
      // A name alone implies the default port.
      const receiving = await receiver(t, far, inbox, { once: false, port: 17_464 });
      await says(near, ["send", source, "localhost", ...code]);
      const aside = join(base, "aside");
      mkdirSync(aside);
      const other = await receiver(t, new Device(base, "third"), aside, { once: false });
      await says(near, ["pair", other.target, ...code]);
      await says(near, ["devices", "rename", "third", "localhost"]);
      const said = await says(near, ["send", source, "localhost"], EXIT.usage);
      const [list] = follower.reads(said, this.keys[0]);
      const listed = await follower.runs(near, list);
      const { id } = (await asked(near, ["devices"])).find(({ name }) => name === "localhost");
      assert.ok(listed.stdout.replaceAll("-", "").includes(id.slice(0, 8)), listed.stdout);
      writeFileSync(join(source, "more"), "more");
      await says(near, ["send", source, said.match(/For the host say (\S+);/)[1]]);
      same(source, join(inbox, "source"));
      await says(near, ["send", source, id, "--retry", "no"]);
      same(source, join(aside, "source"));
      receiving.kill();
    },
  },
  {
    title: "a standing secret goes to an address",
    keys: ["Add the receiver's address: ringway send FOLDER ADDRESS."],
    async run(t, follower) {
      const { near, far, inbox, source } = strangers(t);
      const secret = "correct horse battery staple 2026";
      const receiving = await receiver(t, far, inbox, { code: secret });
      const env = { RINGWAY_CODE: secret };
      const [send] = follower.reads(await says(near, ["send", source], EXIT.usage, { env }), this.keys[0]);
      await follower.runs(near, send, { fill: { FOLDER: source, ADDRESS: receiving.target }, env });
      same(source, join(inbox, "source"));
    },
  },
  {
    title: "a target that is a path is replaced by a name, an address or a copy",
    keys: ["For example: ringway send FOLDER lab-ws, or ringway send FOLDER 192.168.1.20. Inside this machine, `ringway copy` copies."],
    async run(t, follower) {
      const { base, near, far, inbox, tree, target } = await known(t, { name: "lab-ws" });
      const [byName, byAddress, copy] = follower.reads(await says(near, ["send", tree, "some/folder"], EXIT.usage), this.keys[0]);
      const receiving = await receiver(t, far, inbox, { code: null, once: false, port: Number(target.split(":")[1]) });
      const fill = { FOLDER: tree };
      await follower.runs(near, byName, { fill });
      same(tree, join(inbox, "tree"));
      writeFileSync(join(tree, "more"), "more");
      await follower.runs(near, byAddress, { fill: { ...fill, "192.168.1.20": receiving.target } });
      same(tree, join(inbox, "tree"));
      await follower.runs(near, copy, { words: [tree, join(base, "copy")] });
      same(tree, join(base, "copy"));
    },
  },
  {
    title: "what was sent is listed with its number, and sent again by it",
    keys: [
      "`ringway inbox --sent` lists what was.",
      "`ringway inbox --all` lists them.",
      "`ringway send FOLDER HOST` sends.",
      "Nothing was received yet. `ringway recv` receives; `ringway inbox --all` shows what was sent, too.",
      "advised::send_again(past.number)",
    ],
    async run(t, follower) {
      const { near, far, inbox, tree } = await known(t);
      const [send] = follower.reads(await says(near, ["inbox", "--sent"]), this.keys[2]);
      const [receive, all] = follower.reads(await says(far, ["inbox"]), this.keys[3]);
      const receiving = await follower.listens(far, receive, { cwd: inbox });
      await follower.runs(near, send, { fill: { FOLDER: tree, HOST: receiving.address } });
      same(tree, join(inbox, "tree"));
      assert.match((await follower.runs(far, all)).stdout, /^\d+ .*near +tree .*complete$/m);
      assert.match((await follower.runs(near, all)).stdout, /^\d+ .*sent to +far +tree .*complete$/m);
      const [sent] = follower.reads(await says(near, ["send", "--again", "99"], EXIT.usage), this.keys[0]);
      const [, number] = (await follower.runs(near, sent)).stdout.match(/^(\d+) .*far +tree/m);
      const [list] = follower.reads(await says(near, ["inbox", "show", "99"], EXIT.failed), this.keys[1]);
      assert.match((await follower.runs(near, list)).stdout, new RegExp(`^${number} .*tree`, "m"));
      const [again] = follower.reads(await says(near, ["inbox", "show", number]), "Again:       {}", /: +(.*)$/);
      writeFileSync(join(tree, "more"), "more");
      await follower.runs(near, again);
      same(tree, join(inbox, "tree"));
    },
  },
  {
    title: "a device without a code is given the one that its receiver shows",
    keys: ["Enter the code that its `ringway recv` shows: at the prompt in a terminal, with --code-file FILE, or in RINGWAY_CODE."],
    async run(t, follower) {
      const { base, far, inbox, tree, target } = await known(t);
      const other = new Device(base, "other");
      const first = await receiver(t, far, inbox, { code: null, port: Number(target.split(":")[1]), args: ["--no-pairing"] });
      const send = ["send", tree, target];
      const [receive] = follower.reads(await says(other, send, EXIT.notAuthenticated), this.keys[0]);
      first.kill();
      await first.exit();
      const receiving = await follower.listens(far, receive, { cwd: inbox, words: ["--yes"] });
      const code = await codeShown(receiving);
      await says(other, [...send, "--code-file", other.codeFile(code)]);
      same(tree, join(inbox, "tree"));
    },
  },
  {
    title: "the prompt takes the code that the receiver shows",
    skip: !which("script") && "script(1) is not installed, which makes a terminal",
    keys: ['This machine and "{}" are not paired. Its `ringway recv` shows a code, such as 42-river-castle.'],
    async run(t, follower) {
      const { base, far, inbox, tree } = await known(t);
      const other = new Device(base, "other");
      const receiving = await follower.listens(far, "ringway recv", { cwd: inbox, words: ["--yes"] });
      const send = `exec ${[other.program, "send", tree, receiving.address].map(word).join(" ")}`;
      const terminal = new Running("terminal", "script", ["-qec", send, "/dev/null"], { env: other.env, input: null });
      t.after(() => terminal.kill());
      await eventually("the message", () => terminal.stdout.includes("are not paired"));
      follower.reads(terminal.stdout, this.keys[0]);
      terminal.tell(await codeShown(receiving));
      assert.equal(await terminal.exit(), EXIT.all, terminal.said());
      same(tree, join(inbox, "tree"));
    },
  },
  {
    title: "names that look alike are told apart",
    keys: ["Compare the IDs, and rename one of the two: `ringway devices rename`."],
    async run(t, follower) {
      const { base, near, inbox } = strangers(t);
      for (const name of ["nas", "n\u0430s"]) {
        const device = new Device(join(base, Buffer.from(name).toString("hex")), name);
        const receiving = await receiver(t, device, inbox, { once: false });
        await says(near, ["pair", receiving.target, "--code-file", near.codeFile(CODE)]);
      }
      const [rename] = follower.reads(await says(near, ["devices"]), this.keys[0]);
      await follower.runs(near, rename, { words: ["n\u0430s", "attic"] });
      assert.doesNotMatch(await says(near, ["devices"]), /looks like/);
    },
  },
  {
    title: "a name that nobody has is looked up in the list of devices",
    keys: ["It is neither the name of a paired device (`ringway devices`) nor of a host."],
    async run(t, follower) {
      const { near, far, inbox, tree } = await known(t);
      const [list] = follower.reads(await says(near, ["send", tree, "nobody.invalid"], EXIT.failed), this.keys[0]);
      const [, name] = (await follower.runs(near, list)).stdout.match(/^(\S+) +[\da-f-]{19} /m);
      await follower.listens(far, "ringway recv", { cwd: inbox });
      await says(near, ["send", tree, name]);
      same(tree, join(inbox, "tree"));
    },
  },
  {
    title: "a device that was installed anew is forgotten and paired with again",
    keys: ["advised::forget(*expected)", "If you know that {name} was reinstalled: `{forget}`, and pair again."],
    async run(t, follower) {
      const { near, far, inbox, tree, port } = await known(t);
      rmSync(join(far.env.XDG_DATA_HOME, "ringway"), { recursive: true });
      const receiving = await receiver(t, far, inbox, { port, once: false });
      const [forget] = follower.reads(await says(near, ["send", tree, "far"], EXIT.notAuthenticated), this.keys[1]);
      await follower.runs(near, forget);
      await says(near, ["pair", receiving.target, "--code-file", near.codeFile(CODE)]);
      await says(near, ["send", tree, "far"]);
      same(tree, join(inbox, "tree"));
    },
  },
  {
    title: "what was sent to this very device is copied",
    keys: ["Name another device; `ringway copy` copies on this one."],
    async run(t, follower) {
      const { base, near, inbox, tree } = await known(t);
      const receiving = await receiver(t, near, inbox, { once: false });
      const send = ["send", tree, receiving.target, "--code-file", near.codeFile(CODE)];
      const [copy] = follower.reads(await says(near, send, EXIT.notAuthenticated), this.keys[0]);
      await follower.runs(near, copy, { words: [tree, join(base, "copy")] });
      same(tree, join(base, "copy"));
    },
  },
  {
    title: "a code that others may read is closed to them",
    keys: ["advised::close_file(path)"],
    async run(t, follower) {
      const { near, far, inbox, source } = strangers(t);
      const receiving = await receiver(t, far, inbox, { once: false });
      const open = join(source, "it's a code");
      writeFileSync(open, CODE);
      chmodSync(open, 0o644);
      const pair = ["pair", receiving.target, "--code-file", open];
      const [close] = follower.reads(await says(near, pair), "Others on this machine can read the code in {}: {}", /: (chmod .*)$/);
      await follower.runs(near, close);
      assert.doesNotMatch(await says(near, pair, EXIT.notAuthenticated), /Others on this machine/, "that code was used up");
    },
  },
  {
    title: "an end that fell silent is not said to be of another version",
    keys: [],
    async run(t) {
      const { near, far, inbox, tree, port } = await known(t);
      writeFileSync(join(tree, "large"), Buffer.alloc(40_000_000, 7));
      const receiving = await receiver(t, far, inbox, { port, code: null });
      const args = ["--limit", "1M", "--compress", "off", "--retry", "no"];
      const sending = sender(t, near, tree, "far", { code: null, args });
      await sending.event(({ event, bytes_done: done }) => event === "progress" && done > 1_000_000);
      receiving.kill("SIGSTOP");
      assert.equal(await sending.exit(), EXIT.failed, sending.said());
      assert.doesNotMatch(sending.stderr, /--version/);
    },
  },
];
