import { screen, waitFor } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import axe from "axe-core";
import { describe, expect, test } from "vitest";
import { t } from "../../messages";
import { chosen, startWindow, stored } from "../../testing/shell";

const user = userEvent.setup();

describe("the first run", () => {
  const unset = { is_set_up: false, listening: { is: "off", refused: null } } as const;
  const atLogin = (on: boolean) => ({ now: { by: on ? "autostart" : "nothing" }, means: "autostart" });

  test("asks for name, folder and when to run, and goes on to the next view with its heading", async () => {
    const shell = await startWindow(unset, {
      startAtLogin: () => atLogin(false),
      choose_first_folder: () => ({ path: "/home/me/Incoming" }),
      set_up: (args) => ({ ...stored, ...args, receive_folder: { path: "/home/me/Incoming" } }),
    });
    expect(screen.queryByRole("navigation")).toBeNull();
    const name = screen.getByLabelText(t("settings.name"));
    expect(name).toHaveValue("here");
    await user.clear(name);
    expect(screen.getByRole("button", { name: t("first.begin") })).toBeDisabled();
    await user.type(name, "laptop");
    await user.click(screen.getByRole("button", { name: t("folder.change") }));
    expect(await screen.findByText("/home/me/Incoming")).toBeVisible();
    await user.click(screen.getByRole("checkbox", { name: t("settings.background") }));
    await user.click(await screen.findByRole("checkbox", { name: t("settings.login") }));
    await user.type(name, "{Enter}");
    expect(shell.called("set_up")).toEqual([{ name: "laptop", background: false, startAtLogin: true }]);
    await waitFor(() => expect(screen.getByRole("heading", { level: 1, name: t("view.send") })).toHaveFocus());
    expect(screen.getByRole("navigation")).toBeVisible();
    expect(screen.getByText(t("send.noDevicesFound"))).toBeVisible();
  });

  test("leaves the start at login as it is where nobody has touched it", async () => {
    const shell = await startWindow(unset, { startAtLogin: () => atLogin(true), set_up: () => stored });
    await waitFor(() => expect(screen.getByRole("checkbox", { name: t("settings.login") })).toBeChecked());
    await user.click(screen.getByRole("button", { name: t("first.begin") }));
    expect(shell.called("set_up")).toEqual([{ name: "here", background: true, startAtLogin: null }]);
  });

  test("keeps what was handed over, and stays where something cannot be had", async () => {
    const shell = await startWindow(unset, { set_up: () => Promise.reject({ code: "no_program" }) });
    shell.tell({ event: "opened", chosen, view: null });
    expect(await screen.findByText(t("first.selectionKept"))).toBeVisible();
    await user.click(screen.getByRole("button", { name: t("first.begin") }));
    expect(await screen.findByRole("alert")).toHaveTextContent(t("fault.noProgram"));
    // Somebody has set it up with the command meanwhile.
    shell.tell({ event: "settingsChanged", settings: stored });
    expect(await screen.findByRole("heading", { level: 1, name: t("view.send") })).toBeVisible();
    expect(screen.getByText("dataset-v3")).toBeVisible();
  });

  test("has names, roles and order for everyone", async () => {
    await startWindow(unset, { startAtLogin: () => atLogin(false) });
    const { violations } = await axe.run(document.body, { rules: { "color-contrast": { enabled: false } } });
    expect(violations.map(({ id }) => id)).toEqual([]);
  });
});
