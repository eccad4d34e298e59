// `npm start`: builds and opens the window. Without a display it does a transfer in the terminal
// and reports it.
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, relative, resolve } from "node:path";
import { RINGWAY, WINDOW, buildCommand, buildWindow } from "./build.mjs";
import { Device, differences, drawn, freePort } from "./devices.mjs";
import { needGroup } from "./packages.mjs";
import { capture, run, say } from "./process.mjs";

if (process.env.DISPLAY || process.env.WAYLAND_DISPLAY) {
  buildWindow();
  run(WINDOW, process.argv.slice(2));
} else {
  say("No display here: the main job runs in the terminal instead, with two devices side by side on this machine.");
  await demonstrate(resolve(process.argv[2] ?? toolchain()));
}

/** A real folder that every machine with Rust has: a few large files, many small ones. */
function toolchain() {
  return join(capture("rustc", ["--print", "sysroot"]).out.trim(), "lib/rustlib");
}

/**
 * Sends `source` from one new device to another over loopback, paired by a drawn code, and compares
 * what arrived.
 */
async function demonstrate(source) {
  if (!existsSync(source)) throw new Error(`${source} does not exist`);
  buildCommand();
  needGroup("transfer", "comparing what arrived with what was sent");
  const base = mkdtempSync(join(tmpdir(), "ringway-start-"));
  const inbox = join(base, "inbox");
  mkdirSync(inbox);
  const near = new Device(base, "near");
  const far = new Device(base, "far");
  const target = `127.0.0.1:${await freePort()}`;
  const receiving = far.start(["recv", inbox, "--listen", target, "--yes", "--once", "--json"], { described: false });
  try {
    const { code } = await receiving.event(drawn);
    say(`\n"far" receives into ${inbox} at ${target}. Its code: ${code}`);
    say(`"near" sends ${source}, which it pairs for with that code.\n`);
    const started = Date.now();
    const sending = near.start(["send", source, target], { env: { RINGWAY_CODE: code } });
    for (const end of [sending, receiving]) {
      if ((await end.exit()) !== 0) throw new Error(end.said());
    }
    const seconds = (Date.now() - started) / 1000;
    say((sending.stdout + sending.stderr).trim());
    report(source, join(inbox, basename(source)), seconds);
  } finally {
    receiving.kill();
    capture("chmod", ["-R", "u+rwX", base]);
    rmSync(base, { recursive: true, force: true });
  }
}

function report(source, arrived, seconds) {
  const found = statSync(source).isDirectory()
    ? differences(source, arrived)
    : [capture("cmp", [source, arrived])].filter((done) => done.status !== 0).map((done) => done.out + done.err);
  if (found.length > 0) throw new Error(`what arrived differs:\n${found.slice(0, 20).join("\n")}`);
  const entries = capture("find", [arrived]).out.split("\n").filter(Boolean).length;
  const bytes = Number(capture("du", ["-sb", arrived]).out.split("\t")[0]);
  say(
    `\nDone in ${seconds.toFixed(1)} s: two devices that had never met paired by a code, and ${entries} entries ` +
      `(${(bytes / 1e6).toFixed(1)} MB) crossed encrypted.`,
  );
  say("rsync, asked to compare every byte and attribute, sees no difference. The temporary folders are gone again.");
  const command = relative(process.cwd(), RINGWAY);
  say(`With a display, npm start opens the window. On two machines: "${command} recv" on one, "${command} send FOLDER HOST" on the other.`);
}
