// Starts other programs: streamed or captured, always with an argument list, never through a shell.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
export const CACHE = join(ROOT, "tests/.cache");
/** A program with more captured output than this has run away. */
const CAPTURE_BYTES_MAX = 64 * 1024 * 1024;

export function say(line) {
  process.stdout.write(`${line}\n`);
}

/**
 * The path of `name` on PATH (or in the sbin folders, which a plain user's PATH leaves out), or
 * null.
 */
export function which(name) {
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  for (const folder of folders) {
    if (folder && existsSync(join(folder, name))) return join(folder, name);
  }
  return null;
}

/** Runs a program to its end with the terminal's own streams. Throws if it fails. */
export function run(command, args, options = {}) {
  const done = spawnSync(command, args, { stdio: "inherit", cwd: ROOT, ...options });
  if (done.error) throw done.error;
  if (done.status !== 0) {
    throw new Error(`${command} ${args.join(" ")}: ${done.signal ?? `exit ${done.status}`}`);
  }
}

/**
 * Runs a program to its end and returns its output and how it ended. Never throws for an exit
 * status.
 */
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
