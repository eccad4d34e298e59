// What another device shares: shares and folders, the table's keys and clicks, and getting.
import { fireEvent, screen, waitFor, within } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import axe from "axe-core";
import { expect, test } from "vitest";
import type { Fault } from "../../ipc";
import { t } from "../../messages";
import { getLimitOf } from "../../state/get-limits";
import { leftOutOf } from "../../state/left-out";
import { labWs, moving, progress, startWindow } from "../../testing/shell";
import { show } from "../../testing/show";
import { entry, folder, type Listed, sharing } from "../../testing/there";

const user = userEvent.setup();
const runs = { name: "runs", drop: false, unavailable: null, drop_trouble: null } as const;
const unplugged = { name: "archive", drop: false, unavailable: "not_mounted", drop_trouble: null } as const;
const unreachable: Fault = { code: "answer_lost", errno: 104, detail: "Connection reset by peer" } as Fault;

const FOLDERS: Record<string, Listed> = {
  runs: { pages: [[folder("2026-11-22"), folder("2026-11-23"), entry("notes.txt", { size: 2_000 })]] },
  "runs/2026-11-22": { pages: [[entry("result-2"), entry("result-10"), entry("Änderung"), folder("logs"), entry("last", { kind: "link", target: { path: "logs/9" } })]] },
};

/** Opens the device from its row, and the share in it. */
async function open(folders = FOLDERS, answers = {}) {
  const shell = await startWindow({ devices: [labWs] }, { ...sharing([runs, unplugged], folders), ...answers });
  await show("devices");
  await user.click(screen.getByRole("button", { name: t("browse.openNamed", { name: "lab-ws" }) }));
  await user.click(await screen.findByRole("button", { name: "runs" }));
  await screen.findByRole("grid");
  return shell;
}

/** Opens the night's folder as well, by the keyboard. */
async function openNight(folders = FOLDERS, answers = {}) {
  const shell = await open(folders, answers);
  await user.keyboard("{Enter}");
  await screen.findByRole("grid", { name: t("browse.contents", { name: "2026-11-22" }) });
  return shell;
}

const names = () => [...screen.getByRole("grid").querySelectorAll<HTMLElement>("[data-name]")].map(({ dataset }) => dataset.name);
const row = (name: string) => screen.getByRole("grid").querySelector<HTMLElement>(`[data-name="${name}"]`)!;
const picked = () => [...screen.getByRole("grid").querySelectorAll<HTMLElement>('[aria-selected="true"]')].map(({ dataset }) => dataset.name);
const active = () => document.getElementById(screen.getByRole("grid").getAttribute("aria-activedescendant") ?? "")?.dataset.name;

test("a device's card and its row lead to what it shares, and what is unavailable says why", async () => {
  const shell = await startWindow({ devices: [labWs] }, sharing([runs, unplugged], FOLDERS));
  await user.click(screen.getByRole("button", { name: t("browse.openNamed", { name: "lab-ws" }) }));
  expect(await screen.findByRole("heading", { level: 1 })).toHaveTextContent(t("browse.title", { name: "lab-ws" }));
  const off = await screen.findByRole("button", { name: /archive/ });
  expect(off).toHaveTextContent(t("share.unavailable", { why: t("share.why.notMounted") }));
  await user.click(off);
  expect(shell.called("browse")).toEqual([{ device: labWs.id, at: null }]);
  expect((await axe.run(document.body, { rules: { "color-contrast": { enabled: false } } })).violations).toEqual([]);
  await user.click(screen.getByRole("button", { name: "runs" }));
  expect(screen.getByRole("grid")).toHaveFocus();
  await waitFor(() => expect(names()).toEqual(["2026-11-22", "2026-11-23", "notes.txt"]));
  expect(shell.called("browse").at(-1)).toEqual({ device: labWs.id, at: { share: "runs", names: [] } });
  expect(screen.getByRole("grid")).toHaveAttribute("aria-rowcount", "4");
  expect((await axe.run(document.body, { rules: { "color-contrast": { enabled: false } } })).violations).toEqual([]);
  await show("inbox");
  expect(shell.called("stopBrowsing")).toHaveLength(1);
});

