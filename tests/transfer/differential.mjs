// Compares Ringway with the tools that it replaces: generated trees, options and surroundings. A
// case is a shell script, so that a failing one can be shrunk line by line, and printed to
// reproduce it.
import { chmodSync, lstatSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RINGWAY } from "../setup/build.mjs";
import { Device, differences, freePort } from "../setup/devices.mjs";
import { capture, which } from "../setup/process.mjs";
import { linesOf } from "../setup/schema.mjs";
import { entries, isNamed, unlikeTrees } from "./entries.mjs";
import { adviceWhenFull, needs, wanted, wrongWhenFull } from "./full.mjs";
import { isKnown, pathIn } from "./known.mjs";
import { DISKS, drawSurroundings, lackOf, shell, surroundingsOf, used } from "./surroundings.mjs";

const CODE = "7-river-canal";
/** "File too large" (write(2)). */
const EFBIG = 27;

/**
 * Few names, so that source and destination share some. A few of them are difficult for shells and
 * terminals.
 */
const FOLDERS = ["a", "b c", "-r"];
const OTHERS = ["f", "g", "é", "h", "*", "l"];
const DEPTH_MAX = 3;
const SIZES = [0, 1, 4_095, 70_000, 300_000];
/** Owners keep their permissions. Other tests remove them. */
const MODES = ["600", "644", "755", "640", "777", "700"];
/**
 * No setgid: cp leaves it as access lists happen to have made it, while a copy here has the
 * source's.
 */
const FOLDER_MODES = ["755", "700", "775", "750"];
/** Seconds since 1970. They are few, so that times are often equal. */
const TIMES = [1_500_000_000, 1_600_000_000, 1_700_000_000];

/** The counts of a dry run. It does not look for holes in files, whose bytes are not copied. */
const COUNTS = ["files", "folders", "links", "unchanged", "skipped", "failed"];

/** SplitMix32: the same numbers for the same seed, on every machine. */
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

/**
 * Shell lines that make a tree at `top`. No link leads out of the case, because cp writes through
 * links of a destination, including modes. With `mixesKinds` a folder may meet another kind of
 * entry. FIFOs are not sent. `rights` gives further lines for a file or folder, which go into
 * `righted`.
 */
function tree(draw, top, { isSource, mixesKinds, links, hasHardLinks = isSource, hasFifos = false }, rights, righted) {
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
        // Names that the destination lacks. An entry there would decide which of them comes first,
        // which depends on chance.
        linked.push(path(at, `hard ${name}`));
        lines.push(linked.length > 1 && draw.below(3) > 0 ? `ln ${linked[0]} ${linked.at(-1)}` : `yes ${quoted(name)} | head -c 6000 > ${linked.at(-1)}`);
        righted.push(...rights(top, "file", linked.at(-1)));
        return;
      case 2:
        if (hasFifos) lines.push(`mkfifo ${to}`);
        return;
      default:
        lines.push(`yes ${draw.below(9)} | head -c ${draw.one(SIZES)} > ${to}`);
        lines.push(`chmod ${draw.one(MODES)} ${to}`);
        if (draw.oneIn(5)) lines.push(`setfattr -n user.drawn -v ${draw.below(99)} ${to}`);
        righted.push(...rights(top, "file", to));
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
    righted.push(...rights(top, "folder", quoted(`./${at}`)));
  };
  grow(top, 0);
  return [...lines, ...times];
}

/**
 * The case for that seed: lines that make `source` and perhaps `into`, and how both programs are
 * started.
 */
