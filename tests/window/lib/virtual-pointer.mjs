// A pointer for a Wayland compositor without one: a client of wlr-virtual-pointer-unstable-v1,
// whose few messages need no file descriptor.
import { connect } from "node:net";
import { eventually } from "./webdriver.mjs";

const MANAGER = "zwlr_virtual_pointer_manager_v1";
const DISPLAY_ID = 1;
const REGISTRY_ID = 2;
const MANAGER_ID = 3;
const POINTER_ID = 4;
/** linux/input-event-codes.h. */
const BTN_LEFT = 0x110;

const u32 = (...values) => Buffer.from(new Uint32Array(values).buffer);

/** A string as the wire has it: its length with a zero, padded to four bytes. */
function string(text) {
  const bytes = Buffer.from(`${text}\0`);
  return Buffer.concat([u32(bytes.length), bytes, Buffer.alloc(-bytes.length & 3)]);
}

/**
 * A pointer at the compositor with that socket, whose screen has that size. It goes with the test.
 */
export async function virtualPointer(t, path, [width, height]) {
  const socket = connect(path);
  t.after(() => socket.destroy());
  let received = Buffer.alloc(0);
  let manager;
  let failed;
  socket.on("error", (error) => (failed = error));
  socket.on("data", (data) => {
    received = Buffer.concat([received, data]);
    while (received.length >= 8 && received.length >= received.readUInt32LE(4) >>> 16) {
      const [object, what] = [received.readUInt32LE(0), received.readUInt32LE(4)];
      const body = received.subarray(8, what >>> 16);
      received = received.subarray(what >>> 16);
      // Both are events number 0: wl_display.error, and wl_registry.global.
      if (object === DISPLAY_ID && (what & 0xffff) === 0) failed = new Error(`the compositor: ${body.subarray(12)}`);
      if (object === REGISTRY_ID && (what & 0xffff) === 0) {
        const name = body.subarray(8, 8 + body.readUInt32LE(4) - 1).toString();
        if (name === MANAGER) manager = body.readUInt32LE(0);
      }
    }
  });
  const send = (object, opcode, ...parts) => {
    if (failed) throw failed;
    const body = Buffer.concat(parts);
    socket.write(Buffer.concat([u32(object, ((8 + body.length) << 16) | opcode), body]));
  };
  send(DISPLAY_ID, 1, u32(REGISTRY_ID));
  await eventually("the compositor's list of what it has", () => manager !== undefined);
  send(REGISTRY_ID, 0, u32(manager), string(MANAGER), u32(1, MANAGER_ID));
  // At whichever seat there is.
  send(MANAGER_ID, 0, u32(0, POINTER_ID));
  const now = () => Math.trunc(performance.now());
  const framed = (opcode, ...args) => {
    send(POINTER_ID, opcode, u32(now(), ...args));
    send(POINTER_ID, 4);
  };
  return {
    move: ({ x, y }) => framed(1, Math.round(x), Math.round(y), width, height),
    press: () => framed(2, BTN_LEFT, 1),
    release: () => framed(2, BTN_LEFT, 0),
  };
}
