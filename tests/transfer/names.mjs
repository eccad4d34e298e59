// A name server that knows an IPv4 address for every host, and answers no other question (RFC
// 1035).
import { createSocket } from "node:dgram";

const [A, IN] = [1, 1];
const address = process.argv[2].split(".").map(Number);

const server = createSocket("udp4", (question, from) => {
  let end = 12;
  while (question[end] !== 0) end += question[end] + 1;
  if (question.readUInt16BE(end + 1) !== A) return;
  const asked = question.subarray(12, end + 5);
  const head = Buffer.from([question[0], question[1], 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
  const record = Buffer.from([0xc0, 12, 0, A, 0, IN, 0, 0, 0, 60, 0, 4, ...address]);
  server.send(Buffer.concat([head, asked, record]), from.port, from.address);
});
server.bind(53, "127.0.0.1", () => console.log("listening"));
