// Recommendations by and about the service, and about what it receives.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Device, Running, freePort } from "../../setup/devices.mjs";
import { run, which } from "../../setup/process.mjs";
import { EXIT, asked, eventually, receiver, same, sender } from "../harness.mjs";
import { known, needsPaths, says, stoppedAfter } from "./follow.mjs";

const needsStrace = !which("strace") && "no strace here to stop a command between two questions";

const isUp = async (device) => (await device.run(["status"])).status === EXIT.all;
const up = (device) => eventually("the service", () => isUp(device));
const waiting = (device) => eventually("an offer", async () => (await asked(device, ["offers"]))[0]);
const codeIn = (said) => said.match(/Code: +(\S+-\S+-\S+)/)?.[1];
const idOf = (said) => said.match(/^([\da-f]{4,}) +/m)?.[1];

/** Two paired devices. `far` serves, and asks about offers. */
async function served(t, how = {}) {
  const all = await known(t, { accepts: false, ...how });
  const serving = all.far.start(["serve"]);
  t.after(() => serving.kill());
  await up(all.far);
  /** Begins to send the tree at a rate that leaves time to check. */
  const slow = (tree = all.tree) => sender(t, all.near, tree, "far", { code: null, args: ["--limit", "2M", "--compress", "off"] });
  return { ...all, serving, slow };
}

/** A tree that takes a quarter of a minute at that rate. */
function large({ source }) {
  const path = join(source, "large");
  mkdirSync(path);
  for (let file = 0; file < 30; file += 1) writeFileSync(join(path, `${file}`), Buffer.alloc(1_000_000, `${file} `));
  return path;
}

const moves = (running) => running.event(({ event, bytes_done: done }) => event === "progress" && done > 500_000);

/**
 * `ringway accept` once it has asked what offers there are. Its answer has arrived: later requests
 * were answered.
 */
async function accepting(t, device) {
  const goOn = await stoppedAfter(t, device, ["accept", "near"], ["-e", "inject=sendto:signal=SIGSTOP:when=1"]);
  await asked(device, ["offers"]);
  return goOn;
}

