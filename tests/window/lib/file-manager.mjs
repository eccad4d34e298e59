// A file manager on the session's bus that records what it is asked to select.
import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { eventually } from "./webdriver.mjs";

const PROGRAM = join(dirname(fileURLToPath(import.meta.url)), "file-manager.py");

/**
 * Starts it, and ends it with the test. Returns a function that returns the calls so far, with the
 * URIs of each.
 */
export async function fileManager(t) {
  const running = spawn("/usr/bin/python3", [PROGRAM], { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => running.kill());
  let said = "";
  running.stdout.setEncoding("utf8").on("data", (text) => (said += text));
  const lines = () => said.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  await eventually("the file manager to be on the bus", () => lines().length > 0);
  return () => lines().slice(1);
}
