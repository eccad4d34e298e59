// A final name that the destination refuses: the transfer fails, what has arrived is kept, and the
// same send resumes once the obstacle is gone.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { capture } from "../setup/process.mjs";
import { EXIT, countingNetwork, ends, eventually, receiver, same, sender, strangers } from "./harness.mjs";
import { mounting } from "./mounts.mjs";

const MIB = 1 << 20;
const EPERM = 1;
/** Handshakes, lists, figures. */
const BESIDES_BYTES = 400_000;

for (const what of ["folder", "file"]) {
  mounting(`a final name that is refused fails the transfer, which keeps the received data: a ${what}`, async (t, { ext4 }) => {
    const { base, inbox, source, near, far } = strangers(t);
    if (!ext4(inbox, join(base, "image"), { mib: 64 })) return t.skip("mounting takes root");
    const sent = join(source, "sent");
    // A folder that exists already: entries in it need no name in the destination itself.
    const first = join(source, "first");
    for (const path of [first, join(inbox, "first")]) mkdirSync(path);
    writeFileSync(join(first, "file"), "first");
    if (what === "folder") mkdirSync(sent);
    const files = what === "folder" ? [...Array(40).keys()].map((number) => join(sent, `${number}`)) : [sent];
    for (const path of files) {
      writeFileSync(path, Buffer.alloc((12 * MIB) / files.length, path));
      utimesSync(path, 1_600_000_000, 1_600_000_000);
    }
    const begin = async (...args) => {
      const receiving = await receiver(t, far, inbox, { args: ["--on-conflict", "replace"] });
      const network = await countingNetwork(t, receiving.target);
      const sending = sender(t, near, [first, sent], network.target, { args: ["--compress", "off", "--retry", "no", "--lanes", "1", ...args] });
      return { receiving, network, sending };
    };
    const { receiving, sending } = await begin("--limit", "8M");
    const staged = (name) => name.startsWith(".ringway-");
    await eventually("the staging folder", () => readdirSync(inbox).some(staged));
    if (what === "file") await sending.event(({ event, bytes_done: bytes }) => event === "progress" && bytes > 2 * MIB);
    t.after(() => capture("chattr", ["-i", inbox]));
    assert.equal(capture("chattr", ["+i", inbox]).status, 0);
    await ends(sending, receiving, EXIT.failed);
    const failures = sending.events.filter(({ event }) => event === "entry_failed");
    assert.deepEqual(failures.map(({ path, operation, errno }) => [path, operation, errno]), [["sent", "rename", EPERM]], `${sending.said()}\n${receiving.said()}`);
    assert.match(receiving.stderr, /inbox\/sent could not be given its final name: Operation not permitted/);
    if (what === "folder") assert.match(receiving.stderr, /Already there: .*inbox\/first/);
    assert.ok(!receiving.events.some(({ event }) => event === "finished" && event.failed === 0));
    assert.equal(capture("chattr", ["-i", inbox]).status, 0);
    assert.deepEqual(readdirSync(inbox).filter((name) => !staged(name) && name !== "lost+found"), ["first"]);
    const again = await begin();
    await ends(again.sending, again.receiving);
    assert.ok(again.network.bytes < BESIDES_BYTES, `${again.network.bytes} bytes went again`);
    assert.deepEqual(readdirSync(inbox).filter((name) => name !== "lost+found"), ["first", "sent"]);
    if (what === "folder") same(sent, join(inbox, "sent"));
    else assert.ok(readFileSync(sent).equals(readFileSync(join(inbox, "sent"))));
  });
}
