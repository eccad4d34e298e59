// `ringway serve` of a device, and the commands that query it.
import assert from "node:assert/strict";
import { Running } from "../../setup/devices.mjs";
import { eventually } from "./session.mjs";

/** The events of a command of `device`. */
async function said(device, args) {
  const { status, events, said } = await device.run([...args, "--json"]);
  return { status, events, said };
}

/** Queries the service of `device`. */
export function asking(device) {
  return {
    /** The code that it shows. */
    code: () =>
      eventually("the service's code", async () => {
        const { events } = await said(device, ["status"]);
        return events.find(({ event }) => event === "service")?.code;
      }),
    /** Accepts the only waiting offer, once there is one. */
    accept: async () => {
      const offer = await eventually("an offer", async () => (await said(device, ["offers"])).events.find(({ event }) => event === "offer_waits"));
      const ended = await device.run(["accept", offer.id, "--json"]);
      assert.equal(ended.status, 0, ended.said());
    },
  };
}

/** The service's notices that contain `words`. */
export const notices = (running, words) => running.events.filter(({ event, text }) => event === "notice" && text.includes(words));

/** Whatever language the person who runs the tests uses. */
const ENGLISH = { LC_ALL: "C", LANGUAGE: "" };

/** Starts the service of `device` and waits until it listens. It is killed with the test. */
export async function service(t, device, { env: own = {}, command } = {}) {
  const env = { ...ENGLISH, ...own };
  const args = ["serve", "--json"];
  const running = command
    ? new Running("service", command, args, { env: { ...device.env, ...env } })
    : device.start(args, { env });
  t.after(() => running.kill());
  await running.event("listening");
  return Object.assign(running, asking(device));
}
