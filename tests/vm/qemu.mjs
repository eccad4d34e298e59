// The emulator: the system's if it is new enough, else the backported one, unpacked inside the
// clone and never installed.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { CACHE, capture, say, which } from "../setup/process.mjs";
import { lastLine, privateApt, release, unpack } from "../setup/packages.mjs";

const FOLDER = join(CACHE, "vm/qemu");
const PROGRAM = "qemu-system-x86_64";
/**
 * Emulated x86 guests with more than one CPU crash while booting in version 7.2 (double faults
 * within the first seconds, 8 of 8 boots of Linux 6.12), and do not crash with one CPU. Version 10
 * was sound, 8 of 8, and runs the guest's AES with the host's instructions.
 */
const SOUND_VERSION = 10;
const PACKAGES = ["qemu-system-x86", "qemu-system-common", "qemu-system-data", "seabios"];

/**
 * Features of an emulated processor for copying and filling fast, by QEMU's names. Old versions
 * have, and know, the first two.
 */
const FAST_STRINGS = ["erms", "fsrm", "fsrs", "fzrm", "fsrc"];

/**
 * {command, args, env, cpus, fastStrings}: how to start it. Throws with the reason if there is
 * none.
 */
export function emulator() {
  const system = { command: which(PROGRAM), args: [], env: {} };
  const sound = { cpus: 2, fastStrings: FAST_STRINGS };
  if (system.command && version(system) >= SOUND_VERSION) return { ...system, ...sound };
  const own = backported();
  if (own) return { ...own, ...sound };
  if (!system.command) throw new Error(`${PROGRAM} is missing`);
  return { ...system, cpus: 1, fastStrings: FAST_STRINGS.slice(0, 2) };
}

function backported() {
  const { id, codename } = release();
  if (id !== "debian" || codename !== "bookworm") return null;
  const own = {
    command: join(FOLDER, "usr/bin", PROGRAM),
    args: ["-L", join(FOLDER, "usr/share/qemu"), "-L", join(FOLDER, "usr/share/seabios")],
    env: { QEMU_MODULE_DIR: join(FOLDER, "usr/lib/x86_64-linux-gnu/qemu") },
  };
  if (!existsSync(own.command)) {
    say(`set-up: the virtual machine needs a newer QEMU: unpacking the backported one inside the clone`);
    const apt = privateApt(join(CACHE, "vm/apt"), `${codename}-backports`);
    if (!apt) return null;
    try {
      unpack(apt, PACKAGES, FOLDER);
    } catch (error) {
      say(`set-up: ${error.message}`);
      return null;
    }
  }
  // Its libraries are the installed version's, so a backport that needs newer ones cannot be used.
  return version(own) >= SOUND_VERSION ? own : null;
}

function version({ command, env }) {
  const shown = capture(command, ["--version"], { env: { ...process.env, ...env } });
  if (shown.status !== 0) say(`set-up: ${command}: ${lastLine(shown.err)}`);
  return Number(shown.out.match(/version (\d+)/)?.[1] ?? 0);
}
