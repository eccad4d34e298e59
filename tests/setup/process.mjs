// Starting other programs: streamed or captured, always as an argument list, never through a shell.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
export const CACHE = join(ROOT, "tests/.cache");
/** Captured output beyond this is a runaway program, not a result. */
const CAPTURE_BYTES_MAX = 64 * 1024 * 1024;

export function say(line) {
  process.stdout.write(`${line}\n`);
}

/**
 * Where `name` is found on PATH (and in the sbin folders that a plain user's PATH leaves out), or
 * null.
 */
export function which(name) {
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  for (const folder of folders) {
    if (folder && existsSync(join(folder, name))) return join(folder, name);
  }
  return null;
}

/** Runs to the end with the terminal's own streams; throws when it fails. */
export function run(command, args, options = {}) {
  const done = spawnSync(command, args, { stdio: "inherit", cwd: ROOT, ...options });
  if (done.error) throw done.error;
  if (done.status !== 0) {
    throw new Error(`${command} ${args.join(" ")}: ${done.signal ?? `exit ${done.status}`}`);
  }
}

/** Runs to the end and returns what it wrote and how it ended; never throws for an exit status. */
export function capture(command, args, options = {}) {
  const done = spawnSync(command, args, {
    cwd: ROOT,
    encoding: "utf8",
    maxBuffer: CAPTURE_BYTES_MAX,
    ...options,
  });
  return {
    status: done.error ? 127 : (done.status ?? 128),
    out: done.stdout ?? "",
    err: done.error ? String(done.error.message) : (done.stderr ?? ""),
  };
}
