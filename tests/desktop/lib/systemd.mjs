// A user's own systemd, really running. The user has no other processes. It has its own control
// groups and /run, so it does not touch or need the machine's systemd.
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Running } from "../../setup/devices.mjs";
import { capture, which } from "../../setup/process.mjs";
import { eventually } from "./session.mjs";

/** A user without an account, who owns nothing on the machine. */
const USER = 61_184;
const MANAGER = "/lib/systemd/systemd";
/** The folders of systemd's own groups, for cgroups of versions 1 and 2, or of version 2 alone. */
const GROUPS = ["/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"];
const AS_USER = ["setpriv", `--reuid=${USER}`, `--regid=${USER}`, "--clear-groups"];

function lacking() {
  if (process.getuid() !== 0) return "a systemd for another user takes root";
  const programs = [MANAGER, "/usr/bin/systemctl"].filter((path) => !existsSync(path));
  if (programs.length > 0 || !which("setpriv")) return "systemd and util-linux are not installed";
  if (capture("unshare", ["-m", "mount", "-t", "tmpfs", "none", "/run"]).status !== 0) return "no mount namespace may be made";
  return groups().length === 0 ? "no control group may be made" : "";
}

/** The hierarchies in which a group may be made. */
function groups() {
  const own = GROUPS.slice(0, 2).filter((path) => existsSync(path));
  return (own.length > 0 ? own : GROUPS.slice(2)).filter((path) => {
    const tried = join(path, `ringway-tried-${process.pid}`);
    return capture("mkdir", [tried]).status === 0 && capture("rmdir", [tried]).status === 0;
  });
}

/**
 * A systemd for the user who gets `device` and everything below `base`. Returns null if that is
 * impossible, and reports the test as skipped.
 */
export async function userManager(t, base, device) {
  const why = lacking();
  if (why) {
    t.skip(why);
    return null;
  }
  const name = `ringway-test-${process.pid}`;
  const own = groups().map((path) => join(path, name));
  for (const group of own) mkdirSync(join(group, "manager"), { recursive: true });
  capture("chown", ["-R", `${USER}:${USER}`, base, ...own]);
  chmodSync(base, 0o755);
  const env = Object.fromEntries(Object.entries(device.env).filter(([key]) => /^(HOME|PATH|XDG_.*)$/.test(key)));
  const enter = own.map((group) => `echo $$ > '${group}/manager/cgroup.procs'`).join(" && ");
  const script = `${enter} && mount -t tmpfs none /run && mkdir -p /run/systemd/system && exec "$@"`;
  const manager = new Running("systemd", "unshare", ["-m", "sh", "-c", script, "sh", ...AS_USER, MANAGER, "--user"], { env, input: null });
  // In its /run, so that a program which looks for a systemd finds one.
  const as = (...command) => capture("nsenter", [`--mount=/proc/${manager.pid}/ns/mnt`, ...AS_USER, ...command], { env });
  t.after(async () => {
    await eventually("its groups to be empty", () => {
      for (const group of own) {
        const left = capture("find", [group, "-name", "cgroup.procs", "-exec", "cat", "{}", "+"]).out;
        for (const pid of left.split("\n").filter(Boolean)) capture("kill", ["-KILL", pid]);
        // Only folders, because the files of a group vanish with it.
        capture("find", [group, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";"]);
      }
      return !own.some(existsSync);
    });
  });
  await eventually("systemd to be there", () => {
    if (manager.status !== undefined) throw new Error(manager.said());
    return as("systemctl", "--user", "is-system-running").out.trim() === "running";
  });
  return {
    as,
    /** Gives everything below `path` to the user. */
    /** A program that runs `command` as that user. */
    runner: (command) => {
      const path = join(base, "as-user");
      writeFileSync(path, `#!/bin/sh\nexec setpriv --reuid=${USER} --regid=${USER} --clear-groups '${command}' "$@"\n`, { mode: 0o755 });
      return path;
    },
    own: (path) => capture("chown", ["-hR", `${USER}:${USER}`, path]),
    systemctl: (...args) => as("systemctl", "--user", ...args),
    /** Installs a unit among the user's own, and makes systemd read it. */
    install(unit, text) {
      const folder = join(env.XDG_CONFIG_HOME, "systemd/user");
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, unit), text);
      capture("chown", ["-R", `${USER}:${USER}`, env.XDG_CONFIG_HOME]);
      return as("systemctl", "--user", "daemon-reload");
    },
  };
}
