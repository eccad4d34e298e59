// A Wayland compositor without a screen: sway, which protects the focus by xdg-activation-v1 and
// reports its windows over its own socket.
import { spawn } from "node:child_process";
import { chownSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { capture, which } from "../../setup/process.mjs";
import { virtualPointer } from "./virtual-pointer.mjs";
import { eventually } from "./webdriver.mjs";

/** sway does not run as root. It runs as nobody, whose sockets root may use. */
const NOBODY = 65534;

/** Why it cannot run here; empty if it can. */
export function lackingSway() {
  const missing = ["sway", "swaymsg", "setpriv", "wtype"].filter((name) => !which(name));
  return missing.length > 0 ? `${missing.join(", ")} not installed` : "";
}

/** Starts it; it ends with the test. */
export async function sway(t) {
  const folder = mkdtempSync(join(tmpdir(), "ringway-sway-"));
  writeFileSync(join(folder, "config"), "focus_on_window_activation smart\n");
  const asNobody = process.getuid() === 0 ? ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"] : [];
  if (asNobody.length > 0) chownSync(folder, NOBODY, NOBODY);
  const [command, ...rest] = [...asNobody, "sway", "-c", join(folder, "config")];
  // Nothing of the tests' other display.
  const env = { PATH: process.env.PATH, HOME: folder, XDG_RUNTIME_DIR: folder, WLR_BACKENDS: "headless", WLR_LIBINPUT_NO_DEVICES: "1", WLR_RENDERER: "pixman" };
  const compositor = spawn(command, rest, { env, stdio: "ignore" });
  t.after(() => {
    compositor.kill();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  const socket = (start) => readdirSync(folder).find((name) => name.startsWith(start) && !name.endsWith(".lock"));
  await eventually("the compositor", () => socket("wayland-") && socket("sway-ipc."));
  const ipc = join(folder, socket("sway-ipc."));
  /** Every window: its name, whether it has the keyboard, and where its contents are. */
  const windows = () => {
    const found = [];
    const visit = (node) => {
      const { rect, window_rect: inner } = node;
      const at = inner && { x: rect.x + inner.x, y: rect.y + inner.y, width: inner.width, height: inner.height };
      if (node.pid) found.push({ title: node.name, app: node.app_id, shell: node.shell, focused: node.focused, at });
      [...(node.nodes ?? []), ...(node.floating_nodes ?? [])].forEach(visit);
    };
    visit(JSON.parse(capture("swaymsg", ["-s", ipc, "-r", "-t", "get_tree"]).out));
    return found;
  };
  const display = join(folder, socket("wayland-"));
  /**
   * Types into the focused window. Only a person's input gives a program the permission to bring
   * another one to the front.
   */
  const type = (text) => {
    const { status, err } = capture("wtype", [text], { env: { ...process.env, WAYLAND_DISPLAY: display, XDG_RUNTIME_DIR: folder } });
    if (status !== 0) throw new Error(`wtype: ${err}`);
  };
  const [{ rect: screen }] = JSON.parse(capture("swaymsg", ["-s", ipc, "-r", "-t", "get_outputs"]).out);
  const pointer = await virtualPointer(t, display, [screen.width, screen.height]);
  return { type, pointer, env: { GDK_BACKEND: "wayland", WAYLAND_DISPLAY: display }, windows };
}
