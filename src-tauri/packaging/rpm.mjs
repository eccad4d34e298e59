// The RPM package: the same tree, under a spec file that builds nothing.
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, run } from "../../tests/setup/process.mjs";
import { IS_TRIAL } from "./build.mjs";
import { FONT_LICENCE, wholeTree } from "./tree.mjs";

/** Packs it into `folder`; gives its path. */
export function packRpm(folder, work, how) {
  const tree = wholeTree(join(work, "rpm"), "rpm", how);
  tree.copy(join(ROOT, "LICENSE"), "usr/share/licenses/ringway/LICENSE");
  tree.copy(FONT_LICENCE, "usr/share/licenses/ringway/LICENSE.Inter");
  tree.settle(how.epoch);
  const top = join(work, "rpmbuild");
  rmSync(top, { recursive: true, force: true });
  mkdirSync(top, { recursive: true });
  const spec = join(top, "ringway.spec");
  writeFileSync(spec, specification(tree, how));
  const defines = [
    `_topdir ${top}`,
    "_buildhost localhost",
    "use_source_date_epoch_as_buildtime 1",
    "clamp_mtime_to_source_date_epoch 1",
    // The programs are stripped already, and their folders are those of Fedora and openSUSE,
    // whatever packs them.
    "debug_package %{nil}",
    "__os_install_post %{nil}",
    "_build_id_links none",
    `_binary_payload w${IS_TRIAL ? 1 : 9}.zstdio`,
  ].flatMap((define) => ["--define", define]);
  const env = { ...process.env, SOURCE_DATE_EPOCH: `${how.epoch}` };
  run("rpmbuild", ["-bb", "--quiet", ...defines, spec], { env });
  const [architecture] = readdirSync(join(top, "RPMS"));
  const [name] = readdirSync(join(top, "RPMS", architecture));
  const path = join(folder, name);
  renameSync(join(top, "RPMS", architecture, name), path);
  return path;
}

/**
 * Which of the files a person may change, and which are documents, the specification says; what
 * libraries are needed it finds itself.
 */
function specification(tree, { version }) {
  const line = (path) => {
    if (path.startsWith("etc/")) return `%config(noreplace) "/${path}"`;
    if (path.startsWith("usr/share/man/")) return `%doc "/${path}"`;
    if (path.startsWith("usr/share/licenses/")) return `%license "/${path}"`;
    return `"/${path}"`;
  };
  return `Name: ringway
Version: ${version}
Release: 1
Summary: Moves folders between Linux machines, encrypted
License: MIT AND OFL-1.1
Recommends: hicolor-icon-theme

%description
Two machines get to know each other by a short code; from then on folders are
sent from one to the other, encrypted, with all that belongs to them, and with a
receipt. What was interrupted goes on where it stopped.

This package has the window (ringway-desktop), the command (ringway), and units
for receiving in the background, for a user or for the machine.

%install
mkdir -p %{buildroot}
cp -a "${tree.root}/." %{buildroot}/

%post
command -v systemd-sysusers >/dev/null && systemd-sysusers ringway.conf || :
modprobe --quiet tls 2>/dev/null || :
[ -d /run/systemd/system ] && systemctl --system daemon-reload || :

%preun
[ "$1" = 0 ] && [ -d /run/systemd/system ] && systemctl --system disable --now --quiet ringway.service || :

%postun
[ -d /run/systemd/system ] && systemctl --system daemon-reload || :
[ "$1" -ge 1 ] && [ -d /run/systemd/system ] && systemctl --system try-restart ringway.service || :

%files
%defattr(-,root,root,-)
${tree.files().map(line).join("\n")}
`;
}
