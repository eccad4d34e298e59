// Folders that are shared here: listed, shared by picker and by drop, read by devices, taken back.
import { screen, waitFor, within } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import axe from "axe-core";
import { afterEach, expect, test, vi } from "vitest";
import { bytes } from "../../format";
import type { Drag, Share } from "../../ipc";
import { t } from "../../messages";
import { labWs, selection, source, startWindow } from "../../testing/shell";
import { show } from "../../testing/show";
import { spaced } from "../../testing/spaced";

const user = userEvent.setup();
const nas = { ...labWs, id: "cd".repeat(32), name: "nas" };
const runs: Share = { name: "runs", folder: { path: "/data/runs" }, with: "devices", devices: [labWs.id], drop: null, unavailable: null, drop_trouble: null };
const photos: Share = { name: "photos", folder: { path: "/home/me/photos" }, with: "all", drop: null, unavailable: "missing", drop_trouble: null };
const chosen = selection({ items: [source({ name: "runs" })] });

afterEach(() => vi.restoreAllMocks());

/** Settings of a device with two shares and two paired devices. */
async function settings(answers = {}) {
  const shell = await startWindow({ devices: [labWs, nas] }, { shares: () => [photos, runs], choose_sources: () => chosen, ...answers });
  await show("settings");
  await screen.findByText("/data/runs");
  return shell;
}

const section = () => screen.getByRole("region", { name: t("share.title") });

test("shared folders say who reads them, where they lie, and why one is unavailable", async () => {
  const shell = await settings();
  expect(section()).toHaveTextContent(t("share.withAll"));
  expect(section()).toHaveTextContent(t("share.unavailable", { why: t("share.why.missing") }));
  await user.click(within(section()).getByText("runs"));
  const reads = within(section()).getByRole("checkbox", { name: "nas" });
  expect(within(section()).getByRole("checkbox", { name: "lab-ws" })).toBeChecked();
  await user.click(reads);
  expect(shell.called("setReaders")).toEqual([{ name: "runs", with: { with: "devices", devices: [labWs.id, nas.id] } }]);
  await user.click(within(section()).getByRole("checkbox", { name: t("share.all") }));
  expect(shell.called("setReaders").at(-1)).toEqual({ name: "runs", with: { with: "all" } });
  expect((await axe.run(document.body, { rules: { "color-contrast": { enabled: false } } })).violations).toEqual([]);
});

test("a shared folder becomes a drop box, with the size that nobody is asked about, and none again", async () => {
  let drop: Share["drop"] = null;
  const answers = {
    shares: () => [{ ...runs, drop }],
    setDropBox: (args: Record<string, unknown>) => {
      drop = args.drop as Share["drop"];
      return null;
    },
  };
  const shell = await settings(answers);
  await user.click(within(section()).getByText("runs"));
  await user.click(within(section()).getByRole("switch", { name: t("share.dropBox") }));
  expect(shell.called("setDropBox")).toEqual([{ name: "runs", drop: { bytes_max: null } }]);
  const size = await within(section()).findByLabelText(t("devices.ruleSize"));
  await user.type(size, "20{Enter}");
  expect(shell.called("setDropBox").at(-1)).toEqual({ name: "runs", drop: { bytes_max: 20_000_000_000 } });
  expect(await within(section()).findByText(spaced(t("share.dropBoxUpTo", { size: bytes(20_000_000_000) })))).toBeVisible();
  expect((await axe.run(document.body, { rules: { "color-contrast": { enabled: false } } })).violations).toEqual([]);
  await user.click(within(section()).getByRole("switch", { name: t("share.dropBox") }));
  expect(shell.called("setDropBox").at(-1)).toEqual({ name: "runs", drop: null });
  await waitFor(() => expect(within(section()).queryByLabelText(t("devices.ruleSize"))).toBeNull());
});

test("why a folder cannot be a drop box is said, and the switch stays off", async () => {
  const home = () => {
    throw { code: "invalid", reason: "drop_in_home", folder: { path: "/data/runs" } };
  };
  await settings({ shares: () => [{ ...runs }], setDropBox: home });
  await user.click(within(section()).getByText("runs"));
  await user.click(within(section()).getByRole("switch", { name: t("share.dropBox") }));
  expect(await screen.findByText(t("fault.unfit.dropInHome", { folder: "/data/runs" }))).toBeVisible();
  expect(within(section()).getByRole("switch", { name: t("share.dropBox") })).not.toBeChecked();
});

