// Ringway against the tools that it replaces: generated trees, options and surroundings. A case is a shell script, so that one that differs can be shrunk line by
// line, and printed as what reproduces it.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RINGWAY } from "../setup/build.mjs";
import { Device, differences, freePort } from "../setup/devices.mjs";
import { capture, which } from "../setup/process.mjs";

const CODE = "7-river-canal";

/** Few names, so that source and destination meet; among them some that shells and terminals trip over. */
const FOLDERS = ["a", "b c", "-r"];
const OTHERS = ["f", "g", "é", "h", "*", "l"];
const DEPTH_MAX = 3;
const SIZES = [0, 1, 4_095, 70_000, 300_000];
/** Owner's rights stay: what takes them away has tests of its own. */
const MODES = ["600", "644", "755", "640", "777", "700"];
/** No setgid: cp leaves it as it happens to be there, by way of access lists; here a copy has the source's. */
const FOLDER_MODES = ["755", "700", "775", "750"];
/** Seconds since 1970, few, so that times are equal often. */
const TIMES = [1_500_000_000, 1_600_000_000, 1_700_000_000];

/** What a dry run foretells; it does not look for the holes in files, whose bytes are not copied. */
const COUNTS = ["files", "folders", "links", "unchanged", "skipped", "failed"];

/** SplitMix32: the same numbers for the same seed, everywhere. */
export function drawing(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  };
  const below = (bound) => next() % bound;
  return { below, one: (all) => all[below(all.length)], oneIn: (count) => below(count) === 0 };
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** Shell lines that make a tree at `top`. No link leads out of the case: cp writes through those of a destination, modes included. With `mixesKinds` a folder may meet something else. FIFOs are not sent. */
function tree(draw, top, { isSource, mixesKinds, links, hasHardLinks = isSource, hasFifos = false }) {
  const [lines, times, linked] = [[], [], []];
  const path = (at, name) => quoted(`./${at}/${name}`);
  const other = (at, name) => {
    const to = path(at, name);
    switch (draw.below(9)) {
      case 0:
        if (links.length === 0) return;
        lines.push(`ln -s ${draw.one(links)} ${to}`);
        break;
      case 1:
        if (!hasHardLinks) {
          lines.push(`truncate -s 1M ${to}`);
          break;
        }
        // Names that the destination lacks: what stands there would decide which of them is the first, and that is chance.
        linked.push(path(at, `hard ${name}`));
        lines.push(linked.length > 1 && draw.below(3) > 0 ? `ln ${linked[0]} ${linked.at(-1)}` : `yes ${quoted(name)} | head -c 6000 > ${linked.at(-1)}`);
        return;
      case 2:
        if (hasFifos) lines.push(`mkfifo ${to}`);
        return;
      default:
        lines.push(`yes ${draw.below(9)} | head -c ${draw.one(SIZES)} > ${to}`);
        lines.push(`chmod ${draw.one(MODES)} ${to}`);
        if (draw.oneIn(5)) lines.push(`setfattr -n user.drawn -v ${draw.below(99)} ${to}`);
    }
    times.push(`touch -chd @${draw.one(TIMES)} ${to}`);
  };
  const grow = (at, depth) => {
    lines.push(`mkdir -p ${quoted(`./${at}`)}`);
    for (const name of OTHERS) if (draw.below(3) > 0) other(at, name);
    for (const name of FOLDERS) {
      if (mixesKinds && draw.oneIn(12)) other(at, name);
      else if (depth < DEPTH_MAX && draw.oneIn(2)) grow(`${at}/${name}`, depth + 1);
    }
    times.push(`chmod ${draw.one(FOLDER_MODES)} ${quoted(`./${at}`)}`, `touch -cd @${draw.one(TIMES)} ${quoted(`./${at}`)}`);
  };
  grow(top, 0);
  return [...lines, ...times];
}

/** What a case of that seed is: lines that make `source` and perhaps `into`, and how both programs are started. */
export function drawCase(kind, seed) {
  const draw = drawing(seed * 7_919 + kind.length);
  const isCopy = kind === "copy";
  const option = isCopy ? draw.one(["", "-u", "-n"]) : "";
  // With -u and -n, cp says nothing of what is in the way, fails at a link that leads nowhere, and links further names of a file to the one that it keeps,
  // whatever that has in it: a copy tells the first, keeps the second, and gives the third what they have in the source.
  const mixesKinds = isCopy && option === "";
  const lines = tree(draw, "source", { isSource: true, mixesKinds, links: ["nowhere", "f", "..", "../f"], hasHardLinks: option === "", hasFifos: isCopy });
  const links = option === "" ? ["nowhere", "gone", ".."] : [];
  if (draw.below(3) > 0) lines.push(...tree(draw, "into/source", { isSource: false, mixesKinds, links }));
  // rsync leaves what is inherited, with -A in part; a receiver removes it (tests/transfer/edited and the engine's).
  if (isCopy && draw.oneIn(4)) lines.push("setfacl -d -m u:65534:rx into");
  const [ours, theirs] = option === "" ? [[], []] : [[option], [option]];
  const before = draw.one(["", "", "umask 0; ", "umask 077; ", "ulimit -n 64; "]);
  const extra = isCopy ? draw.one([[], ["--verify"], ["--jobs", "16"], ["--io", "sync"]]) : draw.one([[], ["--lanes", "4"], ["--verify"], ["--compress", "off"]]);
  // To be verified, files of equal size and time are compared.
  if (!isCopy && extra.includes("--verify")) theirs.push("--checksum");
  return { kind, seed, lines, ours: [...ours, ...extra], theirs, before };
}

