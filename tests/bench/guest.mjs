// Measuring in a virtual machine whose clock counts instructions, between two ends that are joined
// by a link with delay, loss and a rate. Waiting takes no time there, and no other load changes a
// figure.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lastLine } from "../setup/packages.mjs";
import { CACHE, ROOT, capture, say, which } from "../setup/process.mjs";
import { runInVm, vmMissing } from "../vm/vm.mjs";

const FAR = join(ROOT, "tests/bench/far.sh");
const TOOLS = ["bash", "ip", "tc", "ssh", "sshd"];
/** Two trees of 256 MB, their text, and the buffers of fast links. */
const MEMORY_MIB = 3072;
/** One link, emulated on a busy machine. */
const SECONDS_PER_LINK = 3600;
const FIGURE = /^figure /;
const FAULT = /^(fault |guest: no end)/;

/** The program, also if the folder of an administrator's programs is not on PATH. */
function found(tool) {
  return which(tool) ?? ["/usr/sbin", "/sbin"].map((folder) => join(folder, tool)).find((path) => existsSync(path)) ?? null;
}

/** Why nothing can be measured with these tools, or null. */
export function missing(tools) {
  const lacking = [...TOOLS, ...tools].find((tool) => !found(tool));
  return vmMissing() ?? (lacking ? `${lacking} is missing` : null);
}

/** Files in `folder` for the guest: keys for ssh, the amounts, and `contents` by name. */
function payload(folder, amounts, contents) {
  mkdirSync(folder, { recursive: true });
  const files = { "payload/far.sh": FAR };
  for (const key of ["host", "user"]) {
    if (!existsSync(join(folder, key))) {
      const made = capture("ssh-keygen", ["-q", "-t", "ecdsa", "-N", "", "-C", "", "-f", join(folder, key)]);
      if (made.status !== 0) throw new Error(`ssh-keygen: ${lastLine(made.err)}`);
    }
    for (const name of [key, `${key}.pub`]) files[`payload/${name}`] = join(folder, name);
  }
  const lines = Object.entries(amounts).map(([name, value]) => `${name}="${value}"\n`);
  for (const [name, what] of Object.entries({ amounts: lines.join(""), ...contents })) {
    writeFileSync(join(folder, name), what);
    files[`payload/${name}`] = join(folder, name);
  }
  return files;
}

/**
 * Runs `script` over a link of `rtt` ms, `loss` percent each way and `rate` Mbit/s each way.
 * Returns the words of its lines of figures, without the first. Faults go to `report.skipped`.
 */
export async function overLink({ part, script, link, amounts, contents = {}, programs, tools, modules = [], report }) {
  const { rtt, loss, rate } = link;
  const all = { rtt_us: rtt * 1000, loss: `${loss}%`, rate: `${rate}mbit`, ...amounts };
  const { status, lines } = await runInVm({
    name: part,
    script,
    programs: [...programs, ...[...TOOLS, ...tools].map(found)],
    files: payload(join(CACHE, `vm/${part}-payload`), all, contents),
    modules: ["veth", "sch_netem", "tcp_bbr", ...modules],
    memoryMib: MEMORY_MIB,
    timeoutSeconds: SECONDS_PER_LINK,
    instructionClock: true,
    onLine: (line) => (FIGURE.test(line) || FAULT.test(line)) && say(`${part}, ${named(link)}: ${line}`),
  });
  const faults = lines.filter((line) => FAULT.test(line));
  report.skipped.push(...faults.map((line) => `${part}, ${named(link)}: ${line}`));
  if (status !== 0 && faults.length === 0) report.skipped.push(`${part}, ${named(link)}: exit ${status}: ${lines.slice(-3).join(" ")}`);
  return lines.filter((line) => FIGURE.test(line)).map((line) => line.split(" ").slice(1));
}

/** A link, for tables. */
export function named({ rtt, loss, rate }) {
  return `${rtt} ms, ${loss ? `${loss} % loss, ` : ""}${rate} Mbit/s`;
}

export const sameLink = (one, other) => one.rtt === other.rtt && one.loss === other.loss && one.rate === other.rate;
