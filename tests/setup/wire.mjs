// Counts the bytes on the network, and the bytes that need not be sent because they are there
// already.
import { readdirSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import { capture } from "./process.mjs";

const OWN_PREFIX = ".ringway-";

/** A network before `target` that counts the bytes sent to it, and those that come `back`. */
export async function counting(target) {
  const [host, port] = target.split(":");
  const network = { bytes: 0, back: 0 };
  const server = createServer((near) => {
    const far = connect(Number(port), host);
    near.on("data", (data) => (network.bytes += data.length));
    far.on("data", (data) => (network.back += data.length));
    for (const [from, to] of [[near, far], [far, near]]) {
      from.pipe(to);
      from.on("error", () => to.destroy());
    }
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return Object.assign(network, { target: `127.0.0.1:${server.address().port}`, close: () => server.close() });
}

/**
 * The rate of a braked network after its fast part, bytes a second. It keeps a transfer running for
 * minutes.
 */
const BRAKED_RATE = 250_000;

/**
 * A network before `target` that lets `fast` bytes through and then brakes until `release`, so that
 * a larger transfer keeps running on any machine. It counts the bytes sent to it, in `bytes`.
 */
export async function braked(target, fast) {
  const [host, port] = target.split(":");
  const network = { bytes: 0 };
  const released = new AbortController();
  // One clock for all connections, because lanes share the rate.
  let next = 0;
  async function* brake(source) {
    for await (const data of source) {
      network.bytes += data.length;
      if (network.bytes > fast && !released.signal.aborted) {
        const now = Date.now();
        next = Math.max(next, now) + (data.length / BRAKED_RATE) * 1000;
        await delay(next - now, undefined, { signal: released.signal }).catch(() => {});
      }
      yield data;
    }
  }
  const server = createServer((near) => {
    const far = connect(Number(port), host);
    // If one side of a connection breaks, so does the other.
    const broken = () => [near, far].forEach((socket) => socket.destroy());
    pipeline(near, brake, far).catch(broken);
    pipeline(far, near).catch(broken);
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const release = () => released.abort();
  const close = () => {
    release();
    server.close();
  };
  return Object.assign(network, { target: `127.0.0.1:${server.address().port}`, release, close });
}

/**
 * Bytes of data of each regular file below `root`, by its path, without holes, and counting a file
 * with several names once.
 */
function data(root) {
  const listed = capture("find", [root, "-type", "f", "-printf", "%i %b %s %P\\0"], { encoding: "latin1" });
  const found = new Map();
  const met = new Set();
  for (const line of listed.out.split("\0").filter(Boolean)) {
    const [, inode, blocks, size, path] = line.match(/^(\d+) (\d+) (\d+) (.*)$/s);
    if (met.has(inode)) continue;
    met.add(inode);
    found.set(path, { size: Number(size), bytes: Math.min(blocks * 512, size) });
  }
  return found;
}

/**
 * Bytes of the tree at `tree` that are not on the disk of `inbox`, neither under their final names
 * nor in a staging folder.
 */
export function missingBytes(tree, inbox) {
  const trees = (name) => (name.startsWith(OWN_PREFIX) ? stagedTrees(join(inbox, name, "tree")) : [join(inbox, name)]);
  const there = readdirSync(inbox).flatMap(trees).map((root) => data(root));
  let missing = 0;
  for (const [path, { size, bytes }] of data(tree)) {
    const has = there.map((found) => found.get(path)).filter((one) => one?.size === size);
    missing += Math.max(0, bytes - Math.max(0, ...has.map((one) => one.bytes)));
  }
  return missing;
}

/** The trees in a staging folder. */
function stagedTrees(root) {
  try {
    return readdirSync(root).map((name) => join(root, name));
  } catch {
    return [];
  }
}

/**
 * Bytes under way when an end dies: on each lane a frame of up to 1 MiB that is incomplete, and one
 * whose data are written and not noted yet, with two to four lanes here. In addition bytes that are
 * no data: handshakes, names, attributes.
 */
export const IN_FLIGHT_BYTES = 9_000_000;
