import { screen, waitFor, within } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { describe, expect, test } from "vitest";
import type { Failure, Report } from "../../ipc";
import { t } from "../../messages";
import { earlier, failed, moving, progress, startWindow } from "../../testing/shell";
import { show } from "../../testing/show";

const user = userEvent.setup();
const ended = (change: Partial<Report>) => ({ ...failed({ code: "gone" }).report, ...change }) as Report;

describe("what was stopped and is kept", () => {
  const report = ended({ outcome: "failed", error: { code: "cancelled", by: "here", kept: true } } as Partial<Report>);

  test("says so in its line, with the button that resumes it, and has that once", async () => {
    const shell = await startWindow({ transfers: [moving({ progress: progress({ stage: "ended" }), report })] }, { chooseAgain: () => { throw { code: "gone" }; } });
    await show("activity");
    const line = screen.getByRole("article", { name: "dataset-v3" });
    expect(line).toHaveTextContent(t("state.stoppedKept"));
    expect(line).not.toHaveTextContent(t("state.cancelled"));
    const resume = { name: `${t("activity.resume")}: dataset-v3` };
    expect(within(line).getByText(t("state.stoppedKept")).closest("button"), "it is folded").toHaveAttribute("aria-expanded", "false");
    await user.click(within(line).getByRole("button", resume));
    expect(shell.called("chooseAgain")).toEqual([{ id: "t1" }]);
    expect(await screen.findByText(t("fault.gone"), { exact: false }), "why it cannot").toBeVisible();
    await user.click(within(line).getByText(t("state.stoppedKept")));
    expect(within(line).getAllByRole("button", resume)).toHaveLength(1);
  });

  test("is the same in the history; what the other device cancelled says by whom", async () => {
    const there = ended({ outcome: "failed", error: { code: "cancelled", by: "there", kept: true } } as Partial<Report>);
    await startWindow({}, { past: () => [earlier({ number: 1, direction: "sending", title: "mine", report }), earlier({ number: 2, id: "p2", direction: "sending", title: "theirs", report: there })] });
    await show("activity");
    expect(await screen.findByRole("button", { name: `${t("activity.resume")}: mine` })).toBeVisible();
    expect(screen.queryByRole("button", { name: `${t("activity.resume")}: theirs` })).toBeNull();
    expect(screen.getByText(t("state.cancelledBy", { peer: "laptop" }))).toBeVisible();
  });
});

test("what was stopped is not resumed once the same has come through", async () => {
  const report = ended({ outcome: "failed", error: { code: "cancelled", by: "here", kept: true } } as Partial<Report>);
  const line = (number: number, title: string, change = {}) => earlier({ number, id: `p${number}`, direction: "sending", title, peer_id: "ab12", ...change });
  const past = [line(5, "resumed"), line(3, "failed again", { report }), line(2, "failed again", { report }), line(1, "resumed", { report, after: "resolved" }), line(0, "not resumed", { report })];
  await startWindow({}, { past: () => past });
  await show("activity");
  const resumes = (title: string) => screen.queryAllByRole("button", { name: `${t("activity.resume")}: ${title}` });
  await waitFor(() => expect(resumes("failed again")).toHaveLength(2));
  expect([resumes("resumed").length, resumes("not resumed").length]).toEqual([0, 1]);
});

test("what was stopped at the receiver says that it is kept, and is resumed at the other device", async () => {
  const report = ended({ outcome: "failed", error: { code: "cancelled", by: "here", kept: true } } as Partial<Report>);
  await startWindow({ transfers: [moving({ direction: "receiving", progress: progress({ stage: "ended" }), report })] });
  await show("inbox");
  expect(await screen.findByText(t("state.stoppedKept"))).toBeVisible();
  expect(screen.queryByRole("button", { name: new RegExp(`^${t("activity.resume")}`) })).toBeNull();
});

describe("what no other attempt can send", () => {
  const pipe: Failure = { path: "data/pipe", side: "here", operation: "open", reason: "special_file", detail: "" } as Failure;
  const denied: Failure = { path: "data/secret", side: "here", operation: "open", reason: "os", errno: 13, detail: "" } as Failure;
  const partial = (failures: Failure[], all = failures.length) => moving({ progress: progress({ stage: "ended" }), report: ended({ outcome: "partial", files: 3, failures, failed: all }) });

  test("is not offered to be sent again", async () => {
    await startWindow({ transfers: [partial([pipe])] });
    await show("activity");
    expect(await screen.findByText("data/pipe")).toBeVisible();
    expect(screen.getByText(t("end.specialOnly"), { exact: false })).toBeVisible();
    expect(screen.queryByRole("button", { name: t("activity.retry") })).toBeNull();
    expect(screen.queryByText(t("end.fixAndSend"), { exact: false })).toBeNull();
    expect(screen.getByRole("button", { name: t("activity.copyList") })).toBeVisible();
  });

  test.each([["beside what may go through", [pipe, denied], 2], ["where some are not named", [pipe], 2]] as const)("is, %s", async (_, failures, all) => {
    await startWindow({ transfers: [partial([...failures], all)] });
    await show("activity");
    await waitFor(() => expect(screen.getByRole("button", { name: t("activity.retry") })).toBeVisible());
    expect(screen.getByText(t("end.fixAndSend"), { exact: false })).toBeVisible();
  });
});