test("a device that shares nothing says where that is done", async () => {
  await startWindow({ devices: [labWs] }, sharing([]));
  await user.click(screen.getByRole("button", { name: t("browse.openNamed", { name: "lab-ws" }) }));
  expect(await screen.findByText(t("browse.noShares", { name: "lab-ws" }))).toBeVisible();
});

test("folders stand first, numbers by their size, letters without accents; a column sorts, and once more the other way", async () => {
  await openNight();
  await waitFor(() => expect(names()).toEqual(["logs", "Änderung", "last", "result-2", "result-10"]));
  expect(row("last")).toHaveTextContent("logs/9");
  await user.click(screen.getByRole("button", { name: t("browse.name") }));
  expect(names()).toEqual(["logs", "result-10", "result-2", "last", "Änderung"]);
  expect(screen.getByRole("columnheader", { name: t("browse.name") })).toHaveAttribute("aria-sort", "descending");
  await user.click(screen.getByRole("button", { name: t("browse.size") }));
  expect(screen.getByRole("columnheader", { name: t("browse.name") })).not.toHaveAttribute("aria-sort");
  expect(screen.getByRole("columnheader", { name: t("browse.size") })).toHaveAttribute("aria-sort", "ascending");
});

test("the keyboard goes through the table, picks, and opens folders", async () => {
  await open();
  await waitFor(() => expect(active()).toBe("2026-11-22"));
  await user.keyboard("{ArrowDown}");
  expect([active(), picked()]).toEqual(["2026-11-23", ["2026-11-23"]]);
  await user.keyboard("{Shift>}{ArrowDown}{/Shift}");
  expect(picked()).toEqual(["2026-11-23", "notes.txt"]);
  await user.keyboard("{Control>}{Home}{/Control} ");
  expect([active(), picked()]).toEqual(["2026-11-22", ["2026-11-22", "2026-11-23", "notes.txt"]]);
  await user.keyboard(" ");
  expect(picked()).toEqual(["2026-11-23", "notes.txt"]);
  await user.keyboard("{Escape}");
  expect(picked()).toEqual([]);
  await user.keyboard("{Control>}a{/Control}");
  expect(picked()).toHaveLength(3);
  await user.keyboard("{End}");
  expect(picked()).toEqual(["notes.txt"]);
  await user.keyboard("{Home}{Enter}");
  await waitFor(() => expect(names()).toContain("result-2"));
  expect(screen.getByRole("grid")).toHaveFocus();
  await user.keyboard("{Backspace}");
  await waitFor(() => expect(active()).toBe("2026-11-22"));
});

test("letters that are typed lead to the next name that begins with them", async () => {
  await openNight();
  await waitFor(() => expect(active()).toBe("logs"));
  await user.keyboard("res");
  expect(active()).toBe("result-2");
  await user.keyboard("ult-1");
  expect([active(), picked()]).toEqual(["result-10", ["result-10"]]);
});

test("the pointer picks one, several and a range, and a double click opens", async () => {
  await open();
  await waitFor(() => expect(names()).toHaveLength(3));
  await user.click(row("2026-11-22"));
  await user.keyboard("{Control>}");
  await user.click(row("notes.txt"));
  await user.keyboard("{/Control}");
  expect(picked()).toEqual(["2026-11-22", "notes.txt"]);
  await user.click(row("2026-11-22"));
  await user.keyboard("{Shift>}");
  await user.click(row("notes.txt"));
  await user.keyboard("{/Shift}");
  expect(picked()).toHaveLength(3);
  await user.click(row("2026-11-23").querySelector("[data-ticks]")!);
  expect(picked()).toEqual(["2026-11-22", "notes.txt"]);
  await user.dblClick(row("2026-11-22"));
  await waitFor(() => expect(names()).toContain("logs"));
  const path = screen.getByRole("navigation", { name: t("browse.path") });
  expect(within(path).getByText("2026-11-22")).toHaveAttribute("aria-current", "page");
  await user.click(within(path).getByRole("button", { name: "runs" }));
  await waitFor(() => expect(names()).toContain("notes.txt"));
  await user.click(within(row("2026-11-23")).getByRole("button", { name: t("browse.openFolder", { name: "2026-11-23" }) }));
  expect(await screen.findByText(t("browse.empty"))).toBeVisible();
});

