// Two machines with their own network, and their firewalls: network namespaces joined by a pair of
// virtual cables, so that announcements are heard nowhere else.
import { capture, run } from "../setup/process.mjs";
import { isRoot } from "./harness.mjs";

let made = 0;
/**
 * How often the test checks whether a cable is plugged in, and how many times. The kernel reports
 * it up to a second later.
 */
const [LOOK_S, LOOKS_MAX] = ["0.05", 100];

function comesUp(name) {
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    if (/state UP/.test(capture("ip", ["-n", name, "link", "show", "cable"]).out)) return true;
    capture("sleep", [LOOK_S]);
  }
  return false;
}

/**
 * Two namespaces with one cable between them: words to start programs in each, their IPv4
 * addresses, and the cable's "down" and "up". Undefined if that is impossible. Without `ipv4` there
 * are only IPv6 link-local addresses.
 */
export function twoMachines(t, { ipv4 = true } = {}) {
  if (!isRoot) return undefined;
  const names = ["a", "b"].map((end) => `rw${process.pid}-${(made += 1)}${end}`);
  const ip = (...args) => capture("ip", args).status === 0;
  t.after(() => names.forEach((name) => ip("netns", "delete", name)));
  const isMade =
    names.every((name) => ip("netns", "add", name)) &&
    ip("link", "add", "cable", "netns", names[0], "type", "veth", "peer", "name", "cable", "netns", names[1]) &&
    names.every((name, end) => {
      const inside = (...args) => ip("-n", name, ...args);
      // Without the check whether an address is taken, which lasts seconds: there are no other
      // machines.
      const atOnce = ip("netns", "exec", name, "sh", "-c", "echo 0 > /proc/sys/net/ipv6/conf/cable/accept_dad");
      const address = !ipv4 || inside("address", "add", `10.77.0.${end + 1}/24`, "dev", "cable");
      return atOnce && address && inside("link", "set", "lo", "up") && inside("link", "set", "cable", "up");
    });
  if (!isMade || !names.every((name) => comesUp(name))) return undefined;
  return names.map((name, end) => ({
    wrap: ["ip", "netns", "exec", name],
    address: `10.77.0.${end + 1}`,
    cable: (state) => run("ip", ["-n", name, "link", "set", "cable", state]),
  }));
}

/** Sets the verdict of one machine's firewall on packets to a port; none if `verdict` is empty. */
export function firewall(machine, port, verdict) {
  const [command, ...rest] = [...machine.wrap, "nft", "-f", "-"];
  const rule = verdict && `table inet wall { chain in { type filter hook input priority 0; tcp dport ${port} ${verdict}; }; }\n`;
  const { status, err } = capture(command, rest, { input: `flush ruleset\n${rule}` });
  if (status !== 0) throw new Error(`nft: ${err}`);
}
