// Machines on the network as cards to drop on: a real drag from a real file manager, onto one that
// is not paired and again once it is.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Device } from "../setup/devices.mjs";
import { CODE, EXIT, isRoot, oddTree, same } from "../transfer/harness.mjs";
import { twoMachines } from "../transfer/networks.mjs";
import { folder, keepPicture, openWindow, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { dragFromManager, middleOf, noManager, placeWindow } from "./lib/drag.mjs";
import { KEYS, eventually, exactly, field, line, showing, sleep } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const ATTIC = `//main//button[@data-card and contains(., "attic")]`;
const skip = noManager() || (!isRoot && "namespaces take root");

if (inside) {
  test("a folder dragged out of a file manager goes to a machine nearby by its code, and the next one to its card as a paired one, although other devices appear meanwhile", { skip }, async (t) => {
    const machines = twoMachines(t);
    if (!machines) return t.skip("network namespaces take root");
    const [here, there] = machines;
    const base = folder();
    const near = await windowDevice(base, "near");
    const far = new Device(base, "far");
    const inbox = join(base, "inbox");
    const home = join(base, "home");
    for (const path of [inbox, home]) mkdirSync(path);
    // The window finds the running service, which uses its own network.
    const service = near.start(["serve", "--json"], { wrap: here.wrap });
    t.after(() => service.kill());
    await service.event("listening");
    const receive = async (...args) => {
      const receiving = far.start(["recv", inbox, "--json", "--yes", "--once", ...args], { wrap: there.wrap });
      t.after(() => receiving.kill());
      await receiving.event("listening");
      return receiving;
    };
    /** A folder with one tree in it, to drag from. */
    const shelf = (name) => {
      const tree = join(base, `shelf ${name}`, name);
      mkdirSync(join(base, `shelf ${name}`));
      oddTree(tree);
      return tree;
    };
    /**
     * Drops the only entry of a tree's folder on the card that `selector` finds. `meanwhile` runs
     * while the pointer is over it.
     */
    const drop = async (name, selector, meanwhile) => {
      await page.wait(`//main//button[@data-card and contains(., "far")]`);
      const card = await middleOf(page, await placeWindow(page, 1000, 760), selector);
      await dragFromManager(t, join(base, `shelf ${name}`), home, card, async () => {
        await page.wait(showing("Send 1 folder to far"));
        await keepPicture(page, `nearby-over-${name}`);
        await meanwhile?.();
      });
    };

    const [first, second] = ["first", "second"].map(shelf);
    const receiving = await receive("--code-file", far.codeFile(CODE));
    const page = await openWindow(t, near);
    await drop("first", 'main [data-card^="nearby:"]');
    await page.fill(field("retry-code"), CODE);
    await page.keys(KEYS.enter);
    await page.wait(line("first", "Sent"));
    assert.equal(await receiving.exit(), EXIT.all, receiving.said());
    same(first, join(inbox, "first"));

    const again = await receive();
    // If a machine appears during a drag over a card, no card moves. Otherwise it would receive
    // what was meant for another.
    const appears = async () => {
      const attic = new Device(base, "attic");
      const receiving = attic.start(["recv", home, "--json", "--once", "--listen", "0.0.0.0:17465"], { wrap: there.wrap });
      t.after(() => receiving.kill());
      await receiving.event("listening");
      const heard = async () => (await near.run(["devices", "--nearby", "--json"], { wrap: here.wrap })).said().includes('"attic"');
      await eventually("attic to be heard of", heard);
      // And for as long as the window would take to show it.
      await sleep(1_000);
      assert.ok(!(await page.find(ATTIC)));
      await page.wait(showing("Send 1 folder to far"));
    };
    await drop("second", 'main [data-card]:not([data-card="here"]):not([data-card^="nearby:"])', appears);
    assert.equal(await again.exit(), EXIT.all, again.said());
    same(second, join(inbox, "second"));
    await page.wait(ATTIC);
  });

  test("the button that sends stays where it is while devices appear", { skip: !isRoot && "namespaces take root" }, async (t) => {
    const machines = twoMachines(t);
    if (!machines) return t.skip("network namespaces take root");
    const [here, there] = machines;
    const base = folder();
    const near = await windowDevice(base, "near");
    const tree = join(base, "set");
    oddTree(tree);
    const service = near.start(["serve", "--json"], { wrap: here.wrap });
    t.after(() => service.kill());
    await service.event("listening");
    const appears = async (page, name, port) => {
      const inbox = join(base, `inbox of ${name}`);
      mkdirSync(inbox);
      const receiving = new Device(base, name).start(["recv", inbox, "--json", "--listen", `0.0.0.0:${port}`], { wrap: there.wrap });
      t.after(() => receiving.kill());
      await page.wait(`//main//button[@data-card and contains(., "${name}")]`);
    };
    const page = await openWindow(t, near, {}, ["--show", "send", tree]);
    await appears(page, "attic", 17465);
    await page.click(`//main//button[@data-card and contains(., "attic")]`);
    await page.wait(exactly("Send"));
    const at = () =>
      page.script(() => {
        const { left, top } = [...document.querySelectorAll("[data-bar] button")].find(({ innerText }) => innerText.trim() === "Send").getBoundingClientRect();
        return [left, top].map(Math.round).join(" ");
      });
    const cards = () => page.script(() => document.querySelector(".cards").getBoundingClientRect().height);
    await placeWindow(page, 800, 700);
    const [stood, high] = [await at(), await cards()];
    for (const [index, name] of ["cellar", "garage", "loft", "study", "hall", "porch", "barn"].entries()) {
      await appears(page, name, 17466 + index);
      assert.equal(await at(), stood, `with ${name}`);
    }
    assert.ok((await cards()) > 2 * high, "and they need more rows");
  });

  test("a device that ends is shown as gone at once, and a killed one once it did not answer, until it is back", { skip: !isRoot && "namespaces take root" }, async (t) => {
    const machines = twoMachines(t);
    if (!machines) return t.skip("network namespaces take root");
    const [here, there] = machines;
    const base = folder();
    const near = await windowDevice(base, "near");
    const far = new Device(base, "far");
    const [inbox, tree] = ["inbox", "set"].map((name) => join(base, name));
    mkdirSync(inbox);
    oddTree(tree);
    const service = near.start(["serve", "--json"], { wrap: here.wrap });
    t.after(() => service.kill());
    await service.event("listening");
    const receive = async (...args) => {
      const receiving = far.start(["recv", inbox, "--json", "--yes", ...args], { wrap: there.wrap });
      t.after(() => receiving.kill());
      await receiving.event("listening");
      return receiving;
    };
    const first = await receive("--code-file", far.codeFile(CODE));
    const paired = await near.run(["pair", there.address, "--code-file", near.codeFile(CODE)], { wrap: here.wrap });
    assert.equal(paired.status, EXIT.all, paired.said());
    const page = await openWindow(t, near, {}, ["--show", "send", tree]);
    const card = `//main//button[@data-card and contains(., "far")]`;
    const online = `${card}[contains(., "Online")]`;
    const gone = (what, seconds) => eventually(what, async () => !(await page.find(online)), seconds * 1000);
    await page.wait(online);
    // It says goodbye.
    first.kill("SIGTERM");
    await gone("the device that ended to be gone", 5);
    const serving = far.start(["serve", inbox, "--json"], { wrap: there.wrap });
    t.after(() => serving.kill());
    await page.wait(online);
    serving.kill("SIGTERM");
    await gone("the device whose service ended to be gone", 5);

    const second = await receive();
    await page.wait(online);
    second.kill("SIGKILL");
    await second.exit();
    // Nobody has told. Without the failure it would be online for minutes.
    await sleep(3_000);
    assert.ok(await page.find(online));
    await page.click(card);
    await page.click(exactly("Send"));
    await gone("the device that was killed to be gone", 10);
    await keepPicture(page, "nearby-gone");

    const third = await receive();
    await page.wait(online);
    third.kill();
  });
}