export function drawCase(kind, seed) {
  const draw = drawing(seed * 7_919 + kind.length);
  const around = drawSurroundings(kind, drawing(seed * 104_729 + kind.length));
  const isCopy = kind === "copy";
  const option = isCopy ? draw.one(["", "-u", "-n"]) : "";
  // With -u and -n, cp does not report entries that are in the way, fails at a link that leads
  // nowhere, and links further names of a file to the one that it keeps, whatever that contains. A
  // copy reports the first, keeps the second, and gives the third their contents from the source.
  const mixesKinds = isCopy && option === "";
  const [rights, righted] = [around.rights ?? (() => []), []];
  const lines = tree(draw, "source", { isSource: true, mixesKinds, links: ["nowhere", "f", "..", "../f"], hasHardLinks: option === "", hasFifos: isCopy }, rights, righted);
  const links = option === "" ? ["nowhere", "gone", ".."] : [];
  if (draw.below(3) > 0) lines.push(...tree(draw, "into/source", { isSource: false, mixesKinds, links }, rights, righted));
  // rsync leaves inherited lists, with -A in part. A receiver removes them (tests/transfer/edited
  // and the engine's).
  if (isCopy && draw.oneIn(4)) lines.push("setfacl -d -m u:65534:rx into");
  lines.push(...(around.tops ?? []), ...righted);
  const [ours, theirs] = option === "" ? [[], []] : [[option], [option]];
  const before = draw.one(["", "", "umask 0; ", "umask 077; ", "ulimit -n 64; "]);
  const extra = isCopy ? draw.one([[], ["--verify"], ["--jobs", "16"], ["--io", "sync"]]) : draw.one([[], ["--lanes", "4"], ["--verify"], ["--compress", "off"]]);
  if (isCopy && around.scarce && draw.oneIn(3)) extra.push("--atomic");
  // With verification, files of equal size and time are compared.
  if (!isCopy && extra.includes("--verify")) theirs.push("--checksum");
  return { kind, seed, around, lines, ours: [...ours, ...extra], theirs, before };
}

/** The reference tool for a case's kind. */
const reference = ({ kind, theirs }) => (kind === "copy" ? ["cp", "-a", ...theirs] : ["rsync", "-aHX", "--modify-window=-1", ...theirs]);

/** How both programs are started. */
const beginning = ({ before, around }) => before + (around.blocks ? `ulimit -f ${around.blocks}; ` : "");
const wrapping = (one) => ["bash", "-c", `${beginning(one)}exec "$@"`, "-", ...(one.around.as ?? [])];

/** Runs the tool, into a folder. A file-size limit kills cp unless its signal is ignored. */
function tool(at, one, to) {
  const [bash, c, line, ...rest] = wrapping(one);
  return capture(bash, [c, one.around.blocks ? `trap "" XFSZ; ${line}` : line, ...rest, ...reference(one), "source", `${to}/`], { cwd: at });
}

/** The closing event of a copy or a send, with its counts. */
function ending(done, out) {
  const events = linesOf(out);
  const finished = events.find(({ event }) => event === "finished");
  return { ...done, events, finished, failures: events.filter(({ event }) => event === "entry_failed") };
}

/** Copies `source` into a folder. */
function ringwayCopies(at, one, to, more = []) {
  const options = more.length > 0 ? one.ours.filter((option) => option !== "--verify") : one.ours;
  const [bash, ...rest] = wrapping(one);
  const done = capture(bash, [...rest, RINGWAY, "copy", "--json", ...more, ...options, "source", to], { cwd: at });
  return ending(done, done.out);
}

const counts = (finished) => COUNTS.map((name) => `${finished?.[name]} ${name}`).join(", ");

/**
 * Whether a dry run predicted the result. It does not write, so it meets no limit on file sizes,
 * and no attribute that only an owner may set.
 */
function differsFromDryRun(expected, ours) {
  if (!expected || counts(expected.finished) === counts(ours.finished)) return [];
  const isRefused = ({ path, errno, operation }) => errno !== null && !path.startsWith("source") && !["create", "open"].includes(operation);
  if (ours.failures.some(isRefused)) return [];
  return [`a dry run says ${counts(expected.finished)}, and then it is ${counts(ours.finished)}: ${ours.err}`];
}