/** Copies `source` into `ours`, both in the folder `at`. Gives the exit status, and the counts that the copy states. */
function ringwayCopies(at, { before, ours }, more = []) {
  const options = more.length > 0 ? ours.filter((option) => option !== "--verify") : ours;
  const done = capture("bash", ["-c", `${before}exec "$@"`, "-", RINGWAY, "copy", "--json", ...more, ...options, "source", "ours"], { cwd: at });
  const finished = done.out.split("\n").filter(Boolean).map((line) => JSON.parse(line)).find(({ event }) => event === "finished");
  const counts = COUNTS.map((name) => `${finished?.[name]} ${name}`).join(", ");
  return { ...done, err: done.err + done.out, counts };
}

/** What reproduces it, from an empty folder. */
export function script({ kind, lines, ours, theirs, before }) {
  const both = kind === "copy"
    ? [`cp -a ${theirs.join(" ")} source theirs/`, `ringway copy ${ours.join(" ")} source ours`]
    : [`rsync -aHX --modify-window=-1 ${theirs.join(" ")} source theirs/`, `ringway send ${ours.join(" ")} source RECEIVER   # ringway recv ours --modes`];
  return ["#!/bin/bash", "umask 022", "mkdir -p source into", ...lines, "cp -a into theirs; cp -a into ours", ...both.map((line) => `(${before}${line})`), "rsync -aHAXn --delete --checksum -i theirs/ ours/", ""].join("\n");
}

/** Runs cases below `base`. */
export class Differential {
  #base;
  #devices;

  constructor(base) {
    this.#base = base;
  }

  /** Makes two devices, which are paired by their first transfer. */
  prepare() {
    this.#devices = ["near", "far"].map((name) => new Device(this.#base, name));
  }

  /** Sends `source` into `ours`, both in the folder `at`. Gives the exit status of either end that failed. */
  async #send(at, { before, ours }) {
    const [near, far] = this.#devices;
    const wrap = ["bash", "-c", `${before}exec "$@"`, "-"];
    const target = `127.0.0.1:${await freePort()}`;
    const receiving = far.start(["recv", join(at, "ours"), "--listen", target, "--json", "--yes", "--once", "--modes", "--code-file", far.codeFile(CODE)], { wrap });
    try {
      await receiving.event("listening");
      const sending = near.start(["send", join(at, "source"), target, "--json", "--code-file", near.codeFile(CODE), ...ours], { wrap });
      const status = await sending.exit();
      const there = await receiving.exit();
      return { status: status || there, err: sending.said() + receiving.said() };
    } finally {
      receiving.kill();
    }
  }

  /** What is missing here, or none. */
  static lacks() {
    const tools = ["rsync", "setfattr", "setfacl"].filter((tool) => !which(tool));
    return tools.length > 0 && `${tools.join(" and ")} not installed`;
  }

  /** Lines that say what differs; none where nothing does. */
  async differs(one) {
    const at = mkdtempSync(join(this.#base, "case-"));
    try {
      writeFileSync(join(at, "make.sh"), ["umask 022", "mkdir -p source into", ...one.lines, "cp -a into theirs", "mv into ours", ""].join("\n"));
      capture("bash", [join(at, "make.sh")], { cwd: at });
      const expected = one.kind === "copy" ? ringwayCopies(at, one, ["--dry-run"]) : null;
      const reference = one.kind === "copy" ? ["cp", "-a", ...one.theirs, "source", "theirs/"] : ["rsync", "-aHX", "--modify-window=-1", ...one.theirs, "source", "theirs/"];
      const theirs = capture("bash", ["-c", `${one.before}exec "$@"`, "-", ...reference], { cwd: at });
      const ours = one.kind === "copy"
        ? ringwayCopies(at, one)
        : await this.#send(at, one);
      // The folders that stand for the destination have the times of the two runs.
      const found = differences(join(at, "theirs"), join(at, "ours")).filter((line) => !/^\.d\.\.t\.+ \.\/$/.test(line));
      if ((theirs.status === 0) !== (ours.status === 0)) found.push(`exit ${theirs.status} and ${ours.status}: ${theirs.err}${ours.err}`);
      if (expected && expected.counts !== ours.counts) found.push(`a dry run says ${expected.counts}, and then it is ${ours.counts}`);
      return found;
    } finally {
      capture("chmod", ["-R", "u+rwX", at]);
      rmSync(at, { recursive: true, force: true });
    }
  }

  /** The same with as few lines as it takes. */
  async shrink(one) {
    for (let size = Math.ceil(one.lines.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
      for (let from = 0; from < one.lines.length; ) {
        const fewer = { ...one, lines: one.lines.toSpliced(from, size) };
        if ((await this.differs(fewer)).length > 0) one = fewer;
        else from += size;
      }
    }
    return one;
  }

  /** Throws with a script where a case differs. */
  async holds(kind, seed) {
    const drawn = drawCase(kind, seed);
    if ((await this.differs(drawn)).length === 0) return;
    const least = await this.shrink(drawn);
    throw new Error(`${kind}, seed ${seed}:\n${(await this.differs(least)).join("\n")}\n\n${script(least)}`);
  }
}
