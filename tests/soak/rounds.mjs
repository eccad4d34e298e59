// Crash rounds with the real command: ends are killed and networks cut at random instants, and the
// same send is repeated until it succeeds.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TESTTOOLS } from "../setup/build.mjs";
import { Device, Running, differences, freePort } from "../setup/devices.mjs";
import { run, which } from "../setup/process.mjs";
import { numbers } from "../setup/random.mjs";
import { IN_FLIGHT_BYTES, counting, missingBytes } from "../setup/wire.mjs";

const CODE = "7-river-canal";
/** Disturbed attempts of one round. */
const FAULTY_MAX = 4;
/** How long an end may take to notice that the other has gone, ms. */
const NOTICED_MS = 20_000;
const OWN_PREFIX = ".ringway-";
const HARMS = [
  "sender killed",
  "receiver killed",
  "both killed",
  "network cut",
  "killed in a cut",
  "receiver stopped",
  "receiver started anew",
  ...(which("strace") ? ["disk refuses"] : []),
];
/** Calls that a disk refuses the receiver, by strace(1): contents, names, modes. */
const REFUSED = ["pwrite64", "openat2", "renameat2", "mkdirat", "ftruncate", "fchmod", "linkat", "symlinkat", "unlinkat"];

/** Two paired devices, a tree to send, and how long that takes undisturbed. */
export class Ground {
  constructor(base, { bulkMib = 40, small = 300 } = {}) {
    this.base = base;
    this.tree = join(base, "tree");
    this.near = new Device(base, "near");
    this.far = new Device(base, "far");
    run(TESTTOOLS, ["tree", this.tree, "--bulk-mib", String(bulkMib), "--small", String(small)]);
    // A file that is as young as the attempt does not count as whole.
    const young = ["-newermt", "1 hour ago", "-exec", "touch", "-d", "2 days ago", "{}", "+"];
    run("find", [this.tree, "-depth", "-type", "f", ...young]);
  }

  /** Pairs the two by a first transfer, and measures its time. */
  async pair() {
    const inbox = join(this.base, "first");
    mkdirSync(inbox);
    const began = Date.now();
    await this.#through(inbox, ["--code-file", this.near.codeFile(CODE)], ["--code-file", this.far.codeFile(CODE)]);
    this.usualMs = Date.now() - began;
    rmSync(inbox, { recursive: true });
  }

  async #receive(inbox, args = [], { refused = null, target = null } = {}) {
    target ??= `127.0.0.1:${await freePort()}`;
    const traced = refused ? ["-e", `trace=${refused.split(":")[0]}`, "-e", `inject=${refused}`] : [];
    // The traced program would outlive a strace that is killed.
    const bound = ["setpriv", "--pdeathsig", "KILL"];
    const wrap = refused ? ["strace", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", ...traced, ...bound] : [];
    const running = this.far.start(["recv", inbox, "--listen", target, "--json", "--yes", "--once", ...args], { wrap });
    await running.event("listening");
    return Object.assign(running, { target });
  }

