import { screen, waitFor, within } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { describe, expect, test } from "vitest";
import type { Report } from "../../ipc";
import { t } from "../../messages";
import { chosen, failed, labWs, moving, progress, startWindow } from "../../testing/shell";
import { show } from "../../testing/show";

const user = userEvent.setup();

describe("activity", () => {
  test("failures are named with their reasons, and an ended transfer can be taken away", async () => {
    const failures = [{ path: "data/secret.bin", side: "here", operation: "open", reason: "os", errno: 13, detail: "" }] as const;
    const report = {
      outcome: "partial",
      bytes_planned: 900, files: 9, folders: 1, links: 0, bytes: 900, moved: 900, unchanged: 0, skipped: 0, skipped_bytes: 0, reused: 0, excluded: 0, acls_lost: 0, owners_by_number: 0, proven: { files: 8, bytes: 800, seconds: 0.7 }, edited: 1, edits: [{ path: "data/p2.jpg", beside: { path: "p2 (1).jpg" } }], failed: 1,
      failures: [...failures],
      seconds: 0.5, reconnected: 0, limited_by: null, limit_bytes_per_s: null, here: null, there: null, times: null, lanes: 1, lanes_dropped: 0, packed: null, arrived: [], left_behind: null, copy: null, ended_at: 0,
    } as const;
    const shell = await startWindow({ transfers: [moving({ report: { ...report, edits: [...report.edits], failures: [...failures], arrived: [] }, progress: progress({ stage: "ended" }) })] });
    await show("activity");
    const [told] = screen.getAllByText(/^All but 1/).map((told) => told.closest("[role]"));
    expect(told).toHaveAttribute("role", "status");
    expect(told).toHaveTextContent("All but 1 item arrived: 10 items, 900 B in 0.5 s.");
    expect(told).toHaveTextContent("Verified in 0.7 s: read back from lab-ws's disk, identical.");
    expect(screen.getByText("data/secret.bin")).toBeVisible();
    expect(screen.getByText(/could not be opened here: permission was denied/)).toBeVisible();
    expect(told).toHaveTextContent("1 file that differs on lab-ws was kept; your version is beside it.");
    await user.click(screen.getByText(t("activity.edited", { n: 1 })));
    expect(screen.getByText(/New version: p2 \(1\)\.jpg/)).toBeVisible();
    await user.click(screen.getByRole("button", { name: `${t("activity.remove")}: dataset-v3` }));
    expect(shell.called("forgetTransfer")).toEqual([{ id: "t1" }]);
    expect(await screen.findByText(t("activity.empty"))).toBeVisible();
  });

  test("no share is claimed of what is still being counted", async () => {
    const counting = progress({ totals_final: false, bytes_done: 1_100_000_000, bytes_total: 1_200_000_000, seconds_left: null });
    await startWindow({ transfers: [moving({ progress: counting })] });
    await show("activity");
    const bar = screen.getByRole("progressbar");
    expect(bar).not.toHaveAttribute("aria-valuenow");
    expect(bar).toHaveAttribute("aria-valuetext", "Counting…, 1.0\u00a0MB/s");
    expect(screen.getByText("1.1 GB of 1.2 GB+")).toBeVisible();
    expect(screen.queryByText(/%/)).toBeNull();
  });

  test("a stall is said to end by itself, and what is being finished has no speed", async () => {
    const shell = await startWindow({ transfers: [moving({ progress: progress({ stalled_seconds: 9, bytes_per_s: 0 }) })] });
    await show("activity");
    expect(await screen.findByText(/^Stalled for 9\ss\. It continues by itself\.$/)).toBeVisible();
    expect(screen.queryByText(/B\/s$/)).toBeNull();
    shell.update("t1", { is: "moved", progress: progress() });
    expect(await screen.findByText(/^1\.0\sMB\/s$/)).toBeVisible();
    shell.update("t1", { is: "moved", progress: progress({ stage: "finishing" }) });
    await waitFor(() => expect(screen.queryByText(/B\/s$/)).toBeNull());
  });

  test("what limits a transfer is said in words, while it runs and in the end", async () => {
    const shell = await startWindow({ transfers: [moving({ progress: progress() })] });
    await show("activity");
    expect(screen.queryByText(/[Ll]imited by/)).toBeNull();
    for (let ms = 1100; ms <= 4000; ms += 100) {
      shell.update("t1", { is: "moved", progress: progress({ seconds: ms / 1000, limited_by: ms <= 2000 ? "writing" : "network" }) });
    }
    expect(await screen.findByText(t("activity.limitedBy", { what: "the network" }))).toBeVisible();
    const shares = screen.getByRole("list", { name: t("activity.bottlenecks") });
    expect(within(shares).getAllByRole("listitem").map((item) => item.textContent?.trim())).toEqual([
      "the network 64\u00a0%",
      "writing on lab-ws 35\u00a0%",
    ]);
    const { report } = failed({ code: "cancelled", by: "here" }) as { report: Report };
    shell.update("t1", { is: "ended", progress: progress({ stage: "ended", seconds: 4 }), report: { ...report, limited_by: "network" } });
    await user.click(await screen.findByText(t("state.cancelled")));
    expect(await screen.findByText(t("activity.mostlyLimitedBy", { what: "the network" }))).toBeVisible();
  });

  test("what it was at a moment is read from the graph with the arrow keys", async () => {
    const shell = await startWindow({ transfers: [moving()] });
    await show("activity");
    for (const second of [1, 2, 3]) {
      const done = { bytes_done: second * 1_000_000, entries_done: second * second * 100 };
      shell.update("t1", { is: "moved", progress: progress({ seconds: second, limited_by: "network", ...done }) });
    }
    const graph = await screen.findByRole("slider", { name: /Speed over time/ });
    graph.focus();
    await user.keyboard("{Home}");
    expect(graph).toHaveAttribute("aria-valuetext", "0.0\u00a0s, 1.0\u00a0MB/s, 100\u00a0files/s");
    await user.keyboard("{End}");
    expect(graph).toHaveAttribute("aria-valuetext", expect.stringMatching(/^3.0\u00a0s, 1.0\u00a0MB\/s, 500\u00a0files\/s, .*network/));
    await user.keyboard("{ArrowLeft}");
    expect(screen.getByText(/^2.9\ss$/)).toBeVisible();
    await user.keyboard("{Escape}");
    expect(screen.getByText(/Files\/s \(peak 500\)/)).toBeVisible();
  });

  test("one that has gone on for a while, or has ended, is shown with its course from the beginning", async () => {
    const series = [1, 2, 3, 4].map((second) => ({ seconds: second, bytes: second > 2 ? 3_000_000 : 0, entries: second, limited_by: "network" as const, reconnected: 0 }));
    const { report } = failed({ code: "cancelled", by: "here" }) as { report: Report };
    const late = moving({ progress: progress({ seconds: 4, bytes_done: 3_000_000 }), series });
    await startWindow({ transfers: [late, moving({ ...late, title: late.title.path, status: undefined, ...progress({ stage: "ended", seconds: 4, bytes_done: 3_000_000 }), id: "t2", report })] });
    await show("activity");
    await user.click(screen.getByText(t("state.cancelled")));
    const graphs = screen.getAllByRole("slider", { name: /Speed over time: .* peak 3.0\sMB\/s/ });
    expect(graphs).toHaveLength(2);
    for (const graph of graphs) {
      graph.focus();
      await user.keyboard("{Home}");
      expect(graph).toHaveAttribute("aria-valuetext", expect.stringMatching(/^0.0\u00a0s, 0\u00a0B\/s/));
      await user.keyboard("{End}{ArrowLeft}");
      expect(graph).toHaveAttribute("aria-valuetext", expect.stringMatching(/the network$/));
    }
  });

  test("a running transfer is cancelled by its own button", async () => {
    const shell = await startWindow({ transfers: [moving({ progress: progress() })] });
    await show("activity");
    await user.click(screen.getByRole("button", { name: `${t("common.cancel")}: dataset-v3` }));
    expect(shell.called("cancel")).toEqual([{ id: "t1", then: "keep" }]);
  });

  test("much work is stopped after a question, which keeps it unless told otherwise", async () => {
    const much = progress({ bytes_done: 3_000_000_000, bytes_total: 9_000_000_000, seconds: 40 });
    const shell = await startWindow({ transfers: [moving({ progress: much })] });
    await show("activity");
    const cancel = screen.getByRole("button", { name: `${t("common.cancel")}: dataset-v3` });
    await user.click(cancel);
    const question = await screen.findByRole("dialog", { name: t("activity.stopTitle", { title: "dataset-v3" }) });
    expect(question).toHaveTextContent("3.0 GB arrived on lab-ws so far.");
    await waitFor(() => expect(screen.getByRole("button", { name: t("activity.stopKeep") })).toHaveFocus());
    await user.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    await user.click(cancel);
    await user.click(await screen.findByRole("button", { name: t("activity.stopNotSending") }));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(shell.called("cancel")).toEqual([]);
    for (const [button, then] of [["activity.stopKeep", "keep"], ["activity.stopDelete", "remove"]] as const) {
      await user.click(cancel);
      await user.click(await screen.findByRole("button", { name: t(button) }));
      await waitFor(() => expect(shell.called("cancel").at(-1)).toEqual({ id: "t1", then }));
    }
  });

  test("a question whether to stop what has ended meanwhile says so, and takes a click that comes too late", async () => {
    const much = progress({ bytes_done: 3_000_000_000, bytes_total: 9_000_000_000, seconds: 40 });
    const shell = await startWindow({ transfers: [moving({ progress: much })] });
    await show("activity");
    await user.click(screen.getByRole("button", { name: `${t("common.cancel")}: dataset-v3` }));
    await screen.findByRole("dialog", { name: t("activity.stopTitle", { title: "dataset-v3" }) });
    const { report } = failed({ code: "cancelled", by: "there" });
    shell.update("t1", { is: "ended", progress: progress({ stage: "ended" }), report: { ...report, ended_at: 2 } });
    const ended = await screen.findByRole("dialog", { name: t("activity.stopEnded", { title: "dataset-v3" }) });
    expect(ended).toHaveTextContent("Cancelled by lab-ws");
    expect(within(ended).getAllByRole("button")).toHaveLength(1);
    const close = within(ended).getByRole("button", { name: t("common.close") });
    await waitFor(() => expect(close).toHaveFocus());
    await user.click(close);
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(shell.called("cancel")).toEqual([]);
    await waitFor(() => expect(document.body).not.toHaveFocus());
  });

  test("the keyboard stays with a transfer that ends, and goes to its neighbour when its line is removed", async () => {
    const { report } = failed({ code: "cancelled", by: "there" });
    const other = moving({ id: "t0", title: "pictures", report: { ...report, ended_at: 1 }, progress: progress({ stage: "ended" }) });
    const shell = await startWindow({ transfers: [moving({ progress: progress() }), other] });
    await show("activity");
    screen.getByRole("button", { name: `${t("common.cancel")}: dataset-v3` }).focus();
    shell.update("t1", { is: "ended", progress: progress({ stage: "ended" }), report: { ...report, ended_at: 2 } });
    await waitFor(() => expect(document.querySelector('[data-transfer="t1"]')).toHaveFocus());
    await user.click(screen.getAllByText(t("state.cancelledBy", { peer: "lab-ws" }))[0]!);
    await user.click(screen.getByRole("button", { name: `${t("activity.remove")}: dataset-v3` }));
    await waitFor(() => expect(document.activeElement?.closest("[data-transfer]")).toHaveAttribute("data-transfer", "t0"));
  });

  test("what people decided is no alert, and what failed stands first and open", async () => {
    const ended = (id: string, fault: Parameters<typeof failed>[0], at: number) => moving({ id, title: id, report: { ...failed(fault).report, ended_at: at }, progress: progress({ stage: "ended" }) });
    const transfers = [
      ended("broken", { code: "destination_gone" }, 1),
      ended("cancelled", { code: "cancelled", by: "there" }, 2),
      ended("declined", { code: "declined", reason: "by_choice" }, 3),
    ];
    await startWindow({ transfers });
    await show("activity");
    const lines = () => [...document.querySelectorAll("[data-transfer]")].map((line) => line.getAttribute("data-transfer"));
    expect(lines()).toEqual(["broken", "declined", "cancelled"]);
    expect(screen.getAllByRole("alert")).toHaveLength(1);
    await user.click(screen.getByText(t("state.declined")));
    await user.click(screen.getByText(t("state.cancelledBy", { peer: "lab-ws" })));
    expect(screen.getAllByRole("alert")).toHaveLength(1);
    expect(screen.getByText(t("fault.cancelled.there", { peer: "lab-ws" }))).toBeVisible();
  });

  test("of several attempts at the same, the last one that failed stands first, and none while it runs again", async () => {
    const ended = (id: string, title: string, at: number) => moving({ id, title, report: { ...failed({ code: "destination_gone" }).report, ended_at: at }, progress: progress({ stage: "ended" }) });
    const shell = await startWindow({ transfers: [ended("first", "set", 1), ended("other", "other", 2), ended("last", "set", 3)] });
    await show("activity");
    const open = () => [...document.querySelectorAll("[data-transfer]")].filter((line) => line.querySelector("[aria-expanded=true]")).map((line) => line.getAttribute("data-transfer"));
    expect(open()).toEqual(["last", "other"]);
    shell.app.transfers.add(moving({ id: "again", title: "set" }));
    await waitFor(() => expect(open().filter((id) => id !== "again")).toEqual(["other"]));
  });

  test("failures stand by reason, are retried together, and are copied as a list", async () => {
    const failure = (path: string, errno: number) => ({ path, side: "here", operation: "open", reason: "os", errno, detail: "" }) as const;
    const { report } = failed({ code: "destination_gone" });
    const partial: Report = { ...report, outcome: "partial", failed: 4, failures: [failure("a", 2), failure("b", 13), failure("c", 13)] };
    const again = { chosen, target: { to: "device", id: labWs.id }, label: labWs.name, verify: false };
    const shell = await startWindow({ transfers: [moving({ report: partial, progress: progress({ stage: "ended" }) })] }, { chooseAgain: () => again, send: () => moving({ id: "t2" }) });
    await show("activity");
    const reasons = () => screen.getAllByRole("button", { name: /^could not be opened/i });
    expect(reasons().map(({ textContent }) => textContent?.trim())).toEqual([expect.stringMatching(/permission was denied.*\(2 or more\)$/), expect.stringMatching(/\(1 or more\)$/)]);
    expect(screen.getByText(t("activity.unnamed", { all: 4, listed: 3 }))).toBeVisible();
    expect(screen.getByText("b")).toBeVisible();
    await user.click(reasons()[0]!);
    expect(screen.queryByText("b")).toBeNull();
    await user.click(screen.getByRole("button", { name: t("activity.copyList") }));
    expect(shell.called("copy_text")[0]!.text).toMatch(/permission was denied:\nb\nc\n\n.*:\na\n\n1 more failed item is not in this list\.\n$/);
    await user.click(screen.getByRole("button", { name: t("activity.retry") }));
    await waitFor(() => expect(shell.called("chooseAgain")).toEqual([{ id: "t1" }]));
    const running = await screen.findByRole("article", { name: "dataset-v3" });
    expect(running, "it takes the place of what failed").toHaveAttribute("data-state");
    expect(running).toHaveFocus();
    expect(screen.getByRole("heading", { level: 1 }), "the view stays").toHaveTextContent(t("view.activity"));
  });

  test("what is resumed runs in the same view, and what reaches nobody or needs a code is said", async () => {
    const { report } = failed({ code: "cancelled", by: "here", kept: true });
    const again = { chosen, target: { to: "device", id: labWs.id }, label: labWs.name, verify: false };
    let sent = 1;
    const stopped = moving({ report, progress: progress({ stage: "ended" }) });
    const shell = await startWindow({ transfers: [stopped], devices: [labWs] }, { chooseAgain: () => again, send: () => moving({ id: `t${(sent += 1)}`, title: "survey" }) });
    await show("activity");
    await user.click(screen.getByText(t("state.stoppedKept")));
    await user.click(screen.getByRole("button", { name: `${t("activity.resume")}: dataset-v3` }));
    await waitFor(() => expect(screen.getByRole("article", { name: "survey" })).toHaveFocus());
    expect(screen.queryByText(t("state.stoppedKept")), "what runs has its place").toBeNull();
    expect(shell.app.outbox.chosen, "nothing is left to send").toBeNull();

    shell.update("t2", failed({ code: "unreachable", target: "lab-ws", source: { errno: 111, detail: "" }, remedies: [] }));
    const retry = await screen.findByRole("button", { name: `${t("activity.again")}: survey` });
    expect(screen.getByRole("heading", { level: 1 })).toHaveTextContent(t("view.activity"));
    await user.click(retry);
    await waitFor(() => expect(shell.called("send")).toHaveLength(2));
    shell.update("t3", failed({ code: "pairing_needed", peer_name: "lab-ws" }));
    await waitFor(() => expect(screen.getByRole("heading", { level: 1 }), "there is the field for the code").toHaveTextContent(t("view.send")));
    expect(screen.getByLabelText(t("send.code"))).toBeVisible();
  });

  test("what failed is folded among the others once the same has arrived", async () => {
    const { report } = failed({ code: "destination_gone" });
    const ended = (id: string, change: Partial<Report>, title = "survey") =>
      moving({ id, title, direction: "receiving", progress: progress({ stage: "ended" }), report: { ...report, ...change } as Report });
    const shell = await startWindow({ transfers: [ended("t1", { ended_at: 100 }), ended("t2", { ended_at: 200 }, "thesis")] });
    await show("activity");
    const opened = () => screen.getAllByRole("button", { expanded: true }).map((button) => button.textContent);
    expect(opened()).toEqual([expect.stringContaining("thesis"), expect.stringContaining("survey")]);
    shell.tell({ event: "transferStarted", transfer: moving({ id: "t3", title: "survey", direction: "receiving", target: null, progress: progress() }) });
    shell.update("t3", { is: "ended", progress: progress({ stage: "ended" }), report: { ...report, outcome: "complete", files: 3, ended_at: 300 } as Report });
    const resolved = await screen.findByText(t("activity.resolved"));
    expect(resolved.closest("button")).toHaveTextContent("survey");
    expect(opened(), "another one still needs a look").toEqual([expect.stringContaining("thesis")]);
    await user.click(resolved);
    expect(opened()).toHaveLength(2);
  });

  test("what reached nobody is folded once the same has arrived at that target", async () => {
    const { report } = failed({ code: "destination_gone" });
    const nobody = progress({ stage: "ended", peer: null, peer_id: null });
    const unreached = (id: string, target: string) => moving({ id, target, progress: nobody, report: { ...report, ended_at: 100 } as Report });
    const done = moving({ id: "t3", target: "lab-ws", progress: progress({ stage: "ended" }), report: { ...report, outcome: "complete", ended_at: 300 } as Report });
    await startWindow({ transfers: [unreached("t1", "lab-ws"), unreached("t2", "nas"), done] });
    await show("activity");
    expect(screen.getAllByText(t("activity.resolved"))).toHaveLength(1);
    expect(document.querySelector("[data-transfer=t1]")).toHaveTextContent(t("activity.resolved"));
  });

  test("what failed is folded once the same was transferred in part, whose report says what is missing", async () => {
    const { report } = failed({ code: "destination_gone" });
    const failures = [{ path: "set/secret", side: "here", operation: "open", reason: "os", errno: 13, detail: "" }] as const;
    const ended = (id: string, at: number) => moving({ id, progress: progress({ stage: "ended" }), report: { ...report, outcome: "partial", failed: 1, failures, ended_at: at } as unknown as Report });
    await startWindow({ transfers: [ended("t1", 100), ended("t2", 200)] });
    await show("activity");
    expect(document.querySelector("[data-transfer=t1]")).toHaveTextContent(t("activity.repeated"));
    const opened = screen.getAllByRole("button", { expanded: true }).map((button) => button.closest("[data-transfer]")?.getAttribute("data-transfer"));
    expect(new Set(opened)).toEqual(new Set(["t2"]));
  });

  test("one that waits is told to go on by its own button, where that can help", async () => {
    const interruption = { why: "full", needed: 6000, free: 1000, entries: 0, next_try_seconds: null, gives_up_seconds: 60 } as const;
    const waiting = { why: "broken", next_try_seconds: null, gives_up_seconds: 60 } as const;
    const awaited = moving({ id: "t2", title: "pictures", direction: "receiving", progress: progress({ stage: "reconnecting", interruption: waiting }) });
    const shell = await startWindow({ transfers: [moving({ progress: progress({ stage: "paused", interruption }) }), awaited] });
    await show("activity");
    expect(screen.getByText(/^Paused: .* 5.0 kB more needed/)).toBeVisible();
    expect(screen.queryByRole("button", { name: `${t("activity.tryNow")}: pictures` })).toBeNull();
    await user.click(screen.getByRole("button", { name: `${t("activity.tryNow")}: dataset-v3` }));
    expect(shell.called("resume")).toEqual([{ id: "t1" }]);
  });

  test("is paused where that can be, and resumed by whom it was paused", async () => {
    const waits = { why: "paused", next_try_seconds: null, gives_up_seconds: 60 } as const;
    const running = moving({ id: "t1", title: "dataset-v3", progress: progress({ can_pause: true }) });
    const held = moving({ id: "t2", title: "pictures", progress: progress({ stage: "paused", interruption: { ...waits, by: "here" } }) });
    const awaited = moving({ id: "t3", title: "music", progress: progress({ stage: "paused", can_pause: true, interruption: { ...waits, by: "there" } }) });
    const shell = await startWindow({ transfers: [running, held, awaited] });
    await show("activity");
    const shown = (action: "activity.pause" | "activity.resume") =>
      screen.queryAllByRole("button").flatMap((button) => button.getAttribute("aria-label")?.match(`^${t(action)}: (.*)$`)?.[1] ?? []);
    expect(shown("activity.pause"), "not what the other device has paused").toEqual(["dataset-v3"]);
    expect(shown("activity.resume")).toEqual(["pictures"]);
    await user.click(screen.getByRole("button", { name: `${t("activity.pause")}: dataset-v3` }));
    await user.click(screen.getByRole("button", { name: `${t("activity.resume")}: pictures` }));
    expect([shell.called("pause"), shell.called("resume")]).toEqual([[{ id: "t1" }], [{ id: "t2" }]]);
  });
});
