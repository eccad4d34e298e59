// The guest's kernel: a stock distribution kernel with kernel TLS, unpacked inside the clone and
// never installed.
import { existsSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { CACHE, capture, say, which } from "../setup/process.mjs";
import { lastLine, privateApt, release, unpack } from "../setup/packages.mjs";

/** The small kernel for virtual machines, and the large one, which has f2fs. */
const FLAVOURS = {
  cloud: { folder: join(CACHE, "vm/kernel"), names: "^linux-image-[0-9].*-cloud-amd64$" },
  generic: { folder: join(CACHE, "vm/kernel-generic"), names: "^linux-image-[0-9][^-]*-amd64$" },
};
/**
 * The generic kernel is 107 MB, 5 s on a fast network. If it takes longer, its tests are skipped.
 */
const FETCH_SECONDS = 120;

/**
 * The unpacked kernel {version, image, root}; root contains lib/modules. Throws with the reason if
 * there is none.
 */
export function kernel(flavour = "cloud") {
  return unpacked(flavour) ?? fetchKernel(flavour);
}

function unpacked(flavour) {
  const { folder } = FLAVOURS[flavour];
  const modules = join(folder, "lib/modules");
  if (!existsSync(modules)) return null;
  const version = readdirSync(modules)[0];
  const image = join(folder, `boot/vmlinuz-${version}`);
  return version && existsSync(image) ? { version, image, root: folder } : null;
}

function fetchKernel(flavour) {
  const { folder } = FLAVOURS[flavour];
  const { apt, packages } = offered(flavour);
  say(`set-up: the virtual machine needs ${packages.join(", ")}: unpacking it inside the clone, not installing it`);
  unpack(apt, packages, folder, flavour === "generic" ? FETCH_SECONDS : undefined);
  // Merged-/usr packages contain usr/lib only, but the module tools look below lib.
  if (!existsSync(join(folder, "lib"))) symlinkSync("usr/lib", join(folder, "lib"));
  const found = unpacked(flavour);
  if (!found) throw new Error(`${packages.join(", ")} holds no kernel image`);
  const depmod = capture(which("depmod") ?? "depmod", ["-b", folder, found.version]);
  if (depmod.status !== 0) throw new Error(`depmod: ${lastLine(depmod.err)}`);
  return found;
}

/**
 * The packages to use, and the apt that has them: the newest kernel of this release or its
 * backports.
 */
function offered(flavour) {
  const { names } = FLAVOURS[flavour];
  const { id, codename } = release();
  const system = (tool, args, cwd, options) => capture(tool, args, { cwd, ...options });
  if (id === "debian" && codename === "bookworm") {
    const apt = privateApt(join(CACHE, "vm/apt"), `${codename}-backports`);
    const newest = apt && newestNamed(apt, names);
    if (newest) return { apt, packages: [newest] };
  }
  const newest = newestNamed(system, names);
  if (newest) return { apt: system, packages: [newest] };
  // Ubuntu: the meta package names the image. The modules are in a separate package.
  const image = flavour === "cloud" && system("apt-cache", ["depends", "linux-image-virtual"]).out.match(/linux-image-\d\S+/)?.[0];
  if (image) return { apt: system, packages: [image, image.replace("linux-image-", "linux-modules-")] };
  throw new Error(`apt offers no ${flavour} kernel for ${id} ${codename}`);
}

function newestNamed(apt, pattern) {
  const names = apt("apt-cache", ["search", "--names-only", pattern])
    .out.split("\n")
    .map((line) => line.split(" ")[0])
    .filter((name) => name && !name.includes("-rt-"));
  names.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  return names.at(-1) ?? null;
}

/**
 * The module files of `names` and all their dependencies, in loading order. Built-in ones have no
 * file.
 */
export function moduleFiles({ version, root }, names) {
  const files = [];
  for (const name of names) {
    const shown = capture(which("modprobe") ?? "modprobe", ["-d", root, "-S", version, "--show-depends", name]);
    if (shown.status !== 0) throw new Error(`the kernel ${version} lacks ${name}: ${lastLine(shown.err)}`);
    for (const line of shown.out.split("\n")) {
      const file = line.match(/^insmod (\S+)/)?.[1];
      if (file && !files.includes(file)) files.push(file);
    }
  }
  return files;
}
