// node_modules, installed from the lock file when it is missing or differs from the lock.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, run, say } from "./process.mjs";

const LOCK = join(ROOT, "package-lock.json");
/** npm's own record of the folder's contents. */
const INSTALLED = join(ROOT, "node_modules/.package-lock.json");

export function needModules() {
  if (current()) return;
  say("set-up: installing node_modules from the lock file");
  run("npm", ["ci", "--no-audit", "--no-fund"]);
}

function current() {
  if (!existsSync(INSTALLED)) return false;
  const installed = JSON.parse(readFileSync(INSTALLED, "utf8")).packages;
  const locked = JSON.parse(readFileSync(LOCK, "utf8")).packages;
  return Object.entries(locked).every(
    // Optional ones are mostly for other platforms. The empty path is the project itself.
    ([path, wanted]) => path === "" || wanted.optional || installed[path]?.version === wanted.version,
  );
}
