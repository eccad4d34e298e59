// `ringway serve` of a device, and the commands that ask it.
import assert from "node:assert/strict";
import { Running } from "../../setup/devices.mjs";
import { eventually } from "./session.mjs";

/** What a command of `device` said, one event a line. */
async function said(device, args) {
  const { status, events, said } = await device.run([...args, "--json"]);
  return { status, events, said };
}

/** Asks the service of `device`. */
export function asking(device) {
  return {
    /** The code that it shows. */
    code: () =>
      eventually("the service's code", async () => {
        const { events } = await said(device, ["status"]);
        return events.find(({ event }) => event === "service")?.code;
      }),
    /** Takes in the one offer that waits, once there is one. */
    accept: async () => {
      const offer = await eventually("an offer", async () => (await said(device, ["offers"])).events.find(({ event }) => event === "offer_waits"));
      const ended = await device.run(["accept", offer.id, "--json"]);
      assert.equal(ended.status, 0, ended.said());
    },
  };
}

/** What the service noted of its surroundings that has `words` in it. */
export const notices = (running, words) => running.events.filter(({ event, text }) => event === "notice" && text.includes(words));

/** Whatever whoever runs the tests speaks. */
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