export default [
  {
    title: "the service is started",
    keys: ["`ringway serve` starts it, and so does the window.", "ringway serve"],
    async run(t, follower) {
      const { near, far, inbox, tree } = await known(t);
      const [serve] = follower.reads(await says(far, ["status"], EXIT.failed), this.keys[0]);
      follower.reads(serve, this.keys[1]);
      follower.starts(far, serve);
      await up(far);
      await says(near, ["send", tree, "far"]);
      same(tree, join(inbox, "tree"));
      await says(far, ["stop"]);
    },
  },
  {
    title: "a service that ended while it was asked is started again",
    skip: needsStrace,
    keys: ["`ringway serve` starts it again."],
    async run(t, follower) {
      const { near, far, inbox, tree, serving, slow } = await served(t);
      const sending = slow();
      await waiting(far);
      const goOn = await accepting(t, far);
      serving.kill();
      await serving.exit();
      sending.kill();
      const [serve] = follower.reads(await goOn(), this.keys[0]);
      follower.starts(far, serve);
      await up(far);
      await says(far, ["devices", "rule", "near", "--accept"]);
      await says(near, ["send", tree, "far"]);
      same(tree, join(inbox, "tree"));
    },
  },
  {
    title: "what there is now is shown where an offer has gone",
    skip: needsStrace,
    keys: ["`ringway status` shows what there is."],
    async run(t, follower) {
      const { far, slow } = await served(t);
      const sending = slow();
      await waiting(far);
      const goOn = await accepting(t, far);
      sending.kill("SIGINT");
      await sending.exit();
      await eventually("no offer", async () => (await asked(far, ["offers"])).length === 0);
      const [look] = follower.reads(await goOn(), this.keys[0]);
      // Not the device's name: a code may have that word in it.
      assert.doesNotMatch((await follower.runs(far, look)).stdout, /Waiting for an answer|Under way/);
    },
  },
  {
    title: "an offer that has grown is looked at and accepted again",
    skip: needsPaths,
    keys: ["`ringway offers` shows it; run `ringway accept` again to receive all of it."],
    async run(t, follower) {
      const all = await served(t);
      const { near, far, source } = all;
      const many = join(source, "many");
      const last = join(many, "last");
      mkdirSync(last, { recursive: true });
      // More than accepting an offer of 0 bytes may bring (ACCEPTED_GROWTH_MIN). Holes would not
      // count.
      const bytes = 1_200_000_000;
      run("dd", ["if=/dev/zero", `of=${join(last, "file")}`, "bs=1MB", `count=${bytes / 1_000_000}`, "status=none"]);
      // Its contents are counted late.
      const wrap = ["strace", "-f", "-qq", "-o", "/dev/null", "-P", last, "-e", "inject=getdents64:delay_enter=2000000"];
      const sending = sender(t, near, many, "far", { code: null, wrap });
      const { bytes_so_far: seen, totals_final: isFinal } = await waiting(far);
      assert.equal(isFinal, false);
      const goOn = await accepting(t, far);
      await eventually("all of it", async () => {
        const [offer] = await asked(far, ["offers"]);
        return offer.totals_final && offer.bytes_so_far > seen;
      });
      const [offers, accept] = follower.reads(await goOn(), this.keys[0]);
      assert.match((await follower.runs(far, offers)).stdout, /^\S+ +near +many +3 +1\.2 GB /m);
      await follower.runs(far, accept, { words: ["near"] });
      const taken = await sending.event(({ event, stage }) => event === "progress" && stage === "running");
      assert.equal(taken.bytes_total, bytes);
    },
  },
  {
    title: "what the service that runs already does is shown, and it is ended",
    keys: ["`ringway status` shows what it does, `ringway stop` ends it."],
    async run(t, follower) {
      const { far, serving, port, inbox } = await served(t);
      const [status, stop] = follower.reads(await says(far, ["serve"], EXIT.failed), this.keys[0]);
      const shown = (await follower.runs(far, status)).stdout;
      for (const part of [`process ${serving.pid}`, inbox, `:${port}`]) assert.ok(shown.includes(part), shown);
      await follower.runs(far, stop);
      assert.equal(await serving.exit(), EXIT.all, serving.said());
      const next = far.start(["serve"]);
      t.after(() => next.kill());
      await up(far);
    },
  },
  {
    title: "what waits at the service is shown and taken in, or it is ended, where `ringway recv` was to receive",
    keys: ["`ringway offers` lists its offers, `ringway accept` accepts one.", "or stop it: `ringway stop`."],
    async run(t, follower) {
      const { far, inbox, tree, serving, slow } = await served(t);
      const sending = slow();
      await waiting(far);
      const said = await says(far, ["recv", inbox], EXIT.failed);
      const [[offers, accept], [stop]] = this.keys.map((key) => follower.reads(said, key));
      assert.match((await follower.runs(far, offers)).stdout, /^\S+ +near +tree /m);
      await follower.runs(far, accept, { words: ["near"] });
      assert.equal(await sending.exit(), EXIT.all, sending.said());
      same(tree, join(inbox, "tree"));
      const beside = await follower.listens(far, "ringway recv --listen :0", { cwd: inbox });
      assert.ok(beside.address);
      await follower.ends(beside);
      await follower.runs(far, stop);
      assert.equal(await serving.exit(), EXIT.all, serving.said());
      await follower.listens(far, "ringway recv", { cwd: inbox });
    },
  },
  {
    title: "an offer is accepted, one declined, and a transfer looked at, paused, resumed and cancelled",
    keys: [
      "Waiting for an answer (`ringway accept ID`, `ringway decline ID`):",
      "Under way (`ringway cancel ID`):",
      "Accepted {} from {}. The service receives it; `ringway status` shows how far it is.",
      "Transfer {short} is paused. It goes on with `{}`.",
      "advised::resume(&short)",
      "`ringway status` lists what there is, with ids.",
      "What arrived is kept at the receiver. Send the same again to resume, or remove it there with `ringway inbox discard ID`.",
      "What arrived is kept here. Have the same sent again to resume, or remove it with `ringway inbox discard ID`.",
    ],
    async run(t, follower) {
      const all = await served(t);
      const { far, inbox, tree, slow } = all;
      const big = large(all);
      const sending = slow(big);
      await waiting(far);
      const status = await says(far, ["status"]);
      const [accept, decline] = follower.reads(status, this.keys[0]);
      const accepted = await follower.runs(far, accept, { fill: { ID: idOf(status) } });
      const [look] = follower.reads(accepted.stdout, this.keys[2]);
      await moves(sending);
      const shown = (await follower.runs(far, look)).stdout;
      assert.match(shown, /^\S+ +from +near +large +[\d.]+ (%|[kM]?B)/m);

      const [list] = follower.reads(await says(far, ["pause", "nobody"], EXIT.failed), this.keys[5]);
      const id = idOf((await follower.runs(far, list)).stdout);
      const [resume] = follower.reads(await says(far, ["pause", id]), this.keys[3]);
      await sending.event(({ stage }) => stage === "paused");
      await follower.runs(far, resume);
      const before = sending.events.length;
      await eventually("more of it", () => sending.events.slice(before).some(({ stage }) => stage === "running"));

      const other = slow(tree);
      await waiting(far);
      await follower.runs(far, decline, { fill: { ID: idOf(await says(far, ["offers"])) } });
      assert.equal(await other.exit(), EXIT.declined, other.said());

      // Whole files have arrived, which are what is kept.
      await sending.event(({ event, bytes_done: done }) => event === "progress" && done > 3_500_000);
      const [cancel] = follower.reads(await says(far, ["status"]), this.keys[1]);
      const cancelled = await follower.runs(far, cancel, { fill: { ID: id } });
      const [discardHere] = follower.reads(cancelled.stdout, this.keys[7]);
      assert.equal(await sending.exit(), EXIT.failed, sending.said());
      assert.ok(!existsSync(join(inbox, "large")));
      const [discard] = follower.reads(sending.said(), this.keys[6]);
      assert.deepEqual(discardHere, discard);
      const kept = await eventually("what is kept", async () => idOf(await says(far, ["inbox", "unfinished"])));
      await follower.runs(far, discard, { fill: { ID: kept } });
      assert.equal(idOf(await says(far, ["inbox", "unfinished"])), undefined);
    },
  },
  {
    title: "a new code is drawn where none is open",
    keys: ["Code:     none is open; `ringway code --new` draws one"],
    async run(t, follower) {
      const { base, far, port } = await served(t);
      const pair = async (name, code) => {
        const device = new Device(base, name);
        await says(device, ["pair", `127.0.0.1:${port}`, "--code-file", device.codeFile(code)]);
      };
      await pair("first", codeIn(await says(far, ["code"])));
      const [draw] = follower.reads(await says(far, ["code"]), this.keys[0]);
      await pair("second", codeIn((await follower.runs(far, draw)).stdout));
    },
  },
  {
    title: "receiving is switched on, wherever that is recommended",
    keys: [
      "`ringway settings --receiving on` switches that on.",
      "It does not receive: `ringway settings --receiving on` switches that on.",
      "does not receive: that is switched off (`ringway settings --receiving on`)",
    ],
    async run(t, follower) {
      const { near, far, inbox, tree } = await known(t);
      await says(far, ["settings", "--receiving", "off"]);
      const serving = far.start(["serve"]);
      t.after(() => serving.kill());
      await up(far);
      const [byLog] = follower.reads(serving.stdout + serving.stderr, this.keys[2]);
      const [byCode] = follower.reads(await says(far, ["code"], EXIT.failed), this.keys[0]);
      const [byStatus] = follower.reads(await says(far, ["status"]), this.keys[1]);
      for (const on of [byLog, byCode, byStatus]) {
        await follower.runs(far, on);
        assert.ok(codeIn(await says(far, ["code", "--new"])));
        await says(far, ["settings", "--receiving", "off"]);
      }
      await follower.runs(far, byStatus);
      await says(near, ["send", tree, "far"]);
      same(tree, join(inbox, "tree"));
    },
  },
  {
    title: "receiving that was refused is switched on at another port and into another folder",
    keys: [
      "Clear the way, or take another port or folder: `ringway settings --port PORT`, `--receive-folder DIR`.",
      "Then `ringway settings --receiving on` tries it again.",
    ],
    async run(t, follower) {
      const { base, near, far, tree, port } = await served(t);
      await says(far, ["settings", "--receiving", "off"]);
      const listen = `require("net").createServer().listen(${port}, "::", () => console.log("{}"))`;
      const other = new Running("listener", process.execPath, ["-e", listen], { input: null });
      t.after(() => other.kill());
      await other.event(() => true);
      await says(far, ["settings", "--receiving", "on"], EXIT.failed);
      const status = await says(far, ["status"]);
      const [take, folder] = follower.reads(status, this.keys[0]);
      const [on] = follower.reads(status, this.keys[1]);
      const elsewhere = join(base, "elsewhere");
      mkdirSync(elsewhere);
      const moved = await freePort();
      await follower.runs(far, take, { fill: { PORT: moved } });
      await follower.runs(far, folder, { before: "ringway settings ", fill: { DIR: elsewhere } });
      await follower.runs(far, on);
      const sending = sender(t, near, tree, `127.0.0.1:${moved}`, { code: null });
      await waiting(far);
      await says(far, ["accept", "near"]);
      assert.equal(await sending.exit(), EXIT.all, sending.said());
      same(tree, join(elsewhere, "tree"));
    },
  },
  {
    title: "an offer that nobody answered is taken in without asking the next time",
    keys: ["Have it sent again. `ringway devices rule NAME --accept` accepts offers from that device automatically."],
    async run(t, follower) {
      const { near, far, inbox, tree, slow } = await served(t);
      const sending = slow();
      await waiting(far);
      sending.kill();
      await eventually("it to be gone", async () => (await asked(far, ["offers"])).length === 0);
      const { number } = await eventually("the history", async () => (await asked(far, ["inbox"])).find(({ event }) => event === "past"));
      const [rule] = follower.reads(await says(far, ["inbox", "show", String(number)]), this.keys[0]);
      await follower.runs(far, rule, { fill: { NAME: "near" } });
      await says(near, ["send", tree, "far"]);
      same(tree, join(inbox, "tree"));
    },
  },
  {
    title: "the rule that a transfer outgrew is changed",
    keys: ["Complete files are kept. Ringway asks you when it is sent again; `ringway devices rule` changes the rule."],
    async run(t, follower) {
      const { near, far, inbox, source, port } = await known(t);
      const many = join(source, "many");
      const grow = (first, files) => {
        for (let folder = 0; folder < 10; folder += 1) {
          mkdirSync(join(many, `${folder}`), { recursive: true });
          for (let file = first; file < first + files; file += 1) {
            writeFileSync(join(many, `${folder}`, `${file}`), Buffer.alloc(20_000, `${file}`));
          }
        }
      };
      // More than the walk is ahead of the lanes, so that it does not know all folders yet when
      // they grow.
      grow(0, 140);
      await says(far, ["devices", "rule", "near", "--accept", "--max-size", "30M"]);
      const receiving = far.start(["recv", inbox, "--json", "--no-pairing", "--once"]);
      t.after(() => receiving.kill());
      await receiving.event("listening");
      const sending = sender(t, near, many, "far", { code: null, args: ["--limit", "4M", "--compress", "off"] });
      await sending.event(({ event, bytes_done: done }) => event === "progress" && done > 0);
      sending.kill("SIGSTOP");
      grow(140, 60);
      sending.kill("SIGCONT");
      assert.equal(await sending.exit(), EXIT.failed, sending.said());
      const { next } = await receiving.event("finished");
      const [rule] = follower.reads(next, this.keys[0]);
      await receiving.exit();
      await follower.runs(far, rule, { words: ["near", "--accept", "--max-size", "1G"] });
      const again = await receiver(t, far, inbox, { code: null, yes: false, port });
      await says(near, ["send", many, "far"]);
      assert.equal(await again.exit(), EXIT.all, again.said());
      same(many, join(inbox, "many"));
    },
  },
  {
    title: "`ringway recv` takes a folder of its own, and not the service's",
    keys: ["Receive folder:  {} (the service's; `ringway recv` takes its own)"],
    async run(t, follower) {
      const { base, near, far, inbox, tree } = await known(t);
      const [receive] = follower.reads(await says(far, ["settings"]), this.keys[0]);
      const own = join(base, "own");
      mkdirSync(own);
      await follower.listens(far, receive, { cwd: own });
      await says(near, ["send", tree, "far"]);
      same(tree, join(own, "tree"));
      assert.ok(!existsSync(join(inbox, "tree")));
    },
  },
  {
    title: "an id that no device has is looked up in the list, or an address taken that a receiver shows",
    keys: ["The last argument is the target: a name from `ringway devices`, or HOST or HOST:PORT as `ringway recv` shows it."],
    async run(t, follower) {
      const { near, far, inbox, tree } = await known(t);
      const [list, receive] = follower.reads(await says(near, ["send", tree, "0123abcd"], EXIT.failed), this.keys[0]);
      const [, name] = (await follower.runs(near, list)).stdout.match(/^(\S+) +[\da-f-]{19} /m);
      const receiving = await follower.listens(far, receive, { cwd: inbox });
      await says(near, ["send", tree, name]);
      writeFileSync(join(tree, "more"), "more");
      await says(near, ["send", tree, receiving.address]);
      same(tree, join(inbox, "tree"));
    },
  },
  {
    title: "a device that is not paired is paired with before it is listed",
    keys: ["`ringway code --new` there shows a code. Pair with it here, then list again: {}", "advised::pair(device)"],
    async run(t, follower) {
      const { far, base, port, tree } = await served(t);
      await says(far, ["share", "add", tree, "--with-all"]);
      const stranger = new Device(base, "stranger");
      const ls = ["ls", `127.0.0.1:${port}`];
      const said = await says(stranger, ls, EXIT.notAuthenticated);
      assert.doesNotMatch(said, /--code-file|RINGWAY_CODE/);
      const [draw, pair] = follower.reads(said, this.keys[0]);
      const code = codeIn((await follower.runs(far, draw)).stdout);
      await follower.runs(stranger, pair, { words: ["--code-file", stranger.codeFile(code)] });
      await says(stranger, ls);
    },
  },
  {
    title: "a folder is shared where nothing is yet, and listed, at both ends",
    keys: [
      "No folder is shared. `ringway share add FOLDER --with DEVICE` shares one.",
      "{device} shares nothing with this device. There, `ringway share add FOLDER --with DEVICE` shares a folder.",
      "`ringway ls DEVICE` lists what it shares. There, `ringway share add FOLDER --with DEVICE` shares a folder.",
      "`ringway share list` lists the shared folders.",
    ],
    async run(t, follower) {
      const { near, far, tree } = await served(t);
      follower.reads(await says(far, ["share"]), this.keys[0]);
      follower.reads(await says(near, ["ls", "far"]), this.keys[1]);
      const [ls, add] = follower.reads(await says(near, ["ls", "far:tree"], EXIT.failed), this.keys[2]);
      await follower.runs(far, add, { fill: { FOLDER: tree, DEVICE: "near" } });
      assert.match((await follower.runs(near, ls, { fill: { DEVICE: "far" } })).stdout, /^tree$/m);
      await says(near, ["ls", "far:tree"]);
      const [list] = follower.reads(await says(far, ["share", "remove", "other"], EXIT.usage), this.keys[3]);
      assert.match((await follower.runs(far, list)).stdout, /^tree +near /m);
    },
  },
];
