// A process that keeps many half-open connections to a receiver, from many addresses of this
// machine. Every second one has begun a TLS handshake, and none continues. Connections that the
// receiver closes are dialled again. Arguments: target port, connections, addresses. It reports its
// progress in JSON lines.
import { connect } from "node:net";

const [port, wanted, addresses] = process.argv.slice(2).map(Number);
/** Connections dialled at a time: a listener's queue is longer (net.core.somaxconn). */
const AT_ONCE = 200;
/**
 * The beginning of a TLS record that never becomes complete: a handshake message of 512 bytes, a
 * ClientHello (RFC 8446 section 4).
 */
const BEGINNING = Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]);
/** How soon a closed connection is dialled again, ms. */
const AGAIN_MS = 2_000;

const tally = { opened: 0, closed: 0, open: 0 };
let next = 0;

function dial(place, done) {
  let over = false;
  const socket = connect({ port, host: "127.0.0.1", localAddress: `127.0.0.${2 + (place % addresses)}` });
  const once = () => {
    if (!over) done();
    over = true;
  };
  socket.on("connect", () => {
    tally.opened += 1;
    tally.open += 1;
    if (place % 2) socket.write(BEGINNING);
    socket.on("close", () => {
      tally.closed += 1;
      tally.open -= 1;
    });
    once();
  });
  // Refused and reset connections are expected.
  socket.on("error", once);
  socket.on("close", () => setTimeout(() => dial(place, () => {}), AGAIN_MS));
  socket.resume();
}

function dialNext() {
  if (next < wanted) dial(next++, dialNext);
  else if (tally.opened >= wanted && !tally.told) {
    tally.told = true;
    console.log(JSON.stringify({ event: "all dialled", opened: tally.opened }));
  }
}

for (let lane = 0; lane < AT_ONCE; lane += 1) dialNext();
// A line on standard input makes it report how many there were.
process.stdin.on("data", () => console.log(JSON.stringify({ event: "tally", ...tally })));
process.stdin.on("end", () => process.exit(0));
