import { screen, waitFor, within } from "@testing-library/svelte";
import { describe, expect, test } from "vitest";
import type { Progress } from "../../ipc";
import { t } from "../../messages";
import { earlier, labWs, moving, nearby, offer, progress, startWindow } from "../../testing/shell";

const row = () => document.querySelector<HTMLElement>("[data-row]")!;
const card = () => screen.getByRole("button", { name: /^Send to lab-ws/ });

describe("a device in the sidebar", () => {
  const interruption: Progress["interruption"] = { why: "broken", next_try_seconds: 3, gives_up_seconds: 800 };

  test("says why nothing moves, with the share, and is not online without a connection", async () => {
    const shell = await startWindow({ devices: [labWs], nearby: [nearby({ paired_id: labWs.id })], transfers: [moving({ progress: progress() })] });
    expect(row()).toHaveTextContent(/25\s%$/);
    for (const [change, word] of [
      [{ stalled_seconds: 12 }, t("state.stalled")],
      [{ stage: "reconnecting", interruption }, t("state.interrupted")],
      [{ stage: "paused", interruption: { why: "paused", by: "here", next_try_seconds: null, gives_up_seconds: 900 } }, t("state.paused")],
    ] as [Partial<Progress>, string][]) {
      shell.update("t1", { is: "moved", progress: progress(change) });
      await waitFor(() => expect(within(row()).getByText(word)).toBeVisible());
      expect(row()).toHaveTextContent(/25\s%$/);
      expect(row().querySelector(".state svg"), "an icon").not.toBeNull();
      expect(card().textContent?.includes(t("send.online"))).toBe(word === t("state.paused"));
    }
    shell.update("t1", { is: "moved", progress: progress() });
    await waitFor(() => expect(within(row()).queryByText(t("state.paused"))).toBeNull());
  });

  test("that waits for an answer is online, and its card says nothing of the last transfer while one runs", async () => {
    const last_transfer = earlier({ direction: "sending", report: { bytes: 2_100_000_000, moved: 2_100_000_000 } });
    const device = { ...labWs, last_seen: Date.now() / 1000, last_transfer };
    const shell = await startWindow({ devices: [device] });
    expect(row()).toHaveTextContent(/Last seen/);
    shell.tell({ event: "offerChanged", offer: offer({ from_id: labWs.id }) });
    await waitFor(() => expect(row()).toHaveTextContent(t("send.online")));
    expect(row().querySelector(".is-here")).toHaveTextContent(t("send.online"));
    expect(card()).toHaveTextContent("Sent 2.1 GB 2 hours ago");
    shell.tell({ event: "offerGone", id: "o1", how: "withdrawn" } as never);
    await waitFor(() => expect(row()).toHaveTextContent(/Last seen/));
    shell.app.transfers.add(moving({ progress: progress() }));
    await waitFor(() => expect(card()).not.toHaveTextContent(/Sent/));
  });

  test("keeps its card's height while something hangs over it", async () => {
    Object.defineProperty(HTMLElement.prototype, "offsetHeight", { configurable: true, get: () => 158 });
    try {
      const shell = await startWindow({ devices: [labWs], nearby: [nearby({ paired_id: labWs.id })] });
      expect(card().style.height).toBe("");
      shell.app.outbox.over = labWs.id;
      await waitFor(() => expect(card().style.height).toBe("158px"));
      shell.app.outbox.over = null;
      await waitFor(() => expect(card().style.height).toBe(""));
    } finally {
      Reflect.deleteProperty(HTMLElement.prototype, "offsetHeight");
    }
  });
});

test("the foot says that the service has stopped, and not that it starts", async () => {
  const shell = await startWindow();
  const foot = screen.getByRole("region", { name: new RegExp(`^${t("common.thisDevice")}`) });
  expect(foot).toHaveTextContent(t("window.receiving"));
  shell.tell({ event: "serviceLost", fault: { code: "service_gone" } });
  await waitFor(() => expect(foot).toHaveTextContent(t("window.serviceStopped")));
  expect(foot).not.toHaveTextContent(t("inbox.starting"));
  expect(foot.querySelector(".on")).toBeNull();
});
