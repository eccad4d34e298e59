import { screen, waitFor, within } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import axe from "axe-core";
import { describe, expect, test } from "vitest";
import { rate } from "../../format";
import type { PastQuery } from "../../ipc";
import { t } from "../../messages";
import { rememberGetLimit } from "../../state/get-limits";
import { chosen, earlier, failed, here, labWs, moving, startWindow } from "../../testing/shell";
import { show } from "../../testing/show";
import { spaced } from "../../testing/spaced";

const user = userEvent.setup();

describe("what has ended before", () => {
  const seven = earlier({ number: 7, id: "p7", direction: "sending", title: "thesis", peer: "lab-ws", report: { outcome: "partial", failed: 2, arrived: [], limited_by: "network" } });

  test("is listed, and one opens into its course, where it lies and what failed", async () => {
    const details = {
      failures: [{ path: "thesis/pipe", side: "here", operation: "open", reason: "special_file" }],
      edits: [{ path: "thesis/notes", beside: { path: "notes (1)" } }],
      series: [0, 0.5, 1, 1.5, 2].map((seconds) => ({ seconds, bytes: seconds * 3_000_000, limited_by: seconds > 0.5 ? "network" : null, reconnected: 0 })),
    };
    const shell = await startWindow({}, { past: () => [earlier(), seven], pastDetails: () => details });
    await show("activity");
    expect(await screen.findByText("survey")).toBeVisible();
    expect(screen.getByText("2 items failed")).toBeVisible();
    expect(await screen.findByText(/All but 2 items arrived/), "what failed is open").toBeVisible();
    expect(await screen.findByText("thesis/pipe")).toBeInTheDocument();
    expect(await screen.findByText("Limited by the network")).toBeVisible();
    expect(screen.getByText(spaced(t("graph.average", { rate: rate(3_000_000) })))).toBeVisible();
    expect(shell.called("pastDetails")).toEqual([{ number: 7 }]);
    expect((await axe.run(document.body, { rules: { "color-contrast": { enabled: false } } })).violations).toEqual([]);
  });

  test("stands first and opened where it failed, whatever ended since, until that is resolved", async () => {
    const well = Array.from({ length: 9 }, (_, n) => earlier({ number: 20 + n, id: `p${20 + n}`, title: `good ${n}`, report: { ended_at: 2_000 + n } }));
    const line = (number: number, title: string, change = {}) => earlier({ number, id: `p${number}`, direction: "sending", target: "lab-ws", title, peer: "lab-ws", report: { outcome: "partial", failed: 1, arrived: [], ended_at: 1_000 + number }, ...change });
    const list = [...well.reverse(), line(5, "resolved", { after: "resolved" }), line(4, "repeated", { after: "repeated" }), line(3, "thesis"), line(2, "holiday")];
    const failures = [{ path: "x", side: "here", operation: "open", reason: "special_file" }];
    const shell = await startWindow({}, { past: () => list, pastDetails: () => ({ failures, edits: [], series: [] }) });
    await show("activity");
    const lines = () => [...document.querySelectorAll("[data-past]")].map((one) => Number(one.getAttribute("data-past")));
    await waitFor(() => expect(lines()).toEqual([3, 2, 28, 27, 26, 25, 24, 23, 22, 21, 20, 5, 4]));
    await waitFor(() => expect(screen.getAllByText(t("activity.copyList"))).toHaveLength(2));
    expect(screen.getByText(t("activity.resolved"))).toBeVisible();
    expect(screen.getByText(t("activity.repeated"))).toBeVisible();
    // What is tried again is what runs.
    shell.app.transfers.add(moving({ id: "t9", title: "thesis", target: "lab-ws" }));
    await waitFor(() => expect(lines()[0]).toBe(2));
    await user.click(screen.getByRole("button", { name: `${t("activity.remove")}: holiday` }));
    await waitFor(() => expect(lines()[0]).toBe(28));
  });

  test("is opened where it failed up to a number, and below that is a line", async () => {
    const list = Array.from({ length: 12 }, (_, n) => earlier({ number: 40 - n, id: `p${40 - n}`, title: `bad ${n}`, report: { outcome: "partial", failed: 1 } }));
    await startWindow({}, { past: () => list, pastDetails: () => ({ failures: [], edits: [], series: [] }) });
    await show("activity");
    await waitFor(() => expect(screen.getAllByRole("button", { name: new RegExp(`^${t("activity.remove")}`) })).toHaveLength(8));
    expect(screen.getAllByText("1 item failed")).toHaveLength(12);
  });

  test("names the failures that it has, and says how many others there are", async () => {
    const failures = ["a", "b"].map((path) => ({ path, side: "here", operation: "open", reason: "special_file" }));
    const line = (number: number) => earlier({ number, id: `p${number}`, title: `bad ${number}`, report: { outcome: "partial", failed: 1_500 } });
    const shell = await startWindow({}, { past: () => [line(2), line(1)], pastDetails: ({ number }) => ({ failures: number === 2 ? failures : [], edits: [], series: [] }) });
    await show("activity");
    expect(await screen.findByText(t("activity.unnamed", { all: 1_500, listed: 2 }))).toBeVisible();
    expect(screen.getByText(`(${t("activity.orMore", { n: 2 })})`)).toBeVisible();
    expect(screen.getByText(t("activity.namesGone", { n: 1_500 }))).toBeVisible();
    await user.click(screen.getByRole("button", { name: t("activity.copyList") }));
    expect(shell.called("copy_text")[0]!.text).toMatch(/:\na\nb\n\n1,498 more failed items are not in this list\.\n$/);
  });

  test("shows how it was encrypted, and what could not be removed, as its card did", async () => {
    const line = earlier({ report: { here, there: here, left_behind: { path: "/in/.ringway-1" } } });
    await startWindow({}, { past: () => [line], pastDetails: () => ({ failures: [], edits: [], series: [] }), pastKinds: () => ["file"] });
    await show("activity");
    await user.click(await screen.findByText("survey"));
    expect(await screen.findByText(t("end.leftBehind", { path: "/in/.ringway-1" }), { exact: false })).toBeVisible();
    expect(await screen.findByText(t("activity.technical"))).toBeVisible();
    const [lies] = within(screen.getByRole("list", { name: t("activity.location") })).getAllByRole("listitem");
    await waitFor(() => expect(lies!.querySelector("svg")).toHaveClass("lucide-file"));
  });

  test("is searched and read on by the shell, a page at a time", async () => {
    const page = (from: number) => Array.from({ length: 30 }, (_, n) => earlier({ number: from - n, id: `p${from - n}`, title: `tree ${from - n}` }));
    const shell = await startWindow({}, { past: ({ query }) => ((query as { before: number | null }).before === null ? page(99) : [seven]) });
    await show("activity");
    await user.click(await screen.findByRole("button", { name: t("history.more") }));
    expect(await screen.findByText("thesis")).toBeVisible();
    expect(shell.called("past").at(-1)).toEqual({ query: { direction: null, failed_only: false, unresolved_only: false, search: "", before: 70 } });
    expect(screen.queryByRole("button", { name: t("history.more") })).toBeNull();
    await user.type(screen.getByLabelText(t("history.search")), "nas");
    await waitFor(() => expect(shell.called("past").at(-1)).toEqual({ query: { direction: null, failed_only: false, unresolved_only: false, search: "nas", before: null } }));
    await user.click(screen.getByLabelText(t("history.failedOnly")));
    await waitFor(() => expect(shell.called("past").at(-1)).toEqual({ query: { direction: null, failed_only: true, unresolved_only: false, search: "nas", before: null } }));
  });

  test("is read on to its end where rows are damaged, which the service passes over", async () => {
    const page = (from: number, step: number) => Array.from({ length: 30 }, (_, n) => earlier({ number: from - n * step, id: `p${from - n * step}` }));
    const pages = new Map([[null, page(99, 2)], [41, page(40, 1)], [11, [seven]]]);
    const shell = await startWindow({}, { past: ({ query }) => pages.get((query as { before: number | null }).before) });
    await show("activity");
    await user.click(await screen.findByRole("button", { name: t("history.more") }));
    const asked = () => shell.called("past").map(({ query }) => query as PastQuery).filter(({ unresolved_only: first }) => !first);
    await waitFor(() => expect(asked().length).toBe(2));
    await user.click(await screen.findByRole("button", { name: t("history.more") }));
    // Only rows that can be seen are drawn, and here nothing has a height.
    await waitFor(() => expect(shell.app.past.list.at(-1)?.number).toBe(seven.number));
    expect(asked().map(({ before }) => before)).toEqual([null, 41, 11]);
    expect(screen.queryByRole("button", { name: t("history.more") })).toBeNull();
  });

  test("is sent again, to where it went and as it was", async () => {
    const { report } = failed({ code: "destination_gone" }) as Extract<ReturnType<typeof failed>, { is: "ended" }>;
    const sent = earlier({ direction: "sending", report });
    const again = { chosen, target: { to: "device", id: labWs.id }, label: labWs.name, verify: true, leave_out: "*.tmp", in_share: "inbox/sub" };
    const shell = await startWindow({}, { past: () => [sent], pastDetails: () => ({ failures: [], edits: [], series: [] }), chooseAgain: () => again, send: () => moving() });
    await show("activity");
    await user.click(await screen.findByRole("button", { name: `${t("activity.again")}: survey` }));
    await waitFor(() => expect(shell.called("send")).toEqual([{ chosen: 7, target: { to: "device", id: labWs.id }, code: null, verify: true, limit: null, leaveOut: "*.tmp", inShare: "inbox/sub" }]));
    expect(shell.called("chooseAgain")).toEqual([{ id: "p12" }]);
    expect(await screen.findByRole("article", { name: "dataset-v3" })).toHaveFocus();
    expect(screen.getByRole("heading", { level: 1 }), "the view stays").toHaveTextContent(t("view.activity"));
  });

  test("is got again, into the folder that it was got into", async () => {
    const got = earlier({ peer: "lab-ws", target: "lab-ws", in_share: { path: "runs/survey" }, peer_id: labWs.id, status: { state: "done", actions: ["open_folder", "get_again", "remove"] } });
    const answers = { past: () => [got], pastDetails: () => ({ failures: [], edits: [], series: [] }), getAgain: () => moving({ id: "g2", direction: "receiving", title: "survey", target: "lab-ws" }) };
    const shell = await startWindow({}, answers);
    await show("activity");
    expect(await screen.findByText(t("activity.gotFrom", { peer: "lab-ws", place: "runs" }))).toBeVisible();
    await user.click(await screen.findByText("survey"));
    rememberGetLimit(labWs.id, 2_000_000);
    await user.click(await screen.findByRole("button", { name: `${t("activity.getAgain")}: survey` }));
    expect(shell.called("getAgain")).toEqual([{ id: "p12", limit: 2_000_000 }]);
    rememberGetLimit(labWs.id, null);
    expect(await screen.findByRole("article", { name: "survey" })).toBeVisible();
  });

  test("says why it cannot be sent again", async () => {
    const tooMany = () => {
      throw { code: "too_many_sent" };
    };
    const answers = { past: () => [earlier({ direction: "sending" })], chooseAgain: tooMany };
    await startWindow({}, answers);
    await show("activity");
    await user.click(await screen.findByText("survey"));
    await user.click(await screen.findByRole("button", { name: `${t("activity.again")}: survey` }));
    expect(await screen.findByText(t("fault.tooManySent"), { exact: false })).toBeVisible();
  });

  test("can be opened and forgotten, one or all, after a question", async () => {
    const shell = await startWindow({}, { past: () => [earlier(), seven], pastDetails: () => ({ failures: [], edits: [], series: [] }) });
    await show("activity");
    await user.click(await screen.findByText("survey"));
    await user.click(await screen.findByRole("button", { name: t("common.openFolder") }));
    expect(shell.called("reveal_past")).toEqual([{ number: 12 }]);
    await user.click(screen.getByRole("button", { name: `${t("activity.remove")}: survey` }));
    await waitFor(() => expect(screen.queryByText("survey")).toBeNull());
    expect(shell.called("forgetPast")).toEqual([{ number: 12 }]);
    await user.click(screen.getByRole("button", { name: t("history.clear") }));
    expect(shell.called("clearPast")).toEqual([]);
    await user.click(screen.getByRole("button", { name: t("history.clearYes") }));
    await waitFor(() => expect(screen.queryByText("thesis")).toBeNull());
    expect(await screen.findByText(t("activity.empty"))).toBeVisible();
  });

  test("does not repeat what still stands above, but finds it", async () => {
    const all = { transfers: [moving({ id: "p7" })] };
    await startWindow(all, { past: () => [earlier(), seven] });
    await show("activity");
    expect(await screen.findByRole("heading", { name: "dataset-v3" })).toBeVisible();
    expect(await screen.findByText("survey")).toBeVisible();
    expect(screen.queryByText("thesis")).toBeNull();
    await user.type(screen.getByLabelText(t("history.search")), "the");
    expect(await screen.findByText("thesis")).toBeVisible();
  });

  test("can be read on where all of the latest still stand above", async () => {
    const page = Array.from({ length: 30 }, (_, n) => earlier({ number: 99 - n, id: `p${99 - n}` }));
    const all = { transfers: page.map(({ id }) => moving({ id, direction: "receiving", title: id })) };
    await startWindow(all, { past: ({ query }) => ((query as { before: number | null }).before === null ? page : [seven]) });
    await show("activity");
    const more = await screen.findByRole("button", { name: t("history.more") });
    expect(screen.queryByText(t("history.noResults"))).toBeNull();
    await user.click(more);
    expect(await screen.findByText("thesis")).toBeVisible();
  });

  test("stays in the Inbox where it came in", async () => {
    const shell = await startWindow({}, { past: () => [earlier()], pastDetails: () => ({ failures: [], edits: [], series: [] }) });
    await show("inbox");
    await user.click(await screen.findByText("survey"));
    expect(shell.called("past")).toEqual([{ query: { direction: "receiving", failed_only: false, unresolved_only: false, search: "", before: null } }]);
    expect(screen.queryByText(t("inbox.nothingReceived"))).toBeNull();
    await user.click(await screen.findByRole("button", { name: t("common.openFolder") }));
    expect(shell.called("reveal_past")).toEqual([{ number: 12 }]);
    await user.click(screen.getByRole("button", { name: `${t("activity.remove")}: survey` }));
    expect(await screen.findByText(t("inbox.nothingReceived"))).toBeVisible();
  });
});
