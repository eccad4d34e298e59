// Boots the guest in QEMU, streams its console, and returns how its payload ended.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { CACHE, capture, which } from "../setup/process.mjs";
import { CannotInstall, needGroup } from "../setup/packages.mjs";
import { buildInitramfs } from "./initramfs.mjs";
import { kernel } from "./kernel.mjs";
import { emulator } from "./qemu.mjs";

/**
 * Guest memory, MiB: the programs, two trees of about 50 MB at a time and both ends at their 64 MiB
 * limit leave half free.
 */
const MEMORY_MIB = 2048;
/**
 * How often a guest is started at most. QEMU 10.0.2 aborted once while one with two processors
 * booted: "iotlb_to_section: Assertion `section_index < d->map.sections_nb' failed", a race of its
 * threads with a change of the memory map.
 */
const STARTS_MAX = 3;
/**
 * Without `no_timer_check` the kernel waits for ten ticks of its timer while it boots. It panics if
 * they are late, as on a machine that is busy.
 */
const COMMAND_LINE = "console=ttyS0 quiet loglevel=3 panic=-1 mitigations=off no_timer_check";
const EXIT_LINE = /^guest: exit (\d+)$/;

/** Whether this machine's own kernel supports kernel TLS. Root may load the module for it. */
export function hostHasKernelTls() {
  if (process.getuid() === 0 && which("modprobe")) capture(which("modprobe"), ["-q", "tls"]);
  return capture("grep", ["-qw", "tls", "/proc/sys/net/ipv4/tcp_available_ulp"]).status === 0;
}

/**
 * Why no virtual machine with such a kernel can run here, or null. Installs missing packages first.
 */
export function vmMissing(flavour = "cloud") {
  if (process.arch !== "x64") return `the virtual machine is for x86-64 hosts, this one is ${process.arch}`;
  try {
    needGroup("vm", "the kernel TLS virtual machine");
  } catch (error) {
    if (error instanceof CannotInstall) return error.message;
    throw error;
  }
  try {
    kernel(flavour);
    emulator();
  } catch (error) {
    return error.message;
  }
  for (const tool of ["busybox", "modprobe", "cpio"]) {
    if (!which(tool)) return `${tool} is missing`;
  }
  return null;
}

/**
 * Runs `script` in a new guest with `programs` on its PATH, `files` in place and `modules` loaded
 * in addition to those of TLS. Every console line goes to `onLine`. Resolves to {status, lines,
 * seconds}: status is the script's, or null if the guest ended without reporting one. The script
 * gets the argument `guest`. With `instructionClock` the guest's clock counts instructions, a
 * nanosecond each. A guest whose emulator fails an assertion of its own starts again.
 */
export async function runInVm({ name, flavour = "cloud", script, programs, files, modules, memoryMib = MEMORY_MIB, timeoutSeconds, instructionClock = false, onLine = () => {} }) {
  const guestKernel = kernel(flavour);
  const folder = join(CACHE, "vm", name);
  mkdirSync(folder, { recursive: true });
  const initramfs = join(folder, "initramfs.cpio");
  buildInitramfs({ kernel: guestKernel, output: initramfs, scratch: join(folder, "root"), programs, files, modules, script });
  const emulated = emulator();
  const args = [...emulated.args, ...machine(guestKernel.image, initramfs, emulated, memoryMib, instructionClock)];
  for (let start = 1; ; start += 1) {
    const ended = await booted({ ...emulated, args }, timeoutSeconds, onLine);
    if (ended.signal !== "SIGABRT" || start === STARTS_MAX) return ended;
    onLine(`guest: the emulator failed: start ${start + 1} of at most ${STARTS_MAX}`);
  }
}

/** One start of a guest, to its end. `signal` is what ended the emulator, if a signal did. */
async function booted({ command, args, env }, timeoutSeconds, onLine) {
  const started = Date.now();
  const qemu = spawn(command, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  const lines = [];
  let status = null;
  const stop = () => qemu.kill("SIGKILL");
  const timer = setTimeout(() => {
    lines.push(`guest: no end after ${timeoutSeconds} s`);
    stop();
  }, timeoutSeconds * 1000);
  process.once("exit", stop);
  const take = (line) => {
    const plain = line.replace(/\r/g, "").replace(/\x1b\[[0-9;?]*[A-Za-z]/g, "");
    if (!plain) return;
    lines.push(plain);
    onLine(plain);
    const exit = plain.match(EXIT_LINE);
    if (exit) status = Number(exit[1]);
  };
  const readers = [qemu.stdout, qemu.stderr].map((stream) => {
    const reader = createInterface({ input: stream, crlfDelay: Infinity });
    reader.on("line", take);
    return new Promise((resolve) => reader.on("close", resolve));
  });
  const signal = await new Promise((resolve, reject) => qemu.on("close", (_, by) => resolve(by)).on("error", reject));
  await Promise.all(readers);
  clearTimeout(timer);
  process.removeListener("exit", stop);
  return { status, signal, lines, seconds: (Date.now() - started) / 1000 };
}

/** Why kernel TLS is available neither on this machine's own kernel nor in a guest, or null. */
export function kernelTlsMissing() {
  const why = hostHasKernelTls() ? null : vmMissing();
  return why && `this kernel has no TLS, and no virtual machine: ${why}`;
}

/**
 * Runs one of this folder's scripts of kernel TLS on a kernel that has it: on this machine, or else
 * in a guest, whose lines are shown. `programs` are on its PATH. Resolves to {status, lines}.
 */
export async function runWithKernelTls({ name, script, programs, timeoutSeconds }) {
  const here = import.meta.dirname;
  if (hostHasKernelTls()) {
    const path = [...programs.map(dirname), process.env.PATH].join(":");
    const options = { env: { ...process.env, PATH: path }, encoding: "utf8", timeout: timeoutSeconds * 1000 };
    const done = spawnSync("sh", [join(here, script)], options);
    return { status: done.status, lines: (done.stdout + done.stderr).split("\n") };
  }
  const beside = ["transfer.sh", "tls.sh"].map((file) => [`payload/${file}`, join(here, file)]);
  const onLine = (line) => process.stdout.write(`  guest| ${line}\n`);
  return runInVm({ name, script: join(here, script), files: Object.fromEntries(beside), programs, timeoutSeconds, onLine });
}

/** Only one processor can be counted, in one thread. */
const COUNTED = ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off"];

function machine(image, initramfs, { cpus, fastStrings }, memoryMib, counting) {
  // With the features for copying and filling fast, the emulator would do it byte by byte, each of
  // which counts as an instruction.
  const cpu = ["max", ...fastStrings.map((name) => `-${name}`)].join(",");
  return [
    ...(counting ? COUNTED : ["-accel", "tcg,thread=multi"]),
    ...["-cpu", cpu],
    ...["-smp", String(counting ? 1 : cpus), "-m", String(memoryMib)],
    ...["-kernel", image, "-initrd", initramfs],
    ...["-append", COMMAND_LINE],
    ...["-device", "virtio-rng-pci", "-nic", "none", "-no-reboot", "-nodefaults", "-no-user-config"],
    ...["-display", "none", "-serial", "stdio", "-monitor", "none"],
  ];
}
