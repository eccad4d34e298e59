// The guest's whole disk: busybox, chosen programs with the libraries they need, kernel modules and
// files, as a cpio archive.
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { closeSync, openSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { capture, which } from "../setup/process.mjs";
import { moduleFiles } from "./kernel.mjs";

/**
 * The modules that the guest loads, in this order: TLS and the AES-GCM that it uses, with the CPU's
 * instructions if the kernel has them (names vary between kernels, and optional ones may be absent
 * or built in), and a source of randomness.
 */
const MODULES = [
  { name: "tls" },
  { name: "cryptd", optional: true },
  { name: "crypto_simd", optional: true },
  { name: "gf128mul", optional: true },
  { name: "aesni-intel", optional: true },
  { name: "crypto_null", optional: true },
  { name: "gcm", optional: true },
  { name: "ghash-clmulni-intel", optional: true },
  { name: "chacha20poly1305", optional: true },
  { name: "virtio_pci", optional: true },
  { name: "virtio-rng", optional: true },
];

/**
 * Writes the archive to `output`. `programs` are host binaries, put into /bin by their base name.
 * `files` maps guest paths to host files. `modules` are loaded in addition to those of TLS. The
 * guest's init runs `script`.
 */
export function buildInitramfs({ kernel, output, scratch, programs, files = {}, modules = [], script }) {
  rmSync(scratch, { recursive: true, force: true });
  for (const folder of ["bin", "modules", "payload", "proc", "sys", "dev", "tmp"]) {
    mkdirSync(join(scratch, folder), { recursive: true });
  }
  const place = (from, to, mode) => {
    mkdirSync(dirname(join(scratch, to)), { recursive: true });
    copyFileSync(from, join(scratch, to));
    chmodSync(join(scratch, to), mode);
  };
  place(staticBusybox(), "bin/busybox", 0o755);
  place(new URL("init.sh", import.meta.url).pathname, "init", 0o755);
  place(script, "payload/run.sh", 0o755);
  for (const program of programs) {
    const to = join("bin", basename(program));
    place(realpathSync(program), to, 0o755);
    // Debug sections only make the archive slow to load. A program that cannot be stripped is used
    // as it is.
    capture("strip", ["--strip-debug", join(scratch, to)]);
    for (const library of libraries(program)) {
      if (!existsSync(join(scratch, library))) place(realpathSync(library), library, 0o755);
    }
  }
  for (const [to, from] of Object.entries(files)) place(from, to, 0o644);
  writeFileSync(join(scratch, "modules/order"), placeModules(kernel, scratch, modules).join("\n") + "\n");
  pack(scratch, output);
}

function staticBusybox() {
  const found = which("busybox");
  if (!found) throw new Error("busybox is missing");
  if (libraries(found).length > 0) throw new Error("busybox is not statically linked: install busybox-static");
  return found;
}

/** The libraries that `ldd` names for a program, including the loader; none for a static one. */
export function libraries(program) {
  const listed = capture("ldd", [program]);
  if (listed.status !== 0) return [];
  return [...listed.out.matchAll(/(?:=> )?(\/\S+) \(0x/g)].map((match) => match[1]);
}

function placeModules(kernel, scratch, more) {
  const files = [];
  for (const { name, optional } of [...MODULES, ...more.map((name) => ({ name }))]) {
    try {
      for (const file of moduleFiles(kernel, [name])) if (!files.includes(file)) files.push(file);
    } catch (error) {
      if (!optional) throw error;
    }
  }
  return files.map((file) => {
    const plain = basename(file).replace(/\.(xz|zst|gz)$/, "");
    const tool = { ".xz": ["xz", "-dc"], ".zst": ["zstd", "-dc"], ".gz": ["gzip", "-dc"] }[file.slice(file.lastIndexOf("."))];
    const target = join(scratch, "modules", plain);
    if (tool) writeFileSync(target, rawOutput(tool[0], [tool[1], file]));
    else copyFileSync(file, target);
    return plain;
  });
}

function rawOutput(command, args) {
  const done = spawnSync(command, args, { maxBuffer: 64 * 1024 * 1024 });
  if (done.status !== 0) throw new Error(`${command} ${args.join(" ")} failed`);
  return done.stdout;
}

function pack(scratch, output) {
  const names = spawnSync("find", [".", "-print0"], { cwd: scratch, maxBuffer: 64 * 1024 * 1024 });
  const archive = openSync(output, "w");
  try {
    const done = spawnSync("cpio", ["--quiet", "--null", "-o", "-H", "newc", "--owner=+0:+0"], {
      cwd: scratch,
      input: names.stdout,
      stdio: ["pipe", archive, "pipe"],
    });
    if (done.status !== 0) throw new Error(`cpio: ${done.stderr}`);
  } finally {
    closeSync(archive);
  }
}
