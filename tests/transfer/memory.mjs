// What a process holds in memory of its own, read from /proc while it runs.
import { readFileSync } from "node:fs";

const SAMPLE_MS = 20;

/**
 * The most memory of its own that a running program is seen with until it ends, MiB; its text and
 * libraries are not counted.
 */
export function watchMemory({ pid, ended }) {
  let most = 0;
  const look = () => {
    try {
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      const kib = (field) => Number(status.match(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m"))?.[1] ?? 0);
      most = Math.max(most, (kib("RssAnon") + kib("RssShmem")) / 1024);
    } catch {
      // It has ended between two looks.
    }
  };
  const timer = setInterval(look, SAMPLE_MS);
  return ended.then(() => {
    clearInterval(timer);
    return most;
  });
}
