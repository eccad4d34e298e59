// Contenders over the wire: Ringway and other tools, both ends on this machine, over loopback.
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { Device, freePort } from "../setup/devices.mjs";
import { which } from "../setup/process.mjs";
import { End } from "./ends.mjs";
import { HOST, Ssh } from "./sshd.mjs";

const isRoot = process.getuid() === 0;
const CODE = "7-river-canal";
/** uring-sync's secret is an argument, and guards nothing here. */
const SECRET = "bench";

/** What ran, from a path taken: its name, or the key of the object that has its reason. */
const choice = (path) => (typeof path === "object" && path ? Object.keys(path)[0] : (path ?? "?"));

/** Why a fast path was not taken, by end and kind. */
function reasons({ here, there }) {
  const all = Object.entries({ here, there }).flatMap(([end, paths]) => Object.entries(paths ?? {}).map(([kind, path]) => [`${kind}_${end}`, path]));
  return Object.fromEntries(all.filter(([, path]) => typeof path === "object").map(([name, path]) => [name, Object.values(path)[0]]));
}

/** A client that ran to its end: the time from its start to the end of `last`. */
function timed(client, last = client) {
  return (last.finished - client.started) / 1000;
}

function fail(end) {
  throw new Error(`${end.name}: exit ${end.status}: ${end.said()}`);
}

/**
 * Starts `server`, runs `client` to its end, and stops the server. If this throws, the caller's
 * clean-up kills both.
 */
async function served(server, client, { serverEnds = false } = {}) {
  await client.end();
  if (client.status !== 0) {
    server.kill();
    fail(client);
  }
  await (serverEnds ? server.end() : server.stop());
}

class Ringway {
  name = "ringway";
  note = "TLS 1.3, metadata, synchronised to disk before it says success";
  keeps = { folders: true };

  constructor(binary) {
    this.binary = binary;
  }

  /** Pairs both devices, so that no run includes the pairing. */
  async prepare(scratch) {
    this.near = new Device(scratch, "near");
    this.far = new Device(scratch, "far");
    const target = `127.0.0.1:${await freePort()}`;
    const inbox = join(scratch, "pairing");
    mkdirSync(inbox);
    const code = (device) => ["--code-file", device.codeFile(CODE)];
    const server = this.#end(this.far, "receiver", scratch, ["recv", inbox, "--listen", target, "--yes", "--json", ...code(this.far)]);
    await server.listening(Number(target.split(":")[1]));
    const client = this.#end(this.near, "sender", scratch, ["pair", target, "--json", ...code(this.near)]);
    await client.end();
    server.kill();
    return client.status === 0 ? null : client.said();
  }

  #end(device, name, scratch, args) {
    return new End(name, scratch, this.binary, args, { env: device.env });
  }

  async run({ source, destination, scratch }) {
    const port = await freePort();
    const target = `127.0.0.1:${port}`;
    // As root the other tools keep owners, so Ringway does too.
    const owner = isRoot ? ["--owner"] : [];
    const receive = ["recv", destination, "--listen", target, "--once", "--yes", "--no-pairing", "--json", ...owner];
    const server = this.#end(this.far, "receiver", scratch, receive);
    await server.listening(port);
    const client = this.#end(this.near, "sender", scratch, ["send", source, target, "--json"]);
    await served(server, client, { serverEnds: true });
    return taken(client, server);
  }

  /** The same tree the other way: the far end shares it and listens, and the near end gets it. */
  async get({ source, destination, scratch }) {
    const port = await freePort();
    const target = `127.0.0.1:${port}`;
    const shared = ["share", "add", dirname(source), "--name", `s${port}`, "--with", "near"];
    const added = await new End("share", scratch, this.binary, shared, { env: this.far.env }).end();
    if (added.status !== 0) fail(added);
    added.usage();
    const server = this.#end(this.far, "sender", scratch, ["serve", join(scratch, "pairing"), "--listen", target, "--no-announce", "--json"]);
    await server.listening(port);
    const owner = isRoot ? ["--owner"] : [];
    const words = [`${target}:s${port}/${basename(source)}`, destination];
    const client = this.#end(this.near, "receiver", scratch, ["get", ...words, "--json", ...owner]);
    await served(server, client);
    return taken(client, server);
  }
}

/** What a transfer took that `client` started. */
function taken(client, server) {
  const done = client.events().find((event) => event.event === "finished") ?? {};
  const path =
    `TLS ${choice(done.here?.tls)}/${choice(done.there?.tls)}, files ${choice(done.here?.io)}/${choice(done.there?.io)}, ` +
    `${done.lanes ?? "?"} lanes`;
  return { wall_s: timed(client), ends: [client, server], path, reasons: reasons(done) };
}

/** A tool over ssh. `command` returns the client's program and arguments. */
class OverSsh {
  path = "AES-128-GCM by OpenSSH";

  constructor(name, ssh, note, command) {
    Object.assign(this, { name, ssh, note, command });
  }

  prepare(scratch) {
    return this.ssh.refused(scratch);
  }

  async run({ source, destination, scratch }) {
    const server = await this.ssh.serve(scratch);
    const [program, ...args] = this.command(source, destination, this.ssh.config);
    const client = new End("sender", scratch, program, args);
    await served(server, client);
    return { wall_s: timed(client), ends: [client, server], path: this.path };
  }
}

