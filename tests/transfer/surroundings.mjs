// The surroundings of a generated case: plain folders, another user, a disk with too little space,
// or a limit on file sizes.
import { statfsSync } from "node:fs";
import { capture } from "../setup/process.mjs";
import { isRoot } from "./harness.mjs";

const NOBODY = 65_534;
const SOMEBODY = 1_000;

/** The users who run both tools. The user who is not `me` owns the entries that are in the way. */
const USERS = {
  nobody: { me: NOBODY, other: 0, as: ["setpriv", "--reuid", `${NOBODY}`, "--regid", `${NOBODY}`, "--clear-groups", "--"] },
  "root bound by modes": { me: 0, other: NOBODY, as: ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--"] },
};

/** How often each is drawn, of the sum. */
const WEIGHTS = {
  copy: { plain: 4, nobody: 3, "root bound by modes": 1, "small tmpfs": 2, "full ext4": 1, "file size": 1 },
  // rsync treats a user with the number 0 as one that modes do not apply to.
  send: { plain: 3, nobody: 2, "small tmpfs": 1, "full ext4": 1 },
};

/** The surroundings that are possible for a kind of case. */
export const surroundingsOf = (kind) => Object.keys(WEIGHTS[kind]);

/**
 * The surroundings of a case, by a separate drawing, so that they change nothing else of the case.
 */
export function drawSurroundings(kind, draw) {
  const all = Object.entries(WEIGHTS[kind]).flatMap(([name, weight]) => Array(weight).fill(name));
  const name = draw.one(all);
  if (USERS[name]) return { name, ...USERS[name], rights: rightsOf(draw, USERS[name], kind), tops: topRights(draw, USERS[name], kind) };
  if (name === "file size") return { name, blocks: draw.one([4, 60, 100, 200]) };
  if (!DISKS[name]) return { name };
  const scarce = draw.one(["bytes", "entries", "both", "bytes"]);
  const percent = () => draw.one([0, 10, 25, 40, 50, 60, 75, 90, 97, 100, 105, 130]);
  return { name, scarce, bytes: scarce === "entries" ? null : percent(), entries: scarce === "bytes" ? null : percent() };
}

/** Why these surroundings are impossible below a folder, or null. They run `command`. */
export function lackOf(name, folder, command) {
  const disk = DISKS[name];
  if (!disk && !USERS[name]) return null;
  if (!isRoot) return "takes root";
  if (USERS[name]) {
    const [program, ...args] = [...USERS[name].as, command, "--version"];
    return capture(program, args, { cwd: folder }).status === 0 ? null : "the command or the temporary folder is out of that user's reach";
  }
  try {
    shell(folder, [...disk.make("probe"), "umount probe"]);
    return null;
  } catch (error) {
    capture("umount", ["-l", "probe"], { cwd: folder });
    return error.message.trim().split("\n").at(-1);
  } finally {
    capture("sh", ["-c", "rmdir probe; rm -f probe.image"], { cwd: folder });
  }
}

/** Lines that give the top folders to the user who runs both tools. */
function topRights(draw, { me, other }, kind) {
  // A receiver needs a folder that it may list, and reports that before it listens.
  const unlisted = kind === "copy" ? ["chmod 300 into"] : [];
  const into = draw.one(["", "", "", `chown ${other} into; chmod 1777 into`, `chown ${other} into; chmod 777 into`, `chown ${other} into`, ...unlisted, "chmod 555 into"]);
  return [`chown -hR ${me}:${me} source into`, ...(into ? [into] : [])];
}

/**
 * Returns lines that remove permissions of an entry, or add set-id and sticky bits; mostly none.
 */
function rightsOf(draw, { me, other }, kind) {
  // A known fault: a receiver leaves a folder that it may not list or search. rsync changes its
  // mode.
  const shut = kind === "copy" ? ["chmod 000", "chmod 311", "chmod 444"] : [];
  const lines = {
    source: {
      // cp treats a user with the number 0 as one who may set attributes of a read-only file.
      file: ["chmod 000", ...(me ? ["chmod 444"] : []), "chmod 4755", "chmod 2755", `chown ${SOMEBODY}`, `chown ${other}`, `chown ${other}+chmod 600`, `chown ${other}+chmod 6755`],
      folder: ["chmod 000", "chmod 311", "chmod 444", "chmod 555", "chmod 1777", `chown ${SOMEBODY}`, `chown ${other}+chmod 700`, `chown ${other}+chmod 755`],
    },
    into: {
      file: ["chmod 000", "chmod 444", `chown ${other}+chmod 600`, `chown ${other}+chmod 644`, `chown ${other}+chmod 666`],
      // Sticky only where neither may change it: cp leaves the bit, a copy has the source's.
      folder: [...shut, "chmod 555", `chown ${other}+chmod 755`, `chown ${other}+chmod 777`, ...(me ? [`chown ${other}+chmod 1777`] : [])],
    },
  };
  return (top, kind, path) => {
    if (!draw.oneIn(kind === "file" ? 3 : 4)) return [];
    return draw.one(lines[top.split("/")[0]][kind]).split("+").map((line) => `${line} ${path}`);
  };
}

const figure = (disk, column) => `$(df -B1 --output=${column} ${disk} | tail -n 1)`;
const [ROOMY_BYTES, ROOMY_ENTRIES] = [64 << 20, 4_096];

/**
 * Filesystems as shell lines: made, left with this much space and this many inodes, then enlarged.
 */
export const DISKS = {
  "small tmpfs": {
    make: (at) => [`mkdir ${at}`, `mount -t tmpfs -o size=${ROOMY_BYTES},nr_inodes=${ROOMY_ENTRIES} tmpfs ${at}`],
    leave: (at, { bytes, entries }) => [`mount -o remount,size=$(( ${figure(at, "used")} + ${bytes} )),nr_inodes=$(( ${figure(at, "iused")} + ${entries} )) ${at}`],
    enlarge: (at) => [`mount -o remount,size=${ROOMY_BYTES},nr_inodes=${ROOMY_ENTRIES} ${at}`],
  },
  "full ext4": {
    make: (at) => [
      `mkdir ${at}`,
      `truncate -s ${ROOMY_BYTES} ${at}.image`,
      `mkfs.ext4 -q -F -m 0 -O ^has_journal -E lazy_itable_init=1 -N ${ROOMY_ENTRIES} ${at}.image`,
      `mount -o loop,noatime ${at}.image ${at}`,
      `rmdir ${at}/lost+found`,
    ],
    leave: (at, { bytes, entries }) => [
      `mkdir ${at}/filler`,
      `(cd ${at}/filler; seq $(( ${figure(".", "iavail")} - ${entries} - 1 )) | xargs -r touch bytes)`,
      `fallocate -l $(( ${figure(at, "avail")} - ${bytes} )) ${at}/filler/bytes`,
    ],
    enlarge: (at) => [`rm -r ${at}/filler`],
  },
};

/** The used space and inodes of a disk. */
export function used(at) {
  const { blocks, bfree, bsize, files, ffree } = statfsSync(at);
  return { bytes: (blocks - bfree) * bsize, entries: files - ffree };
}

/** Runs lines that must all succeed. */
export function shell(at, lines) {
  const done = capture("bash", ["-ec", lines.join("\n")], { cwd: at });
  if (done.status !== 0) throw new Error(`${lines.join("\n")}\n${done.err}`);
}
