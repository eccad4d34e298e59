// A program of the Xfce desktop, with its own bus and settings.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Running } from "../../setup/devices.mjs";

/**
 * Starts `program` with the home of `device` and `settings` as its channel of them, and returns the
 * address of its bus. It ends with the test. The bus starts the program that stores settings; on
 * another bus it would use the tester's own.
 */
export async function startXfce(t, device, { program, channel, settings }) {
  const config = join(device.env.XDG_CONFIG_HOME, "xfce4/xfconf/xfce-perchannel-xml");
  mkdirSync(config, { recursive: true });
  const xml = `<?xml version="1.0" encoding="UTF-8"?>\n<channel name="${channel}" version="1.0">\n${settings}\n</channel>\n`;
  writeFileSync(join(config, `${channel}.xml`), xml);
  const run = `echo "{\\"event\\":\\"bus\\",\\"address\\":\\"$DBUS_SESSION_BUS_ADDRESS\\"}"; "$0" & read -r _; kill $!; wait $!`;
  const running = new Running(channel, "dbus-run-session", ["--", "sh", "-c", run, program], { env: device.env, input: null });
  t.after(async () => {
    running.child.stdin.end();
    await running.exit();
  });
  return (await running.event("bus")).address;
}
