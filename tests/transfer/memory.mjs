// The private memory of a process, read from /proc while it runs.
import { readFileSync } from "node:fs";

const SAMPLE_MS = 20;

/**
 * The most private memory that a running program is observed with until it ends, MiB, without its
 * text and libraries.
 */
export function watchMemory({ pid, ended }) {
  let most = 0;
  const look = () => {
    try {
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      const kib = (field) => Number(status.match(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m"))?.[1] ?? 0);
      most = Math.max(most, (kib("RssAnon") + kib("RssShmem")) / 1024);
    } catch {
      // It ended between two readings.
    }
  };
  const timer = setInterval(look, SAMPLE_MS);
  return ended.then(() => {
    clearInterval(timer);
    return most;
  });
}
