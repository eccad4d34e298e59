import { screen, waitFor, within } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import type { Report } from "../../ipc";
import { t } from "../../messages";
import { earlier, failed, moving, progress, startWindow } from "../../testing/shell";

const user = userEvent.setup();

test("each day of the history has its heading once", async () => {
  vi.useFakeTimers({ now: new Date(2026, 10, 26, 12), toFake: ["Date"] });
  try {
    const at = (number: number, ...[month, day, hour]: [number, number, number]) => earlier({ number, id: `p${number}`, title: `set ${number}`, report: { ended_at: new Date(2026, month, day, hour).getTime() / 1000 } });
    const list = [at(5, 10, 26, 11), at(4, 10, 26, 0), at(3, 10, 25, 23), at(2, 10, 19, 8), at(1, 10, 19, 7)];
    const { app } = await startWindow({}, { past: () => list });
    app.view = "activity";
    await screen.findByText("set 5");
    const rows = within(screen.getByRole("list", { name: t("history.title") })).getAllByRole("listitem");
    expect(rows.map((row) => within(row).queryByRole("heading")?.textContent ?? "")).toEqual(["Today", "", "Yesterday", "Thursday, November 19, 2026", ""]);
  } finally {
    vi.useRealTimers();
  }
});

test("what is removed under Send is forgotten by the history, which nobody has read", async () => {
  const { report } = failed({ code: "declined", reason: "by_choice" });
  const shell = await startWindow({ transfers: [moving({ title: "thesis", report, progress: progress({ stage: "ended" }) })] });
  const [transfer] = shell.app.transfers.list;
  expect(shell.called("past"), "nothing was read").toEqual([]);
  await shell.app.removeEnded(transfer!);
  expect(shell.called("forgetTransfer")).toEqual([{ id: "t1" }]);
  expect(shell.app.transfers.list).toEqual([]);
});

test("what differed before it was received can be opened afterwards, on the card and in the history", async () => {
  const comparison = { state: "done", new: 2, unchanged: 3, differing: 1, in_the_way: 0, unreadable: 0, at_least: false } as const;
  const difference = { path: { path: "survey/notes" }, here_is: "newer", edited: true, offered_bytes: 1, offered_changed_at: null, here_bytes: 2, here_changed_at: null };
  const { report } = failed({ code: "cancelled", by: "here", kept: false });
  const received = { ...report, outcome: "complete", files: 3, bytes: 9, moved: 9 } as typeof report;
  const card = moving({ id: "r1-abc", direction: "receiving", title: "album", report: received, progress: progress({ stage: "ended" }) });
  const shell = await startWindow({ transfers: [card] }, { past: () => [earlier()], comparedBefore: ({ id }) => (id === "gone" ? null : { comparison, differences: [difference] }) });
  shell.app.view = "activity";
  for (const [title, id] of [["album", "r1-abc"], ["survey", "p12"]]) {
    const summary = await screen.findByText(title!, { selector: "strong" });
    await user.click(summary);
    const group = await screen.findByRole("group", { name: t("activity.compared") });
    expect(group, "the report has the others").toHaveTextContent(/before it was received ?1 differs here/);
    await user.click(within(group).getByRole("button", { name: t("inbox.showDifferences") }));
    expect(await within(group).findByText("survey/notes")).toBeVisible();
    expect(shell.called("comparedBefore").at(-1)).toEqual({ id });
    await user.click(summary);
    await waitFor(() => expect(screen.queryByRole("group", { name: t("activity.compared") })).toBeNull());
  }
});

test("what ended just now stands below the heading of its day, which is there once", async () => {
  const { report: failure } = failed({ code: "cancelled", by: "here" }) as { report: Report };
  const report: Report = { ...failure, outcome: "complete", ended_at: Date.now() / 1000 - 60 };
  const card = moving({ id: "r1", direction: "receiving", title: "album", report });
  const list = [earlier({ report: { ended_at: Date.now() / 1000 - 60 } }), earlier({ number: 11, id: "p11", title: "notes", report: { ended_at: Date.now() / 1000 - 3 * 86_400 } })];
  const shell = await startWindow({ transfers: [card] }, { past: () => list });
  for (const view of ["activity", "inbox"] as const) {
    shell.app.view = view;
    const row = await screen.findByRole("article", { name: "album" });
    const today = await screen.findByRole("heading", { name: t("time.today") });
    expect(today.compareDocumentPosition(row) & Node.DOCUMENT_POSITION_FOLLOWING).toBeTruthy();
    await waitFor(() => expect(screen.getAllByRole("heading", { level: 3 })).toHaveLength(2));
  }
});