test("what is picked is got, without a pick the folder, and its progress shows here", async () => {
  const getting = () => moving({ id: "g1", direction: "receiving", title: "result-2", target: "lab-ws" });
  const shell = await openNight(FOLDERS, { get: getting, get_into: getting });
  await waitFor(() => expect(names()).toHaveLength(5));
  const bar = screen.getByRole("group", { name: t("browse.action") });
  expect(bar).toHaveTextContent(t("browse.thisFolder", { name: "2026-11-22" }));
  expect(within(bar).getByRole("button", { name: t("browse.getAll", { name: "2026-11-22" }) })).toBeEnabled();
  expect(bar).toHaveTextContent(t("browse.into", { folder: "/home/me/Downloads" }));
  await user.keyboard("res{Shift>}{ArrowDown}{/Shift}");
  expect(bar).toHaveTextContent(t("browse.picked", { n: 2 }));
  expect(bar).toHaveTextContent("20 B");
  await user.click(within(bar).getByRole("button", { name: t("browse.get") }));
  const night = { share: "runs", names: [{ path: "2026-11-22" }] };
  expect(shell.called("get")).toEqual([{ device: labWs.id, picked: { folder: night, names: [{ path: "result-2" }, { path: "result-10" }] }, onConflict: "rename_top", verify: false, limit: null, leaveOut: "" }]);
  expect(await screen.findByRole("article", { name: "result-2" })).toBeVisible();
  shell.update("g1", { is: "moved", progress: progress({ bytes_done: 2_000_000 }) });
  expect(await screen.findByRole("progressbar")).toHaveAttribute("aria-valuetext", expect.stringContaining("50"));
  await user.click(within(bar).getByRole("button", { name: t("send.options") }));
  await user.selectOptions(within(bar).getByRole("combobox"), "replace");
  await user.click(within(bar).getByRole("switch"));
  await user.click(row("result-2"));
  await user.click(row("result-2").querySelector("[data-ticks]")!);
  await user.click(within(bar).getByRole("button", { name: t("browse.getAllInto") }));
  expect(shell.called("get_into")).toEqual([{ device: labWs.id, picked: { folder: night, names: [] }, onConflict: "replace", verify: true, limit: null, leaveOut: "" }]);
});

test("what was picked stays picked, and is not got twice while it is on its way", async () => {
  const shell = await open(FOLDERS, { get: () => moving({ id: "g1", direction: "receiving", title: "notes.txt", target: "lab-ws" }) });
  await waitFor(() => expect(names()).toHaveLength(3));
  await user.click(row("notes.txt"));
  const get = () => screen.getByRole("button", { name: t("browse.get") });
  await user.click(get());
  expect(await screen.findByRole("article", { name: "notes.txt" })).toBeVisible();
  expect(picked()).toEqual(["notes.txt"]);
  await user.click(get());
  expect(await screen.findByText(t("browse.already", { what: "notes.txt" }))).toBeVisible();
  expect(shell.called("get")).toHaveLength(1);
  await user.click(screen.getByRole("button", { name: t("send.options") }));
  await user.selectOptions(screen.getByRole("combobox"), "replace");
  await user.click(get());
  expect(shell.called("get")).toHaveLength(2);
});

