// Contenders of a copy inside this machine: Ringway and other tools. Each gets the options that
// bring it as close as possible to `cp -a`.
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { CACHE, capture, say, which } from "../setup/process.mjs";
import { lastLine } from "../setup/packages.mjs";
import { End } from "./ends.mjs";
import { KINDS, REFLINK_KINDS } from "./places.mjs";

const isRoot = process.getuid() === 0;
const XCP_VERSION = "0.24.9";
/** Where xcp is installed if it is not on PATH. */
const PEERS = join(CACHE, "peers");
const UNSHARED = "ringway, no reflink";
const EVERYTHING = { folders: true };
const FILES_ALONE = { folders: false };

/**
 * A program that copies `source` to the new name `into`. `command` returns the program and its
 * arguments.
 */
class Copier {
  kinds = KINDS;

  constructor(name, note, keeps, command, more = {}) {
    Object.assign(this, { name, note, keeps, command, ...more });
  }

  async run({ source, destination, scratch }) {
    const [program, ...args] = this.command(source, join(destination, basename(source)));
    // Its text and libraries are read beforehand, so that a cold source is not measured with cold
    // programs.
    capture(program, ["--version"]);
    const copier = await new End("copy", scratch, program, args).end();
    if (copier.status !== 0) throw new Error(`${basename(program)}: exit ${copier.status}: ${copier.said()}`);
    const finished = copier.events().find((event) => event.event === "finished");
    return { wall_s: (copier.finished - copier.started) / 1000, ends: [copier], path: this.path ?? taken(finished) };
  }
}

/**
 * The path that Ringway took, from its closing event: threads, and the share of the bytes for each
 * method.
 */
function taken(finished) {
  if (!finished?.copy) return "";
  const { threads, reflinked_bytes, kernel_bytes, uring_bytes, buffered_bytes } = finished.copy;
  const ways = [
    ["reflink", reflinked_bytes],
    ["in the kernel", kernel_bytes],
    ["read by io_uring", uring_bytes],
    ["read and write", buffered_bytes - uring_bytes],
  ];
  const all = reflinked_bytes + kernel_bytes + buffered_bytes;
  const parts = ways.filter(([, bytes]) => bytes > 0).map(([way, bytes]) => `${way} ${((100 * bytes) / all).toFixed(0)} %`);
  return [`${threads} threads`, ...parts].join(", ");
}

/** Ringway itself, also without the block sharing that some filesystems support. */
function ringway(binary) {
  const command = (...options) => (source, into) => [binary, "copy", "--quiet", "--json", ...options, source, into];
  return [
    new Copier("ringway", "all that cp -a keeps", EVERYTHING, command()),
    new Copier(UNSHARED, "ringway copy --reflink=never", EVERYTHING, command("--reflink=never"), { kinds: REFLINK_KINDS }),
  ];
}

function coreutils() {
  const command = (...options) => (source, into) => ["cp", "-a", ...options, source, into];
  return [
    new Copier("cp -a", "GNU coreutils; shares blocks where it can, since 9.0", EVERYTHING, command(), { path: "reflink or copy_file_range" }),
    new Copier("cp -a --reflink=always", undefined, EVERYTHING, command("--reflink=always"), { kinds: REFLINK_KINDS, path: "reflink" }),
    new Copier("cp -a --reflink=never", `held against ${UNSHARED}`, EVERYTHING, command("--reflink=never"), {
      kinds: REFLINK_KINDS,
      against: UNSHARED,
      path: "read and write",
    }),
  ];
}

/**
 * The program `xcp`, installed for this benchmark if it is not on PATH; or the reason why it is
 * missing.
 */
function xcp() {
  const note =
    "xcp -r, as root with -o (owner); keeps modes, times, attributes and ACLs of files; not those of folders, not times of links, not hard links";
  const installed = which("xcp") ?? join(PEERS, "bin/xcp");
  if (!existsSync(installed)) {
    say(`bench: xcp ${XCP_VERSION} is not on PATH: building it, once`);
    const done = capture("cargo", ["install", "xcp", "--version", XCP_VERSION, "--locked", "--root", PEERS]);
    if (done.status !== 0) return { name: "xcp", skip: `cargo install xcp: ${lastLine(done.err)}` };
  }
  const owner = isRoot ? ["-o"] : [];
  return new Copier("xcp", note, FILES_ALONE, (source, into) => [installed, "-r", "--no-progress", ...owner, source, into], {
    path: "4 threads, copy_file_range",
  });
}

const tar = new Copier(
  "tar to tar",
  "tar -c piped to tar -xp; no attributes, no ACLs, whole seconds",
  null,
  (source, into) => ["sh", "-c", 'tar -C "$1" -cf - "$2" | tar -C "$3" -xpf -', "sh", dirname(source), basename(source), dirname(into)],
  { path: "pipe" },
);

const rsync = new Copier(
  "rsync -a",
  "no hard links, no ACLs, no attributes; a folder's time only to the second",
  FILES_ALONE,
  (source, into) => ["rsync", "-a", source, `${dirname(into)}/`],
  { path: "socket pair between two processes" },
);

function uringSync() {
  const binary = process.env.RINGWAY_BENCH_URING_SYNC;
  if (!binary) return { name: "uring-sync", skip: "RINGWAY_BENCH_URING_SYNC names no binary" };
  return new Copier("uring-sync", "no metadata, no links, no empty folders", null, (source, into) => [binary, source, into], {
    path: "io_uring, splice",
  });
}

/** All contenders of a copy. One that cannot run here has `skip`, the reason. */
export async function contenders(_scratch, binary) {
  const rest = which("rsync") ? [rsync] : [{ name: "rsync -a", skip: "rsync is not installed" }];
  return [...ringway(binary), ...coreutils(), ...rest, xcp(), tar, uringSync()];
}

/**
 * The contenders for the cost by the number of files: besides Ringway, those that show the kernel's
 * part of it.
 */
export async function growth(_scratch, binary) {
  return [ringway(binary)[0], coreutils()[0], xcp()];
}
