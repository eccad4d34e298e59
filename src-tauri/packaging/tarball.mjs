// The archive for servers: the command alone, which needs no libraries, what belongs to it, and how
// to put it there.
import { join } from "node:path";
import { ROOT, run } from "../../tests/setup/process.mjs";
import { IS_TRIAL, PROCESSOR } from "./build.mjs";
import { COMPLETIONS, Tree, completion, manual, units } from "./tree.mjs";

const HERE = join(ROOT, "src-tauri/packaging");

/** Packs it into `folder`; gives its path. */
export function packTarball(folder, work, { builtStatic, version, epoch }) {
  const command = join(builtStatic, "ringway");
  const name = `ringway-${version}-${PROCESSOR}-linux-static`;
  const tree = new Tree(join(work, name));
  tree.copy(command, "bin/ringway", 0o755);
  manual(command, tree, "share/man/man1");
  for (const shell of Object.keys(COMPLETIONS)) {
    const path = { bash: "bash-completion/completions/ringway", zsh: "zsh/site-functions/_ringway", fish: "fish/vendor_completions.d/ringway.fish" };
    tree.write(`share/${path[shell]}`, completion(command, shell));
  }
  units(tree, "lib/systemd");
  tree.copy(join(HERE, "systemd/system/ringway.sysusers"), "lib/sysusers.d/ringway.conf");
  tree.copy(join(HERE, "modules-load/ringway.conf"), "lib/modules-load.d/ringway.conf");
  tree.copy(join(HERE, "tarball/README"), "README");
  tree.copy(join(ROOT, "LICENSE"), "LICENSE");
  tree.settle(epoch);
  const path = join(folder, `${name}.tar.gz`);
  const same = ["--sort=name", `--mtime=@${epoch}`, "--owner=0", "--group=0", "--numeric-owner", `--use-compress-program=gzip -${IS_TRIAL ? 1 : 9}n`];
  run("tar", ["-C", work, ...same, "-cf", path, name]);
  return path;
}