test("what is left out is in force for folders alone, and each folder brings what was left out of it last", async () => {
  const shell = await open(FOLDERS, { get: ({ picked }: Record<string, unknown>) => moving({ id: `g${JSON.stringify(picked)}`, direction: "receiving", target: "lab-ws" }) });
  await waitFor(() => expect(names()).toHaveLength(3));
  const bar = screen.getByRole("group", { name: t("browse.action") });
  const field = () => within(bar).getByLabelText(t("send.leaveOut"));
  const options = () => user.click(within(bar).getByRole("button", { name: t("send.options") }));
  const get = (name = t("browse.get")) => user.click(within(bar).getByRole("button", { name }));
  const leftOut = () => shell.called("get").map(({ leaveOut }) => leaveOut);
  await user.click(row("2026-11-22"));
  await options();
  await user.type(field(), "*.tmp{Enter}# mine{Enter}/cache");
  await options();
  expect(bar).toHaveTextContent(t("browse.patterns", { n: 2 }));
  await get();
  expect(leftOut()).toEqual(["*.tmp\n# mine\n/cache"]);
  // A file that is selected is never left out.
  await user.click(row("notes.txt"));
  expect(bar).not.toHaveTextContent(t("browse.patterns", { n: 2 }));
  await get();
  expect(leftOut().at(-1)).toBe("");
  // What was typed was for this folder of the share.
  await user.dblClick(row("2026-11-23"));
  await screen.findByText(t("browse.empty"));
  expect(bar).not.toHaveTextContent(t("browse.patterns", { n: 2 }));
  await user.click(screen.getByRole("button", { name: "runs" }));
  await waitFor(() => expect(names()).toHaveLength(3));
  await user.dblClick(row("2026-11-22"));
  await waitFor(() => expect(names()).toHaveLength(5));
  expect(screen.getByRole("group", { name: t("browse.action") })).toHaveTextContent(t("browse.patterns", { n: 2 }));
  shell.tell({ event: "devicesChanged", devices: [] });
  await waitFor(() => expect(leftOutOf(labWs.id, [{ share: "runs", names: [{ path: "2026-11-22" }] }])).toBe(""));
});

test("a name that is no text is asked for by its bytes", async () => {
  const odd = { ...entry("caf\\xe9"), path_bytes: "636166e9" };
  const shell = await open({ runs: { pages: [[odd]] } }, { get: () => moving() });
  await waitFor(() => expect(names()).toEqual(["caf\\xe9"]));
  await user.keyboard(" ");
  await user.click(screen.getByRole("button", { name: t("browse.get") }));
  expect(shell.called("get")[0]!.picked).toEqual({ folder: { share: "runs", names: [] }, names: [{ path: "caf\\xe9", path_bytes: "636166e9" }] });
});

test("an entry that cannot be read says why and is not got, and a fault of getting is said", async () => {
  const refuse = () => {
    throw { code: "invalid", reason: "home_folder", folder: { path: "/home/me" } };
  };
  const folders: Record<string, Listed> = { runs: { pages: [[entry("a")]], unread: [{ path: "secret", source: { errno: 13, detail: "Permission denied" } }] } };
  await open(folders, { get: refuse });
  await waitFor(() => expect(names()).toEqual(["a", "secret"]));
  await user.keyboard("{Control>}a{/Control}");
  expect(picked()).toEqual(["a"]);
  await user.click(screen.getByRole("button", { name: t("browse.get") }));
  expect(await screen.findByRole("alert")).toBeVisible();
});

test("a device that cannot be reached leaves its last list in grey, and is tried again", async () => {
  const folders = { ...FOLDERS };
  const shell = await open(folders);
  await waitFor(() => expect(names()).toHaveLength(3));
  folders.runs = { fault: unreachable };
  await user.keyboard("{Enter}");
  await waitFor(() => expect(names()).toContain("logs"));
  await user.keyboard("{Backspace}");
  expect(await screen.findByRole("alert")).toHaveTextContent("lab-ws");
  expect(names()).toHaveLength(3);
  expect(screen.getByRole("grid")).toHaveClass("stale");
  expect(screen.getByText(t("browse.stale", { when: t("time.justNow") }))).toBeVisible();
  expect(screen.queryByRole("group", { name: t("browse.action") })).toBeNull();
  folders.runs = FOLDERS.runs!;
  await user.click(screen.getByRole("button", { name: t("common.tryAgain") }));
  await waitFor(() => expect(screen.queryByRole("alert")).toBeNull());
  expect(screen.getByRole("grid")).not.toHaveClass("stale");
  expect(shell.called("browse")).toHaveLength(5);
});

