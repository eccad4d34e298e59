import { screen, waitFor, within } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import axe from "axe-core";
import { describe, expect, test } from "vitest";
import type { Note } from "../../ipc";
import { t } from "../../messages";
import { startWindow } from "../../testing/shell";
import { show } from "../../testing/show";

const user = userEvent.setup();
const TEXT = "https://example.org/\n<img src=x onerror=alert(1)>\u202e";
const SHOWN = "https://example.org/\n<img src=x onerror=alert(1)>\\u{202e}";

function note(change: Partial<Note> = {}): Note {
  return { number: 7, from: "laptop", from_id: "ab".repeat(32), received_at: Date.now() / 1000 - 300, bytes: 60, first_line: "https://example.org/", has_more: true, is_read: false, ...change };
}

describe("notes", () => {
  test("are shown as text, and read once they are opened", async () => {
    const shell = await startWindow({ notes: [note()] }, { noteContents: () => ({ shown: SHOWN, text: TEXT }) });
    expect(within(screen.getByRole("navigation")).getByRole("button", { name: /Inbox/ })).toHaveTextContent("1");
    await show("inbox");
    const section = screen.getByRole("region", { name: t("note.notes") });
    expect(within(section).getByText(t("note.unread"))).toBeVisible();
    expect(shell.called("readNote"), "listing it is not reading").toEqual([]);
    await user.click(within(section).getByRole("button", { expanded: false }));
    const text = await waitFor(() => section.querySelector("pre")!);
    expect(text.textContent).toBe(SHOWN);
    expect(text.children).toHaveLength(0);
    expect(section.querySelectorAll("a, img")).toHaveLength(0);
    await waitFor(() => expect(shell.called("readNote")).toEqual([{ number: 7 }]));
    shell.tell({ event: "notesChanged", notes: [note({ is_read: true })] });
    await waitFor(() => expect(within(section).queryByText(t("note.unread"))).toBeNull());
    expect((await axe.run(document.body)).violations).toEqual([]);
  });

  test("are copied exactly, and the focus stays", async () => {
    const shell = await startWindow({ notes: [note()] }, { noteContents: () => ({ shown: SHOWN, text: TEXT }) });
    await show("inbox");
    const copy = screen.getByRole("button", { name: t("note.copyFrom", { from: "laptop" }) });
    await user.click(copy);
    await waitFor(() => expect(shell.called("copy_text")).toEqual([{ text: TEXT }]));
    expect(await screen.findByRole("button", { name: t("note.copiedFrom", { from: "laptop" }) })).toHaveFocus();
    expect(shell.called("readNote")).toEqual([{ number: 7 }]);
  });

  test("come as events, are announced, and are deleted", async () => {
    const shell = await startWindow();
    await show("inbox");
    expect(screen.getByText(t("inbox.nothingReceived"))).toBeVisible();
    shell.tell({ event: "noteReceived", note: note() });
    expect(shell.app.announcement).toBe(t("note.from", { from: "laptop" }));
    shell.tell({ event: "notesChanged", notes: [note({ number: 8, first_line: "later" }), note()] });
    expect(await screen.findByText("later …")).toBeVisible();
    expect(screen.queryByText(t("inbox.nothingReceived"))).toBeNull();
    await user.click(screen.getAllByRole("button", { name: t("note.deleteFrom", { from: "laptop" }) })[0]!);
    await waitFor(() => expect(screen.queryByText("later …")).toBeNull());
    expect(shell.called("forgetNote"), "it can be undone").toEqual([]);
    await user.click(await screen.findByRole("button", { name: t("common.undo") }));
    expect(await screen.findByText("later …")).toBeVisible();
    await user.click(screen.getAllByRole("button", { name: t("note.deleteFrom", { from: "laptop" }) })[0]!);
    expect(await screen.findByText(t("note.deleted", { from: "laptop" }))).toBeVisible();
    shell.tell({ event: "notesChanged", notes: [note({ number: 8, first_line: "later" }), note()] });
    expect(screen.queryByText("later …"), "it is listed by others still").toBeNull();
    await user.click(screen.getByRole("button", { name: t("common.close") }));
    await waitFor(() => expect(shell.called("forgetNote")).toEqual([{ number: 8 }]));
    expect(screen.getByText("https://example.org/ …")).toBeVisible();
  });

  test("are ten at first", async () => {
    const many = Array.from({ length: 12 }, (_, at) => note({ number: 20 - at, first_line: `note ${at}` }));
    await startWindow({ notes: many });
    await show("inbox");
    expect(screen.queryByText("note 11 …")).toBeNull();
    await user.click(screen.getByRole("button", { name: t("note.showAll", { n: 12 }) }));
    expect(screen.getByText("note 11 …")).toBeVisible();
  });
});
