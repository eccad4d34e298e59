// The window's messages about firewalls: another machine's that blocks this one, and its own, each
// with the command that opens it.
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { which } from "../setup/process.mjs";
import { isRoot } from "../transfer/harness.mjs";
import { etcWith } from "../transfer/mounts.mjs";
import { firewall, twoMachines } from "../transfer/networks.mjs";
import { folder, keepPicture, openWindow, show, windowDevice } from "./lib/device.mjs";
import { onPrivateDisplay } from "./lib/display.mjs";
import { placeWindow } from "./lib/drag.mjs";
import { exactly, field, showing } from "./lib/webdriver.mjs";

const inside = await onPrivateDisplay(import.meta.url);
const skip = (!isRoot && "namespaces take root") || (!which("nft") && "nft is not installed");

if (inside) {
  test("a firewall in the way is reported with its command, which a press copies", { skip }, async (t) => {
    const machines = twoMachines(t);
    if (!machines) return t.skip("network namespaces take root");
    const [here, there] = machines;
    firewall(there, 17464, "reject with icmpx type admin-prohibited");
    const base = folder();
    const device = await windowDevice(base, "laptop");
    appendFileSync(join(device.env.XDG_CONFIG_HOME, "ringway/config.toml"), "announce = false\n");
    // The window finds the running service, which uses its own network and its own /etc.
    const wrap = [...here.wrap, ...etcWith(base, { "ufw/ufw.conf": "ENABLED=yes\n" })];
    const service = device.start(["serve", "--json"], { wrap });
    t.after(() => service.kill());
    await service.event("listening");

    const page = await openWindow(t, device);
    await placeWindow(page, 960, 700);
    await show(page, "Inbox");
    await page.wait(showing("A firewall is active"));
    await page.wait(showing(`sudo ufw allow ${device.port}/tcp`));
    await keepPicture(page, "firewall-here");

    await show(page, "Devices");
    await page.fill(field("pair-address"), there.address);
    await page.fill(field("pair-code"), "7-river-canal");
    await page.click(exactly("Pair"));
    await page.wait(showing("open its firewall"));
    await page.wait(showing("sudo ufw allow 17464/tcp"));
    await page.wait(showing("sudo firewall-cmd --permanent --add-port=17464/tcp"));
    await page.click(`//button[contains(@aria-label, "sudo ufw allow 17464/tcp")]`);
    await page.wait(`//button[contains(@aria-label, "Copied") and contains(@aria-label, "sudo ufw")]`);
    await keepPicture(page, "firewall-there");
    await placeWindow(page, 360, 780);
    await keepPicture(page, "firewall-there-narrow");
  });
}