/** A share with so many files, all of them selected. */
async function openMany(names: string[]) {
  const shell = await open({ runs: { pages: [names.map((name) => entry(name))] } }, { get: () => moving() });
  await waitFor(() => expect(shell.app.browse.listed.rows).toHaveLength(names.length));
  await user.keyboard("{Control>}a{/Control}");
  return { shell, bar: screen.getByRole("group", { name: t("browse.action") }) };
}

test("of a large folder exactly the selected entries are got", async () => {
  const { shell, bar } = await openMany(Array.from({ length: 5_000 }, (_, number) => `file-${String(number).padStart(4, "0")}`));
  await user.keyboard("{Home}{Shift>}{PageDown}{PageDown}{/Shift}");
  shell.app.browse.picks.pick(shell.app.browse.listed.rows, shell.app.browse.listed.rows[1_999]!, { shift: true, ctrl: false });
  await waitFor(() => expect(bar).toHaveTextContent(t("browse.picked", { n: 2_000 })));
  await user.click(within(bar).getByRole("button", { name: t("browse.get") }));
  const { picked } = shell.called("get")[0] as { picked: { folder: unknown; names: { path: string }[] } };
  expect(picked.folder).toEqual({ share: "runs", names: [] });
  expect([picked.names.length, picked.names.at(-1)]).toEqual([2_000, { path: "file-1999" }]);
});

test.each([
  ["entries", Array.from({ length: 65_537 }, (_, number) => `${number}`)],
  ["bytes of their names", Array.from({ length: 20_000 }, (_, number) => `${"ä".repeat(105)}${number}`)],
])("more %s than can be asked for at once are got as a folder, which is said before", async (_, names) => {
  const { shell, bar } = await openMany(names);
  expect(bar).toHaveTextContent(t("browse.tooMuch", { n: names.length }));
  await user.click(within(bar).getByRole("button", { name: t("browse.getAll", { name: "runs" }) }));
  expect(shell.called("get")[0]!.picked).toEqual({ folder: { share: "runs", names: [] }, names: [] });
});

test("a limit of getting is typed in megabytes, shown while it is folded away, and remembered by device until that is forgotten", async () => {
  const shell = await open(FOLDERS, { get: () => moving() });
  await waitFor(() => expect(names()).toHaveLength(3));
  const bar = () => screen.getByRole("group", { name: t("browse.action") });
  const options = () => user.click(within(bar()).getByRole("button", { name: t("send.options") }));
  const get = () => user.click(within(bar()).getByRole("button", { name: t("browse.getAll", { name: "runs" }) }));
  await options();
  const limit = within(bar()).getByLabelText(t("browse.limit"));
  await user.type(limit, "fast");
  expect(limit).toHaveAccessibleDescription(t("settings.limitBad", { least: "0.001" }));
  await user.clear(limit);
  await user.type(limit, "2,5");
  await options();
  expect(bar()).toHaveTextContent(t("send.limited", { rate: "2.5 MB/s" }));
  await get();
  expect(shell.called("get")[0]!.limit).toBe(2_500_000);
  shell.app.browse.open({ ...labWs, id: "cd".repeat(32) });
  expect(shell.app.browse.how.limit).toBeNull();
  shell.app.browse.open(labWs);
  expect(shell.app.browse.how.limit).toBe(2_500_000);
  shell.tell({ event: "devicesChanged", devices: [] });
  await waitFor(() => expect(getLimitOf(labWs.id)).toBeNull());
});

test("a device that is forgotten meanwhile is left", async () => {
  const shell = await open();
  shell.tell({ event: "devicesChanged", devices: [] });
  await waitFor(() => expect(screen.getByRole("heading", { level: 1 })).toHaveTextContent(t("view.devices")));
});

test("what another device gets from here shows among the transfers", async () => {
  const shell = await startWindow({ devices: [labWs] });
  shell.tell({ event: "transferStarted", transfer: moving({ id: "s1", title: "runs", target: null }) });
  await show("activity");
  expect(await screen.findByRole("article", { name: "runs" })).toBeVisible();
  await fireEvent.keyDown(document.body, { key: "Escape" });
});
