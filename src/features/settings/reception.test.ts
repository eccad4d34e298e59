import { screen, waitFor } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { describe, expect, test } from "vitest";
import type { Fault } from "../../ipc";
import { t } from "../../messages";
import { offer, startWindow, stored } from "../../testing/shell";
import { show } from "../../testing/show";

const user = userEvent.setup();

describe("where and when this machine receives", () => {
  test.each([
    ["background", "setBackground"],
    ["announce", "setAnnounce"],
    ["receiving", "setReceiving"],
  ] as const)("%s is a switch in the settings", async (what, command) => {
    const shell = await startWindow({}, { [command]: (args) => ({ ...stored, ...args }) });
    await show("settings");
    const box = screen.getByRole("switch", { name: t(`settings.${what}`) });
    expect(box).toBeChecked();
    await user.click(box);
    expect(shell.called(command)).toEqual([{ [what]: false }]);
    await waitFor(() => expect(shell.app.settings.stored[what]).toBe(false));
    expect(box).not.toBeChecked();
  });

  test("a switch that was pressed in vain goes back, and the reason is reported beside it", async () => {
    const fault: Fault = { code: "listen", address: "[::]:17464", source: { errno: 98, detail: "" }, remedies: [] };
    await startWindow({ settings: { ...stored, receiving: false }, listening: { is: "off", refused: null } }, { setReceiving: () => Promise.reject(fault) });
    await show("settings");
    const box = screen.getByRole("switch", { name: t("settings.receiving") });
    await user.click(box);
    expect(await screen.findByRole("alert")).toHaveTextContent(t("os.portInUse"));
    expect(box).not.toBeChecked();
  });

  test("the Inbox says that receiving is switched off, and switches it on", async () => {
    const off = { ...stored, receiving: false };
    const shell = await startWindow({ settings: off, listening: { is: "off", refused: null } }, { setReceiving: (args) => ({ ...off, ...args }) });
    await show("inbox");
    expect(screen.getByText(t("inbox.off"), { selector: "main p" })).toBeVisible();
    await user.click(screen.getByRole("button", { name: t("inbox.turnOn") }));
    expect(shell.called("setReceiving")).toEqual([{ receiving: true }]);
    await waitFor(() => expect(screen.queryByRole("button", { name: t("inbox.turnOn") })).toBeNull());
  });

  test("the Inbox says why receiving could not be switched on elsewhere, in the tray or by a command", async () => {
    const off = { ...stored, receiving: false };
    const fault: Fault = { code: "listen", address: "[::]:17464", source: { errno: 98, detail: "" }, remedies: [] };
    const shell = await startWindow({ settings: off, listening: { is: "off", refused: null } }, { setReceiving: (args) => ({ ...off, ...args }) });
    await show("inbox");
    expect(screen.queryByRole("alert")).toBeNull();
    shell.tell({ event: "listeningChanged", listening: { is: "off", refused: fault } });
    const told = await screen.findByRole("alert");
    expect(told).toHaveTextContent(t("os.portInUse"));
    expect(told).toHaveTextContent(t("fault.listen.next"));
    await user.click(screen.getByRole("button", { name: t("inbox.turnOn") }));
    expect(shell.called("setReceiving")).toEqual([{ receiving: true }]);
  });

  test("an offer that settings have overtaken goes, and it is told why", async () => {
    const shell = await startWindow({ offers: [offer()] });
    await show("inbox");
    shell.tell({ event: "offerGone", id: "o1", how: "overtaken" });
    expect(await screen.findByRole("alert")).toHaveTextContent(t("inbox.overtaken", { from: "laptop" }));
    expect(screen.queryByRole("button", { name: t("inbox.accept") })).toBeNull();
  });

  test("access control lists are kept where a person turns that on", async () => {
    const shell = await startWindow({}, { setAcls: (args) => ({ ...stored, ...args }) });
    await show("settings");
    const box = screen.getByRole("switch", { name: t("settings.acls") });
    expect(box).not.toBeChecked();
    expect(box).toHaveAccessibleDescription(t("settings.aclsHint"));
    await user.click(box);
    expect(shell.called("setAcls")).toEqual([{ acls: true }]);
    await waitFor(() => expect(box).toBeChecked());
  });

  test("start at login tells what does it, where that is gone, and why it cannot be had", async () => {
    const shell = await startWindow(
      {},
      {
        startAtLogin: () => ({ now: { by: "vanished", program: { path: "/old/ringway" } }, means: "autostart" }),
        setStartAtLogin: ({ on }) => (on ? { now: { by: "unit" }, means: "unit" } : Promise.reject({ code: "systemd", detail: "busy" })),
      },
    );
    await show("settings");
    const box = screen.getByRole("switch", { name: t("settings.login") });
    await waitFor(() => expect(box).toHaveAccessibleDescription(t("settings.login.vanished", { program: "/old/ringway" })));
    expect(box).not.toBeChecked();
    await user.click(box);
    await waitFor(() => expect(box).toHaveAccessibleDescription(t("settings.login.unit")));
    expect(box).toBeChecked();
    await user.click(box);
    expect(await screen.findByRole("alert")).toHaveTextContent(t("fault.systemd", { detail: "busy" }));
    expect(box).toBeChecked();
    expect(shell.called("setStartAtLogin")).toEqual([{ on: true }, { on: false }]);
  });

  test("what somebody else has changed shows at once, and what is being typed stays", async () => {
    const shell = await startWindow();
    await show("settings");
    await user.type(screen.getByLabelText(t("settings.port")), "1");
    shell.tell({ event: "settingsChanged", settings: { ...stored, name: "elsewhere", background: false } });
    await waitFor(() => expect(screen.getByLabelText(t("settings.name"))).toHaveValue("elsewhere"));
    expect(screen.getByLabelText(t("settings.port"))).toHaveValue("174641");
    expect(screen.getByRole("switch", { name: t("settings.background") })).not.toBeChecked();
  });
});
