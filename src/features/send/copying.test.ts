import { screen, waitFor, within } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import axe from "axe-core";
import { describe, expect, test } from "vitest";
import type { CopyFolder, Report } from "../../ipc";
import { chosen, copyReport, labWs, moving, type Shell, startWindow, progress, statusOf } from "../../testing/shell";
import { t } from "../../messages";

const user = userEvent.setup();

const sets: CopyFolder = { path: { path: "/data/sets" }, lands: { path: "/data/sets/dataset-v3" }, there_already: 0, free_bytes: 12_000_000_000 };
const copy = () => moving({ id: "c1", direction: "copying", target: sets.path.path });
const quiet = { peer: null, here: null, there: null } as const;
const counts = { files: 9, folders: 1, links: 0, bytes: 900, moved: 900, unchanged: 0, skipped: 0, skipped_bytes: 0, reused: 0, excluded: 0, acls_lost: 0, owners_by_number: 0, proven: null, edited: 0, edits: [], failed: 0, failures: [], seconds: 0.5, reconnected: 0, limited_by: null };

function report(change: Partial<Report> = {}): Report {
  return { outcome: "complete", ...counts, here: null, there: null, arrived: [], copy: copyReport, ended_at: 0, ...change } as Report;
}

function end(shell: Shell, change: Partial<Report>, entries_done = 0) {
  shell.update("c1", { is: "ended", progress: progress({ stage: "ended", ...quiet, entries_done, bytes_done: 0 }), report: report(change) });
}

const card = () => screen.getByRole("button", { name: new RegExp(`^${t("common.thisDevice")}`) });

/** Drops the choice on this computer's card. */
async function dropHere(shell: Shell) {
  document.elementFromPoint = () => card();
  shell.tell({ event: "dragged", drag: { is: "over", x: 50, y: 50 } });
  expect(await screen.findByText(t("copy.dropOnCard"))).toBeVisible();
  shell.tell({ event: "dragged", drag: { is: "dropped", chosen, x: 50, y: 50 } });
  document.elementFromPoint = () => null;
  return screen.findByRole("form", { name: t("copy.form") });
}

