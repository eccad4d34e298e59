// A machine whose first process is a real systemd: a container with the host's /usr and nothing
// else of the host.
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Running } from "../../setup/devices.mjs";
import { capture, which } from "../../setup/process.mjs";
import { eventually } from "./session.mjs";

/** Merged folders: links into /usr. */
const MERGED = ["bin", "sbin", "lib", "lib64"];
const EMPTY = ["etc", "var", "proc", "sys", "dev", "run", "tmp", "usr", "root"];

function lacking() {
  if (process.getuid() !== 0) return "a machine of its own takes root";
  return ["systemd-nspawn", "nsenter", "setpriv"].filter((name) => !which(name)).map((name) => `${name} is not installed`)[0];
}

/** The number of the first process in it, as seen from outside. */
function first(pid) {
  const [child] = capture("cat", [`/proc/${pid}/task/${pid}/children`]).out.trim().split(" ");
  return child || undefined;
}

/**
 * Boots a machine in the network namespace `network`. `files` are added to its /usr, each with its
 * mode, and `units` are enabled there. It ends with the test. Returns null if the machine cannot be
 * started, and reports the test as skipped.
 */
export async function machine(t, { network, files, units }) {
  const why = lacking();
  if (why) {
    t.skip(why);
    return null;
  }
  const base = mkdtempSync(join(tmpdir(), "ringway-machine-"));
  const [root, usr] = ["root", "usr"].map((name) => join(base, name));
  for (const name of EMPTY) mkdirSync(join(root, name), { recursive: true });
  for (const name of MERGED) symlinkSync(readlinkSync(`/${name}`), join(root, name));
  for (const [path, { from, mode }] of Object.entries(files)) {
    mkdirSync(dirname(join(usr, path)), { recursive: true });
    cpSync(from, join(usr, path));
    chmodSync(join(usr, path), mode);
  }
  const wanted = join(root, "etc/systemd/system/multi-user.target.wants");
  mkdirSync(wanted, { recursive: true });
  for (const unit of units) symlinkSync(`/usr/lib/systemd/system/${unit}`, join(wanted, unit));
  writeFileSync(join(root, "etc/os-release"), "ID=test\n");
  writeFileSync(join(root, "etc/machine-id"), "");
  chmodSync(base, 0o755);
  const options = ["--register=no", "--keep-unit", `--directory=${root}`, `--overlay-ro=/usr:${usr}:/usr`, `--network-namespace-path=/run/netns/${network}`];
  const booted = new Running("machine", "systemd-nspawn", ["--quiet", "--boot", ...options, "systemd.unit=multi-user.target"], { env: process.env, input: null });
  t.after(async () => {
    // Like the power button.
    booted.kill("SIGTERM");
    await booted.exit();
    // Not earlier, because the machine needs these files to end.
    rmSync(base, { recursive: true, force: true });
  });
  const as = (...command) => capture("nsenter", ["--target", first(booted.pid), "--mount", "--net", "--pid", "--root", "--wd", ...command]);
  const systemctl = (...args) => as("systemctl", ...args);
  const state = await eventually("a systemd to be there", () => {
    if (booted.status !== undefined) return "ended";
    // Any state is good enough, because units of other packages may fail there.
    return first(booted.pid) && /^(running|degraded)$/.exec(systemctl("is-system-running").out.trim())?.[0];
  });
  if (state === "ended") {
    t.skip(`no systemd boots here: ${booted.stderr.trim().split("\n").at(-1)}`);
    return null;
  }
  return { root, as, systemctl, id: (user) => Number(readFileSync(join(root, "etc/passwd"), "utf8").match(new RegExp(`^${user}:[^:]*:(\\d+):`, "m"))[1]) };
}
