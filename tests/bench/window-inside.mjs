// Runs on a display of its own: opens the window, measures its cost, and prints that as one line of
// JSON.
import { closeSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { Device } from "../setup/devices.mjs";
import { show, windowDevice } from "../window/lib/device.mjs";
import { startWindowManager } from "../window/lib/display.mjs";
import { TICKS_PER_S, firstPaint, pss, sum } from "../window/lib/figures.mjs";
import { family, processes, serviceProcess } from "../window/lib/processes.mjs";
import { Page, button, line, sleep } from "../window/lib/webdriver.mjs";

/** After the first paint WebKit still does some work. */
const SETTLE_MS = 5000;
const REST_S = 60;
/** How long frames are counted while nothing runs. */
const STILL_MS = 3000;
/** Two frames at sixty a second, and a little more. */
const LATE_MS = 34;

const { ringway, program, rounds, bytes, scratch } = JSON.parse(process.argv[2]);
await startWindowManager();
const near = await windowDevice(scratch, "near");
const far = new Device(scratch, "far", { program: ringway });

/** The window's processes and the service, by their kind. */
function members() {
  const named = { "ringway-desktop": "window", WebKitWebProces: "its page", WebKitNetworkPr: "its network process" };
  const own = family(near.env).map((process) => [named[readFileSync(`/proc/${process.pid}/comm`, "utf8").trim()], process]);
  return Object.fromEntries([...own.filter(([name]) => name), ["service", serviceProcess(near.env)]]);
}

const paint_s = [];
const pss_mib = {};
let page;
for (let round = 0; round < rounds; round += 1) {
  page = await Page.open(program, near.env);
  await page.wait("//h1");
  paint_s.push(await firstPaint(page, near.env));
  await sleep(SETTLE_MS);
  for (const [name, process] of Object.entries(members())) (pss_mib[name] ??= []).push(pss(process));
  if (round < rounds - 1) await page.close();
}

/** Ticks that all threads of these processes have used so far. */
const used = () => {
  const all = processes();
  return Object.fromEntries(Object.entries(members()).map(([name, { pid }]) => [name, all.find((process) => process.pid === pid).ticks]));
};
const before = used();
await sleep(REST_S * 1000);
const after = used();
const percent = Object.fromEntries(Object.entries(after).map(([name, ticks]) => [name, ((ticks - before[name]) / TICKS_PER_S / REST_S) * 100]));

/** The page's frames between two moments. */
async function frames(during) {
  await page.script(() => {
    const given = (window.givenFrames = []);
    const next = (at) => {
      given.push(at);
      if (window.givenFrames === given) requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  });
  await during();
  const given = await page.script(() => {
    const all = window.givenFrames;
    window.givenFrames = null;
    return all;
  });
  const gaps = given.slice(1).map((at, index) => at - given[index]);
  const seconds = sum(gaps) / 1000;
  return { seconds, per_s: gaps.length / seconds, worst_ms: Math.max(...gaps), late_percent: (gaps.filter((gap) => gap > LATE_MS).length / gaps.length) * 100 };
}

await show(page, "Inbox");
const still = await frames(() => sleep(STILL_MS));
const file = join(scratch, "one.bin");
const piece = randomBytes(16 * 1024 * 1024);
const to = openSync(file, "w");
for (let written = 0; written < bytes; written += piece.length) {
  piece.writeUInt32LE(written / piece.length);
  writeSync(to, piece);
}
closeSync(to);
const code = await page.text("//*[@data-code]//*[contains(@class, 'text')]");
const sending = far.start(["send", file, near.target, "--json", "--code-file", far.codeFile(code)], { described: false });
await page.wait(button("Accept"));
const receiving = await frames(async () => {
  await page.click(button("Accept"));
  // The page is not queried meanwhile, because that would cost it frames.
  if ((await sending.exit()) !== 0) throw new Error(sending.said());
});
await page.wait(line("one.bin", "Received"));
await page.close();
for (let left = serviceProcess(near.env); left; left = serviceProcess(near.env)) {
  process.kill(left.pid);
  await sleep(50);
}
rmSync(file);
const figures = { paint_s, pss_mib, rest: { seconds: REST_S, percent }, frames: { "nothing running": still, receiving: { ...receiving, bytes } } };
process.stdout.write(`${JSON.stringify(figures)}\n`);
process.exit(0);
