import { screen, waitFor, within } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { describe, expect, test, vi } from "vitest";
import type { Remedy } from "../../ipc";
import { t } from "../../messages";
import { earlier, everything, labWs, nearby, offer, startWindow, stored } from "../../testing/shell";
import { show } from "../../testing/show";

const user = userEvent.setup();

describe("settings and devices", () => {
  test("a field is in force with Enter or when it is left; what is wrong stands beside it, and Escape puts back what was there", async () => {
    const shell = await startWindow({}, { saveSettings: ({ sendLimit, ...args }) => ({ ...stored, ...args, send_limit: sendLimit }) });
    await show("settings");
    const port = screen.getByLabelText(t("settings.port"));
    await user.clear(port);
    await user.type(port, "70000{Enter}");
    expect(port).toHaveAccessibleDescription(t("settings.portBad"));
    expect(shell.called("saveSettings")).toEqual([]);
    await user.keyboard("{Escape}");
    expect(port).toHaveValue("17464");
    expect(port).toHaveFocus();
    await user.clear(port);
    await user.type(port, "9000{Enter}");
    expect(shell.called("saveSettings")).toEqual([{ name: "here", port: 9000, sendLimit: null }]);
    expect(await screen.findByText(t("settings.saved"))).toBeVisible();
    expect(port).toHaveFocus();
    const name = screen.getByLabelText(t("settings.name"));
    await user.clear(name);
    await user.type(name, " lab ");
    await user.tab();
    expect(shell.called("saveSettings").at(-1)).toEqual({ name: "lab", port: 9000, sendLimit: null });
    await waitFor(() => expect(name).toHaveValue("lab"));
    await user.click(name);
    await user.tab();
    expect(shell.called("saveSettings"), "what is in force is not stored again").toHaveLength(2);
  });

  test("why a setting was refused stands beside it, and a view that is left takes what was typed along", async () => {
    const shell = await startWindow({}, { saveSettings: ({ name }) => (name === "nas" ? Promise.reject({ code: "invalid", reason: "name_taken" }) : { ...stored, name }) });
    await show("settings");
    const name = screen.getByLabelText(t("settings.name"));
    await user.clear(name);
    await user.type(name, "nas{Enter}");
    await waitFor(() => expect(name).toHaveAccessibleDescription(new RegExp(t("fault.unfit.nameTaken"))));
    await user.clear(name);
    await user.type(name, "lab");
    await user.keyboard("{Control>}4{/Control}");
    await waitFor(() => expect(shell.app.settings.stored.name).toBe("lab"));
  });

  test("About says the version, the folders and the licences, and copies what doctor says", async () => {
    const about = { version: "1.2.3", settings_folder: "/home/me/.config/ringway", data_folder: "/home/me/.local/share/ringway" };
    let fails = true;
    let takes = false;
    const shell = await startWindow({}, { about: () => about, copy_text: () => takes, diagnose: () => (fails ? Promise.reject({ code: "no_program" }) : "ok  All is well.") });
    await show("settings");
    expect(await screen.findByText(t("settings.version", { version: "1.2.3" }))).toBeVisible();
    for (const folder of [about.settings_folder, about.data_folder]) expect(screen.getByText(folder)).toBeVisible();
    await user.click(screen.getByRole("button", { name: t("settings.licences") }));
    expect(screen.getByText("OFL-1.1")).toBeVisible();
    expect(screen.getByRole("region", { name: t("settings.fontLicence") })).toHaveTextContent("SIL OPEN FONT LICENSE Version 1.1");
    const copy = screen.getByRole("button", { name: t("settings.diagnosticsCopy") });
    await user.click(copy);
    expect(await screen.findByRole("alert")).toHaveTextContent(t("fault.noProgram"));
    fails = false;
    await user.click(copy);
    await waitFor(() => expect(screen.getByRole("alert")).toHaveTextContent(t("settings.notCopied")));
    expect(screen.queryByText(t("common.copied"))).toBeNull();
    takes = true;
    await user.click(copy);
    expect(await screen.findByText(t("common.copied"))).toBeVisible();
    expect(shell.called("copy_text")).toContainEqual({ text: "ok  All is well." });
    expect(screen.queryByRole("alert")).toBeNull();
  });

  test("where the kernel could encrypt, the commands that turn it on are there to be copied", async () => {
    const remedies: Remedy[] = [
      { aim: "load_tls", command: "sudo modprobe tls" },
      { aim: "keep_tls", command: "echo tls | sudo tee /etc/modules-load.d/ringway.conf" },
    ];
    await startWindow({ machine: { ...everything().machine, remedies } });
    await show("settings");
    const machine = within(screen.getByRole("group", { name: t("settings.system") }));
    expect(machine.getByText(t("settings.loadTls"))).toBeVisible();
    for (const { command } of remedies) {
      expect(machine.getByText(command)).toBeVisible();
      expect(machine.getByRole("button", { name: t("common.copyNamed", { name: t("common.theCommand"), text: command }) })).toBeEnabled();
    }
  });

  test("a home that was allowed is pointed out where offers land and in the settings", async () => {
    const shell = await startWindow({ settings: { ...stored, receive_folder: { path: "/home/me" }, is_home: true } });
    await show("settings");
    expect(screen.getByRole("group", { name: t("settings.folder") })).toHaveTextContent(t("folder.home"));
    shell.tell({ event: "offerChanged", offer: offer({ destination: { path: "/home/me" }, is_home: true }) });
    await show("inbox");
    const into = within(await screen.findByRole("article")).getByRole("group", { name: t("folder.destination") });
    expect(within(into).getByText(t("folder.home"))).toBeVisible();
    shell.tell({ event: "offerChanged", offer: offer() });
    await waitFor(() => expect(within(into).queryByText(t("folder.home"))).toBeNull());
  });

  test("a limit is typed in megabytes and stored in bytes; nothing typed is none", async () => {
    const shell = await startWindow({}, { saveSettings: ({ sendLimit, ...args }) => ({ ...stored, ...args, send_limit: sendLimit }) });
    await show("settings");
    const limit = screen.getByLabelText(t("settings.limit"));
    for (const bad of ["0", "fast", "-5", "1e9"]) {
      await user.clear(limit);
      await user.type(limit, `${bad}{Enter}`);
      expect(limit).toHaveAccessibleDescription(t("settings.limitBad", { least: "0.001" }));
    }
    expect(shell.called("saveSettings")).toEqual([]);
    await user.clear(limit);
    await user.type(limit, "1,5{Enter}");
    expect(shell.called("saveSettings")).toEqual([{ name: "here", port: 17464, sendLimit: 1_500_000 }]);
    await waitFor(() => expect(limit).toHaveValue("1.5"));
    await user.clear(limit);
    await user.tab();
    expect(shell.called("saveSettings").at(-1)).toEqual({ name: "here", port: 17464, sendLimit: null });
  });

  const choose = async (name: string, what: string) => {
    await user.click(screen.getByRole("button", { name: t("devices.actions", { name }) }));
    await user.click(await screen.findByRole("menuitem", { name: what }));
  };
  const openRow = (name: string) => user.click(within(screen.getByRole("main")).getByRole("button", { name: new RegExp(`^${name}`) }));

  test("forgetting asks first", async () => {
    const shell = await startWindow({ devices: [labWs] });
    await show("devices");
    await choose("lab-ws", t("devices.forget"));
    const asked = await screen.findByRole("dialog", { name: t("devices.forgetAsk", { name: "lab-ws" }) });
    expect(shell.called("forgetDevice")).toEqual([]);
    await user.click(within(asked).getByRole("button", { name: t("devices.forget") }));
    expect(shell.called("forgetDevice")).toEqual([{ id: labWs.id }]);
  });

  test("the keyboard is where the question is, and goes back where it came from", async () => {
    const shell = await startWindow({ devices: [labWs] });
    await show("devices");
    const menu = screen.getByRole("button", { name: t("devices.actions", { name: "lab-ws" }) });
    await choose("lab-ws", t("devices.forget"));
    await waitFor(() => expect(screen.getByRole("button", { name: t("common.cancel") })).toHaveFocus());
    await user.keyboard("{Enter}");
    await waitFor(() => expect(menu).toHaveFocus());
    expect(shell.called("forgetDevice")).toEqual([]);
    await choose("lab-ws", t("devices.rename"));
    const field = await screen.findByLabelText(t("devices.name"));
    await waitFor(() => expect(field).toHaveFocus());
    await user.keyboard("lab{Enter}");
    expect(shell.called("renameDevice")).toEqual([{ id: labWs.id, name: "lab" }]);
    shell.tell({ event: "devicesChanged", devices: [{ ...labWs, name: "lab" }] });
    await waitFor(() => expect(screen.getByRole("button", { name: t("devices.actions", { name: "lab" }) })).toBeVisible());
    expect(field).toHaveFocus();
    await choose("lab", t("devices.forget"));
    await user.click(await screen.findByRole("button", { name: t("devices.forget") }));
    shell.tell({ event: "devicesChanged", devices: [] });
    await waitFor(() => expect(screen.getByRole("heading", { level: 1 })).toHaveFocus());
    expect(screen.getByText(t("devices.emptyNext"))).toBeVisible();
  });

  test("a name that cannot be is reported while it is typed", async () => {
    const shell = await startWindow({ devices: [labWs, { ...labWs, id: "cd".repeat(32), name: "nas" }] });
    await show("devices");
    await openRow("lab-ws");
    const field = screen.getByLabelText(t("devices.name"));
    const told = [[" ", "name.empty"], ["nas ", "name.taken"], ["x".repeat(65), "name.tooLong"], ["photo\u202egpj", "name.hidden"]] as const;
    for (const [name, why] of told) {
      await user.clear(field);
      await user.type(field, `${name}{Enter}`);
      expect(field).toHaveAccessibleDescription(t(why));
    }
    expect(shell.called("renameDevice")).toEqual([]);
    await user.clear(field);
    await user.type(field, "مختبر{Enter}");
    expect(shell.called("renameDevice")).toEqual([{ id: labWs.id, name: "مختبر" }]);
  });

  test("a row says whether a device is there, what is done with its offers and what was last moved; its address is where it is now", async () => {
    const lastTransfer = earlier({ title: "set", report: { bytes: 2_100_000_000, moved: 2_100_000_000 } });
    const device = { ...labWs, last_transfer: lastTransfer, last_seen: Date.now() / 1000 - 3_600, rule: { consent: "accept", folder: null, bytes_max: 20e9 } } as const;
    const shell = await startWindow({ devices: [device] });
    await show("devices");
    const row = within(screen.getByRole("main")).getByRole("button", { name: /^lab-ws/ });
    for (const fact of ["Last seen 1 hour ago", "Offers: Accept automatically up to 20 GB", "Received 2.1 GB 2 hours ago"]) expect(row).toHaveTextContent(fact);
    await user.click(row);
    expect(screen.getByText("10.0.0.5, 1 hour ago")).toBeVisible();
    shell.tell({ event: "nearbyChanged", nearby: [nearby({ paired_id: labWs.id, addresses: ["10.0.0.8:17464"] })] });
    await waitFor(() => expect(row).toHaveTextContent(t("send.online")));
    expect(screen.getByText("10.0.0.8:17464")).toBeVisible();
    expect(screen.queryByText(/10\.0\.0\.5/)).toBeNull();
    expect(row).toHaveAttribute("aria-expanded", "true");
  });

  test("a half-typed code survives a change of view, and may be pasted in any spelling", async () => {
    const shell = await startWindow({ nearby: [nearby({ code_number: 42 })] }, { pair: () => "desk" });
    await show("devices");
    await user.type(screen.getByLabelText(t("send.code"), { selector: "[name=pair-code]" }), "42 River");
    await user.click(screen.getByRole("button", { name: /Pair… desk/ }));
    await user.type(screen.getByLabelText(t("devices.nearbyCode", { name: "desk" })), " 42–River_");
    await show("inbox");
    await show("devices");
    expect(screen.getByLabelText(t("send.code"), { selector: "[name=pair-code]" })).toHaveValue("42 River");
    await user.type(screen.getByLabelText(t("devices.nearbyCode", { name: "desk" })), "Castle {Enter}", { initialSelectionStart: 10, initialSelectionEnd: 10 });
    await waitFor(() => expect(shell.called("pair")).toEqual([{ target: { to: "nearby", id: nearby().id }, code: "42-river-castle" }]));
  });

  test("how long ago something was goes on while one looks", async () => {
    vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"] });
    try {
      await startWindow({ devices: [{ ...labWs, last_seen: Date.now() / 1000 }] });
      const card = screen.getByRole("button", { name: /^Send to lab-ws/ });
      expect(card).toHaveTextContent(t("send.lastSeen", { when: t("time.justNow") }));
      await vi.advanceTimersByTimeAsync(5 * 60_000 + 10_000);
      expect(card).toHaveTextContent(t("send.lastSeen", { when: "5 minutes ago" }));
    } finally {
      vi.useRealTimers();
    }
  });
});