/** Getting against sending, and against getting by rsync. */
export async function getting(scratch, ringway) {
  const send = new Ringway(ringway);
  send.skip = await send.prepare(scratch);
  const get = { name: "ringway get", note: "the end that receives starts it", keeps: send.keeps, skip: send.skip, run: (conditions) => send.get(conditions) };
  const pulling = { name: "rsync from ssh", note: "rsync -a, no -z, started by the end that receives" };
  if (!which("sshd") || !which("ssh")) return [send, get, { ...pulling, skip: "no OpenSSH server is installed" }];
  const pull = (source, destination, config) => ["rsync", "-a", "-e", `ssh -F ${config}`, `${HOST}:${source}`, `${destination}/`];
  const rsync = new OverSsh(pulling.name, await Ssh.prepare(scratch), pulling.note, pull);
  rsync.skip = (await rsync.prepare(scratch)) ?? null;
  return [send, get, rsync];
}

function overSsh(ssh) {
  return [
    new OverSsh("rsync over ssh", ssh, "rsync -a, no -z", (source, destination, config) => [
      "rsync", "-a", "-e", `ssh -F ${config}`, source, `${HOST}:${destination}/`,
    ]),
    new OverSsh("tar over ssh", ssh, "tar -c | ssh tar -xp", (source, destination, config) => [
      "sh", "-c", 'tar -C "$1" -cf - "$2" | ssh -F "$3" "$4" "tar -C \'$5\' -xpf -"',
      "sh", dirname(source), basename(source), config, HOST, destination,
    ]),
    new OverSsh("scp -r", ssh, "follows symlinks, keeps no times", (source, destination, config) => [
      "scp", "-q", "-r", "-F", config, source, `${HOST}:${destination}/`,
    ]),
  ];
}

const rsyncDaemon = {
  name: "rsync daemon",
  note: "rsync -a, not encrypted",
  async run({ source, destination, scratch }) {
    const port = await freePort();
    const config = join(scratch, "rsyncd.conf");
    const asRoot = isRoot ? "uid = root\ngid = root\n" : "";
    const log = join(scratch, "rsyncd.log");
    writeFileSync(config, `use chroot = no\nlog file = ${log}\n${asRoot}[in]\npath = ${destination}\nread only = no\n`);
    const args = ["--daemon", "--no-detach", `--config=${config}`, "--address=127.0.0.1", `--port=${port}`];
    const server = new End("receiver", scratch, "rsync", args);
    await server.listening(port);
    const client = new End("sender", scratch, "rsync", ["-a", source, `rsync://127.0.0.1:${port}/in/`]);
    await served(server, client);
    return { wall_s: timed(client), ends: [client, server], path: "plain" };
  },
};

/**
 * It reports success once the socket has buffered everything, so its time runs until the receiver
 * has ended too.
 */
function uringSync(binary) {
  return {
    name: "uring-sync",
    note: "not encrypted, no metadata",
    async run({ source, destination, scratch }) {
      const port = await freePort();
      const into = join(destination, basename(source));
      const server = new End("receiver", scratch, binary, ["recv", into, "--listen", String(port), "--secret", SECRET]);
      await server.listening(port);
      const client = new End("sender", scratch, binary, ["send", source, `127.0.0.1:${port}`, "--secret", SECRET]);
      await served(server, client, { serverEnds: true });
      return { wall_s: timed(client, server), ends: [client, server], path: "plain, read and send" };
    },
  };
}

const iperf = {
  name: "iperf3",
  note: "the ceiling: as many bytes in one stream, not encrypted, no files",
  delivers: false,
  async run({ bytes, scratch }) {
    const port = await freePort();
    const server = new End("receiver", scratch, "iperf3", ["-s", "-1", "-B", "127.0.0.1", "-p", String(port)]);
    await server.listening(port);
    const args = ["-c", "127.0.0.1", "-p", String(port), "-n", String(bytes), "-J"];
    const client = new End("sender", scratch, "iperf3", args);
    await served(server, client, { serverEnds: true });
    return { wall_s: timed(client), ends: [client, server], path: "plain, memory to memory" };
  },
};

/**
 * The tools that compare existing files, sending a tree that the destination has already. The first
 * run does not count.
 */
export async function again(scratch, ringway) {
  const comparing = ["ringway", "rsync over ssh", "rsync daemon"];
  const all = (await contenders(scratch, ringway)).filter(({ name }) => comparing.includes(name));
  return all.map((contender) => ({
    name: contender.name,
    note: contender.note,
    skip: contender.skip,
    keeps: contender.keeps,
    async run(conditions) {
      (await contender.run(conditions)).ends.forEach((end) => end.usage());
      return contender.run(conditions);
    },
  }));
}

/** All contenders over the wire. One that cannot run here has `skip`, the reason. */
export async function contenders(scratch, ringway) {
  const all = [new Ringway(ringway)];
  if (which("sshd") && which("ssh")) all.push(...overSsh(await Ssh.prepare(scratch)));
  else all.push(...overSsh(null).map(({ name, note }) => ({ name, note, skip: "no OpenSSH server is installed" })));
  all.push(rsyncDaemon);
  const binary = process.env.RINGWAY_BENCH_URING_SYNC;
  all.push(binary ? uringSync(binary) : { name: "uring-sync", skip: "RINGWAY_BENCH_URING_SYNC names no binary" });
  all.push(which("iperf3") ? iperf : { name: "iperf3", skip: "iperf3 is not installed" });
  for (const contender of all) {
    if (!contender.skip) contender.skip = (await contender.prepare?.(scratch)) ?? null;
  }
  return all;
}