describe("copying on this computer", () => {
  test("a drop on the card asks where to, once, and copies with what was chosen", async () => {
    let picked: CopyFolder | null = null;
    const answers = { copyFolder: () => picked, choose_copy_folder: () => (picked = sets), copy };
    const shell = await startWindow({ devices: [labWs] }, answers);
    const form = await dropHere(shell);
    expect(shell.called("send")).toEqual([]);
    const choose = within(form).getByRole("button", { name: t("copy.chooseFolder") });
    await waitFor(() => expect(choose).toHaveFocus());
    expect(form).toHaveAccessibleDescription(t("copy.noFolder"));
    await user.click(choose);
    expect(await within(form).findByText("/data/sets")).toBeVisible();
    expect(within(form).getByText("Copy location: /data/sets/dataset-v3")).toBeVisible();
    expect(within(form).getByText(/12.0 GB free/)).toBeVisible();
    expect(within(form).getByText(t("copy.noneExist"))).toBeVisible();
    await user.selectOptions(within(form).getByLabelText(t("copy.existing")), t("copy.existing.update"));
    await user.click(within(form).getByLabelText(t("common.verify")));
    await user.type(within(form).getByLabelText(t("send.leaveOut")), "*.tmp");
    const start = within(form).getByRole("button", { name: t("copy.button") });
    await user.click(start);
    expect(shell.called("choose_copy_folder")).toEqual([{ chosen: 7 }]);
    expect(shell.called("copy")).toEqual([{ chosen: 7, existing: "update", verify: true, leaveOut: "*.tmp" }]);

    shell.update("c1", { is: "moved", progress: progress(quiet) });
    const moved = await screen.findByRole("article", { name: "dataset-v3" });
    expect(moved).toHaveTextContent("Copying to /data/sets");
    expect(moved).not.toHaveTextContent(/TLS|encrypt/);
    expect(screen.queryByRole("form", { name: t("copy.form") })).toBeNull();
    expect(screen.getByText(t("send.drop"))).toBeVisible();
    expect(shell.app.announcement).toBe("Copying dataset-v3 to /data/sets");

    shell.update("c1", { is: "moved", progress: progress({ ...quiet, stage: "verifying", seconds: 2, bytes_done: 0 }) });
    await waitFor(() => expect(moved).toHaveTextContent("Verifying…"));
    end(shell, { copy: { ...copyReport, verified: 9 }, arrived: [{ path: "/data/sets/dataset-v3" }] }, 40);
    await screen.findByText(t("state.copied"));
    const ended = screen.getByRole("article", { name: "dataset-v3" });
    await user.click(within(ended).getByText(t("state.copied")));
    expect(ended).toHaveTextContent("Copied: 10 items, 900 B in 0.5 s.");
    expect(ended).toHaveTextContent("Verified: read back from the disk, identical.");
    expect(shell.app.announcement).toMatch(/^dataset-v3: Copied/);
    await user.click(within(ended).getByRole("button", { name: t("common.openFolder") }));
    expect(shell.called("reveal_arrived"), "the copy is selected there").toEqual([{ id: "c1" }]);
  });

  test("with the keyboard alone, into the folder of last time", async () => {
    const shell = await startWindow({}, { choose_sources: () => chosen, copyFolder: () => sets, copy });
    while (document.activeElement !== card()) await user.tab();
    expect(card()).toHaveAttribute("aria-expanded", "false");
    await user.keyboard("{Enter}");
    const form = await screen.findByRole("form", { name: t("copy.form") });
    await waitFor(() => expect(form).toHaveFocus());
    expect(form).toHaveAccessibleDescription(/Copy location: \/data\/sets\/dataset-v3/);
    await user.keyboard("{Escape}");
    await waitFor(() => expect(card()).toHaveFocus());
    // Pressed once too often, which copies nothing.
    await user.keyboard("{Enter}");
    await waitFor(() => expect(screen.getByRole("form", { name: t("copy.form") })).toHaveFocus());
    await user.keyboard("{Enter}");
    expect(shell.called("copy")).toEqual([]);
    const start = screen.getByRole("button", { name: t("copy.button") });
    expect(start).toHaveAccessibleDescription(/Copy location: /);
    while (document.activeElement !== start) await user.tab();
    await user.keyboard("{Enter}");
    expect(shell.called("choose_sources")).toHaveLength(1);
    expect(shell.called("choose_copy_folder")).toEqual([]);
    expect(shell.called("copy")).toEqual([{ chosen: 7, existing: "replace", verify: false, leaveOut: "" }]);
    shell.update("c1", { is: "moved", progress: progress(quiet) });
    await waitFor(() => expect(screen.getByRole("article", { name: "dataset-v3" })).toHaveFocus());
  });

  test("where it would go is asked once, and the button for another folder says of what", async () => {
    const shell = await startWindow({}, { copyFolder: () => sets });
    const form = await dropHere(shell);
    const into = within(form).getByRole("group", { name: t("folder.destination") });
    expect(within(into).getByText("/data/sets")).toBeVisible();
    expect(within(into).getByRole("button", { name: t("folder.change") })).toBeEnabled();
    expect(shell.called("copyFolder")).toEqual([{ chosen: 7 }]);
    await user.keyboard("{Escape}");
    await user.click(card());
    await screen.findByRole("form", { name: t("copy.form") });
    expect(shell.called("copyFolder")).toHaveLength(2);
  });

  test("of two answers only that for what is chosen counts, in whichever order they come", async () => {
    const answers = new Map<unknown, (folder: CopyFolder) => void>();
    const lands = (id: number) => ({ ...sets, lands: { path: `/data/sets/${id}` } });
    const shell = await startWindow({}, {
      copyFolder: ({ chosen: id }) => (id === 7 ? lands(7) : new Promise<CopyFolder>((resolve) => answers.set(id, resolve))),
    });
    await dropHere(shell);
    for (const id of [8, 9]) {
      shell.tell({ event: "dragged", drag: { is: "dropped", chosen: { ...chosen, id }, x: 5, y: 5 } });
      await waitFor(() => expect(answers.has(id)).toBe(true));
    }
    answers.get(9)!(lands(9));
    expect(await screen.findByText(t("copy.location", { path: "/data/sets/9" }))).toBeVisible();
    answers.get(8)!(lands(8));
    await new Promise((resolve) => setTimeout(resolve, 0));
    expect(screen.getByText(t("copy.location", { path: "/data/sets/9" }))).toBeVisible();
  });

  test("a folder picked for what is not chosen any more is looked at for what is", async () => {
    let pick = (_: CopyFolder) => {};
    let path = "/data/sets";
    const shell = await startWindow({}, {
      copyFolder: ({ chosen: id }) => ({ ...sets, path: { path }, lands: { path: `${path}/${id}` } }),
      choose_copy_folder: () => new Promise<CopyFolder>((resolve) => (pick = resolve)),
    });
    await dropHere(shell);
    await user.click(screen.getByRole("button", { name: t("folder.change") }));
    shell.tell({ event: "dragged", drag: { is: "dropped", chosen: { ...chosen, id: 8 }, x: 5, y: 5 } });
    expect(await screen.findByText(t("copy.location", { path: "/data/sets/8" }))).toBeVisible();
    path = "/data/other";
    pick({ ...sets, path: { path }, lands: { path: "/data/other/7" } });
    expect(await screen.findByText(t("copy.location", { path: "/data/other/8" }))).toBeVisible();
  });

  test("two presses before the shell has answered copy once", async () => {
    const shell = await startWindow({}, { copyFolder: () => sets, copy });
    await dropHere(shell);
    await Promise.all([shell.app.copying.start(), shell.app.copying.start()]);
    expect(shell.called("copy")).toHaveLength(1);
  });

  test("until the shell has answered nothing else begins, and what is taken back then is cancelled", async () => {
    let answer = (_: ReturnType<typeof copy>) => {};
    const shell = await startWindow({ devices: [labWs] }, {
      copyFolder: () => sets,
      copy: () => new Promise((resolve) => (answer = resolve)),
    });
    await dropHere(shell);
    await user.click(screen.getByRole("button", { name: t("copy.button") }));
    expect(await screen.findByRole("button", { name: t("stage.starting") })).toBeDisabled();
    expect(card()).toHaveAttribute("aria-disabled", "true");
    expect(screen.getByRole("button", { name: /^Send to lab-ws/ })).toHaveAttribute("aria-disabled", "true");
    expect(screen.getByRole("button", { name: t("send.clear") })).toBeDisabled();
    await user.click(screen.getByRole("button", { name: t("common.cancel") }));
    expect(shell.called("cancel")).toEqual([]);
    answer(copy());
    await waitFor(() => expect(shell.called("cancel")).toEqual([{ id: "c1", then: "keep" }]));
    end(shell, { outcome: "failed", error: { code: "cancelled", by: "here" }, files: 0, folders: 0, bytes: 0 });
    await user.click(await screen.findByText(t("state.cancelled")));
    expect(screen.getByText("Cancelled.")).toBeVisible();
    expect(screen.queryByRole("alert")).toBeNull();
    expect(screen.queryByRole("form", { name: t("copy.form") })).toBeNull();
  });

  test("an old file that a full disk left incomplete is named, even where nothing was copied", async () => {
    const shell = await startWindow({}, { copyFolder: () => sets, copy });
    await dropHere(shell);
    await user.click(screen.getByRole("button", { name: t("copy.button") }));
    const failures: Report["failures"] = [{ path: "/data/sets/dataset-v3/old", side: "here", operation: "write", reason: "cut_short", errno: 125, detail: null }];
    end(shell, { outcome: "failed", error: { code: "destination_full", shortage: null }, files: 0, folders: 0, bytes: 0, failed: 1, failures });
    expect(await screen.findByRole("alert")).toHaveTextContent("No space left in /data/sets.");
    expect(screen.getByText(/is incomplete: copy it again/)).toBeVisible();
  });

  test("what is there already is reported before anything is replaced", async () => {
    const shell = await startWindow({}, { copyFolder: () => ({ ...sets, there_already: 1 }) });
    const form = await dropHere(shell);
    expect(within(form).getByLabelText(t("copy.existing"))).toHaveAccessibleDescription(t("copy.folderExists", { name: "dataset-v3" }));
  });

  test("another choice while the form is open is looked up anew", async () => {
    const shell = await startWindow({}, { copyFolder: ({ chosen: id }) => ({ ...sets, lands: { path: `/data/sets/${id}` } }) });
    await dropHere(shell);
    shell.tell({ event: "dragged", drag: { is: "dropped", chosen: { ...chosen, id: 8 }, x: 5, y: 5 } });
    expect(await screen.findByText(t("copy.location", { path: "/data/sets/8" }))).toBeVisible();
    await user.click(screen.getByRole("button", { name: t("send.clear") }));
    expect(screen.queryByRole("form", { name: t("copy.form") })).toBeNull();
  });

  test("a copy into itself is reported where it can be mended, and the choice is kept", async () => {
    const shell = await startWindow({}, { copyFolder: () => sets, copy });
    await dropHere(shell);
    await user.click(screen.getByRole("button", { name: t("copy.button") }));
    const failures: Report["failures"] = [{ path: "dataset-v3", side: "here", operation: "create", reason: "into_itself", detail: null }];
    end(shell, { outcome: "partial", files: 0, folders: 0, bytes: 0, failed: 1, failures });
    const alert = await screen.findByRole("alert");
    expect(alert).toHaveTextContent("Nothing was copied. dataset-v3 cannot be copied into itself.");
    expect(alert).toHaveTextContent("Choose a folder outside the one that is copied.");
    expect(shell.app.transfers.list).toEqual([]);
    expect(screen.getByText("dataset-v3", { selector: "li strong" })).toBeVisible();
    expect(screen.getByRole("button", { name: t("copy.button") })).toBeEnabled();
  });

  test("a folder that has gone meanwhile is reported, and another one helps", async () => {
    const other = { ...sets, path: { path: "/data/other" }, lands: { path: "/data/other/dataset-v3" } };
    const shell = await startWindow({}, {
      copyFolder: () => sets,
      choose_copy_folder: () => other,
      copy: () => {
        throw { code: "path", path: { path: "/data/sets" }, operation: "open", source: { errno: 2, detail: "" } };
      },
    });
    await dropHere(shell);
    await user.click(screen.getByRole("button", { name: t("copy.button") }));
    expect(await screen.findByRole("alert")).toHaveTextContent("/data/sets could not be opened: it does not exist.");
    await user.click(screen.getByRole("button", { name: t("folder.change") }));
    expect(await screen.findByText("/data/other")).toBeVisible();
    expect(screen.queryByRole("alert")).toBeNull();
    expect(shell.called("copy")).toHaveLength(1);
  });

  test("a full disk in the middle is reported in the list, and what did not get there by name", async () => {
    const shell = await startWindow({}, { copyFolder: () => sets, copy });
    await dropHere(shell);
    await user.click(screen.getByRole("button", { name: t("copy.button") }));
    shell.update("c1", { is: "moved", progress: progress(quiet) });
    const failures: Report["failures"] = [{ path: "dataset-v3/late", side: "here", operation: "write", reason: "os", errno: 28, detail: "" }];
    end(shell, { outcome: "failed", error: { code: "destination_full", shortage: null }, failed: 1, failures }, 10);
    expect(await screen.findByRole("alert")).toHaveTextContent("No space left in /data/sets. Complete files stay there.");
    expect(screen.getByText(/could not be written: the disk is full/)).toBeVisible();
  });

  test("nothing of it happens twice, and a cancelled one says what stays", async () => {
    const shell = await startWindow({ devices: [labWs] }, { copyFolder: () => sets, copy });
    await dropHere(shell);
    await user.click(screen.getByRole("button", { name: t("copy.button") }));
    expect(await screen.findByRole("button", { name: t("stage.starting") })).toBeDisabled();
    expect(card()).toHaveAttribute("aria-disabled", "true");
    expect(screen.getByRole("button", { name: /^Send to lab-ws/ })).toHaveAttribute("aria-disabled", "true");
    await shell.app.copying.start();
    expect(shell.called("copy")).toHaveLength(1);
    shell.update("c1", { is: "moved", progress: progress(quiet) });
    await user.click(await screen.findByRole("button", { name: `${t("common.cancel")}: dataset-v3` }));
    expect(shell.called("cancel")).toEqual([{ id: "c1", then: "keep" }]);
    end(shell, { outcome: "failed", error: { code: "cancelled", by: "here" } }, 10);
    await user.click(await screen.findByText(t("state.cancelled")));
    expect(screen.getByText(/^Files copied so far stay in \/data\/sets\./)).toBeVisible();
    expect(screen.queryByRole("alert")).toBeNull();
  });

  test.each([["with", sets], ["without", null]])("the form %s a folder has names, roles and order for everyone", async (_, folder) => {
    const shell = await startWindow({ devices: [labWs] }, { copyFolder: () => folder });
    await dropHere(shell);
    const { violations } = await axe.run(document.body, { rules: { "color-contrast": { enabled: false }, region: { enabled: false } } });
    expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`)).toEqual([]);
  });
});

test("reading back goes on in the graph, and the average is that of the copying", async () => {
  const shell = await startWindow({ transfers: [{ ...copy(), ...progress({ ...quiet, seconds: 1, bytes_done: 4_000_000 }) }] });
  const [transfer] = shell.app.transfers.list;
  shell.update("c1", { is: "moved", progress: progress({ ...quiet, stage: "verifying", seconds: 1.1, bytes_done: 0 }) });
  shell.update("c1", { is: "moved", progress: progress({ ...quiet, stage: "verifying", seconds: 2, bytes_done: 4_000_000 }) });
  await waitFor(() => expect(transfer!.course.points.seconds.at(-1)).toBe(2));
  end(shell, { outcome: "complete" }, 2);
  expect(transfer!.course.points.seconds.at(-1)).toBe(1);
  expect(transfer!.course.average).toBeCloseTo(4_000_000, 0);
});

test("a copy is paused and resumed, also while it reads back, which counts on in the graph", async () => {
  const waits = { why: "paused", by: "here", next_try_seconds: null, gives_up_seconds: null } as const;
  const at = (change: object) => ({ is: "moved", progress: progress({ ...quiet, ...change }) }) as const;
  const now = progress({ ...quiet, can_pause: true, seconds: 1, bytes_done: 4_000_000 });
  const shell = await startWindow({ transfers: [{ ...copy(), ...now, status: statusOf(now, null, "copying") }] });
  const [transfer] = shell.app.transfers.list;
  await user.click(await screen.findByRole("button", { name: `${t("activity.pause")}: dataset-v3` }));
  expect(shell.called("pause")).toEqual([{ id: "c1" }]);
  shell.update("c1", at({ stage: "paused", interruption: waits, seconds: 1, bytes_done: 4_000_000, bytes_per_s: 0, seconds_left: null }));
  const card = screen.getByRole("article", { name: "dataset-v3" });
  await waitFor(() => expect(card).toHaveTextContent("Paused"));
  expect(within(card).queryByRole("button", { name: /^Pause:/ })).toBeNull();
  await user.click(within(card).getByRole("button", { name: `${t("activity.resume")}: dataset-v3` }));
  expect(shell.called("resume")).toEqual([{ id: "c1" }]);
  shell.update("c1", at({ stage: "verifying", seconds: 1.1, bytes_done: 0 }));
  shell.update("c1", at({ stage: "paused", interruption: waits, seconds: 1.5, bytes_done: 2_000_000 }));
  shell.update("c1", at({ stage: "verifying", seconds: 2, bytes_done: 4_000_000 }));
  await waitFor(() => expect(transfer!.course.points.seconds.at(-1)).toBe(2));
  const { seconds, perSecond } = transfer!.course.points;
  const moved = seconds.slice(1).reduce((sum, now, bin) => sum + (now - seconds[bin]!) * perSecond[bin + 1]!, 0);
  expect(moved / 1e6).toBeCloseTo(8, 1);
  end(shell, { outcome: "complete" }, 2);
  expect(transfer!.course.average).toBeCloseTo(4_000_000, 0);
});