/** A script that reproduces the case, from an empty folder. */
export function script(one) {
  const { kind, lines, ours, around, left } = one;
  const disk = DISKS[around.name];
  const [theirs, own] = disk ? ["theirs/into", "ours/into"] : ["theirs", "ours"];
  const as = around.as ? `${around.as.join(" ")} ` : "";
  const trap = around.blocks ? 'trap "" XFSZ; ' : "";
  const both = [`(${trap}${beginning(one)}${as}${reference(one).join(" ")} source ${theirs}/)`];
  if (kind === "copy") both.push(`(${beginning(one)}${as}ringway copy ${ours.join(" ")} source ${own})`);
  else both.push(`(${beginning(one)}${as}ringway send ${sendOptions(one).join(" ")} source RECEIVER)   # ringway recv ${[own, ...receiveOptions(one)].join(" ")}`);
  const places = disk
    ? ["theirs", "ours"].flatMap((at) => [...disk.make(at), `cp -a into ${at}`, ...disk.leave(at, left ?? { bytes: 0, entries: 0 })])
    : ["cp -a into theirs; cp -a into ours"];
  const after = disk ? [`# then, once there is space (${disk.enlarge("ours").join("; ")}), what the message advises`] : [];
  return ["#!/bin/bash", "umask 022", "mkdir -p source into", ...lines, ...places, ...both, ...after, `rsync -aHAXn --delete --checksum -i ${theirs}/ ${own}/`, ""].join("\n");
}

const sendOptions = ({ ours, around }) => [...ours, ...(around.scarce ? ["--retry", "no"] : [])];
const receiveOptions = ({ around }) => ["--modes", ...(around.as ? ["--setuid"] : []), ...(around.me === 0 ? ["--owner"] : [])];

const titleOf = ({ kind, around }) => `${kind}, ${around.name}`;

/** The kind of the first difference, which must stay the same while a case is shrunk. */
const sortOf = (found) => found[0]?.replace(/^(?!exit|a dry run|ringway,|cp,|rsync,|once there).*/s, "tree").split(" ")[0];

/** Runs cases below `base`. */
export class Differential {
  #base;
  #devices;
  /** How many cases were drawn, by kind and surroundings. */
  #drawn = new Map();
  /** How often a copy or send of those ran out of space. */
  #full = new Map();
  #lacking = new Map();

  constructor(base) {
    this.#base = base;
  }

