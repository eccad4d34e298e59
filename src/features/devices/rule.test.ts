import { screen, waitFor, within } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import axe from "axe-core";
import { describe, expect, test } from "vitest";
import { t } from "../../messages";
import { labWs, offer, startWindow } from "../../testing/shell";
import { show } from "../../testing/show";

const user = userEvent.setup();

describe("a machine's rule", () => {
  const open = async () => {
    await show("devices");
    await user.click(within(screen.getByRole("main")).getByRole("button", { name: /^lab-ws/ }));
    return screen.getByRole("group", { name: t("devices.settingsOf", { name: "lab-ws" }) });
  };

  test("asks by default, and can accept up to a size, which is typed in gigabytes", async () => {
    const shell = await startWindow({ devices: [labWs] });
    const form = await open();
    expect(screen.getByText(t("devices.ruled", { rule: t("devices.rule.ask") }), { selector: "[data-rule]" })).toBeVisible();
    await user.selectOptions(within(form).getByLabelText(t("devices.rule")), "accept");
    expect(shell.called("setDeviceRule")).toEqual([{ id: labWs.id, consent: "accept", bytesMax: null }]);
    shell.tell({ event: "devicesChanged", devices: [{ ...labWs, rule: { consent: "accept", folder: null, bytes_max: null } }] });
    const size = await screen.findByLabelText(t("devices.ruleSize"));
    await user.type(size, "x{Enter}");
    expect(screen.getByText(t("devices.ruleSizeBad"))).toBeVisible();
    expect(shell.called("setDeviceRule")).toHaveLength(1);
    await user.clear(size);
    await user.type(size, "20,5{Enter}");
    expect(shell.called("setDeviceRule").at(-1)).toEqual({ id: labWs.id, consent: "accept", bytesMax: 20_500_000_000 });
    shell.tell({ event: "devicesChanged", devices: [{ ...labWs, rule: { consent: "accept", folder: null, bytes_max: 20_500_000_000 } }] });
    expect(await screen.findByText(t("devices.ruled", { rule: t("devices.rule.acceptUpTo", { size: "20.5 GB" }) }))).toBeVisible();
    const { violations } = await axe.run(document.body, { rules: { "color-contrast": { enabled: false } } });
    expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
  });

  test("says of the folder that each offer may go into another, while it asks and has none of its own", async () => {
    const shell = await startWindow({ devices: [labWs] });
    const form = await open();
    expect(within(form).getByText(t("devices.ruleFolderAsked"))).toBeVisible();
    shell.tell({ event: "devicesChanged", devices: [{ ...labWs, rule: { consent: "accept", folder: null, bytes_max: null } }] });
    await waitFor(() => expect(within(form).queryByText(t("devices.ruleFolderAsked"))).toBeNull());
  });

  test("has a folder of its own, until it is taken back; what is refused has none", async () => {
    const rule = { consent: "ask", folder: { path: "/data/from-lab" }, bytes_max: null } as const;
    const shell = await startWindow({ devices: [{ ...labWs, rule }] });
    const form = await open();
    expect(within(form).getByText("/data/from-lab")).toBeVisible();
    expect(form.querySelectorAll("[data-folder] wbr"), "it breaks behind a slash").toHaveLength(2);
    await user.click(within(form).getByRole("button", { name: t("folder.change") }));
    await user.click(within(form).getByRole("button", { name: t("devices.ruleFolderDefault") }));
    expect(shell.called("choose_device_folder")).toEqual([{ id: labWs.id }]);
    expect(shell.called("clearDeviceFolder")).toEqual([{ id: labWs.id }]);
    shell.tell({ event: "devicesChanged", devices: [{ ...labWs, rule: { ...rule, consent: "refuse" } }] });
    await waitFor(() => expect(within(form).queryByText("/data/from-lab")).toBeNull());
  });

  test("an offer says why somebody is asked in spite of it", async () => {
    await startWindow({ offers: [offer({ asked_because: { because: "too_much", bytes_max: 1_000_000 } })] });
    await show("inbox");
    expect(screen.getByText(t("offer.tooMuch", { size: "1.0 MB" }))).toBeVisible();
  });
});