test("the keyboard shortcuts are found in the settings and beside this device's name", async () => {
  const { app } = await startWindow();
  await user.click(screen.getByRole("button", { name: `${t("keys.title")} (?)` }));
  await user.keyboard("{Escape}");
  await waitFor(() => expect(app.showsKeys).toBe(false));
  app.view = "settings";
  await user.click(await screen.findByRole("button", { name: t("keys.show") }));
  expect(await screen.findByRole("dialog", { name: t("keys.title") })).toBeVisible();
});

test("scrolling on asks for the next page once, and again if that failed", async () => {
  const asked: ((answer: unknown) => void)[] = [];
  const page = (from: number) => Array.from({ length: 30 }, (_, at) => earlier({ number: from - at, id: `p${from - at}` }));
  const { app, called } = await startWindow({}, { past: ({ query }) => ((query as { before: number | null }).before === null ? page(100) : new Promise((resolve) => asked.push(resolve))) });
  await app.past.load();
  const first = app.past.readOn();
  await app.past.readOn();
  expect(asked).toHaveLength(1);
  asked[0]!(page(70));
  await first;
  expect(app.past.list).toHaveLength(60);
  const second = app.past.readOn();
  const both = Promise.all([second, app.past.load()]);
  asked[1]!(page(40));
  await both;
  expect(app.past.list, "it was read anew meanwhile").toHaveLength(30);
  const before = called("past").length;
  void app.past.readOn();
  expect(called("past")).toHaveLength(before + 1);
});

test("a line says how much is there of how much, that nothing was new, and that it was verified", async () => {
  const { report: cancelled } = failed({ code: "cancelled", by: "here" }) as { report: Report };
  const at = (id: string, ended_at: number, change: Partial<Report>) => moving({ id, title: id, report: { ...cancelled, ended_at, ...change } as Report, progress: progress({ stage: "ended" }) });
  const proven = { files: 3, bytes: 9, seconds: 1 };
  const transfers = [
    at("stopped", 1, { bytes: 3_100_000_000, moved: 1_000_000_000, bytes_planned: 12_000_000_000 }),
    at("soon", 2, { bytes: 0, bytes_planned: 12_000_000_000 }),
    at("little", 3, { bytes: 310_000_000, bytes_planned: 12_000_000_000 }),
    at("unknown", 4, {}),
    at("same", 5, { outcome: "complete", files: 3, bytes: 9, moved: 0 }),
    at("proven", 6, { outcome: "complete", files: 3, bytes: 9, moved: 9, proven }),
    at("partly", 7, { outcome: "partial", files: 3, bytes: 9, moved: 9, failed: 1, proven }),
  ];
  const { app } = await startWindow({ transfers });
  app.view = "activity";
  const line = async (id: string) => (await screen.findByRole("article", { name: id })).querySelector(".outcome-line")!.textContent!.replaceAll("\u00a0", " ");
  expect(await line("stopped")).toContain("3.1 of 12.0 GB");
  expect(await line("soon")).toContain("0 of 12.0 GB");
  expect(await line("little")).toContain("310.0 MB of 12.0 GB");
  expect(await line("unknown")).not.toMatch(/\d B|GB/);
  expect(await line("same")).toContain(t("activity.nothingNew"));
  expect(await line("proven")).toContain(t("activity.verified"));
  expect(await line("partly")).toContain(t("activity.othersVerified"));
});

test("a transfer that was retried stays below what ended later, and above what ended before it", async () => {
  const ended = (id: string, title: string, at: number) => {
    const { report } = failed({ code: "declined", reason: "by_choice" });
    return moving({ id, title, report: { ...report, ended_at: at } as Report, progress: progress({ stage: "ended" }) });
  };
  const list = [earlier({ number: 2, id: "p2", title: "retried", report: { ended_at: 200 } }), earlier({ number: 1, id: "p1", title: "oldest", report: { ended_at: 50 } })];
  const { app } = await startWindow({ transfers: [ended("t1", "first", 100), ended("t3", "last", 300)] }, { past: () => list });
  app.view = "activity";
  await screen.findByText("retried");
  const titles = screen.getAllByText(/^(first|last|retried|oldest)$/).map(({ textContent }) => textContent);
  expect(titles).toEqual(["last", "retried", "first", "oldest"]);
});

test("what was cancelled and is kept offers to resume", async () => {
  const { report } = failed({ code: "cancelled", by: "here", kept: true });
  const cancelled = earlier({ report: report!, status: { state: "cancelled_here", actions: ["send_again", "remove"] } });
  const { app } = await startWindow({}, { past: () => [cancelled], pastDetails: () => ({ failures: [], edits: [], series: [] }) });
  app.view = "activity";
  await user.click(await screen.findByText("survey"));
  expect(await screen.findByRole("button", { name: `${t("activity.resume")}: survey` })).toBeVisible();
  expect(screen.queryByRole("button", { name: `${t("activity.again")}: survey` })).toBeNull();
});