  #send(target, args = []) {
    return this.near.start(["send", this.tree, target, "--json", ...args]);
  }

  /** An undisturbed attempt. */
  async #through(inbox, sendArgs = [], receiveArgs = []) {
    const receiving = await this.#receive(inbox, receiveArgs);
    const network = await counting(receiving.target);
    const sending = this.#send(network.target, ["--compress", "off", ...sendArgs]);
    const statuses = await Promise.all([sending.exit(), receiving.exit()]);
    network.close();
    assert.deepEqual(statuses, [0, 0], `${sending.said()}\n${receiving.said()}`);
    return { went: network.bytes, ...sending.events.find(({ event }) => event === "finished") };
  }

  /** One round: a new inbox, disturbed attempts, an undisturbed one, and a check of the result. */
  async round(seed) {
    const below = numbers(seed);
    const inbox = join(this.base, `inbox-${seed}`);
    mkdirSync(inbox);
    const told = [];
    let isPartial = false;
    try {
      const faulty = 1 + below(FAULTY_MAX);
      for (let number = 0; number < faulty; number += 1) {
        const harm = { what: HARMS[below(HARMS.length)], ms: below(this.usualMs), bytes: below(50_000_000) };
        const refused = `${REFUSED[below(REFUSED.length)]}:error=EIO:when=${1 + below(200)}+${1 + below(300)}`;
        const refuses = harm.what === "disk refuses";
        const at = refuses ? refused : `at ${harm.what.includes("cut") ? `${harm.bytes} bytes` : `${harm.ms} ms`}`;
        told.push(`${harm.what} ${at}`);
        const isOver = await this.#attempt(inbox, { ...harm, refused: refuses ? refused : null });
        // Refused entries are named, and the rest has its name. The next attempt merges with that.
        isPartial ||= refuses;
        this.#nothingHalf(inbox, isPartial);
        if (isOver) break;
      }
      const missing = missingBytes(this.tree, inbox);
      const { unchanged, went } = await this.#through(inbox);
      // A file that a disk has partly refused is there in part, and does not count.
      assert.ok(isPartial || went < missing + IN_FLIGHT_BYTES, `${went} bytes went for ${missing} that were missing`);
      this.#nothingHalf(inbox, false);
      assert.deepEqual(readdirSync(inbox), ["tree"]);
      rmSync(inbox, { recursive: true });
      return { told, unchanged, went, missing };
    } catch (error) {
      error.message = `seed ${seed} (${told.join(", ")}): ${error.message}`;
      throw error;
    }
  }

  /**
   * Whatever happened, an entry with its final name is complete. Other entries are hidden, or
   * missing because a disk has refused them.
   */
  #nothingHalf(inbox, isPartial) {
    const names = readdirSync(inbox).filter((name) => !name.startsWith(OWN_PREFIX));
    assert.ok(names.every((name) => name === "tree"), `${names}`);
    if (!names.length) return;
    // If it was killed between its rename and the last of its attributes, the folder itself may
    // lack those.
    const found = differences(this.tree, join(inbox, "tree")).filter((line) => !line.endsWith(" ./"));
    const isHalf = (line) => line.startsWith(">f") && !line.startsWith(">f+");
    assert.deepEqual(isPartial ? found.filter(isHalf) : found, []);
  }

  /**
   * The receiver is killed and started again in its place. An accepted sender resumes by itself.
   * True if it succeeded.
   */
  async #anew(inbox, ms) {
    const first = await this.#receive(inbox);
    const sending = this.#send(first.target, ["--retry", "60s"]);
    await sleep(ms);
    first.kill();
    await first.ended;
    const second = await this.#receive(inbox, [], { target: first.target });
    const status = await sending.exit();
    const wasAccepted = sending.events.some(({ event }) => event === "started");
    if (wasAccepted) assert.equal(status, 0, sending.said());
    second.kill();
    await second.ended;
    return status === 0;
  }

  async #attempt(inbox, { what, ms, bytes, refused }) {
    if (what === "receiver started anew") return this.#anew(inbox, ms);
    const receiving = await this.#receive(inbox, [], { refused });
    const network = what.includes("cut") ? await this.#network(receiving.target, bytes) : null;
    const sending = this.#send((network ?? receiving).target, ["--retry", "no"]);
    const both = Promise.all([sending.ended, receiving.ended]);
    if (what.includes("killed") || what.includes("stopped")) {
      await sleep(ms);
      if (what.includes("stopped")) receiving.kill("SIGINT");
      if (what.startsWith("sender") || what.startsWith("both")) sending.kill();
      if (!what.startsWith("sender") && !what.includes("stopped")) receiving.kill();
    }
    // An end that the other never reached waits forever, and so may one that tries again.
    await Promise.race([sending.ended, receiving.ended, sleep(NOTICED_MS)]);
    await Promise.race([both, sleep(receiving.events.some(({ event }) => event === "offer") ? NOTICED_MS : 500)]);
    for (const running of [sending, receiving, network]) running?.kill();
    await both;
    await network?.ended;
    for (const running of [sending, receiving]) {
      assert.ok(!running.stderr.includes("panicked"), running.said());
    }
  }

  async #network(target, bytes) {
    const address = `127.0.0.1:${await freePort()}`;
    const network = new Running("network", TESTTOOLS, ["proxy", address, target, "--cut-after", String(bytes)], {
      input: null,
    });
    await network.event("listening");
    return Object.assign(network, { target: address });
  }
}

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
