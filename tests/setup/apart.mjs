// Programs with their own network and mounts. So ports, announcements and firewalls of different
// programs do not collide, and none keeps a filesystem mounted that another one unmounts.
import { capture } from "./process.mjs";

const NETWORK = `
  ip link set lo up &&
  ip link add eth0 type veth peer name beyond &&
  ip address add 192.0.2.2/24 dev eth0 &&
  ip -6 address add fd00::2/64 dev eth0 nodad &&
  ip link set beyond up &&
  ip link set eth0 up &&
  exec "$@"
`;

/**
 * Words to start a program with. It sees a loopback, and an Ethernet link without other machines.
 */
export const APART = ["unshare", "--net", "--mount", "sh", "-c", NETWORK, "sh"];

let answer;

/** Whether this process may create such namespaces. */
export function canBeApart() {
  const [command, ...args] = APART;
  return (answer ??= capture(command, [...args, "true"]).status === 0);
}
