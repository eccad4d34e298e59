import { screen, waitFor, within } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { tick } from "svelte";
import uPlot from "uplot";
import { expect, test, vi } from "vitest";
import type { Report, SeriesPoint } from "../../ipc";
import { t } from "../../messages";
import { course } from "../../state/course";
import { earlier, failed, moving, progress, startWindow } from "../../testing/shell";

const user = userEvent.setup();

/** What a card says of speed, its limits and its graph. */
function figures(card: HTMLElement) {
  const graph = within(card).getByRole("slider");
  const shares = within(within(card).getByRole("list", { name: t("activity.bottlenecks") })).getAllByRole("listitem");
  return { label: graph.ariaLabel ?? graph.getAttribute("aria-label"), caption: card.querySelector("figcaption")!.textContent, shares: shares.map((share) => share.textContent) };
}

test("a transfer that ended while one looked shows the same figures when it is read from the history", async () => {
  const series: SeriesPoint[] = Array.from({ length: 60 }, (_, at) => ({
    seconds: (at + 1) / 10,
    bytes: (at + 1 - (at % 3)) * 300_000,
    entries: at,
    limited_by: at < 20 ? "reading" : "limit",
    reconnected: at < 30 ? 0 : 1,
  }));
  const report = { ...(failed({ code: "gone" }).report as Report), outcome: "complete", bytes: 18_000_000, moved: 18_000_000, seconds: 6.4, limited_by: "limit", limit_bytes_per_s: 3_000_000, reconnected: 1 } as Report;
  const past = earlier({ number: 7, id: "t1", direction: "sending", target: "10.0.0.5", title: "thesis", report });
  const shell = await startWindow({ transfers: [moving({ title: "thesis", progress: progress({ seconds: 0.3 }) })] }, { past: () => [past], pastDetails: () => ({ failures: [], edits: [], series }) });
  shell.app.view = "activity";
  // What a window sees comes at other times than what is kept, and late.
  for (let ms = 440; ms < 5_000; ms += 140) shell.update("t1", { is: "moved", progress: progress({ seconds: ms / 1000, bytes_done: ms * 2_000, limited_by: ms % 3 ? "network" : "limit" }) });
  shell.update("t1", { is: "ended", progress: progress({ stage: "ended", seconds: 6.4, bytes_done: 18_000_000 }), report, series });
  await user.click(await screen.findByText(t("state.sent")));
  const ended = figures(await waitFor(() => document.querySelector<HTMLElement>("[data-transfer=t1][data-ended]")!));
  expect(ended.caption).toContain(t("graph.limit", { rate: "3.0\u00a0MB/s" }));
  expect(ended.caption).toContain(t("graph.retries", { n: 1 }));
  shell.app.transfers.list = [];
  const line = await waitFor(() => {
    const found = document.querySelector<HTMLElement>("[data-past='7']");
    expect(found).not.toBeNull();
    return found!;
  });
  await user.click(within(line).getByText(t("state.sent")));
  await waitFor(() => expect(line.querySelector("figcaption")).not.toBeNull());
  expect(figures(line)).toEqual(ended);
});

test("a limited transfer whose figures come in jumps has no peak above its limit", async () => {
  const series: SeriesPoint[] = [];
  // 3 MB/s, of which a megabyte is known at once, and the last at the very end.
  for (let ms = 100; ms <= 4_000; ms += 100) series.push({ seconds: ms / 1000, bytes: Math.floor((ms * 3_000) / 1e6) * 1e6, entries: 0, limited_by: "limit", reconnected: 0 });
  const report = { ...(failed({ code: "gone" }).report as Report), outcome: "complete", bytes: 12e6, moved: 12e6, seconds: 4, limit_bytes_per_s: 3_000_000 } as Report;
  await startWindow({ transfers: [moving({ title: "thesis", progress: progress({ stage: "ended" }), series, report })] }).then(({ app }) => (app.view = "activity"));
  await user.click(await screen.findByText(t("state.sent")));
  const peak = Number(/peak ([\d.]+)\sMB\/s/.exec(screen.getByRole("slider").getAttribute("aria-label")!)![1]);
  expect(peak).toBeLessThan(4.4);
});

test("time without a connection is in the legend and read at its moment, while it lasts and in the history", async () => {
  const shell = await startWindow({ transfers: [moving({ title: "thesis", progress: progress({ seconds: 0.1, bytes_done: 0 }) })] });
  shell.app.view = "activity";
  const at = (seconds: number, change = {}) => shell.update("t1", { is: "moved", progress: progress({ seconds, bytes_done: Math.min(seconds, 3) * 1e6, ...change }) });
  for (let tenths = 3; tenths <= 30; tenths += 2) at(tenths / 10);
  await waitFor(() => expect(screen.getByRole("slider")).toBeVisible());
  const legend = () => document.querySelector("figcaption")!.textContent;
  expect(legend()).not.toContain(t("graph.interrupted"));
  for (let tenths = 32; tenths <= 60; tenths += 2) at(tenths / 10, { stage: "reconnecting" });
  await waitFor(() => expect(legend()).toContain(t("graph.interrupted")));

  const point = (seconds: number, reconnected = 0): SeriesPoint => ({ seconds, bytes: Math.min(seconds, 3) * 1e6, entries: 0, limited_by: null, reconnected });
  const series = [...Array.from({ length: 30 }, (_, tenth) => point((tenth + 1) / 10)), ...Array.from({ length: 20 }, (_, tenth) => point(8 + tenth / 10, 1))];
  const report = { ...(failed({ code: "gone" }).report as Report), outcome: "complete", bytes: 3e6, moved: 3e6, seconds: 10, reconnected: 1 } as Report;
  expect(course(series).outages).toEqual([{ from: 3, to: 8 }]);
  shell.update("t1", { is: "ended", progress: progress({ stage: "ended", seconds: 10 }), report, series });
  await user.click(await screen.findByText(t("state.sent")));
  const graph = screen.getByRole("slider");
  graph.focus();
  await user.keyboard("{Home}{PageDown}{PageDown}{PageDown}{PageDown}{PageDown}");
  expect(graph).toHaveAttribute("aria-valuetext", expect.stringContaining(t("graph.interrupted")));
  await user.keyboard("{End}");
  expect(graph).not.toHaveAttribute("aria-valuetext", expect.stringContaining(t("graph.interrupted")));
});

test("a graph is drawn again with what is new, and not built anew, unless the limit is another one", async () => {
  const shell = await startWindow({ transfers: [moving({ progress: progress({ seconds: 0.3 }) })] });
  shell.app.view = "activity";
  const update = (ms: number, limit: number) => shell.update("t1", { is: "moved", progress: progress({ seconds: ms / 1000, bytes_moved: ms * 2_000, limit_bytes_per_s: limit }) });
  const built = vi.spyOn(uPlot.prototype, "destroy");
  const drawn = vi.spyOn(uPlot.prototype, "setData");
  for (let ms = 400; ms < 4_000; ms += 200) update(ms, 3_000_000);
  await screen.findByRole("slider");
  built.mockClear();
  drawn.mockClear();
  for (let ms = 4_000; ms < 6_000; ms += 200) {
    update(ms, 3_000_000);
    await tick();
  }
  expect([built.mock.calls.length, drawn.mock.calls.length]).toEqual([0, 5]);
  update(6_200, 5_000_000);
  await waitFor(() => expect(built).toHaveBeenCalledTimes(1));
});
