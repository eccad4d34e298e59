import { screen, waitFor } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import axe from "axe-core";
import { describe, expect, test, vi } from "vitest";
import { NOTE_LEN_MAX } from "../../ipc/bindings";
import { t } from "../../messages";
import { chosen, labWs, moving, startWindow } from "../../testing/shell";

const user = userEvent.setup();
const ADDRESS = "https://example.org/a%20b";

/** Has every position be that of the first card of a device, or of nothing. */
function under(card: string | null) {
  return vi.spyOn(document, "elementFromPoint").mockImplementation(() => card === null ? null : document.querySelector(`[data-card="${card}"]`));
}

describe("a note", () => {
  test("that is dropped on a card is said there, and goes at once", async () => {
    const shell = await startWindow({ devices: [labWs] }, { sendNote: () => "lab-ws" });
    const looking = under(labWs.id);
    shell.tell({ event: "dragged", drag: { is: "textEntered", text: "https://example.org/a b" } });
    expect(await screen.findByText(t("note.dropNow"))).toBeVisible();
    shell.tell({ event: "dragged", drag: { is: "over", x: 5, y: 5 } });
    // One of the two says it: the card, or the row in the list of devices.
    expect(await screen.findAllByText(t("note.sendTo", { name: "lab-ws" }))).toHaveLength(1);
    shell.tell({ event: "dragged", drag: { is: "textDropped", text: ADDRESS, x: 5, y: 5 } });
    await waitFor(() => expect(shell.called("sendNote")).toEqual([{ target: { to: "device", id: labWs.id }, text: ADDRESS, code: null }]));
    expect(await screen.findByText(t("note.sent", { name: "lab-ws" }))).toBeVisible();
    expect(screen.queryByText(ADDRESS)).toBeNull();
    looking.mockRestore();
  });

  test("that is dropped elsewhere waits, is removed, and leaves what was chosen alone", async () => {
    const shell = await startWindow({ devices: [labWs] }, { sendNote: () => "lab-ws", send: () => moving() });
    shell.tell({ event: "dragged", drag: { is: "textDropped", text: "hi\n", x: 5, y: 5 } });
    expect(await screen.findByText("hi")).toBeVisible();
    expect((await axe.run(document.body)).violations).toEqual([]);
    await user.click(screen.getByRole("button", { name: t("note.remove") }));
    expect(screen.queryByText("hi")).toBeNull();
    shell.tell({ event: "dragged", drag: { is: "textDropped", text: "hi\n", x: 5, y: 5 } });
    await screen.findByText("hi");
    shell.app.outbox.take(chosen);
    const card = screen.getByRole("button", { name: /lab-ws/, pressed: false });
    await user.dblClick(card);
    await waitFor(() => expect(shell.called("sendNote")).toHaveLength(1));
    expect(shell.called("send")).toHaveLength(1);
  });

  test("that is pasted is taken where the clipboard has no files, and not out of a field", async () => {
    const shell = await startWindow({ devices: [labWs] }, { paste_text: () => "copied elsewhere\nmore", sendNote: () => "lab-ws" });
    await user.keyboard("{Control>}v{/Control}");
    expect(await screen.findByText("copied elsewhere …")).toBeVisible();
    expect(shell.called("paste_sources")).toHaveLength(1);
    await user.click(screen.getByRole("button", { name: /lab-ws/, pressed: false }));
    await user.click(screen.getByRole("button", { name: t("note.sendTo", { name: "lab-ws" }) }));
    await waitFor(() => expect(shell.called("sendNote")[0]).toMatchObject({ text: "copied elsewhere\nmore" }));
  });

  test("that is too long is refused, and says so", async () => {
    const shell = await startWindow({}, { paste_text: () => "n".repeat(65_537) });
    await user.keyboard("{Control>}v{/Control}");
    expect(await screen.findByText(t("fault.unfit.note", { n: NOTE_LEN_MAX }))).toBeVisible();
    expect(shell.app.note.text).toBeNull();
  });

  test("to a device that asks for a code is sent once more with it", async () => {
    let asked = 0;
    const shell = await startWindow({}, {
      sendNote: () => {
        asked += 1;
        if (asked === 1) throw { code: "pairing_needed", peer_name: "lab-ws" };
        if (asked === 2) throw { code: "wrong_code" };
        return "lab-ws";
      },
    });
    shell.app.note.take("hi");
    await user.type(await screen.findByLabelText(t("send.addressOrCode")), "10.0.0.5{Enter}");
    const field = await screen.findByLabelText(t("send.code"), { selector: "[name=retry-code]" });
    await user.type(field, "42-river-castle{Enter}");
    expect(await screen.findByText(new RegExp(t("send.failedAttempt", { n: 1, max: 3 })))).toBeVisible();
    await user.type(await screen.findByLabelText(t("send.code"), { selector: "[name=retry-code]" }), "43-river-castle{Enter}");
    expect(await screen.findByText(t("note.sent", { name: "lab-ws" }))).toBeVisible();
    expect(shell.called("sendNote").map(({ code }) => code)).toEqual([null, "42-river-castle", "43-river-castle"]);
    expect(shell.called("send")).toEqual([]);
  });

  test("that could not be sent stays, and is tried again", async () => {
    let asked = 0;
    const shell = await startWindow({ devices: [labWs] }, {
      sendNote: () => {
        asked += 1;
        if (asked === 1) throw { code: "declined", reason: "notes_full" };
        return "lab-ws";
      },
    });
    shell.app.note.take("hi");
    await user.dblClick(await screen.findByRole("button", { name: /lab-ws/, pressed: false }));
    expect(await screen.findByText(t("fault.declined.notesFull", { peer: "lab-ws" }))).toBeVisible();
    expect(screen.getByText("hi")).toBeVisible();
    await user.click(screen.getByRole("button", { name: t("common.tryAgain") }));
    expect(await screen.findByText(t("note.sent", { name: "lab-ws" }))).toBeVisible();
  });

  test("that WebKit tells the page of is dropped as well, but not into a field", async () => {
    const shell = await startWindow({ devices: [labWs] });
    const drag = (type: string, at: Element, text = "from the page") => {
      const event = new Event(type, { bubbles: true, cancelable: true });
      Object.assign(event, { dataTransfer: { types: ["text/plain"], getData: () => text, dropEffect: "none" }, clientX: 5, clientY: 5, relatedTarget: null });
      at.dispatchEvent(event);
      return event.defaultPrevented;
    };
    expect(drag("dragover", document.body)).toBe(true);
    expect(await screen.findByText(t("note.dropNow"))).toBeVisible();
    drag("dragleave", document.body);
    await waitFor(() => expect(screen.queryByText(t("note.dropNow"))).toBeNull());
    expect(drag("drop", document.body)).toBe(true);
    expect(await screen.findByText("from the page")).toBeVisible();
    shell.app.note.clear();
    const field = document.createElement("input");
    document.body.append(field);
    expect(drag("drop", field)).toBe(false);
    document.body.dispatchEvent(new Event("dragstart", { bubbles: true }));
    expect(drag("drop", document.body), "it is moved about in the page").toBe(false);
    document.body.dispatchEvent(new Event("dragend", { bubbles: true }));
    field.remove();
    expect(shell.app.note.text).toBeNull();
  });

  test("that was copied elsewhere becomes one by the button, which says so if there is none", async () => {
    let copied: string | null = null;
    await startWindow({ devices: [labWs] }, { paste_text: () => copied });
    await user.click(screen.getByRole("button", { name: t("note.paste") }));
    expect(await screen.findByText(t("note.nothingCopied"))).toBeVisible();
    copied = "copied elsewhere";
    await user.click(screen.getByRole("button", { name: t("note.paste") }));
    expect(await screen.findByText("copied elsewhere")).toBeVisible();
  });
});
