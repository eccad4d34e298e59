import { screen, waitFor } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { bytes } from "../../format";
import type { Unfinished } from "../../ipc";
import { t } from "../../messages";
import { startWindow } from "../../testing/shell";
import { spaced } from "../../testing/spaced";

const kept: Unfinished = {
  id: "0123456789abcdef",
  folder: { path: "/home/me/Downloads" },
  from: "laptop",
  names: [{ path: "photos" }],
  more_names: 1,
  files: 812,
  disk_bytes: 12_000_000_000,
  last_at_work: Date.now() / 1000 - 3 * 86_400,
  in_use: false,
};

async function showActivity(answers: Parameters<typeof startWindow>[1]) {
  const user = userEvent.setup();
  const shell = await startWindow({}, answers);
  await user.click(screen.getByRole("button", { name: t("view.activity") }));
  return { shell, user };
}

test("what an unfinished transfer keeps is reported, and goes only after a question", async () => {
  let list = [kept];
  const { shell, user } = await showActivity({ unfinished: () => ({ left: list, unanswered: [] }), discardUnfinished: () => void (list = []) });
  expect(await screen.findByText("photos and 1 more item")).toBeVisible();
  expect(screen.getByText(spaced(bytes(12_000_000_000)))).toBeVisible();
  const remove = { name: `${t("unfinished.delete")}: photos and 1 more item` };
  await user.click(screen.getByRole("button", remove));
  await user.click(screen.getByRole("button", { name: t("common.cancel") }));
  expect(shell.called("discardUnfinished")).toEqual([]);
  await user.click(screen.getByRole("button", remove));
  await user.click(screen.getByRole("button", { name: t("unfinished.yes") }));
  await waitFor(() => expect(screen.queryByText("photos and 1 more item")).toBeNull());
  expect(shell.called("discardUnfinished")).toEqual([{ id: kept.id, folder: kept.folder.path }]);
});

test("one that a transfer went on with meanwhile is not removed, which is said", async () => {
  const gone = () => {
    throw { code: "gone" };
  };
  const { user } = await showActivity({ unfinished: () => ({ left: [{ ...kept, from: null, names: [], more_names: 0 }], unanswered: [] }), discardUnfinished: gone });
  await user.click(await screen.findByRole("button", { name: `${t("unfinished.delete")}: ${t("unfinished.unknown")}` }));
  await user.click(screen.getByRole("button", { name: t("unfinished.yes") }));
  expect(await screen.findByText(t("fault.gone"), { exact: false })).toBeVisible();
});

test("a folder whose filesystem does not answer is named, beside what others keep", async () => {
  await showActivity({ unfinished: () => ({ left: [kept], unanswered: [{ path: "/mnt/nas" }] }) });
  expect(await screen.findByText(t("unfinished.unanswered", { folder: "/mnt/nas" }))).toBeVisible();
  expect(screen.getByText("photos and 1 more item")).toBeVisible();
});

test("nothing is said where nothing is kept", async () => {
  await showActivity({});
  expect(screen.queryByText(t("unfinished.title"))).toBeNull();
});