test("a folder is taken back from its menu, and a program that changes them is heard", async () => {
  const shell = await settings();
  await user.click(screen.getByRole("button", { name: t("share.actions", { name: "runs" }) }));
  await user.click(await screen.findByRole("menuitem", { name: t("share.remove") }));
  expect(shell.called("removeShare")).toEqual([{ name: "runs" }]);
  expect(await screen.findByText(t("share.removed", { name: "runs" }))).toBeVisible();
  const before = shell.called("shares").length;
  shell.tell({ event: "sharesChanged" });
  await waitFor(() => expect(shell.called("shares").length).toBe(before + 1));
});

test("a folder that is picked is shared under a name, with the devices that are named", async () => {
  const shell = await settings({ share_chosen: () => [runs] });
  await user.click(within(section()).getByRole("button", { name: t("share.add") }));
  const dialog = await screen.findByRole("dialog", { name: t("share.askOne", { name: "runs" }) });
  expect((await axe.run(document.body, { rules: { "color-contrast": { enabled: false } } })).violations).toEqual([]);
  const name = within(dialog).getByLabelText(t("share.name"));
  await user.clear(name);
  await user.type(name, "nightly runs");
  await user.click(within(dialog).getByRole("checkbox", { name: "nas" }));
  await user.click(within(dialog).getByRole("button", { name: t("share.share") }));
  expect(shell.called("share_chosen")).toEqual([{ chosen: 7, name: "nightly runs", readers: { with: "devices", devices: [nas.id] } }]);
  expect(await screen.findByText(t("share.added", { name: "nightly runs" }))).toBeVisible();
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
});

test("what keeps a folder from being shared is said in the dialog", async () => {
  const taken = () => {
    throw { code: "invalid", reason: "share_name_taken", name: "runs" };
  };
  await settings({ share_chosen: taken });
  await user.click(within(section()).getByRole("button", { name: t("share.add") }));
  const dialog = await screen.findByRole("dialog");
  await user.click(within(dialog).getByRole("button", { name: t("share.share") }));
  expect(await within(dialog).findByRole("alert")).toHaveTextContent(t("fault.unfit.shareNameTaken", { name: "runs" }));
  await user.click(within(dialog).getByRole("button", { name: t("common.cancel") }));
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
});

/** Drags over the window and drops on what has this card. */
function drop(shell: Awaited<ReturnType<typeof startWindow>>, card: string, dragged = chosen) {
  const at = document.querySelector<HTMLElement>(`[data-card="${CSS.escape(card)}"]`)!;
  document.elementFromPoint = () => at;
  const tell = (drag: Drag) => shell.tell({ event: "dragged", drag });
  tell({ is: "entered", chosen: dragged });
  tell({ is: "over", x: 5, y: 5 });
  return { at, letGo: () => tell({ is: "dropped", chosen: dragged, x: 5, y: 5 }) };
}

test("a folder that is dropped there is asked about, and stays out of what is sent", async () => {
  const shell = await settings({ share_chosen: () => [runs] });
  const { at, letGo } = drop(shell, "shares");
  await waitFor(() => expect(at).toHaveClass("over"));
  expect(at).toHaveTextContent(t("share.dropOne", { name: "runs" }));
  letGo();
  expect(await screen.findByRole("dialog", { name: t("share.askOne", { name: "runs" }) })).toBeVisible();
  expect([shell.app.outbox.chosen, shell.app.view]).toEqual([null, "settings"]);
});

test("a file cannot be shared", async () => {
  const shell = await settings();
  drop(shell, "shares", selection({ items: [source({ kind: "file", name: "notes.txt" })] })).letGo();
  expect(await screen.findByText(t("share.onlyFolders"))).toBeVisible();
  expect(screen.queryByRole("dialog")).toBeNull();
});

test("a device's panel says what it may read, gives and takes that, and takes a folder that is dropped there", async () => {
  const shell = await startWindow({ devices: [labWs, nas] }, { shares: () => [photos, runs], share_chosen: () => [runs] });
  await show("devices");
  await user.click(within(screen.getByRole("main")).getByText("nas"));
  const panel = await screen.findByRole("group", { name: t("share.mayRead", { name: "nas" }) });
  expect(await within(panel).findByRole("checkbox", { name: "photos" })).toBeDisabled();
  const reads = within(panel).getByRole("checkbox", { name: "runs" });
  expect(reads).not.toBeChecked();
  await user.click(reads);
  expect(shell.called("setReaders")).toEqual([{ name: "runs", with: { with: "devices", devices: [labWs.id, nas.id] } }]);
  drop(shell, `shares:${nas.id}`).letGo();
  const dialog = await screen.findByRole("dialog");
  expect(within(dialog).getByRole("checkbox", { name: "nas" })).toBeChecked();
  await user.click(within(dialog).getByRole("button", { name: t("share.share") }));
  expect(shell.called("share_chosen")).toEqual([{ chosen: 7, name: "runs", readers: { with: "devices", devices: [nas.id] } }]);
});
