// Runs on a display of its own: opens the window, measures its cost, and prints that as one line of
// JSON.
import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
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

/** A transfer that is held to this rate moves for as long as the processor is looked at. */
const MOVING = { bytes_per_s: 20_000_000, seconds: 20, settle_ms: 3000 };
/** Twice as many as the history keeps, and ten times the failures that a report names. */
const PAST_ROWS = 10_000;
const PIPES = 10_000;
const SCROLLED_MS = 5000;
/** How long the history may take to be read to its end. */
const READ_MS_MAX = 300_000;
/** Pixels from one frame to the next, as a fast turn of the wheel. */
const SCROLLED_BY = 400;

const { ringway, program, rounds, bytes, scratch } = JSON.parse(process.argv[2]);
await startWindowManager();
const near = await windowDevice(scratch, "near");
const far = new Device(scratch, "far", { program: ringway });

/** The window's processes and the service, by their kind: a page may have more than one. */
function members() {
  const named = { "ringway-desktop": "window", WebKitWebProces: "its page", WebKitNetworkPr: "its network process" };
  const found = { service: [serviceProcess(near.env)] };
  for (const process of family(near.env)) {
    const name = named[readFileSync(`/proc/${process.pid}/comm`, "utf8").trim()];
    if (name) (found[name] ??= []).push(process);
  }
  return Object.entries(found);
}

const paint_s = [];
const pss_mib = {};
let page;
for (let round = 0; round < rounds; round += 1) {
  page = await Page.open(program, near.env);
  await page.wait("//h1");
  paint_s.push(await firstPaint(page, near.env));
  await sleep(SETTLE_MS);
  for (const [name, all] of members()) (pss_mib[name] ??= []).push(sum(all.map(pss)));
  if (round < rounds - 1) await page.close();
}

/** Ticks that all threads of these processes have used so far. */
const used = () => {
  const all = processes();
  const ticks = ({ pid }) => all.find((process) => process.pid === pid)?.ticks ?? 0;
  return Object.fromEntries(members().map(([name, of]) => [name, sum(of.map(ticks))]));
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

/** Resident bytes by /proc, in MiB. */
const rss = ({ pid }) => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;
const rssOfAll = () => Object.fromEntries(members().map(([name, all]) => [name, sum(all.map(rss))]));
const rss_mib = { "nothing running": rssOfAll() };

/** Scrolls what is found to its end and back, as often as there is time for it. */
async function scrolling(selector) {
  const found = await frames(async () => {
    await page.script(
      (selector, by, ms) => {
        const box = document.querySelector(selector);
        const end = performance.now() + ms;
        let step = by;
        const scroll = () => {
          if (box.scrollTop + box.clientHeight >= box.scrollHeight - 1) step = -by;
          else if (box.scrollTop <= 0) step = by;
          box.scrollTop += step;
          if (performance.now() < end) requestAnimationFrame(scroll);
        };
        requestAnimationFrame(scroll);
      },
      selector,
      SCROLLED_BY,
      SCROLLED_MS,
    );
    await sleep(SCROLLED_MS);
  });
  return { ...found, drawn: await page.script((selector) => document.querySelectorAll(`${selector} li`).length, selector) };
}

/** Scrolls the history to its end until the service has no more of it: how long that took. */
async function readToEnd() {
  const from = performance.now();
  const isWhole = () =>
    page.script(() => {
      const box = document.querySelector("[data-scrolls]");
      box.scrollTop = box.scrollHeight;
      return ![...box.querySelectorAll("button")].some(({ innerText }) => innerText.trim() === "Show more");
    });
  while (!(await isWhole())) {
    if (performance.now() - from > READ_MS_MAX) throw new Error("the history has no end");
    await sleep(50);
  }
  return { read_s: (performance.now() - from) / 1000 };
}

await show(page, "Inbox");
const still = await frames(() => sleep(STILL_MS));
/** A file of so many bytes, of which no two pieces are alike. */
function made(name, size) {
  const file = join(scratch, name);
  const piece = randomBytes(16 * 1024 * 1024);
  const to = openSync(file, "w");
  for (let written = 0; written < size; written += piece.length) {
    piece.writeUInt32LE(written / piece.length);
    writeSync(to, piece);
  }
  closeSync(to);
  return file;
}

const file = made("one.bin", bytes);
const code = await page.text("//*[@data-code]//*[contains(@class, 'text')]");
const sending = far.start(["send", file, near.target, "--json", "--code-file", far.codeFile(code)], { described: false });
await page.wait(button("Accept"));
const receiving = await frames(async () => {
  await page.click(button("Accept"));
  // The page is not queried meanwhile, because that would cost it frames.
  if ((await sending.exit()) !== 0) throw new Error(sending.said());
});
await page.wait(line("one.bin", "Received"));

// What a window costs that follows a transfer, its graph open, five times a second.
const long = made("long.bin", MOVING.bytes_per_s * 2 * MOVING.seconds);
const held = far.start(["send", long, near.target, "--json", "--limit", `${MOVING.bytes_per_s / 1e6}M`], { described: false });
await page.wait(button("Accept"));
await page.click(button("Accept"));
await show(page, "Activity");
await page.wait("//*[@role='slider']");
await sleep(MOVING.settle_ms);
const usedBefore = used();
await sleep(MOVING.seconds * 1000);
const usedAfter = used();
rss_mib["a transfer running"] = rssOfAll();
const moving = Object.fromEntries(Object.entries(usedAfter).map(([name, ticks]) => [name, ((ticks - usedBefore[name]) / TICKS_PER_S / MOVING.seconds) * 100]));
held.kill();
await held.exit();

// Lists as long as they get.
const pipes = join(scratch, "pipes");
mkdirSync(pipes);
spawnSync("bash", ["-c", `cd "$0" && for n in $(seq ${PIPES}); do mkfifo "pipe $n"; done`, pipes]);
const failing = far.start(["send", pipes, near.target, "--json"], { described: false });
await show(page, "Inbox");
await page.wait(button("Accept"));
await page.click(button("Accept"));
await failing.exit();
const clone = `
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db:
    names = [name for _, name, *_ in db.execute("PRAGMA table_info(past)") if name != "number"]
    columns = ", ".join(names)
    # Each is another transfer: one that is listed above is not listed twice.
    cloned = ", ".join("randomblob(16)" if name == "transfer" else name for name in names)
    db.execute(f"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO past ({columns}) SELECT {cloned} FROM n, (SELECT * FROM past ORDER BY number LIMIT 1)", [${PAST_ROWS}])
`;
const cloned = spawnSync("python3", ["-c", clone, join(near.env.XDG_DATA_HOME, "ringway/ringway.db")], { encoding: "utf8" });
if (cloned.status !== 0) throw new Error(cloned.stderr);
await show(page, "Activity");
await page.wait("//*[@data-ended='partial']");
await page.wait("//main//button[normalize-space() = 'Show more']");
const reading = await readToEnd();
const lists = { history: { ...(await scrolling("[data-scrolls]")), ...reading } };
lists.failures = await scrolling("[data-ended='partial'] [role='region']");
await page.close();
for (let left = serviceProcess(near.env); left; left = serviceProcess(near.env)) {
  process.kill(left.pid);
  await sleep(50);
}
[file, long].forEach((path) => rmSync(path));
const figures = { paint_s, pss_mib, rss_mib, rest: { seconds: REST_S, percent }, moving: { ...MOVING, percent: moving }, lists, frames: { "nothing running": still, receiving: { ...receiving, bytes } } };
process.stdout.write(`${JSON.stringify(figures)}\n`);
process.exit(0);