  /** Makes two devices for each user, which are paired by their first transfer. */
  prepare() {
    chmodSync(this.#base, 0o755);
    const pair = (user) => ["near", "far"].map((name) => new Device(this.#base, `${name}${user}`));
    this.#devices = { own: pair(""), others: pair("-other") };
    for (const device of this.#devices.others) {
      device.codeFile(CODE);
      capture("chown", ["-R", "65534:65534", device.folder]);
    }
  }

  /** Why surroundings cannot be used here, or null. */
  #lackOf(name) {
    if (!this.#lacking.has(name)) this.#lacking.set(name, lackOf(name, this.#base, RINGWAY));
    return this.#lacking.get(name);
  }

  /**
   * For one kind and surroundings: how many cases were drawn and ran out of space, and why they
   * were skipped.
   */
  tried(kind, name) {
    const title = titleOf({ kind, around: { name } });
    return { title, drawn: this.#drawn.get(title) ?? 0, full: this.#full.get(title) ?? 0, lacking: this.#lackOf(name), mayBeFull: name in DISKS };
  }

  /** The same in words, for all of them. */
  told() {
    const all = ["copy", "send"].flatMap((kind) => surroundingsOf(kind).map((name) => this.tried(kind, name)));
    const more = ({ full, lacking, mayBeFull }) => (lacking ? `, skipped: ${lacking}` : mayBeFull ? `, ${full} times out of space` : "");
    return all.filter(({ drawn }) => drawn > 0).map((one) => `${one.title}: ${one.drawn} cases${more(one)}`);
  }

  /** Sends `source` into a folder. Returns the exit status of an end that failed. */
  async #send(at, one, to) {
    const [near, far] = one.around.me ? this.#devices.others : this.#devices.own;
    const wrap = wrapping(one);
    const target = `127.0.0.1:${await freePort()}`;
    const receiving = far.start(["recv", join(at, to), "--listen", target, "--json", "--yes", "--once", ...receiveOptions(one), "--code-file", far.codeFile(CODE)], { wrap });
    try {
      const isListening = await receiving.event("listening").then(() => true, () => false);
      if (!isListening) return ending({ status: await receiving.exit(), err: receiving.said(), isRefused: /Nothing can be received into .*: Permission denied/.test(receiving.stderr) }, "");
      const sending = near.start(["send", join(at, "source"), target, "--json", "--code-file", near.codeFile(CODE), ...sendOptions(one)], { wrap });
      const status = await sending.exit();
      // If the sender may not open `source` itself it offers nothing, and rsync makes the folder.
      const isRefused = status !== 0 && !receiving.events.some(({ event }) => event === "offer") && /could not be opened/.test(sending.stderr);
      if (isRefused) receiving.kill();
      const there = await receiving.exit();
      return ending({ status: status || there, err: `${receiving.stderr}${sending.stderr}`, isRefused }, sending.stdout);
    } finally {
      receiving.kill();
    }
  }

  #ringway(at, one, to) {
    return one.kind === "copy" ? ringwayCopies(at, one, to) : this.#send(at, one, to);
  }

  /** What is missing here, or false. */
  static lacks() {
    const tools = ["rsync", "setfattr", "getfattr", "setfacl"].filter((tool) => !which(tool));
    return tools.length > 0 && `${tools.join(" and ")} not installed`;
  }

  /** Lines with the differences; empty if there are none. */
  async differs(one) {
    const at = mkdtempSync(join(this.#base, "case-"));
    chmodSync(at, 0o755);
    try {
      writeFileSync(join(at, "make.sh"), ["umask 022", "mkdir -p source into", ...one.lines, ""].join("\n"));
      capture("bash", [join(at, "make.sh")], { cwd: at });
      return await (one.around.scarce ? this.#differsWhenFull(at, one) : this.#differsInFolders(at, one));
    } finally {
      if (one.around.scarce) for (const name of ["large", "theirs", "ours"]) capture("umount", ["-l", join(at, name)]);
      capture("chmod", ["-R", "u+rwX", at]);
      rmSync(at, { recursive: true, force: true });
    }
  }

  async #differsInFolders(at, one) {
    shell(at, ["cp -a into theirs", "mv into ours"]);
    const bytesMax = one.around.blocks && one.around.blocks * 1024;
    const before = entries(join(at, "ours"));
    const expected = one.kind === "copy" ? ringwayCopies(at, one, "ours", ["--dry-run"]) : null;
    const theirs = tool(at, one, "theirs");
    const ours = await this.#ringway(at, one, "ours");
    // A receiver stages in its folder and needs to write there, while rsync continues below it.
    if (ours.isRefused) return unlikeTrees(before, entries(join(at, "ours"))).map((line) => `nothing is received, and yet ${line}`);
    const run = { at, one, before, theirs, ours };
    const found = bytesMax ? this.#differsWhereTooLarge(bytesMax, run) : this.#treesDiffer(run);
    if ((theirs.status === 0) !== (ours.status === 0) && !isKnown(run)) found.push(`exit ${theirs.status} and ${ours.status}: ${theirs.err}${ours.err}`);
    found.push(...differsFromDryRun(expected, ours));
    return found;
  }

  /** The differences between the two results. */
  #treesDiffer(run) {
    const { at, one } = run;
    const isOthers = (path) => one.around.me && lstatSync(join(at, "ours", path)).uid !== one.around.me;
    return differences(join(at, "theirs"), join(at, "ours")).filter((line) => {
      const path = pathIn(line);
      // Both have the times of the two runs: the top folders of the destination, and entries of
      // another user, who alone may set their times.
      if (/^\.[df]\.\.t\.+ /.test(line) && (path === "." || isOthers(path))) return false;
      return !isKnown(run, line);
    });
  }

  /**
   * Files above the limit: cp leaves them cut, a copy removes or names them. Everything else is the
   * same.
   */
  #differsWhereTooLarge(bytesMax, { at, before: was, ours }) {
    const [source, here, there] = ["source", "ours", "theirs"].map((name) => entries(join(at, name)));
    const isTooLarge = (path) => source.get(path.replace(/^source\//, ""))?.kind === "file" && source.get(path.replace(/^source\//, "")).size > bytesMax;
    const found = unlikeTrees(there, here, isTooLarge);
    for (const path of [...source.keys()].map((path) => join("source", path)).filter(isTooLarge)) {
      const [before, now] = [was.get(path), here.get(path)];
      if (!before && (now || !isNamed(ours.failures, path))) found.push(`${path} is larger than the limit: ${now ? "left cut" : "not named"}: ${ours.err}`);
      if (before && !now) found.push(`${path} is lost`);
      if (before && now && now.time === "0" && !isNamed(ours.failures, path)) found.push(`${path} is cut, and not named: ${ours.err}`);
      if (before && now && now.time !== "0" && unlikeTrees(new Map([[path, before]]), new Map([[path, now]])).length > 0) found.push(`${path} is cut, and looks whole`);
    }
    return found;
  }

  /**
   * On a disk that has too little space, or perhaps just enough: see full.mjs for the conditions.
   */
  async #differsWhenFull(at, one) {
    const disk = DISKS[one.around.name];
    for (const name of ["large", "theirs", "ours"]) shell(at, [...disk.make(name), `cp -a into ${name}`]);
    const [was, before] = [entries(join(at, "large/into")), used(join(at, "large"))];
    const large = tool(at, one, "large/into");
    const [atLarge, after, source] = [entries(join(at, "large/into")), used(join(at, "large")), entries(join(at, "source"))];
    const want = wanted(one, { atLarge, was, source });
    const need = needs({ source, before, after, kind: one.kind });
    one.left = need.left(one.around);
    for (const name of ["theirs", "ours"]) shell(at, disk.leave(name, one.left));
    const expected = one.kind === "copy" ? ringwayCopies(at, one, "ours/into", ["--dry-run"]) : null;
    const found = unlikeTrees(was, entries(join(at, "ours/into"))).map((line) => `a dry run changed ${line}`);
    const theirs = tool(at, one, "theirs/into");
    const ours = await this.#ringway(at, one, "ours/into");
    const now = entries(join(at, "ours/into"));
    for (const [name, { status, err }] of [[reference(one)[0], theirs], ["ringway", ours]]) {
      const wrong = need.wrongStatus(one.left, status === 0, large.status === 0);
      if (wrong) found.push(`${name}, ${wrong}: exit ${status}, on a large disk ${large.status}: ${err}`);
    }
    found.push(...wrongWhenFull({ was, want, now, source, ours, isCopy: one.kind === "copy", isAtomic: one.ours.includes("--atomic") }));
    const advice = adviceWhenFull(ours);
    if (advice === null) found.push(...differsFromDryRun(expected, ours));
    else this.#full.set(titleOf(one), (this.#full.get(titleOf(one)) ?? 0) + 1);
    shell(at, disk.enlarge("ours"));
    const last = advice === null ? ours : await this.#again(at, one, advice);
    if (last.status === undefined) found.push(`no command is advised: ${ours.err}`);
    if ((last.status === 0) !== (large.status === 0)) found.push(`once there is space: exit ${last.status}, on a large disk ${large.status}: ${last.err}`);
    const finished = unlikeTrees(want, entries(join(at, "ours/into")));
    if (finished.length > 0) found.push("once there is space:", ...finished, ours.err, last.err ?? "");
    return found;
  }

  /** Follows the message's advice: runs the command in it, or sends the same again. */
  async #again(at, one, advice) {
    if (one.kind === "send") return this.#send(at, one, "ours/into");
    const [, command] = advice.match(/run: (ringway copy .*)$/s) ?? [];
    if (!command) return {};
    return capture("bash", ["-c", `ringway() { "$0" "$@"; }; ${beginning(one)}${command}`, RINGWAY], { cwd: at });
  }

  /** The same case with as few lines as possible. */
  async shrink(one) {
    const kind = sortOf(await this.differs(one));
    for (let size = Math.ceil(one.lines.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
      for (let from = 0; from < one.lines.length; ) {
        const fewer = { ...one, lines: one.lines.toSpliced(from, size) };
        if (sortOf(await this.differs(fewer)) === kind) one = fewer;
        else from += size;
      }
    }
    return one;
  }

  /** Throws an error with a script if a case differs. */
  async holds(kind, seed) {
    const drawn = drawCase(kind, seed);
    const { name } = drawn.around;
    this.#drawn.set(titleOf(drawn), (this.#drawn.get(titleOf(drawn)) ?? 0) + 1);
    if (this.#lackOf(name)) return;
    if ((await this.differs(drawn)).length === 0) return;
    const least = await this.shrink(drawn);
    throw new Error(`${kind}, seed ${seed}, ${name}:\n${(await this.differs(least)).join("\n")}\n\n${script(least)}`);
  }
}
