// A private SSH server on loopback: own keys and settings in a temporary folder, AES-128-GCM, no
// password, started per run.
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { freePort } from "../setup/devices.mjs";
import { capture, which } from "../setup/process.mjs";
import { lastLine } from "../setup/packages.mjs";
import { End } from "./ends.mjs";
import { undoLater } from "./undo.mjs";

/** sshd needs this folder when it runs as root, and refuses to start without it. */
const PRIVILEGE_FOLDER = "/run/sshd";
const CIPHER = "aes128-gcm@openssh.com";
export const HOST = "ringway-bench";

export class Ssh {
  /** Makes keys and settings below `base`. */
  static async prepare(base) {
    const ssh = new Ssh();
    ssh.folder = join(base, "ssh");
    mkdirSync(ssh.folder, { mode: 0o700 });
    ssh.port = await freePort();
    for (const key of ["host", "user"]) {
      const made = capture("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", join(ssh.folder, key)]);
      if (made.status !== 0) throw new Error(`ssh-keygen: ${lastLine(made.err)}`);
    }
    if (process.getuid() === 0 && !existsSync(PRIVILEGE_FOLDER)) {
      mkdirSync(PRIVILEGE_FOLDER, { mode: 0o755 });
      undoLater(() => rmdirSync(PRIVILEGE_FOLDER));
    }
    ssh.#write();
    return ssh;
  }

  #write() {
    const own = (name) => join(this.folder, name);
    const user = userInfo().username;
    writeFileSync(own("known_hosts"), `${HOST} ${readFileSync(own("host.pub"), "utf8")}`);
    this.server = own("sshd_config");
    writeFileSync(
      this.server,
      `ListenAddress 127.0.0.1
Port ${this.port}
HostKey ${own("host")}
AuthorizedKeysFile ${own("user.pub")}
StrictModes no
AllowUsers ${user}
PubkeyAuthentication yes
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UsePAM no
PidFile none
PrintMotd no
Ciphers ${CIPHER}
Subsystem sftp internal-sftp
`,
      { mode: 0o600 },
    );
    this.config = own("ssh_config");
    writeFileSync(
      this.config,
      `Host ${HOST}
  HostName 127.0.0.1
  Port ${this.port}
  User ${user}
  HostKeyAlias ${HOST}
  IdentityFile ${own("user")}
  IdentityAgent none
  IdentitiesOnly yes
  BatchMode yes
  StrictHostKeyChecking yes
  UserKnownHostsFile ${own("known_hosts")}
  GlobalKnownHostsFile none
  Ciphers ${CIPHER}
  Compression no
  ControlMaster no
  ControlPath none
  LogLevel ERROR
`,
      { mode: 0o600 },
    );
  }

  async serve(folder) {
    // sshd starts itself again for each connection, and therefore must be called by its full path.
    const end = new End("receiver", folder, which("sshd"), ["-D", "-e", "-f", this.server]);
    await end.listening(this.port);
    return end;
  }

  /** Why a login does not work here, or null. */
  async refused(folder) {
    const server = await this.serve(folder);
    try {
      const client = new End("sender", folder, "ssh", ["-F", this.config, HOST, "true"]);
      await client.end();
      return client.status === 0 ? null : lastLine(client.said()) || `ssh: exit ${client.status}`;
    } finally {
      await server.stop();
    }
  }
}
