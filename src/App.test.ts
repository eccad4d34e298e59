import { screen, waitFor, within } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import axe from "axe-core";
import { tick as painted } from "svelte";
import { describe, expect, test, vi } from "vitest";
import { askedFor, chosen, earlier, selection, source, everything, failed, labWs, moving, nearby, offer, startWindow, stored, progress } from "./testing/shell";
import type { AppEvent, FreeSpace, Report, Fault, Remedy } from "./ipc";
import { rate } from "./format";
import { t } from "./messages";
import type { View } from "./state/app.svelte";
import { VIEWS } from "./words";

const user = userEvent.setup();

async function show(view: View) {
  await user.click(within(screen.getByRole("navigation")).getByRole("button", { name: new RegExp(t(VIEWS[view])) }));
}

describe("sending", () => {
  test("chosen folder, typed address and code go to the shell together", async () => {
    const shell = await startWindow({}, { choose_sources: () => chosen, send: () => moving() });
    await user.click(screen.getByRole("button", { name: t("send.folders") }));
    expect(await screen.findByText("dataset-v3")).toBeVisible();
    await user.type(screen.getByLabelText(t("send.addressOrCode")), "10.0.0.5");
    await user.type(screen.getByLabelText(t("send.code")), "42-river-castle{Enter}");
    expect(shell.called("send")).toEqual([{ chosen: 7, target: { to: "typed", text: "10.0.0.5" }, code: "42-river-castle", verify: false, limit: null, leaveOut: "" }]);
    expect(await screen.findByText(t("stage.connecting", { peer: "10.0.0.5" }))).toBeVisible();
    shell.update("t1", { is: "moved", progress: progress() });
    expect(await screen.findByText("Sending to lab-ws")).toBeVisible();
    expect(screen.getByRole("progressbar")).toHaveAttribute("aria-valuetext", "25 %, 1.0 MB/s");
    expect(screen.getByText(/3 s left/)).toBeVisible();
    expect(screen.getByText(/Encrypted by Ringway on both devices. Here: the kernel's TLS module is not loaded/)).toBeVisible();
  });

  test("with the keyboard alone", async () => {
    const shell = await startWindow({}, { choose_sources: () => chosen, send: () => moving() });
    const folders = screen.getByRole("button", { name: t("send.folders") });
    while (document.activeElement !== folders) await user.tab();
    await user.keyboard("{Enter}");
    await screen.findByText("dataset-v3");
    const address = screen.getByLabelText(t("send.addressOrCode"));
    while (document.activeElement !== address) await user.tab();
    await user.keyboard("10.0.0.5{Enter}");
    expect(shell.called("send")).toEqual([{ chosen: 7, target: { to: "typed", text: "10.0.0.5" }, code: null, verify: false, limit: null, leaveOut: "" }]);
  });

  test("a machine that does not know us gets asked for its code, and the choice is kept", async () => {
    const shell = await startWindow({}, { choose_sources: () => chosen, send: () => moving() });
    await shell.app.outbox.choose("folders");
    await shell.app.outbox.sendToTyped("10.0.0.5", "");
    shell.update("t1", failed({ code: "pairing_needed", peer_name: "lab-ws" }));
    expect(await screen.findByText(t("send.firstStep", { name: "lab-ws", device: "here" }))).toBeVisible();
    expect(screen.queryByRole("alert"), "that nobody has met before is no fault").toBeNull();
    const field = await screen.findByLabelText(t("send.code"), { selector: "[name=retry-code]" });
    await waitFor(() => expect(field).toHaveFocus());
    await user.keyboard("42-river-castle{Enter}");
    expect(shell.called("send").at(-1)).toEqual({ chosen: 7, target: { to: "typed", text: "10.0.0.5" }, code: "42-river-castle", verify: false, limit: null, leaveOut: "" });
  });

  test("another paired machine that answers at an address gets nothing until a person says that it is meant", async () => {
    let started = 0;
    const shell = await startWindow({}, { send: () => moving({ id: `t${(started += 1)}` }) });
    shell.app.outbox.take(chosen);
    await shell.app.outbox.sendToTyped("10.0.0.5", "");
    const id = "cd".repeat(32);
    shell.update("t1", failed({ code: "unconfirmed", last: "nas", last_id: "ab".repeat(32), name: "lab-ws", found: id }));
    const alert = await screen.findByRole("alert");
    expect(alert).toHaveTextContent("nas was at this address before. Now lab-ws (cdcd-cdcd-cdcd-cdcd), another paired device, answers.");
    expect(shell.called("send")).toHaveLength(1);
    await user.click(screen.getByRole("button", { name: t("send.confirm", { name: "lab-ws" }) }));
    const target = { to: "confirmed", id, text: "10.0.0.5" };
    expect(shell.called("send").at(-1)).toEqual({ chosen: 7, target, code: null, verify: false, limit: null, leaveOut: "" });
  });

  test("a wrong code tells at once, with the tries", async () => {
    let started = 0;
    const shell = await startWindow({}, { send: () => moving({ id: `t${(started += 1)}` }) });
    shell.app.outbox.take(chosen);
    await shell.app.outbox.sendToTyped("10.0.0.5", "1-wrong-words");
    shell.update("t1", failed({ code: "wrong_code" }));
    const alert = await screen.findByRole("alert");
    expect(alert).toHaveTextContent("Wrong code for 10.0.0.5, or it has been replaced.");
    expect(alert).toHaveTextContent(t("send.failedAttempt", { n: 1, max: 3 }));
    await shell.app.outbox.retry("2-wrong-words");
    shell.update("t2", failed({ code: "wrong_code" }));
    expect(await screen.findByRole("alert")).toHaveTextContent(t("send.failedAttempt", { n: 2, max: 3 }));
    expect(shell.app.transfers.list).toEqual([]);
  });

  test("what is left out is counted, sent, and remembered by the folder it was typed for", async () => {
    let wrong = false;
    const bad = { code: "invalid", reason: "pattern", pattern: { path: "a[b" } };
    const shell = await startWindow({ devices: [labWs] }, { send: () => moving(), countChosen: () => (wrong ? Promise.reject(bad) : null) });
    shell.app.outbox.take(selection({ leave_out: "*.tmp" }));
    await user.click(screen.getByRole("button", { name: /^Send to lab-ws/ }));
    await user.click(await screen.findByRole("button", { name: t("send.options") }));
    const field = await screen.findByLabelText(t("send.leaveOut"));
    expect(field).toHaveValue("*.tmp");
    expect(shell.called("countChosen").at(-1)).toEqual({ chosen: 7, leaveOut: "*.tmp" });
    wrong = true;
    await user.type(field, "{Enter}a[[b");
    await waitFor(() => expect(shell.called("countChosen").at(-1)).toEqual({ chosen: 7, leaveOut: "*.tmp\na[b" }));
    expect(await screen.findByText(t("fault.unfit.pattern", { pattern: "a[b" }))).toBeVisible();
    wrong = false;
    await user.clear(field);
    await user.type(field, "/cache");
    await waitFor(() => expect(field).not.toHaveAttribute("aria-invalid"));
    shell.tell({ event: "chosenCounted", chosen: 7, sizes: [], total: { files: 30, bytes: 3_000_000, excluded: 2, state: "exact" } });
    expect(await screen.findByText(t("send.leftOut", { n: 2 }))).toBeVisible();
    // What is added does not take away what was typed.
    shell.app.outbox.take(selection({ id: 8, leave_out: "*.o" }));
    expect(field).toHaveValue("/cache");
    await user.click(within(screen.getByRole("main")).getByRole("button", { name: t("send.button") }));
    expect(shell.called("send")).toEqual([{ chosen: 8, target: { to: "device", id: labWs.id }, code: null, verify: false, limit: null, leaveOut: "/cache" }]);
    shell.app.outbox.take(null);
    shell.app.outbox.take(selection({ id: 9, leave_out: "*.o" }));
    expect(shell.app.outbox.leaveOut).toBe("*.o");
  });

  test("what is sent is read back where that was asked for, until it is taken back", async () => {
    const shell = await startWindow({ devices: [labWs] }, { send: () => moving() });
    shell.app.outbox.take(chosen);
    await user.click(screen.getByRole("button", { name: /^Send to lab-ws/ }));
    expect(shell.called("send"), "a click only picks it").toEqual([]);
    await user.click(await screen.findByRole("button", { name: t("send.options") }));
    await user.click(await screen.findByLabelText(t("common.verify")));
    await user.type(screen.getByLabelText(t("settings.limit")), "2.5");
    await user.click(within(screen.getByRole("main")).getByRole("button", { name: t("send.button") }));
    expect(shell.called("send")).toEqual([{ chosen: 7, target: { to: "device", id: labWs.id }, code: null, verify: true, limit: 2_500_000, leaveOut: "" }]);
    shell.app.outbox.pick(null);
    shell.app.outbox.options = { verify: false, limit: null };
    shell.app.outbox.pick(labWs.id);
    expect(shell.app.outbox.options, "as it was sent there last").toEqual({ verify: true, limit: 2_500_000 });
  });

  test("what is asked for twice is sent once, and one picker is open at a time", async () => {
    let pick = (_: typeof chosen) => {};
    const picked = new Promise<typeof chosen>((resolve) => (pick = resolve));
    const shell = await startWindow({ devices: [labWs] }, { choose_sources: () => picked, send: () => moving() });
    const { outbox } = shell.app;
    const twice = [outbox.sendTo(labWs), outbox.sendTo(labWs)];
    pick(chosen);
    await Promise.all([...twice, outbox.sendTo(labWs)]);
    await Promise.all([outbox.sendTo(labWs), outbox.sendToTyped("10.0.0.5", "")]);
    expect(shell.called("choose_sources")).toHaveLength(1);
    expect(shell.called("send")).toEqual([{ chosen: 7, target: { to: "device", id: labWs.id }, code: null, verify: false, limit: null, leaveOut: "" }]);
  });

  test("until the shell has answered, nothing else can be sent", async () => {
    let answer = (_: ReturnType<typeof moving>) => {};
    const shell = await startWindow({ devices: [labWs] }, { send: () => new Promise((resolve) => (answer = resolve)) });
    shell.app.outbox.take(chosen);
    const card = screen.getByRole("button", { name: /^Send to lab-ws/ });
    await user.dblClick(card);
    expect(card).toHaveAttribute("aria-disabled", "true");
    expect(screen.getByRole("button", { name: t("send.clear") })).toBeDisabled();
    await shell.app.outbox.sendToTyped("10.0.0.5", "");
    expect(shell.called("send")).toHaveLength(1);
    answer(moving());
    expect(await screen.findByText(t("stage.connecting", { peer: "lab-ws" }))).toBeVisible();
  });

  test("a misspelt code costs no try", async () => {
    const shell = await startWindow({}, {
      send: () => {
        throw { code: "unknown_word", position: 2 };
      },
    });
    shell.app.outbox.take(chosen);
    await shell.app.outbox.sendToTyped("10.0.0.5", "42-river-candel");
    expect(await screen.findByRole("alert")).toHaveTextContent("The second word is not in any code.");
    expect(shell.app.outbox.wrongTries).toBe(0);
  });

  test("a drop on a card sends there at once; elsewhere it only fills the list", async () => {
    const shell = await startWindow({ devices: [labWs] }, { send: () => moving({ target: labWs.id }) });
    shell.tell({ event: "dragged", drag: { is: "entered", chosen } });
    expect(await screen.findByText(t("send.dropNow"))).toBeVisible();
    shell.tell({ event: "dragged", drag: { is: "dropped", chosen, x: 5, y: 5 } });
    expect(await screen.findByRole("button", { name: t("send.clear") })).toBeVisible();
    expect(screen.getByText("dataset-v3")).toBeVisible();
    expect(shell.called("send")).toEqual([]);

    const card = screen.getByRole("button", { name: /^Send to lab-ws/ });
    document.elementFromPoint = () => card;
    shell.tell({ event: "dragged", drag: { is: "dropped", chosen, x: 50, y: 50 } });
    await waitFor(() => expect(shell.called("send")).toEqual([{ chosen: 7, target: { to: "device", id: labWs.id }, code: null, verify: false, limit: null, leaveOut: "" }]));
    document.elementFromPoint = () => null;
  });

  test("a second folder goes to its own machine while the first one's is being reached, and neither is lost", async () => {
    const nas = { ...labWs, id: "cd".repeat(32), name: "nas" };
    const second = { ...chosen, id: 8, items: [source({ item: 2, name: "photos" })] };
    let started = 0;
    const shell = await startWindow({ devices: [labWs, nas] }, { send: () => moving({ id: `t${(started += 1)}`, target: "" }) });
    const sent = () => shell.called("send").map(({ chosen, target }) => [chosen, (target as { id: string }).id]);
    const drop = async (what: typeof chosen, name: string) => {
      shell.tell({ event: "dragged", drag: { is: "entered", chosen: what } });
      const card = await screen.findByRole("button", { name: new RegExp(`^Send to ${name}`) });
      expect(card).not.toHaveAttribute("aria-disabled");
      document.elementFromPoint = () => card;
      shell.tell({ event: "dragged", drag: { is: "dropped", chosen: what, x: 50, y: 50 } });
      document.elementFromPoint = () => null;
    };
    await drop(chosen, "lab-ws");
    expect(await screen.findByText(t("stage.connecting", { peer: "lab-ws" }))).toBeVisible();
    expect(screen.getByRole("button", { name: /^Send to nas/ })).toHaveAttribute("aria-disabled", "true");
    // Once more to where it is on its way is a slip; to another machine it is meant.
    await drop(chosen, "lab-ws");
    await drop(second, "nas");
    await waitFor(() => expect(sent()).toEqual([[7, labWs.id], [8, nas.id]]));
    expect(await screen.findByText(t("stage.connecting", { peer: "nas" }))).toBeVisible();
    // The first one's end is told where transfers are, and what is chosen stays.
    shell.update("t1", failed({ code: "connection_lost", errno: 104, detail: "" }));
    expect(shell.app.outbox.chosen?.id).toBe(8);
    shell.update("t2", failed({ code: "pairing_needed", peer_name: "nas" }));
    await shell.app.outbox.retry("42-river-castle");
    expect(sent().at(-1)).toEqual([8, nas.id]);
    // The same folder, for both.
    await drop(second, "lab-ws");
    await waitFor(() => expect(sent().at(-1)).toEqual([8, labWs.id]));
  });

  test("what is dropped while another is offered stays, and what is tried again is what was offered", async () => {
    const second = { ...chosen, id: 8, items: [source({ item: 2, name: "photos" })] };
    let started = 0;
    const shell = await startWindow({ devices: [labWs] }, { send: () => moving({ id: `t${(started += 1)}` }) });
    const { outbox } = shell.app;
    const sent = () => shell.called("send").map(({ chosen }) => chosen);
    outbox.take(chosen);
    await outbox.sendTo(labWs);
    shell.tell({ event: "dragged", drag: { is: "dropped", chosen: second, x: 5, y: 5 } });
    shell.update("t1", failed({ code: "pairing_needed", peer_name: "lab-ws" }));
    await outbox.retry("42-river-castle");
    expect(sent()).toEqual([7, 7]);
    shell.update("t2", { is: "moved", progress: progress({ stage: "awaiting_answer" }) });
    await waitFor(() => expect(outbox.attempt).toBeNull());
    await waitFor(() => expect(outbox.chosen).toEqual(second));
    await outbox.sendTo(labWs);
    expect(sent()).toEqual([7, 7, 8]);
  });

  test("a second drop adds, what is there twice is said, and what is removed or cleared can be put back", async () => {
    const merged = [{ name: "raw", within: "dataset-v3" }];
    const photos = source({ item: 2, name: "photos" });
    const shell = await startWindow({}, {
      joinChosen: ({ chosen: id, added }) => selection({ id: 20, items: [source(), photos], merged: id === 7 && added === 8 ? merged : [], total: { files: 80, bytes: 8_000_000, excluded: 0, state: "counting" } }),
    });
    const drop = (what: typeof chosen) => shell.tell({ event: "dragged", drag: { is: "dropped", chosen: what, x: 5, y: 5 } });
    drop(chosen);
    drop(selection({ id: 8, items: [photos] }));
    expect(await screen.findByText("photos")).toBeVisible();
    expect(screen.getByText("dataset-v3")).toBeVisible();
    expect(screen.getByText(t("send.mergedWithin", { name: "raw", folder: "dataset-v3" }))).toBeVisible();
    expect(shell.called("joinChosen")).toEqual([{ chosen: 7, added: 8 }]);
    await waitFor(() => expect(shell.called("countChosen").at(-1)).toEqual({ chosen: 20, leaveOut: "" }));
    shell.tell({ event: "chosenCounted", chosen: 20, sizes: [{ item: 2, size: { files: 1_204, bytes: 3_400_000_000, excluded: 0, state: "exact" } }], total: { files: 1_244, bytes: 3_404_000_000, excluded: 0, state: "exact" } });
    expect(await screen.findByText("3.4 GB", { selector: "[data-item=photos] *" })).toBeVisible();
    shell.tell({ event: "chosenCounted", chosen: 7, sizes: [], total: { files: 1, bytes: 1, excluded: 0, state: "exact" } });
    expect(shell.app.outbox.chosen?.total.files, "of an earlier list").toBe(1_244);

    const remove = screen.getByRole("button", { name: t("send.remove", { name: "photos" }) });
    remove.focus();
    await user.keyboard("{Enter}");
    await waitFor(() => expect(screen.queryByText("photos")).toBeNull());
    expect(screen.getByRole("button", { name: t("send.remove", { name: "dataset-v3" }) })).toHaveFocus();

    await user.keyboard("{Escape}");
    expect(await screen.findByText(t("send.drop"))).toBeVisible();
    await waitFor(() => expect(document.body).not.toHaveFocus());
    expect(shell.called("countChosen").at(-1)).toEqual({ chosen: null, leaveOut: "" });
    await user.click(screen.getByRole("button", { name: t("common.undo") }));
    expect(await screen.findByText("dataset-v3")).toBeVisible();
  });

  test("what was copied elsewhere is added by a key, in every view but not in a field", async () => {
    const shell = await startWindow({}, { paste_sources: () => chosen });
    await show("settings");
    await user.click(screen.getByLabelText(t("settings.port")));
    await user.keyboard("{Control>}v{/Control}");
    expect(shell.called("paste_sources")).toEqual([]);
    screen.getByRole("heading", { level: 1 }).focus();
    await user.keyboard("{Control>}v{/Control}");
    expect(await screen.findByText("dataset-v3")).toBeVisible();
    expect(shell.called("paste_sources")).toHaveLength(1);
  });

  test("a click picks a card, and Enter, a double click or the button sends", async () => {
    let started = 0;
    const shell = await startWindow({ devices: [labWs] }, { send: () => moving({ id: `t${(started += 1)}` }) });
    shell.app.outbox.take(chosen);
    expect(await screen.findByText(t("send.pickDevice"))).toBeVisible();
    const card = screen.getByRole("button", { name: /^Send to lab-ws/ });
    await user.click(card);
    expect(card).toHaveAttribute("aria-pressed", "true");
    expect(screen.getByText(t("send.what", { what: "dataset-v3", name: "lab-ws" }))).toBeVisible();
    expect(shell.called("send")).toEqual([]);
    card.focus();
    await user.keyboard("{Enter}");
    expect(shell.called("send")).toHaveLength(1);
    await user.dblClick(card);
    expect(shell.called("send"), "it is on its way").toHaveLength(1);
  });

  test("what waits for its turn is listed, moved and removed, and the list is free again", async () => {
    const waiting = (id: string, title: string) => ({ id, device: labWs.id, target: "lab-ws", title: { path: title }, more_names: 0 });
    const shell = await startWindow({ devices: [labWs], waiting: [waiting("1", "holiday")] }, { send: () => ({ is: "waits", waiting: waiting("2", "dataset-v3") }) });
    shell.app.outbox.take(chosen);
    await shell.app.outbox.sendTo(labWs);
    expect(shell.app.outbox.chosen).toBeNull();
    expect(await screen.findByText(t("send.waits", { what: "dataset-v3", name: "lab-ws" }))).toBeVisible();
    shell.tell({ event: "waitingChanged", waiting: [waiting("1", "holiday"), waiting("2", "dataset-v3")] });
    await waitFor(() => expect(screen.getAllByText(t("send.waitsFor", { name: "lab-ws" }))).toHaveLength(2));
    expect(screen.getByRole("button", { name: t("send.moveUp", { name: "holiday" }) })).toBeDisabled();
    await user.click(screen.getByRole("button", { name: t("send.moveUp", { name: "dataset-v3" }) }));
    await user.click(screen.getByRole("button", { name: t("send.remove", { name: "holiday" }) }));
    expect(shell.called("shiftWaiting")).toEqual([{ id: "2", up: true }]);
    expect(shell.called("removeWaiting")).toEqual([{ id: "1" }]);
    await show("activity");
    expect(screen.getByRole("heading", { name: t("activity.running") })).toBeVisible();
    expect(screen.getAllByText(t("send.waitsFor", { name: "lab-ws" }))).toHaveLength(2);
    // It begins by itself, and is listed although nobody here has just asked for it.
    shell.tell({ event: "transferStarted", transfer: moving({ id: "w2", target: "lab-ws" }) });
    await waitFor(() => expect(shell.app.transfers.find("w2")).toBeDefined());
  });

  test("a click on a device in the sidebar picks its card", async () => {
    const shell = await startWindow({ devices: [labWs] });
    await show("inbox");
    await user.click(screen.getByRole("button", { name: /^lab-ws/ }));
    const card = screen.getByRole("button", { name: new RegExp(`${t("send.to")} lab-ws`), pressed: true });
    await waitFor(() => expect(card).toHaveFocus());
    expect(shell.called("send")).toEqual([]);
  });

  test("of several transfers the first is open, and what failed to arrive has its folder's button", async () => {
    const { report } = failed({ code: "gone" }) as { report: Report };
    const ended = moving({ id: "e1", direction: "receiving", title: "lost", progress: progress({ stage: "ended" }), report: { ...report, ended_at: 1_800_000_000 } });
    const past = earlier({ number: 9, id: "e1", title: "lost", paths: [{ path: "/in" }], report });
    const shell = await startWindow({ transfers: [moving({ id: "a", title: "one", progress: progress() }), moving({ id: "b", title: "two", progress: progress() }), ended] }, { past: () => [past], open_past: () => null });
    await show("activity");
    const details = (title: string) => screen.getByRole("button", { name: `${t("activity.details")}: ${title}` });
    const [first, second] = screen.getAllByRole("button", { name: new RegExp(`^${t("activity.details")}: `) });
    expect(first).toHaveAttribute("aria-expanded", "true");
    expect(second).toHaveAttribute("aria-expanded", "false");
    await user.click(details("one"));
    await user.click(details("two"));
    expect([details("one"), details("two")].filter((button) => button.getAttribute("aria-expanded") === "true")).toHaveLength(1);
    await user.click(await screen.findByRole("button", { name: t("common.openFolder") }));
    expect(shell.called("open_past")).toEqual([{ number: 9 }]);
  });

  test("a half-typed code stays while another view is looked at, and goes with the panel", async () => {
    const shell = await startWindow({ nearby: [nearby()] }, { send: () => moving() });
    shell.app.outbox.take(chosen);
    await shell.app.outbox.sendToNearby(nearby());
    shell.update("t1", failed({ code: "pairing_needed", peer_name: "desk" }));
    await user.type(await screen.findByLabelText(t("send.code")), "42 Riv");
    await show("inbox");
    await show("send");
    expect(await screen.findByLabelText(t("send.code"))).toHaveValue("42 Riv");
    await user.type(screen.getByLabelText(t("send.code")), "er  Castle{Enter}");
    expect(shell.called("send").at(-1)).toMatchObject({ code: "42-river-castle" });
    shell.update("t1", { is: "moved", progress: progress() });
    await waitFor(() => expect(screen.queryByText(t("send.secondStep"))).toBeNull());
  });

  test("what is dropped on a card beside a list goes alone, and the list stays", async () => {
    const shell = await startWindow({ devices: [labWs] }, { send: () => moving() });
    shell.app.outbox.take(chosen);
    const card = await screen.findByRole("button", { name: /^Send to lab-ws/ });
    document.elementFromPoint = () => card;
    shell.tell({ event: "dragged", drag: { is: "dropped", chosen: selection({ id: 8, items: [source({ item: 2, name: "photos" })] }), x: 50, y: 50 } });
    document.elementFromPoint = () => null;
    await waitFor(() => expect(shell.called("send")).toMatchObject([{ chosen: 8 }]));
    shell.update("t1", { is: "moved", progress: progress() });
    await waitFor(() => expect(shell.app.outbox.attempt).toBeNull());
    expect(shell.app.outbox.chosen?.id).toBe(7);
  });

  test("the view with a list, options and a code has names, roles and order for everyone", async () => {
    const shell = await startWindow({ devices: [labWs], nearby: [nearby()] }, { send: () => moving() });
    shell.app.outbox.take(selection({ items: [source(), source({ item: 2, same_name: true }), source({ item: 3, kind: "unreadable" })], more: 4 }));
    await user.click(screen.getByRole("button", { name: /^Send to lab-ws/ }));
    await user.click(await screen.findByRole("button", { name: t("send.options") }));
    const check = async () => {
      const { violations } = await axe.run(document.body, { rules: { "color-contrast": { enabled: false } } });
      expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
    };
    await check();
    await shell.app.outbox.sendToNearby(nearby());
    shell.update("t1", failed({ code: "pairing_needed", peer_name: "desk" }));
    await screen.findByText(t("send.secondStep"));
    await check();
  });

  test("a drop while another view is shown brings the list into view", async () => {
    const shell = await startWindow();
    await show("settings");
    shell.tell({ event: "dragged", drag: { is: "dropped", chosen, x: 5, y: 5 } });
    expect(await screen.findByText("dataset-v3")).toBeVisible();
  });
});

describe("receiving", () => {
  test("addresses and code are shown, and a new code can be had", async () => {
    const shell = await startWindow();
    await show("inbox");
    expect(screen.getByText("10.0.0.9", { selector: ".text" })).toBeVisible();
    expect(screen.getByText("42-river-castle")).toBeVisible();
    expect(screen.getByText(/Valid for 9 min/)).toBeVisible();
    await user.click(screen.getByRole("button", { name: t("inbox.newCode") }));
    expect(shell.called("renewCode")).toHaveLength(1);
  });

  test("a code that has run out is not shown, whether or not that was told", async () => {
    const code = { code: "42-river-castle", code_valid_until: Date.now() / 1000 - 1 };
    await startWindow({ listening: { is: "on", addresses: ["10.0.0.9"], port: 17464, other_port: false, code, firewalls: [] } });
    await show("inbox");
    expect(screen.getByText(t("inbox.noCode"))).toBeVisible();
    expect(screen.queryByText("42-river-castle")).toBeNull();
  });

  test("of two hundred that have ended the latest have cards, and the others are lines of the history", async () => {
    const { report } = failed({ code: "cancelled", by: "here" }) as { report: Report };
    const one = (n: number) => moving({ id: `t${n}`, direction: "receiving", title: `set ${n}`, report: { ...report, outcome: "complete", ended_at: n } });
    const lines = [199, 3].map((n) => earlier({ number: n, id: `t${n}`, title: `set ${n}` }));
    const shell = await startWindow({ transfers: Array.from({ length: 200 }, (_, n) => one(n)) }, { past: () => lines });
    await show("inbox");
    const cards = () => [...document.querySelectorAll("[data-transfer]")].map((card) => card.getAttribute("data-transfer"));
    expect(new Set(cards())).toEqual(new Set([192, 193, 194, 195, 196, 197, 198, 199].map((n) => `t${n}`)));
    await waitFor(() => expect([...document.querySelectorAll("[data-past]")].map((line) => line.getAttribute("data-past"))).toEqual(["3"]));

    // What ends now is the latest, and the history is read anew.
    const before = shell.called("past").length;
    shell.app.transfers.add(moving({ id: "now", direction: "receiving" }));
    await waitFor(() => expect(cards()).toContain("now"));
    shell.update("now", { is: "ended", progress: progress({ stage: "ended" }), report: { ...report, ended_at: 1_000 } });
    await waitFor(() => expect(cards()).not.toContain("t192"));
    expect(cards()).toHaveLength(8);
    await waitFor(() => expect(shell.called("past").length).toBeGreaterThan(before));
  });

  test("that a machine is paired is said until it is forgotten", async () => {
    const other = { ...labWs, id: "cd".repeat(32), name: "nas" };
    const shell = await startWindow({ devices: [labWs] });
    await show("inbox");
    for (const device of [labWs, other]) shell.tell({ event: "devicePaired", device });
    shell.tell({ event: "devicesChanged", devices: [labWs, other] });
    expect(await screen.findByText(t("inbox.paired", { name: "lab-ws" }))).toBeVisible();
    shell.tell({ event: "devicesChanged", devices: [other] });
    await waitFor(() => expect(screen.queryByText(t("inbox.paired", { name: "lab-ws" }))).toBeNull());
    expect(screen.getByText(t("inbox.paired", { name: "nas" }))).toBeVisible();
  });

  test("an offer is announced, and accepting it numbers the top folder by default", async () => {
    const shell = await startWindow({}, { accept: () => moving({ id: "o1", direction: "receiving", target: "" }) });
    shell.tell({ event: "offerChanged", offer: offer() });
    await user.click(await screen.findByRole("button", { name: t("window.openInbox") }));
    const card = screen.getByRole("article", { name: t("inbox.offerFrom", { from: "laptop" }) });
    expect(card).toHaveTextContent("12 items, 5.0 MB so far");
    expect(card).toHaveTextContent("9.0 GB free");
    const into = within(card).getByRole("group", { name: t("folder.destination") });
    expect(within(into).getByText("/home/me/Downloads")).toBeVisible();
    await user.click(within(into).getByRole("button", { name: t("folder.change") }));
    expect(shell.called("choose_offer_folder")).toEqual([{ id: "o1" }]);
    await user.click(within(card).getByRole("button", { name: t("inbox.accept") }));
    expect(shell.called("accept")).toEqual([
      { id: "o1", shown: { bytes: 5_000_000, is_final: false }, onConflict: "rename_top" },
    ]);
    await waitFor(() => expect(screen.queryByRole("article", { name: t("inbox.offerFrom", { from: "laptop" }) })).toBeNull());
  });

  test("questions stand first, then what arrives, then what came; the code for new devices last, and first while nothing is paired", async () => {
    const arriving = moving({ id: "a1", direction: "receiving", title: "arriving" });
    const shell = await startWindow({ devices: [labWs], offers: [offer(), offer({ id: "o2", from: "nas" })], transfers: [arriving] }, { past: () => [earlier()] });
    await show("inbox");
    await screen.findByText("survey");
    const titles = () => screen.getAllByRole("heading", { level: 2 }).map(({ textContent }) => textContent).filter((title) => title !== t("view.devices"));
    const order = [t("inbox.offers"), t("inbox.arriving"), t("inbox.received"), t("inbox.newDevices")];
    expect(titles()).toEqual(order);
    expect(document.querySelectorAll("main button.primary"), "one button leads").toHaveLength(1);
    shell.tell({ event: "devicesChanged", devices: [] });
    await waitFor(() => expect(titles()).toEqual([order[0], order[3], order[1], order[2]]));
    const { violations } = await axe.run(document.body, { rules: { "color-contrast": { enabled: false } } });
    expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
  });

  test("an offer says what it leaves free, and what is done with existing files; the keyboard goes on with the next one", async () => {
    const shell = await startWindow({ offers: [offer({ totals_final: true, names: ["holiday", "b", "c", "d", "e", "f"].map((path) => ({ path })) }), offer({ id: "o2", from: "nas" })] });
    await show("inbox");
    const card = within(screen.getByRole("article", { name: t("inbox.offerFrom", { from: "laptop" }) }));
    expect(card.getByText(t("devices.id", { id: "aaaa-bbbb-cccc-dddd" }))).toBeVisible();
    expect(card.getByText("9.0 GB free, 9.0 GB afterwards")).toBeVisible();
    expect(card.queryByText("f")).toBeNull();
    await user.click(card.getByRole("button", { name: t("inbox.showNames") }));
    expect(card.getByText("f")).toBeVisible();
    const existing = card.getByLabelText(t("inbox.existing"));
    expect(existing).toHaveAccessibleDescription(t("inbox.existing.renameTop.hint"));
    await user.selectOptions(existing, "replace");
    expect(existing).toHaveAccessibleDescription(t("inbox.existing.replace.hint"));
    await user.click(card.getByRole("button", { name: t("inbox.accept") }));
    expect(shell.called("accept")).toMatchObject([{ id: "o1", onConflict: "replace" }]);
    await waitFor(() => expect(screen.getByRole("button", { name: t("inbox.accept") })).toHaveFocus());
  });

  test("what came is removed once, from the history as well", async () => {
    const { report } = failed({ code: "cancelled", by: "there" }) as Extract<ReturnType<typeof failed>, { is: "ended" }>;
    const came = moving({ id: "r1", title: "album", direction: "receiving", report: { ...report, ended_at: 2 }, progress: progress({ stage: "ended" }) });
    const shell = await startWindow({ transfers: [came] }, { past: () => [earlier({ number: 30, id: "r1", title: "album", report }), earlier()] });
    await show("inbox");
    await user.click(await screen.findByText("album"));
    await user.click(await screen.findByRole("button", { name: `${t("activity.remove")}: album` }));
    await waitFor(() => expect(shell.called("forgetPast")).toEqual([{ number: 30 }]));
    await waitFor(() => expect(screen.queryByText("album")).toBeNull());
    expect(screen.getByText("survey")).toBeVisible();
  });

  test("offers that expired are one line, which opens into them", async () => {
    const { report } = failed({ code: "unanswered" }) as Extract<ReturnType<typeof failed>, { is: "ended" }>;
    const expired = (number: number) => earlier({ number, id: `x${number}`, title: `set ${number}`, report });
    const shell = await startWindow({}, { past: () => [earlier(), expired(11), expired(10)], pastDetails: () => ({ failures: [], edits: [], series: [] }) });
    await show("inbox");
    const line = await screen.findByRole("button", { name: "2 expired offers" });
    expect(screen.queryByText("set 11")).toBeNull();
    await user.click(line);
    expect(screen.getByText("set 11")).toBeVisible();
    await user.click(screen.getByRole("button", { name: t("inbox.removeExpired") }));
    await waitFor(() => expect(shell.called("forgetPast")).toEqual([{ number: 11 }, { number: 10 }]));
    await waitFor(() => expect(screen.queryByText(/expired/)).toBeNull());
    expect(screen.getByText("survey")).toBeVisible();
  });

  test("a destination that cannot be used is told, with the path", async () => {
    const shell = await startWindow({ offers: [offer()] }, {
      accept: () => {
        throw { code: "path", path: { path: "/mnt/gone" }, operation: "open", source: { errno: 30, detail: "" } };
      },
    });
    await show("inbox");
    await user.click(screen.getByRole("button", { name: t("inbox.accept") }));
    expect(await screen.findByRole("alert")).toHaveTextContent("/mnt/gone could not be opened: the filesystem is read-only.");
    expect(shell.app.inbox.offers).toEqual([]);
  });

  test("an offer that has grown since it was shown stays, to be accepted again", async () => {
    let grown = true;
    const shell = await startWindow({ offers: [offer()] }, {
      accept: () => {
        if (grown) throw { code: "grown", bytes: 7_000_000_000 };
        return moving({ id: "o1", direction: "receiving", target: "" });
      },
    });
    await show("inbox");
    await user.click(screen.getByRole("button", { name: t("inbox.accept") }));
    expect(await screen.findByRole("alert")).toHaveTextContent("The offer from laptop has grown to 7.0 GB since you saw it. Accept it again to receive all of it.");
    shell.tell({ event: "offerChanged", offer: offer({ bytes_so_far: 7_000_000_000 }) });
    grown = false;
    await user.click(screen.getByRole("button", { name: t("inbox.accept") }));
    expect(shell.called("accept")[1]).toEqual({ id: "o1", shown: { bytes: 7_000_000_000, is_final: false }, onConflict: "rename_top" });
    await waitFor(() => expect(screen.queryByRole("alert")).toBeNull());
    expect(shell.app.inbox.offers).toEqual([]);
  });

  test("hostile names are text", async () => {
    const names = ["<img src=x onerror=alert(1)>", "{{constructor}}", "a\\u{202e}gpj.exe"];
    await startWindow({ offers: [offer({ from: "<b>bold</b>", names: names.map((path) => ({ path })) })] });
    await show("inbox");
    for (const name of names) expect(screen.getByText(name)).toBeVisible();
    expect(screen.getByRole("heading", { name: "Offer from <b>bold</b>" })).toBeVisible();
    expect(document.querySelector("img, b")).toBeNull();
  });

  test("a name that looks like another device's is pointed out, with both ids", async () => {
    const looks_like = { name: "nas", id: "ee".repeat(32) };
    await startWindow({ devices: [{ ...labWs, looks_like }, { ...labWs, id: "cd".repeat(32) }], offers: [offer({ from: "n\u0430s", looks_like })] });
    await show("inbox");
    const words = t("offer.looksLike", { from: "n\u0430s", fromId: "aaaa-bbbb-cccc-dddd", name: "nas", id: "eeee-eeee-eeee-eeee" });
    expect(screen.getByText(words)).toBeVisible();
    await show("devices");
    expect(screen.getAllByText(/looks like/)).toHaveLength(1);
    expect(screen.getByText(`${t("device.looksLike", { name: "nas", id: "eeee-eeee-eeee-eeee" })} ${t("device.looksLike.next")}`)).toBeVisible();
  });

  test("an offer says what its folder has no room for", async () => {
    const room = (change: Partial<FreeSpace>): FreeSpace => ({ free_bytes: 2_000_000, free_entries: 5, name_max: 255, writable: true, is_exact: true, ...change });
    const offers = [
      offer({ id: "o1", from: "big", free_space: room({}) }),
      offer({ id: "o2", from: "fits", free_space: room({ free_bytes: 9_000_000, free_entries: null }) }),
      offer({ id: "o3", from: "barred", free_space: room({ writable: false }) }),
      offer({ id: "o4", from: "narrow", free_space: room({ free_bytes: 9_000_000, free_entries: null, name_max: 143 }), names: [{ path: "n".repeat(144) }] }),
    ];
    await startWindow({ offers });
    await show("inbox");
    const card = (from: string) => screen.getByRole("article", { name: t("inbox.offerFrom", { from: from }) });
    expect(card("big")).toHaveTextContent("2.0 MB free. 3.0 MB more needed, unless part of it already exists. The disk can hold only 5 more items.");
    expect(card("fits")).toHaveTextContent("9.0 MB free");
    expect(card("fits")).not.toHaveTextContent(/more needed|only/);
    expect(card("barred")).toHaveTextContent(t("offer.notWritable"));
    expect(card("narrow")).toHaveTextContent("9.0 MB free. One name is too long: the disk allows 143 bytes.");
  });

  test("what was refused for want of room is told with figures, as something to be done here", async () => {
    await startWindow({ offers: [offer()] }, {
      accept: () => {
        throw { code: "declined", reason: "no_room", needed: 5e9, free: 1e9, entries: 0 };
      },
    });
    await show("inbox");
    await user.click(screen.getByRole("button", { name: t("inbox.accept") }));
    expect(await screen.findByText("The folder here has too little free space: 5.0 GB needed, 1.0 GB free.")).toBeVisible();
  });

  test("a taken port is told, with a way out", async () => {
    const fault = { code: "listen", address: "[::]:17464", source: { errno: 98, detail: "" }, remedies: [] } satisfies Fault;
    const shell = await startWindow({ listening: { is: "failed", fault, port: 17464 } });
    await show("inbox");
    expect(screen.getByRole("alert")).toHaveTextContent("another program uses this port");
    await user.click(screen.getByRole("button", { name: t("inbox.useTemporaryPort") }));
    expect(shell.called("listen")).toEqual([{ port: 0 }]);
  });

  test("wrong codes from elsewhere are told, the void one too", async () => {
    const shell = await startWindow();
    await show("inbox");
    shell.tell({ event: "pairingFailed", failed: { from: "10.0.0.7", code: "wrong_code", attempts_left: 1 } });
    expect(await screen.findByText("Wrong code from 10.0.0.7. 1 attempt left.")).toBeVisible();
    shell.tell({ event: "pairingFailed", failed: { from: "10.0.0.7", code: "wrong_code", attempts_left: 0 } });
    expect(await screen.findByText(/this code is no longer valid/)).toBeVisible();
  });
});

describe("activity", () => {
  test("failures are named with their reasons, and an ended transfer can be taken away", async () => {
    const failures = [{ path: "data/secret.bin", side: "here", operation: "open", reason: "os", errno: 13, detail: "" }] as const;
    const report = {
      outcome: "partial",
      files: 9, folders: 1, links: 0, bytes: 900, moved: 900, unchanged: 0, skipped: 0, skipped_bytes: 0, reused: 0, excluded: 0, proven: { files: 8, bytes: 800, seconds: 0.7 }, edited: 1, edits: [{ path: "data/p2.jpg", beside: { path: "p2 (1).jpg" } }], failed: 1,
      failures: [...failures],
      seconds: 0.5, reconnected: 0, limited_by: null, here: null, there: null, times: null, lanes: 1, lanes_dropped: 0, packed: null, arrived: [], left_behind: null, copy: null, ended_at: 0,
    } as const;
    const shell = await startWindow({ transfers: [moving({ report: { ...report, edits: [...report.edits], failures: [...failures], arrived: [] }, progress: progress({ stage: "ended" }) })] });
    await show("activity");
    const [told] = screen.getAllByText(/^All but 1/).map((told) => told.closest("[role]"));
    expect(told).toHaveAttribute("role", "status");
    expect(told).toHaveTextContent("All but 1 item transferred: 9 files, 1 folder, 900 B in 0.5 s.");
    expect(told).toHaveTextContent("Verified in 0.7 s: 8 files read back from lab-ws's disk, identical.");
    expect(screen.getByText("data/secret.bin")).toBeVisible();
    expect(screen.getByText(/could not be opened here: permission was denied/)).toBeVisible();
    expect(told).toHaveTextContent("1 file edited on lab-ws was kept; your version is beside it.");
    await user.click(screen.getByText(t("activity.edited", { n: 1 })));
    expect(screen.getByText(/New version: p2 \(1\)\.jpg/)).toBeVisible();
    await user.click(screen.getByRole("button", { name: `${t("activity.remove")}: dataset-v3` }));
    expect(shell.called("dismiss")).toEqual([{ id: "t1" }]);
    expect(await screen.findByText(t("activity.empty"))).toBeVisible();
  });

  test("no share is claimed of what is still being counted", async () => {
    const counting = progress({ totals_final: false, bytes_done: 1_100_000_000, bytes_total: 1_200_000_000, seconds_left: null });
    await startWindow({ transfers: [moving({ progress: counting })] });
    await show("activity");
    const bar = screen.getByRole("progressbar");
    expect(bar).not.toHaveAttribute("aria-valuenow");
    expect(bar).toHaveAttribute("aria-valuetext", "Counting…, 1.0 MB/s");
    expect(screen.getByText("1.1 GB of 1.2 GB+")).toBeVisible();
    expect(screen.queryByText(/%/)).toBeNull();
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
      "the network 66 %",
      "writing on lab-ws 33 %",
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
    expect(graph).toHaveAttribute("aria-valuetext", "0.0 s · 1.0 MB/s · 100 files/s");
    await user.keyboard("{End}");
    expect(graph).toHaveAttribute("aria-valuetext", expect.stringMatching(/^3.0 s · 1.0 MB\/s · 500 files\/s · .*network/));
    await user.keyboard("{ArrowLeft}");
    expect(screen.getByText(/^2.9 s · /)).toBeVisible();
    await user.keyboard("{Escape}");
    expect(screen.getByText(/Files\/s \(peak 500\)/)).toBeVisible();
  });

  test("one that has gone on for a while, or has ended, is shown with its course from the beginning", async () => {
    const series = [1, 2, 3, 4].map((second) => ({ seconds: second, bytes: second > 2 ? 3_000_000 : 0, entries: second, limited_by: "network" as const }));
    const { report } = failed({ code: "cancelled", by: "here" }) as { report: Report };
    const late = moving({ progress: progress({ seconds: 4, bytes_done: 3_000_000 }), series });
    await startWindow({ transfers: [late, moving({ ...late, title: late.title.path, status: undefined, ...progress({ stage: "ended", seconds: 4, bytes_done: 3_000_000 }), id: "t2", report })] });
    await show("activity");
    await user.click(screen.getByText(t("state.cancelled")));
    const graphs = screen.getAllByRole("slider", { name: /Speed over time: .* peak 3.0 MB\/s/ });
    expect(graphs).toHaveLength(2);
    for (const graph of graphs) {
      graph.focus();
      await user.keyboard("{Home}");
      expect(graph).toHaveAttribute("aria-valuetext", expect.stringMatching(/^0.0 s · 0 B\/s/));
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
    expect(question).toHaveTextContent("3.0 GB arrived so far.");
    await waitFor(() => expect(screen.getByRole("button", { name: t("activity.stopKeep") })).toHaveFocus());
    await user.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(shell.called("cancel")).toEqual([]);
    for (const [button, then] of [["activity.stopKeep", "keep"], ["activity.stopDelete", "remove"]] as const) {
      await user.click(cancel);
      await user.click(await screen.findByRole("button", { name: t(button) }));
      await waitFor(() => expect(shell.called("cancel").at(-1)).toEqual({ id: "t1", then }));
    }
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
    expect(lines()[0]).toBe("broken");
    expect(screen.getAllByRole("alert")).toHaveLength(1);
    await user.click(screen.getByText(t("state.declined")));
    await user.click(screen.getByText(t("state.cancelledBy", { peer: "lab-ws" })));
    expect(screen.getAllByRole("alert")).toHaveLength(1);
    expect(screen.getByText(t("fault.cancelled.there", { peer: "lab-ws" }))).toBeVisible();
  });

  test("failures stand by reason, are retried together, and are copied as a list", async () => {
    const failure = (path: string, errno: number) => ({ path, side: "here", operation: "open", reason: "os", errno, detail: "" }) as const;
    const { report } = failed({ code: "destination_gone" });
    const partial: Report = { ...report, outcome: "partial", failed: 4, failures: [failure("a", 2), failure("b", 13), failure("c", 13)] };
    const again = { chosen, target: { to: "device", id: labWs.id }, label: labWs.name, verify: false };
    const shell = await startWindow({ transfers: [moving({ report: partial, progress: progress({ stage: "ended" }) })] }, { chooseAgain: () => again, send: () => moving({ id: "t2" }) });
    await show("activity");
    const reasons = screen.getAllByRole("heading", { level: 3 }).map((heading) => heading.textContent);
    expect(reasons).toEqual([expect.stringMatching(/permission was denied.*2$/), expect.stringMatching(/1$/)]);
    expect(screen.getByText(t("activity.unnamed", { n: 1 }))).toBeVisible();
    await user.click(screen.getByRole("button", { name: t("activity.copyList") }));
    expect(await navigator.clipboard.readText()).toMatch(/permission was denied:\nb\nc\n\n.*:\na\n$/);
    await user.click(screen.getByRole("button", { name: t("activity.retry") }));
    await waitFor(() => expect(shell.called("chooseAgain")).toEqual([{ id: "t1" }]));
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
    expect(new Set(shown("activity.pause"))).toEqual(new Set(["dataset-v3", "music"]));
    expect(shown("activity.resume")).toEqual(["pictures"]);
    await user.click(screen.getByRole("button", { name: `${t("activity.pause")}: dataset-v3` }));
    await user.click(screen.getByRole("button", { name: `${t("activity.resume")}: pictures` }));
    expect([shell.called("pause"), shell.called("resume")]).toEqual([[{ id: "t1" }], [{ id: "t2" }]]);
  });
});

describe("settings and devices", () => {
  test("a field is in force with Enter or when it is left; what is wrong stands beside it, and Escape puts back what was there", async () => {
    const shell = await startWindow({}, { saveSettings: ({ sendLimit, ...args }) => ({ ...stored, ...args, send_limit: sendLimit }) });
    await show("settings");
    const port = screen.getByLabelText(t("settings.port"));
    await user.clear(port);
    await user.type(port, "70000{Enter}");
    expect(port).toHaveAccessibleDescription(t("settings.portBad"));
    expect(shell.called("saveSettings")).toEqual([]);
    await user.keyboard("{Escape}");
    expect(port).toHaveValue("17464");
    expect(port).toHaveFocus();
    await user.clear(port);
    await user.type(port, "9000{Enter}");
    expect(shell.called("saveSettings")).toEqual([{ name: "here", port: 9000, sendLimit: null }]);
    expect(await screen.findByText(t("settings.saved"))).toBeVisible();
    expect(port).toHaveFocus();
    const name = screen.getByLabelText(t("settings.name"));
    await user.clear(name);
    await user.type(name, " lab ");
    await user.tab();
    expect(shell.called("saveSettings").at(-1)).toEqual({ name: "lab", port: 9000, sendLimit: null });
    await waitFor(() => expect(name).toHaveValue("lab"));
    await user.click(name);
    await user.tab();
    expect(shell.called("saveSettings"), "what is in force is not stored again").toHaveLength(2);
  });

  test("why a setting was refused stands beside it, and a view that is left takes what was typed along", async () => {
    const shell = await startWindow({}, { saveSettings: ({ name }) => (name === "nas" ? Promise.reject({ code: "invalid", reason: "name_taken" }) : { ...stored, name }) });
    await show("settings");
    const name = screen.getByLabelText(t("settings.name"));
    await user.clear(name);
    await user.type(name, "nas{Enter}");
    await waitFor(() => expect(name).toHaveAccessibleDescription(new RegExp(t("fault.unfit.nameTaken"))));
    await user.clear(name);
    await user.type(name, "lab");
    await user.keyboard("{Control>}4{/Control}");
    await waitFor(() => expect(shell.app.settings.stored.name).toBe("lab"));
  });

  test("About says the version, the folders and the licences, and copies what doctor says", async () => {
    const about = { version: "1.2.3", settings_folder: "/home/me/.config/ringway", data_folder: "/home/me/.local/share/ringway" };
    let fails = true;
    await startWindow({}, { about: () => about, diagnose: () => (fails ? Promise.reject({ code: "no_program" }) : "ok  All is well.") });
    await show("settings");
    expect(await screen.findByText(t("settings.version", { version: "1.2.3" }))).toBeVisible();
    for (const folder of [about.settings_folder, about.data_folder]) expect(screen.getByText(folder)).toBeVisible();
    await user.click(screen.getByRole("button", { name: t("settings.licences") }));
    expect(screen.getByText("OFL-1.1")).toBeVisible();
    expect(screen.getByRole("region", { name: t("settings.fontLicence") })).toHaveTextContent("SIL OPEN FONT LICENSE Version 1.1");
    const copy = screen.getByRole("button", { name: t("settings.diagnosticsCopy") });
    await user.click(copy);
    expect(await screen.findByRole("alert")).toHaveTextContent(t("fault.noProgram"));
    fails = false;
    await user.click(copy);
    expect(await screen.findByText(t("common.copied"))).toBeVisible();
    expect(await navigator.clipboard.readText()).toBe("ok  All is well.");
    expect(screen.queryByRole("alert")).toBeNull();
  });

  test("where the kernel could encrypt, the commands that turn it on are there to be copied", async () => {
    const remedies: Remedy[] = [
      { aim: "load_tls", command: "sudo modprobe tls" },
      { aim: "keep_tls", command: "echo tls | sudo tee /etc/modules-load.d/ringway.conf" },
    ];
    await startWindow({ machine: { ...everything().machine, remedies } });
    await show("settings");
    const machine = within(screen.getByRole("group", { name: t("settings.system") }));
    expect(machine.getByText(t("settings.loadTls"))).toBeVisible();
    for (const { command } of remedies) {
      expect(machine.getByText(command)).toBeVisible();
      expect(machine.getByRole("button", { name: t("common.copyNamed", { name: t("common.theCommand"), text: command }) })).toBeEnabled();
    }
  });

  test("a home that was allowed is pointed out where offers land and in the settings", async () => {
    const shell = await startWindow({ settings: { ...stored, receive_folder: { path: "/home/me" }, is_home: true } });
    await show("settings");
    expect(screen.getByRole("group", { name: t("settings.folder") })).toHaveTextContent(t("folder.home"));
    shell.tell({ event: "offerChanged", offer: offer({ destination: { path: "/home/me" }, is_home: true }) });
    await show("inbox");
    const into = within(await screen.findByRole("article")).getByRole("group", { name: t("folder.destination") });
    expect(within(into).getByText(t("folder.home"))).toBeVisible();
    shell.tell({ event: "offerChanged", offer: offer() });
    await waitFor(() => expect(within(into).queryByText(t("folder.home"))).toBeNull());
  });

  test("a limit is typed in megabytes and stored in bytes; nothing typed is none", async () => {
    const shell = await startWindow({}, { saveSettings: ({ sendLimit, ...args }) => ({ ...stored, ...args, send_limit: sendLimit }) });
    await show("settings");
    const limit = screen.getByLabelText(t("settings.limit"));
    for (const bad of ["0", "fast", "-5", "1e9"]) {
      await user.clear(limit);
      await user.type(limit, `${bad}{Enter}`);
      expect(limit).toHaveAccessibleDescription(t("settings.limitBad", { least: "0.001" }));
    }
    expect(shell.called("saveSettings")).toEqual([]);
    await user.clear(limit);
    await user.type(limit, "1,5{Enter}");
    expect(shell.called("saveSettings")).toEqual([{ name: "here", port: 17464, sendLimit: 1_500_000 }]);
    await waitFor(() => expect(limit).toHaveValue("1.5"));
    await user.clear(limit);
    await user.tab();
    expect(shell.called("saveSettings").at(-1)).toEqual({ name: "here", port: 17464, sendLimit: null });
  });

  const choose = async (name: string, what: string) => {
    await user.click(screen.getByRole("button", { name: t("devices.actions", { name }) }));
    await user.click(await screen.findByRole("menuitem", { name: what }));
  };
  const openRow = (name: string) => user.click(within(screen.getByRole("main")).getByRole("button", { name: new RegExp(`^${name}`) }));

  test("forgetting asks first", async () => {
    const shell = await startWindow({ devices: [labWs] });
    await show("devices");
    await choose("lab-ws", t("devices.forget"));
    const asked = await screen.findByRole("dialog", { name: t("devices.forgetAsk", { name: "lab-ws" }) });
    expect(shell.called("forgetDevice")).toEqual([]);
    await user.click(within(asked).getByRole("button", { name: t("devices.forget") }));
    expect(shell.called("forgetDevice")).toEqual([{ id: labWs.id }]);
  });

  test("the keyboard is where the question is, and goes back where it came from", async () => {
    const shell = await startWindow({ devices: [labWs] });
    await show("devices");
    const menu = screen.getByRole("button", { name: t("devices.actions", { name: "lab-ws" }) });
    await choose("lab-ws", t("devices.forget"));
    await waitFor(() => expect(screen.getByRole("button", { name: t("common.cancel") })).toHaveFocus());
    await user.keyboard("{Enter}");
    await waitFor(() => expect(menu).toHaveFocus());
    expect(shell.called("forgetDevice")).toEqual([]);
    await choose("lab-ws", t("devices.rename"));
    const field = await screen.findByLabelText(t("devices.name"));
    await waitFor(() => expect(field).toHaveFocus());
    await user.keyboard("lab{Enter}");
    expect(shell.called("renameDevice")).toEqual([{ id: labWs.id, name: "lab" }]);
    shell.tell({ event: "devicesChanged", devices: [{ ...labWs, name: "lab" }] });
    await waitFor(() => expect(screen.getByRole("button", { name: t("devices.actions", { name: "lab" }) })).toBeVisible());
    expect(field).toHaveFocus();
    await choose("lab", t("devices.forget"));
    await user.click(await screen.findByRole("button", { name: t("devices.forget") }));
    shell.tell({ event: "devicesChanged", devices: [] });
    await waitFor(() => expect(screen.getByRole("heading", { level: 1 })).toHaveFocus());
    expect(screen.getByText(t("devices.emptyNext"))).toBeVisible();
  });

  test("a name that cannot be is told while it is typed", async () => {
    const shell = await startWindow({ devices: [labWs, { ...labWs, id: "cd".repeat(32), name: "nas" }] });
    await show("devices");
    await openRow("lab-ws");
    const field = screen.getByLabelText(t("devices.name"));
    const told = [[" ", "name.empty"], ["nas ", "name.taken"], ["x".repeat(65), "name.tooLong"], ["photo\u202egpj", "name.hidden"]] as const;
    for (const [name, why] of told) {
      await user.clear(field);
      await user.type(field, `${name}{Enter}`);
      expect(field).toHaveAccessibleDescription(t(why));
    }
    expect(shell.called("renameDevice")).toEqual([]);
    await user.clear(field);
    await user.type(field, "مختبر{Enter}");
    expect(shell.called("renameDevice")).toEqual([{ id: labWs.id, name: "مختبر" }]);
  });

  test("a row says whether a device is there, what is done with its offers and what was last moved; its address is where it is now", async () => {
    const lastTransfer = earlier({ title: "set", report: { bytes: 2_100_000_000 } });
    const device = { ...labWs, last_transfer: lastTransfer, last_seen: Date.now() / 1000 - 3_600, rule: { consent: "accept", folder: null, bytes_max: 20e9 } } as const;
    const shell = await startWindow({ devices: [device] });
    await show("devices");
    const row = within(screen.getByRole("main")).getByRole("button", { name: /^lab-ws/ });
    for (const fact of ["Last seen 1 hour ago", "Accept up to 20 GB", "Received 2.1 GB 2 hours ago"]) expect(row).toHaveTextContent(fact);
    await user.click(row);
    expect(screen.getByText("10.0.0.5, 1 hour ago")).toBeVisible();
    shell.tell({ event: "nearbyChanged", nearby: [nearby({ paired_id: labWs.id, addresses: ["10.0.0.8:17464"] })] });
    await waitFor(() => expect(row).toHaveTextContent(t("send.online")));
    expect(screen.getByText("10.0.0.8:17464")).toBeVisible();
    expect(screen.queryByText(/10\.0\.0\.5/)).toBeNull();
    expect(row).toHaveAttribute("aria-expanded", "true");
  });

  test("a half-typed code survives a change of view, and may be pasted in any spelling", async () => {
    const shell = await startWindow({ nearby: [nearby({ code_number: 42 })] }, { pair: () => "desk" });
    await show("devices");
    await user.type(screen.getByLabelText(t("send.code"), { selector: "[name=pair-code]" }), "42 River");
    await user.click(screen.getByRole("button", { name: /Pair… desk/ }));
    await user.type(screen.getByLabelText(t("devices.nearbyCode", { name: "desk" })), " 42–River_");
    await show("inbox");
    await show("devices");
    expect(screen.getByLabelText(t("send.code"), { selector: "[name=pair-code]" })).toHaveValue("42 River");
    await user.type(screen.getByLabelText(t("devices.nearbyCode", { name: "desk" })), "Castle {Enter}", { initialSelectionStart: 10, initialSelectionEnd: 10 });
    await waitFor(() => expect(shell.called("pair")).toEqual([{ target: { to: "nearby", id: nearby().id }, code: "42-river-castle" }]));
  });

  test("how long ago something was goes on while one looks", async () => {
    vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"] });
    try {
      await startWindow({ devices: [{ ...labWs, last_seen: Date.now() / 1000 }] });
      const card = screen.getByRole("button", { name: /^Send to lab-ws/ });
      expect(card).toHaveTextContent(t("send.lastSeen", { when: t("time.justNow") }));
      await vi.advanceTimersByTimeAsync(5 * 60_000 + 10_000);
      expect(card).toHaveTextContent(t("send.lastSeen", { when: "5 minutes ago" }));
    } finally {
      vi.useRealTimers();
    }
  });
});

test("a shell that cannot start says why", async () => {
  await startWindow({}, {});
  const { mockIPC } = await import("@tauri-apps/api/mocks");
  mockIPC(() => {
    throw { code: "store", path: { path: "/home/me/.local/share/ringway/ringway.db" }, trouble: "damaged_database", detail: "not a database" };
  });
  const { ipc } = await import("./ipc");
  const { AppState } = await import("./state/app.svelte");
  const app = new AppState(ipc);
  await app.start();
  expect(app.fault?.code).toBe("store");
  expect(app.service).toBe(0);
});

test.each(["send", "inbox", "activity", "devices", "settings"] as const)("%s has names, roles and order for everyone", async (view) => {
  await startWindow({ devices: [labWs], offers: [offer()], transfers: [moving({ progress: progress() }), moving({ id: "t2", direction: "receiving", progress: progress() })] });
  await show(view);
  expect(screen.getByRole("heading", { level: 1 })).toHaveFocus();
  // Colours are not computed by jsdom: contrast is looked at in the real window.
  const { violations } = await axe.run(document.body, { rules: { "color-contrast": { enabled: false }, region: { enabled: false } } });
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`)).toEqual([]);
});

describe("what has ended before", () => {
  const seven = earlier({ number: 7, id: "p7", direction: "sending", title: "thesis", peer: "lab-ws", report: { outcome: "partial", failed: 2, arrived: [], limited_by: "network" } });

  test("is listed, and one opens into its course, where it lies and what failed", async () => {
    const details = {
      failures: [{ path: "thesis/pipe", side: "here", operation: "open", reason: "special_file" }],
      edits: [{ path: "thesis/notes", beside: { path: "notes (1)" } }],
      series: [0, 0.5, 1, 1.5, 2].map((seconds) => ({ seconds, bytes: seconds * 3_000_000, limited_by: seconds > 0.5 ? "network" : null })),
    };
    const shell = await startWindow({}, { past: () => [earlier(), seven], pastDetails: () => details });
    await show("activity");
    expect(await screen.findByText("survey")).toBeVisible();
    expect(screen.getByText("2 items failed")).toBeVisible();
    expect(shell.called("pastDetails")).toEqual([]);
    await user.click(screen.getByText("thesis"));
    expect(await screen.findByText(/All but 2 items transferred/)).toBeVisible();
    expect(await screen.findByText("thesis/pipe")).toBeInTheDocument();
    expect(await screen.findByText("Limited by the network")).toBeVisible();
    expect(screen.getByText(t("graph.average", { rate: rate(3_000_000) }))).toBeVisible();
    expect(shell.called("pastDetails")).toEqual([{ number: 7 }]);
    expect((await axe.run(document.body, { rules: { "color-contrast": { enabled: false } } })).violations).toEqual([]);
  });

  test("is searched and read on by the shell, a page at a time", async () => {
    const page = (from: number) => Array.from({ length: 30 }, (_, n) => earlier({ number: from - n, id: `p${from - n}`, title: `tree ${from - n}` }));
    const shell = await startWindow({}, { past: ({ query }) => ((query as { before: number | null }).before === null ? page(99) : [seven]) });
    await show("activity");
    await user.click(await screen.findByRole("button", { name: t("history.more") }));
    expect(await screen.findByText("thesis")).toBeVisible();
    expect(shell.called("past").at(-1)).toEqual({ query: { direction: null, failed_only: false, search: "", before: 70 } });
    expect(screen.queryByRole("button", { name: t("history.more") })).toBeNull();
    await user.type(screen.getByLabelText(t("history.search")), "nas");
    await waitFor(() => expect(shell.called("past").at(-1)).toEqual({ query: { direction: null, failed_only: false, search: "nas", before: null } }));
    await user.click(screen.getByLabelText(t("history.failedOnly")));
    await waitFor(() => expect(shell.called("past").at(-1)).toEqual({ query: { direction: null, failed_only: true, search: "nas", before: null } }));
  });

  test("is read on to its end where rows are damaged, which the service passes over", async () => {
    const page = (from: number, step: number) => Array.from({ length: 30 }, (_, n) => earlier({ number: from - n * step, id: `p${from - n * step}` }));
    const pages = new Map([[null, page(99, 2)], [41, page(40, 1)], [11, [seven]]]);
    const shell = await startWindow({}, { past: ({ query }) => pages.get((query as { before: number | null }).before) });
    await show("activity");
    await user.click(await screen.findByRole("button", { name: t("history.more") }));
    await waitFor(() => expect(shell.called("past").length).toBe(2));
    await user.click(await screen.findByRole("button", { name: t("history.more") }));
    // Only rows that can be seen are drawn, and here nothing has a height.
    await waitFor(() => expect(shell.app.past.list.at(-1)?.number).toBe(seven.number));
    expect(shell.called("past").map((asked) => (asked as { query: { before: number | null } }).query.before)).toEqual([null, 41, 11]);
    expect(screen.queryByRole("button", { name: t("history.more") })).toBeNull();
  });

  test("is sent again, to where it went and as it was", async () => {
    const { report } = failed({ code: "destination_gone" }) as Extract<ReturnType<typeof failed>, { is: "ended" }>;
    const sent = earlier({ direction: "sending", report });
    const again = { chosen, target: { to: "device", id: labWs.id }, label: labWs.name, verify: true, leave_out: "*.tmp" };
    const shell = await startWindow({}, { past: () => [sent], pastDetails: () => ({ failures: [], edits: [], series: [] }), chooseAgain: () => again, send: () => moving() });
    await show("activity");
    await user.click(await screen.findByText("survey"));
    await user.click(await screen.findByRole("button", { name: `${t("activity.again")}: survey` }));
    await waitFor(() => expect(shell.called("send")).toEqual([{ chosen: 7, target: { to: "device", id: labWs.id }, code: null, verify: true, limit: null, leaveOut: "*.tmp" }]));
    expect(shell.called("chooseAgain")).toEqual([{ id: "p12" }]);
    expect(screen.getByRole("heading", { level: 1 })).toHaveTextContent(t("view.send"));
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
    expect(shell.called("open_past")).toEqual([{ number: 12 }]);
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
    expect(shell.called("past")).toEqual([{ query: { direction: "receiving", failed_only: false, search: "", before: null } }]);
    expect(screen.queryByText(t("inbox.nothingReceived"))).toBeNull();
    await user.click(await screen.findByRole("button", { name: t("common.openFolder") }));
    expect(shell.called("open_past")).toEqual([{ number: 12 }]);
    await user.click(screen.getByRole("button", { name: `${t("activity.remove")}: survey` }));
    expect(await screen.findByText(t("inbox.nothingReceived"))).toBeVisible();
  });
});

describe("machines nearby", () => {
  const stranger = nearby();

  test("one that is not paired is a card to send to, at the address where it answers", async () => {
    const shell = await startWindow(
      { nearby: [stranger] },
      { choose_sources: () => chosen, send: () => moving() },
    );
    await user.dblClick(screen.getByRole("button", { name: /Send to desk/ }));
    await waitFor(() => expect(shell.called("send")).toEqual([{ chosen: 7, target: { to: "nearby", id: stranger.id }, code: null, verify: false, limit: null, leaveOut: "" }]));
    expect(await screen.findByText(t("stage.connecting", { peer: "desk" }))).toBeVisible();
  });

  test("one that does not answer is told, and what was chosen is kept", async () => {
    const fault: Fault = { code: "unreachable", target: "10.0.0.7:17464", source: { errno: 110, detail: "timed out" }, remedies: [{ aim: "ufw", command: "sudo ufw allow 17464/tcp" }] };
    const shell = await startWindow({ nearby: [stranger] }, {
      choose_sources: () => chosen,
      send: () => {
        throw fault;
      },
    });
    await user.dblClick(screen.getByRole("button", { name: /Send to desk/ }));
    const told = await screen.findByRole("alert");
    expect(told).toHaveTextContent("10.0.0.7:17464");
    expect(within(told).getByRole("button", { name: t("common.copyNamed", { name: t("common.theCommand"), text: "sudo ufw allow 17464/tcp" }) })).toBeEnabled();
    expect(shell.app.outbox.chosen).toEqual(chosen);
  });

  test("appear and vanish while one looks, and a paired one says that it is there and what was last moved", async () => {
    const last_transfer = earlier({ direction: "sending", report: { bytes: 2_100_000_000 } });
    const shell = await startWindow({ devices: [{ ...labWs, last_transfer }] });
    const card = screen.getByRole("button", { name: /Send to lab-ws/ });
    expect(card).toHaveTextContent("Sent 2.1 GB 2 hours ago");
    expect(card).not.toHaveTextContent(t("send.online"));
    shell.tell({ event: "nearbyChanged", nearby: [nearby({ paired_id: labWs.id }), stranger] });
    await waitFor(() => expect(card).toHaveTextContent(t("send.online")));
    expect(screen.getByRole("button", { name: /Send to desk/ })).toBeEnabled();
    shell.tell({ event: "nearbyChanged", nearby: [] });
    await waitFor(() => expect(card).not.toHaveTextContent(t("send.online")));
    expect(screen.queryByRole("button", { name: /Send to desk/ })).toBeNull();
  });

  test("one with another protocol, or a hostile name, is shown and cannot harm", async () => {
    await startWindow({ nearby: [nearby({ name: "<img src=x onerror=alert(1)>", compatible: false })] });
    const card = screen.getByRole("button", { name: /<img src=x/ });
    expect(card).toHaveAttribute("aria-disabled", "true");
    expect(card).toHaveTextContent(t("send.incompatible"));
    expect(document.querySelector("img")).toBeNull();
  });

  test("a drop on its card sends there", async () => {
    const shell = await startWindow({ nearby: [stranger] }, { send: () => moving() });
    document.elementFromPoint = () => screen.getByRole("button", { name: /Send to desk/ });
    shell.tell({ event: "dragged", drag: { is: "entered", chosen } });
    shell.tell({ event: "dragged", drag: { is: "dropped", chosen, x: 1, y: 1 } });
    await waitFor(() => expect(shell.called("send")).toMatchObject([{ target: { to: "nearby", id: stranger.id } }]));
  });

  test("machines that come and go while something hangs over a card move no card, and what is let go goes to the one that is lit", async () => {
    const shell = await startWindow({ nearby: [stranger] }, { send: () => moving() });
    const card = screen.getByRole("button", { name: /Send to desk/ });
    document.elementFromPoint = () => card;
    shell.tell({ event: "dragged", drag: { is: "entered", chosen } });
    shell.tell({ event: "dragged", drag: { is: "over", x: 50, y: 50 } });
    await waitFor(() => expect(card).toHaveTextContent(t("send.dropFolders", { n: 1, name: "desk" })));
    shell.tell({ event: "nearbyChanged", nearby: [nearby({ id: "a-1", name: "attic" }), stranger] });
    await painted();
    expect(screen.queryByRole("button", { name: /Send to attic/ })).toBeNull();
    // Whatever lies there by now.
    document.elementFromPoint = () => null;
    shell.tell({ event: "dragged", drag: { is: "dropped", chosen, x: 50, y: 50 } });
    await waitFor(() => expect(shell.called("send")).toMatchObject([{ target: { to: "nearby", id: stranger.id } }]));
    expect(await screen.findByRole("button", { name: /Send to attic/ })).toBeVisible();
  });

  test("is found by its code alone, to send and to pair; where several show its number an address is asked for", async () => {
    const desk = nearby({ code_number: 42 });
    const shell = await startWindow({ nearby: [desk, nearby({ id: "b-1", name: "attic", code_number: 7 })] }, { pair: () => "desk-2", send: () => moving() });
    shell.app.outbox.take(chosen);
    await user.click(screen.getByRole("button", { name: new RegExp(`^${t("send.another")}`) }));
    await user.type(screen.getByLabelText(t("send.addressOrCode")), " 42 River–castle");
    expect(screen.getByText(t("send.byCode"))).toBeVisible();
    expect(screen.queryByLabelText(t("send.code"))).toBeNull();
    await user.keyboard("{Enter}");
    await waitFor(() => expect(shell.called("send")).toEqual([{ chosen: 7, target: { to: "nearby", id: desk.id }, code: "42-river-castle", verify: false, limit: null, leaveOut: "" }]));

    await show("devices");
    await user.type(screen.getByLabelText(t("send.code"), { selector: "[name=pair-code]" }), "42-river-castle");
    await user.click(screen.getAllByRole("button", { name: t("devices.pairButton") }).at(-1)!);
    await waitFor(() => expect(shell.called("pair")).toEqual([{ target: { to: "nearby", id: nearby().id }, code: "42-river-castle" }]));
    // What it proved to be called, whatever it had announced.
    expect(await screen.findByText(t("devices.paired", { name: "desk-2" }))).toBeVisible();
    shell.tell({ event: "nearbyChanged", nearby: [desk, nearby({ id: "b-1", name: "attic", code_number: 42 })] });
    await user.type(screen.getByLabelText(t("send.code"), { selector: "[name=pair-code]" }), "42-river-castle{Enter}");
    expect(await screen.findByText(/^Several devices show a code that begins with 42: desk .*, attic/)).toBeVisible();
    expect(shell.called("pair")).toHaveLength(1);
  });

  test("says what it looks like to those who do not see its icon", async () => {
    const known = nearby({ id: "abababababababab-17464", name: "lab-ws", kind: "server", paired_id: labWs.id });
    await startWindow({ devices: [labWs], nearby: [nearby(), known, nearby({ id: "b-1", name: "attic", kind: "other" })] });
    expect(screen.getByRole("button", { name: /^Send to desk, laptop/ })).toBeVisible();
    expect(screen.getByRole("button", { name: /^Send to lab-ws, server/ })).toBeVisible();
    expect(screen.getByRole("button", { name: /^Send to attic\b(?!,)/ })).toBeVisible();
    await show("devices");
    expect(screen.getByText("laptop,")).toBeInTheDocument();
    expect(within(screen.getByRole("main")).getByRole("button", { name: /^lab-ws, server/ })).toBeVisible();
  });

  test("that shows a code is waited for, and not for ever", async () => {
    const shell = await startWindow();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const late = shell.app.surroundings.showing(42);
      await vi.advanceTimersByTimeAsync(3_000);
      shell.tell({ event: "nearbyChanged", nearby: [nearby({ code_number: 42 })] });
      await vi.advanceTimersByTimeAsync(1_000);
      expect(await late).toMatchObject({ nearby: { name: "desk" } });
      const nobody = shell.app.surroundings.showing(5);
      await vi.advanceTimersByTimeAsync(9_000);
      expect(await nobody).toEqual({ unfound: { what: t("code.notFound", { number: "5" }), next: t("code.notFound.next") } });
    } finally {
      vi.useRealTimers();
    }
  });

  test("is paired with by its code, under Devices", async () => {
    const shell = await startWindow({ nearby: [nearby({ code_number: 42 })] }, { pair: () => "desk" });
    await show("devices");
    expect(screen.getByText(/Code begins with 42/)).toBeVisible();
    await user.click(screen.getByRole("button", { name: /Pair… desk/ }));
    const field = screen.getByLabelText(t("devices.nearbyCode", { name: "desk" }));
    await waitFor(() => expect(field).toHaveFocus());
    await user.keyboard("{Escape}");
    await waitFor(() => expect(screen.getByRole("button", { name: /Pair… desk/ })).toHaveFocus());
    await user.keyboard("{Enter}");
    await user.keyboard("42-river-castle{Enter}");
    await waitFor(() => expect(shell.called("pair")).toEqual([{ target: { to: "nearby", id: nearby().id }, code: "42-river-castle" }]));
    const { violations } = await axe.run(document.body, { rules: { "color-contrast": { enabled: false } } });
    expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
  });

  test("is listened for only while the window can be seen", async () => {
    const shell = await startWindow();
    await waitFor(() => expect(shell.called("lookAround")).toEqual([{ on: true }]));
    Object.defineProperty(document, "hidden", { configurable: true, value: true });
    document.dispatchEvent(new Event("visibilitychange"));
    expect(shell.called("lookAround").at(-1)).toEqual({ on: false });
    Reflect.deleteProperty(document, "hidden");
  });
});

describe("a machine's rule", () => {
  const open = async () => {
    await show("devices");
    await user.click(within(screen.getByRole("main")).getByRole("button", { name: /^lab-ws/ }));
    return screen.getByRole("group", { name: t("devices.settingsOf", { name: "lab-ws" }) });
  };

  test("asks by default, and can accept up to a size, which is typed in gigabytes", async () => {
    const shell = await startWindow({ devices: [labWs] });
    const form = await open();
    expect(screen.getByText(t("devices.rule.ask"), { selector: "[data-rule]" })).toBeVisible();
    await user.selectOptions(within(form).getByLabelText(t("devices.rule")), "accept");
    expect(shell.called("setDeviceRule")).toEqual([{ id: labWs.id, consent: "accept", bytesMax: null }]);
    shell.tell({ event: "devicesChanged", devices: [{ ...labWs, rule: { consent: "accept", folder: null, bytes_max: null } }] });
    const size = await screen.findByLabelText(t("devices.ruleSize"));
    await user.type(size, "x{Enter}");
    expect(screen.getByText(t("devices.ruleSizeBad"))).toBeVisible();
    expect(shell.called("setDeviceRule")).toHaveLength(1);
    await user.clear(size);
    await user.type(size, "20,5{Enter}");
    expect(shell.called("setDeviceRule").at(-1)).toEqual({ id: labWs.id, consent: "accept", bytesMax: 20_500_000_000 });
    shell.tell({ event: "devicesChanged", devices: [{ ...labWs, rule: { consent: "accept", folder: null, bytes_max: 20_500_000_000 } }] });
    expect(await screen.findByText(t("devices.rule.acceptUpTo", { size: "20.5 GB" }))).toBeVisible();
    const { violations } = await axe.run(document.body, { rules: { "color-contrast": { enabled: false } } });
    expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
  });

  test("has a folder of its own, until it is taken back; what is refused has none", async () => {
    const rule = { consent: "ask", folder: { path: "/data/from-lab" }, bytes_max: null } as const;
    const shell = await startWindow({ devices: [{ ...labWs, rule }] });
    const form = await open();
    expect(within(form).getByText("/data/from-lab")).toBeVisible();
    await user.click(within(form).getByRole("button", { name: t("folder.change") }));
    await user.click(within(form).getByRole("button", { name: t("devices.ruleFolderDefault") }));
    expect(shell.called("choose_device_folder")).toEqual([{ id: labWs.id }]);
    expect(shell.called("clearDeviceFolder")).toEqual([{ id: labWs.id }]);
    shell.tell({ event: "devicesChanged", devices: [{ ...labWs, rule: { ...rule, consent: "refuse" } }] });
    await waitFor(() => expect(within(form).queryByText("/data/from-lab")).toBeNull());
  });

  test("an offer says why somebody is asked in spite of it", async () => {
    await startWindow({ offers: [offer({ asked_because: { because: "too_much", bytes_max: 1_000_000 } })] });
    await show("inbox");
    expect(screen.getByText(t("offer.tooMuch", { size: "1.0 MB" }))).toBeVisible();
  });
});

describe("the service behind the window", () => {
  test("one that is lost is told and started by a press, and everything is asked for anew", async () => {
    const shell = await startWindow({ transfers: [moving()] });
    await show("activity");
    expect(await screen.findByText("dataset-v3")).toBeVisible();
    shell.tell({ event: "serviceLost", fault: { code: "service_gone" } });
    expect(await screen.findByText(t("fault.serviceGone"))).toBeVisible();
    await user.click(screen.getByRole("button", { name: t("window.restartService") }));
    expect(shell.called("start_service")).toHaveLength(1);
    shell.tell({ event: "serviceLost", fault: { code: "service_failed", detail: "no ringway", remedies: [] } });
    expect(await screen.findByText(t("fault.serviceFailed", { detail: "no ringway" }))).toBeVisible();
    shell.tell({ event: "serviceFound" });
    await waitFor(() => expect(shell.called("start")).toHaveLength(2));
    await waitFor(() => expect(screen.queryByRole("alert")).toBeNull());
    expect(shell.called("lookAround")).toHaveLength(2);
    // What comes next is heard as before.
    shell.tell({ event: "offerChanged", offer: offer() });
    expect(await screen.findByText(t("inbox.offerFrom", { from: "laptop" }), { selector: "[data-offer-banner] *" })).toBeVisible();
  });

  test("that it was lost is said until the next one's state is shown, and what a lost one still answers is not shown", async () => {
    const shell = await startWindow();
    await show("inbox");
    const { mockIPC } = await import("@tauri-apps/api/mocks");
    const answers: ((all: ReturnType<typeof everything>) => void)[] = [];
    let events: { onmessage: (event: AppEvent) => void } | undefined;
    mockIPC((command, payload) => {
      if (command !== "start") return askedFor(command, payload).command === "past" ? [] : null;
      events = (payload as { events: typeof events }).events;
      return new Promise((resolve) => answers.push(resolve));
    });
    const withCode = (text: string) => {
      const all = everything();
      if (all.listening.is === "on" && all.listening.code) all.listening.code.code = text;
      return all;
    };
    const lost = { event: "serviceLost", fault: { code: "service_gone" } } as const;
    shell.tell(lost);
    shell.tell({ event: "serviceFound" });
    await waitFor(() => expect(answers).toHaveLength(1));
    expect(screen.getByText(t("fault.serviceGone"))).toBeVisible();
    expect(screen.getByRole("heading", { level: 1, name: t("view.inbox") })).toBeVisible();
    events?.onmessage(lost);
    answers[0]?.(withCode("1-old-code"));
    events?.onmessage({ event: "serviceFound" });
    await waitFor(() => expect(answers).toHaveLength(2));
    expect(screen.queryByText("1-old-code")).toBeNull();
    expect(screen.getByText(t("fault.serviceGone"))).toBeVisible();
    answers[1]?.(withCode("2-new-code"));
    expect(await screen.findByText("2-new-code")).toBeVisible();
    expect(screen.queryByRole("alert")).toBeNull();
  });

  test("one that is found while it is still to be answered that there is none is shown", async () => {
    const shell = await startWindow();
    const { mockIPC } = await import("@tauri-apps/api/mocks");
    let asked = 0;
    mockIPC((command, payload) => {
      if (command !== "start") return null;
      asked += 1;
      if (asked > 1) return everything();
      (payload as { events: { onmessage: (event: AppEvent) => void } }).events.onmessage({ event: "serviceFound" });
      return Promise.reject({ code: "service_gone" });
    });
    await shell.app.start();
    expect(asked).toBe(2);
    expect(shell.app.lost).toBeNull();
    expect(screen.queryByText(t("fault.serviceGone"))).toBeNull();
  });

  test("another version is told without a button that would not help", async () => {
    const shell = await startWindow();
    shell.tell({ event: "serviceLost", fault: { code: "service_differs", ours: "0.2.0", theirs: "0.1.0", remedies: [] } });
    expect(await screen.findByText(t("fault.serviceDiffers", { ours: "0.2.0", theirs: "0.1.0" }))).toBeVisible();
    expect(screen.queryByRole("button", { name: t("window.restartService") })).toBeNull();
  });

  test("what the window is opened with from outside is chosen, and a view is shown", async () => {
    const shell = await startWindow();
    await show("settings");
    shell.tell({ event: "opened", chosen, view: null });
    expect(await screen.findByRole("heading", { level: 1, name: t("view.send") })).toBeVisible();
    expect(screen.getByText("dataset-v3")).toBeVisible();
    shell.tell({ event: "opened", chosen: null, view: "inbox" });
    expect(await screen.findByRole("heading", { level: 1, name: t("view.inbox") })).toBeVisible();
  });
});

describe("where and when this machine receives", () => {
  test.each([
    ["background", "setBackground"],
    ["announce", "setAnnounce"],
    ["receiving", "setReceiving"],
  ] as const)("%s is a switch in the settings", async (what, command) => {
    const shell = await startWindow({}, { [command]: (args) => ({ ...stored, ...args }) });
    await show("settings");
    const box = screen.getByRole("switch", { name: t(`settings.${what}`) });
    expect(box).toBeChecked();
    await user.click(box);
    expect(shell.called(command)).toEqual([{ [what]: false }]);
    await waitFor(() => expect(shell.app.settings.stored[what]).toBe(false));
    expect(box).not.toBeChecked();
  });

  test("a switch that was pressed in vain goes back, and the reason is told beside it", async () => {
    const fault: Fault = { code: "listen", address: "[::]:17464", source: { errno: 98, detail: "" }, remedies: [] };
    await startWindow({ settings: { ...stored, receiving: false }, listening: { is: "off", refused: null } }, { setReceiving: () => Promise.reject(fault) });
    await show("settings");
    const box = screen.getByRole("switch", { name: t("settings.receiving") });
    await user.click(box);
    expect(await screen.findByRole("alert")).toHaveTextContent(t("os.portInUse"));
    expect(box).not.toBeChecked();
  });

  test("the Inbox says that receiving is switched off, and switches it on", async () => {
    const off = { ...stored, receiving: false };
    const shell = await startWindow({ settings: off, listening: { is: "off", refused: null } }, { setReceiving: (args) => ({ ...off, ...args }) });
    await show("inbox");
    expect(screen.getByText(t("inbox.off"), { selector: "main p" })).toBeVisible();
    await user.click(screen.getByRole("button", { name: t("inbox.turnOn") }));
    expect(shell.called("setReceiving")).toEqual([{ receiving: true }]);
    await waitFor(() => expect(screen.queryByRole("button", { name: t("inbox.turnOn") })).toBeNull());
  });

  test("the Inbox says why receiving could not be switched on elsewhere, in the tray or by a command", async () => {
    const off = { ...stored, receiving: false };
    const fault: Fault = { code: "listen", address: "[::]:17464", source: { errno: 98, detail: "" }, remedies: [] };
    const shell = await startWindow({ settings: off, listening: { is: "off", refused: null } }, { setReceiving: (args) => ({ ...off, ...args }) });
    await show("inbox");
    expect(screen.queryByRole("alert")).toBeNull();
    shell.tell({ event: "listeningChanged", listening: { is: "off", refused: fault } });
    const told = await screen.findByRole("alert");
    expect(told).toHaveTextContent(t("os.portInUse"));
    expect(told).toHaveTextContent(t("fault.listen.next"));
    await user.click(screen.getByRole("button", { name: t("inbox.turnOn") }));
    expect(shell.called("setReceiving")).toEqual([{ receiving: true }]);
  });

  test("an offer that settings have overtaken goes, and it is told why", async () => {
    const shell = await startWindow({ offers: [offer()] });
    await show("inbox");
    shell.tell({ event: "offerGone", id: "o1", how: "overtaken" });
    expect(await screen.findByRole("alert")).toHaveTextContent(t("inbox.overtaken", { from: "laptop" }));
    expect(screen.queryByRole("button", { name: t("inbox.accept") })).toBeNull();
  });

  test("start at login tells what does it, where that is gone, and why it cannot be had", async () => {
    const shell = await startWindow(
      {},
      {
        startAtLogin: () => ({ now: { by: "vanished", program: { path: "/old/ringway" } }, means: "autostart" }),
        setStartAtLogin: ({ on }) => (on ? { now: { by: "unit" }, means: "unit" } : Promise.reject({ code: "systemd", detail: "busy" })),
      },
    );
    await show("settings");
    const box = screen.getByRole("switch", { name: t("settings.login") });
    await waitFor(() => expect(box).toHaveAccessibleDescription(t("settings.login.vanished", { program: "/old/ringway" })));
    expect(box).not.toBeChecked();
    await user.click(box);
    await waitFor(() => expect(box).toHaveAccessibleDescription(t("settings.login.unit")));
    expect(box).toBeChecked();
    await user.click(box);
    expect(await screen.findByRole("alert")).toHaveTextContent(t("fault.systemd", { detail: "busy" }));
    expect(box).toBeChecked();
    expect(shell.called("setStartAtLogin")).toEqual([{ on: true }, { on: false }]);
  });

  test("what somebody else has changed shows at once, and what is being typed stays", async () => {
    const shell = await startWindow();
    await show("settings");
    await user.type(screen.getByLabelText(t("settings.port")), "1");
    shell.tell({ event: "settingsChanged", settings: { ...stored, name: "elsewhere", background: false } });
    await waitFor(() => expect(screen.getByLabelText(t("settings.name"))).toHaveValue("elsewhere"));
    expect(screen.getByLabelText(t("settings.port"))).toHaveValue("174641");
    expect(screen.getByRole("switch", { name: t("settings.background") })).not.toBeChecked();
  });
});

describe("the first run", () => {
  const unset = { is_set_up: false, listening: { is: "off", refused: null } } as const;
  const atLogin = (on: boolean) => ({ now: { by: on ? "autostart" : "nothing" }, means: "autostart" });

  test("asks for name, folder and when to run, and goes on to the next view with its heading", async () => {
    const shell = await startWindow(unset, {
      startAtLogin: () => atLogin(false),
      choose_first_folder: () => ({ path: "/home/me/Incoming" }),
      set_up: (args) => ({ ...stored, ...args, receive_folder: { path: "/home/me/Incoming" } }),
    });
    expect(screen.queryByRole("navigation")).toBeNull();
    const name = screen.getByLabelText(t("settings.name"));
    expect(name).toHaveValue("here");
    await user.clear(name);
    expect(screen.getByRole("button", { name: t("first.begin") })).toBeDisabled();
    await user.type(name, "laptop");
    await user.click(screen.getByRole("button", { name: t("folder.change") }));
    expect(await screen.findByText("/home/me/Incoming")).toBeVisible();
    await user.click(screen.getByRole("checkbox", { name: t("settings.background") }));
    await user.click(await screen.findByRole("checkbox", { name: t("settings.login") }));
    await user.type(name, "{Enter}");
    expect(shell.called("set_up")).toEqual([{ name: "laptop", background: false, startAtLogin: true }]);
    await waitFor(() => expect(screen.getByRole("heading", { level: 1, name: t("view.send") })).toHaveFocus());
    expect(screen.getByRole("navigation")).toBeVisible();
    expect(screen.getByText(t("send.noDevicesFound"))).toBeVisible();
  });

  test("leaves the start at login as it is where nobody has touched it", async () => {
    const shell = await startWindow(unset, { startAtLogin: () => atLogin(true), set_up: () => stored });
    await waitFor(() => expect(screen.getByRole("checkbox", { name: t("settings.login") })).toBeChecked());
    await user.click(screen.getByRole("button", { name: t("first.begin") }));
    expect(shell.called("set_up")).toEqual([{ name: "here", background: true, startAtLogin: null }]);
  });

  test("keeps what was handed over, and stays where something cannot be had", async () => {
    const shell = await startWindow(unset, { set_up: () => Promise.reject({ code: "no_program" }) });
    shell.tell({ event: "opened", chosen, view: null });
    expect(await screen.findByText(t("first.selectionKept"))).toBeVisible();
    await user.click(screen.getByRole("button", { name: t("first.begin") }));
    expect(await screen.findByRole("alert")).toHaveTextContent(t("fault.noProgram"));
    // Somebody has set it up with the command meanwhile.
    shell.tell({ event: "settingsChanged", settings: stored });
    expect(await screen.findByRole("heading", { level: 1, name: t("view.send") })).toBeVisible();
    expect(screen.getByText("dataset-v3")).toBeVisible();
  });

  test("has names, roles and order for everyone", async () => {
    await startWindow(unset, { startAtLogin: () => atLogin(false) });
    const { violations } = await axe.run(document.body, { rules: { "color-contrast": { enabled: false } } });
    expect(violations.map(({ id }) => id)).toEqual([]);
  });
});
