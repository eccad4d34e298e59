// Announces receivers that do not exist, in unsolicited answers (RFC 6762 section 18): `node
// forger.mjs COUNT NAME CODE ADDRESS [ID [BURST [bare [FROM]]]]`. Each has an ID of its own unless
// one is given. BURST of them are sent every 20 ms. bare: without the kind of their service. FROM:
// sent from that address, about another one.
import { createSocket } from "node:dgram";

const [count, name, code, address, one = "", burst = "50", bare = "", from = address] = process.argv.slice(2);
const GROUP = "224.0.0.251";
const PORT = 5353;
const TTL_S = 120;
const [A, PTR, TXT, SRV] = [1, 12, 16, 33];

const u16 = (value) => Buffer.from([value >> 8, value & 0xff]);
const labels = (dotted) => Buffer.concat([...dotted.split(".").map((label) => text(label)), Buffer.from([0])]);
const text = (string) => Buffer.concat([Buffer.from([Buffer.byteLength(string)]), Buffer.from(string)]);

function record(owner, type, data) {
  return Buffer.concat([labels(owner), u16(type), u16(1), u16(0), u16(TTL_S), u16(data.length), data]);
}

function announcement(number) {
  const service = "_ringway._tcp.local";
  const [instance, host] = [`fake-${number}.${service}`, `fake-${number}.local`];
  const id = one || number.toString(16).padStart(16, "f");
  const pairs = ["txtvers=3", `id=${id}`, `name=${name}`, "kind=laptop", ...(code ? [`code=${code}`] : [])];
  const records = [
    ...(bare ? [] : [record(service, PTR, labels(instance))]),
    record(instance, SRV, Buffer.concat([u16(0), u16(0), u16(17464), labels(host)])),
    record(instance, TXT, Buffer.concat(pairs.map(text))),
    record(host, A, Buffer.from(address.split(".").map(Number))),
  ];
  return Buffer.concat([u16(0), u16(0x8400), u16(0), u16(records.length), u16(0), u16(0), ...records]);
}

const socket = createSocket({ type: "udp4", reuseAddr: true });
socket.bind(PORT, () => {
  socket.setMulticastTTL(255);
  socket.setMulticastInterface(from);
  let next = 0;
  console.log("announcing");
  setInterval(() => {
    for (let sent = 0; sent < Number(burst); sent += 1) {
      socket.send(announcement(next % Number(count)), PORT, GROUP);
      next += 1;
    }
  }, 20);
});
