// The page has Ringway's own commands and nothing else: no files, no dialogs, no other machine, no
// code from text.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { folder, openWindow, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const driven = inside ? test : () => {};

driven("a page that was taken over could ask for nothing but Ringway's own commands", async (t) => {
  const page = await openWindow(t, await windowDevice(folder(), "near"));
  const refused = [
    ["plugin:dialog|open", { options: {} }],
    ["plugin:opener|open_path", { path: "/etc/passwd" }],
    ["plugin:opener|open_url", { url: "http://127.0.0.1/" }],
    ["plugin:fs|read_file", { path: "/etc/passwd" }],
    ["plugin:event|listen", { event: "tauri://drag-drop", target: { kind: "Any" }, handler: 1 }],
    ["plugin:window|create", { options: { label: "other", url: "http://127.0.0.1/" } }],
  ];
  for (const [command, args] of refused) {
    const { value, error } = await page.later((name, given) => window.__TAURI_INTERNALS__.invoke(name, given), command, args);
    assert.equal(value, undefined, command);
    assert.match(error, /not allowed|not found/, command);
  }
  const call = (asked) => page.later((given) => window.__TAURI_INTERNALS__.invoke("call", { call: given }), asked);
  const ofPrograms = [
    "start",
    "stop",
    "beWindow",
    { choose: { paths: ["/etc/passwd"] } },
    { send: { chosen: 1, target: { to: "typed", text: "10.0.0.1" }, code: null, verify: false, confirmed: "10.0.0.1" } },
    { setDeviceFolder: { id: "ab", folder: "/", intoHome: "dot_names" } },
    { changeSettings: { change: { receiveFolder: "/", intoHome: "dot_names" } } },
    { raise: { paths: ["/etc/passwd"], view: null, token: null } },
  ];
  for (const asked of ofPrograms) {
    const { value, error } = await call(asked);
    assert.equal(value, undefined, JSON.stringify(asked));
    assert.match(error, /unknown variant/, JSON.stringify(asked));
  }
  const own = await page.later(async (id) => {
    const asked = window.__TAURI_INTERNALS__.invoke("call", { call: { cancel: { id, then: "keep" } } });
    return asked.catch(({ code }) => code);
  }, "no such transfer");
  assert.equal(own.value, "gone", "the page's own calls are answered, with a fault");
});

driven("the page reaches no other machine and runs no text as code", async (t) => {
  let asked = 0;
  const server = createServer((_request, response) => {
    asked += 1;
    response.setHeader("access-control-allow-origin", "*").end("owned");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const elsewhere = `http://127.0.0.1:${server.address().port}/`;
  const page = await openWindow(t, await windowDevice(folder(), "near"));
  const fetched = await page.later((url) => fetch(url).then((answer) => answer.text()), elsewhere);
  assert.equal(fetched.value, undefined);
  const image = await page.later(
    (url) =>
      new Promise((resolve, reject) => {
        const picture = new Image();
        picture.onload = () => resolve("loaded");
        picture.onerror = () => reject(new Error("refused"));
        picture.src = url;
      }),
    `${elsewhere}x.png`,
  );
  assert.equal(image.value, undefined);
  const script = await page.later(async () => {
    const made = document.createElement("script");
    made.textContent = "document.title = 'owned'";
    document.head.append(made);
    const div = document.createElement("div");
    div.innerHTML = "<img src=x onerror=\"document.title = 'owned'\">";
    document.body.append(div);
    await new Promise((resolve) => setTimeout(resolve, 300));
    return document.title;
  });
  assert.equal(script.value, "Ringway");
  assert.equal(asked, 0, "no request left the page");
});
