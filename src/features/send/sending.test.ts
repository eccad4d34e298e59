import { screen, waitFor, within } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import axe from "axe-core";
import { describe, expect, test } from "vitest";
import type { Report } from "../../ipc";
import { t } from "../../messages";
import { chosen, earlier, failed, labWs, moving, nearby, progress, selection, source, startWindow } from "../../testing/shell";
import { forgetOptions, optionsFor, PLAIN, rememberOptions } from "../../state/send-options";
import { show } from "../../testing/show";

const user = userEvent.setup();

describe("sending", () => {
  test("chosen folder, typed address and code go to the shell together", async () => {
    const shell = await startWindow({}, { choose_sources: () => chosen, send: () => moving() });
    await user.click(screen.getByRole("button", { name: t("send.folders") }));
    expect(await screen.findByText("dataset-v3")).toBeVisible();
    await user.type(screen.getByLabelText(t("send.addressOrCode")), "10.0.0.5");
    await user.type(screen.getByLabelText(t("send.code")), "42-river-castle{Enter}");
    expect(shell.called("send")).toEqual([{ chosen: 7, target: { to: "typed", text: "10.0.0.5" }, code: "42-river-castle", verify: false, limit: null, leaveOut: "", inShare: null }]);
    expect(await screen.findByText(t("stage.connecting", { peer: "10.0.0.5" }))).toBeVisible();
    shell.update("t1", { is: "moved", progress: progress() });
    expect(await screen.findByText("Sending to lab-ws")).toBeVisible();
    expect(screen.getByRole("progressbar")).toHaveAttribute("aria-valuetext", "25\u00a0%, 1.0\u00a0MB/s");
    expect(screen.getByText(/3 s left/)).toBeVisible();
    const encryption = screen.getByText(/Encrypted by Ringway on both devices. Here: the kernel's TLS module is not loaded/);
    expect(encryption, "few ask").not.toBeVisible();
    await user.click(screen.getByText(t("activity.technical")));
    expect(encryption).toBeVisible();
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
    expect(shell.called("send")).toEqual([{ chosen: 7, target: { to: "typed", text: "10.0.0.5" }, code: null, verify: false, limit: null, leaveOut: "", inShare: null }]);
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
    expect(shell.called("send").at(-1)).toEqual({ chosen: 7, target: { to: "typed", text: "10.0.0.5" }, code: "42-river-castle", verify: false, limit: null, leaveOut: "", inShare: null });
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
    expect(shell.called("send").at(-1)).toEqual({ chosen: 7, target, code: null, verify: false, limit: null, leaveOut: "", inShare: null });
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

  test("while codes are tried, the panel stays, with the name of the device that asked for one", async () => {
    let started = 0;
    const shell = await startWindow({}, { send: () => moving({ id: `t${(started += 1)}` }) });
    shell.app.outbox.take(chosen);
    await shell.app.outbox.sendToTyped("10.0.0.5", "");
    shell.update("t1", failed({ code: "pairing_needed", peer_name: "lab-ws" }));
    const title = t("send.firstContact", { name: "lab-ws" });
    const panel = await screen.findByRole("region", { name: title });
    await user.type(within(panel).getByLabelText(t("send.code")), "1-wrong-words{Enter}");
    expect(await within(panel).findByText(t("stage.connecting", { peer: "lab-ws" }))).toBeVisible();
    shell.update("t2", failed({ code: "wrong_code" }));
    expect(await within(panel).findByRole("alert")).toHaveTextContent("Wrong code for lab-ws");
    expect(screen.getByRole("region", { name: title })).toBe(panel);
    await user.type(within(panel).getByLabelText(t("send.code")), "2-wrong-words{Enter}");
    await user.click(within(panel).getByRole("button", { name: t("common.cancel") }));
    expect(shell.called("cancel")).toEqual([{ id: "t3", then: "remove" }]);
  });

  test("what goes to an address has the same options, which are remembered once it is known who that is", async () => {
    const shell = await startWindow({ devices: [labWs] }, { send: () => moving() });
    const put = async (label: string, text: string) => {
      const field = await screen.findByLabelText(label);
      await user.clear(field);
      await user.paste(text);
      return field;
    };
    shell.app.outbox.take(chosen);
    await user.click(screen.getByRole("button", { name: /^Send to lab-ws/ }));
    await user.click(await screen.findByRole("button", { name: t("send.options") }));
    await user.click(screen.getByRole("switch", { name: new RegExp(t("common.verify")) }));
    await user.click(screen.getByRole("button", { name: new RegExp(`^${t("send.another")}`) }));
    await put(t("send.addressOrCode"), "10.0.0.9");
    await user.click(screen.getByRole("button", { name: t("send.options") }));
    expect(screen.getByRole("switch", { name: new RegExp(t("common.verify")) }), "the other device's are its own").not.toBeChecked();
    await put(t("settings.limit"), "2");
    expect(await put(t("send.boxThere"), "../x")).toHaveAttribute("aria-invalid", "true");
    await put(t("send.boxThere"), "runs/2026/");
    expect(screen.getByLabelText(t("send.leaveOut"))).toBeVisible();
    await user.click(screen.getByRole("button", { name: t("send.options") }));
    for (const fact of [t("send.intoBox", { folder: "runs/2026" }), t("send.limited", { rate: "2.0 MB/s" })]) expect(screen.getByText(fact)).toBeVisible();
    await user.type(screen.getByLabelText(t("send.addressOrCode")), "{Enter}");
    expect(shell.called("send").at(-1)).toEqual({ chosen: 7, target: { to: "typed", text: "10.0.0.9" }, code: null, verify: false, limit: 2_000_000, leaveOut: "", inShare: "runs/2026" });
    shell.update("t1", { is: "moved", progress: progress({ peer_id: "ef".repeat(32) }) });
    expect(optionsFor("ef".repeat(32))).toEqual({ verify: false, limit: 2_000_000, inShare: "runs/2026" });
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
    shell.tell({ event: "chosenCounted", chosen: 7, sizes: [], total: { items: 30, bytes: 3_000_000, excluded: 2, state: "exact" } });
    expect(await screen.findByText(t("send.leftOutHint", { n: 2 }))).toBeVisible();
    // What is added does not take away what was typed.
    shell.app.outbox.take(selection({ id: 8, leave_out: "*.o" }));
    expect(field).toHaveValue("/cache");
    await user.click(within(screen.getByRole("main")).getByRole("button", { name: t("send.button") }));
    expect(shell.called("send")).toEqual([{ chosen: 8, target: { to: "device", id: labWs.id }, code: null, verify: false, limit: null, leaveOut: "/cache", inShare: null }]);
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
    expect(shell.called("send")).toEqual([{ chosen: 7, target: { to: "device", id: labWs.id }, code: null, verify: true, limit: 2_500_000, leaveOut: "", inShare: null }]);
    shell.app.outbox.pick(null);
    shell.app.outbox.options = PLAIN;
    shell.app.outbox.pick(labWs.id);
    expect(shell.app.outbox.options, "as it was sent there last").toEqual({ verify: true, limit: 2_500_000, inShare: null });
  });

  test("it goes into a drop box there and a folder in it, and the last one is remembered for that device", async () => {
    forgetOptions(labWs.id);
    const nas = { ...labWs, id: "cd".repeat(32), name: "nas" };
    const shares = [
      { name: "inbox", drop: true, unavailable: null, drop_trouble: null },
      { name: "runs", drop: false, unavailable: null, drop_trouble: null },
    ];
    const shell = await startWindow({ devices: [labWs, nas] }, { send: () => moving(), browse: ({ device }) => (device === labWs.id ? 1 : 2), readListing: ({ listing }) => ({ of: "shares", shares: listing === 1 ? shares : [] }) });
    shell.app.outbox.take(chosen);
    await user.click(screen.getByRole("button", { name: /^Send to nas/ }));
    await user.click(await screen.findByRole("button", { name: t("send.options") }));
    await waitFor(() => expect(shell.called("readListing")).toEqual([{ listing: 2 }]));
    expect(screen.queryByLabelText(t("send.folderThere")), "nas has none").toBeNull();
    await user.click(screen.getByRole("button", { name: /^Send to lab-ws/ }));
    const there = await screen.findByLabelText<HTMLSelectElement>(t("send.folderThere"));
    expect([...there.options].map(({ value }) => value)).toEqual(["", "inbox"]);
    expect(screen.queryByLabelText(t("send.folderBelow"))).toBeNull();
    await user.selectOptions(there, "inbox");
    const below = screen.getByLabelText(t("send.folderBelow"));
    await user.type(below, "../a");
    expect(below).toHaveAccessibleDescription(t("send.folderBelowBad"));
    await user.clear(below);
    await user.type(below, "/2026/ november/");
    expect((await axe.run(document.body, { rules: { "color-contrast": { enabled: false } } })).violations).toEqual([]);
    await user.click(screen.getByRole("button", { name: t("send.options") }));
    expect(screen.getByRole("group", { name: t("send.action") })).toHaveTextContent(t("send.intoBox", { folder: "inbox/2026/november" }));
    await user.click(within(screen.getByRole("main")).getByRole("button", { name: t("send.button") }));
    expect(shell.called("send")).toEqual([{ chosen: 7, target: { to: "device", id: labWs.id }, code: null, verify: false, limit: null, leaveOut: "", inShare: "inbox/2026/november" }]);
    shell.app.outbox.pick(nas.id);
    expect(shell.app.outbox.options).toEqual(PLAIN);
    shell.app.outbox.pick(labWs.id);
    expect(shell.app.outbox.options.inShare).toBe("inbox/2026/november");
    forgetOptions(labWs.id);
  });

  test("a drop on a card goes into the drop box that is remembered, and the card says so", async () => {
    rememberOptions(labWs.id, { ...PLAIN, inShare: "runs/2026" });
    const shell = await startWindow({ devices: [labWs] }, { send: () => moving() });
    const card = screen.getByRole("button", { name: /^Send to lab-ws/ });
    document.elementFromPoint = () => card;
    shell.tell({ event: "dragged", drag: { is: "entered", chosen } });
    shell.tell({ event: "dragged", drag: { is: "over", x: 50, y: 50 } });
    const what = t("send.dropFolders", { n: 1, name: "lab-ws" });
    await waitFor(() => expect(card).toHaveTextContent(t("send.dropInto", { what, folder: "runs/2026" })));
    shell.tell({ event: "dragged", drag: { is: "dropped", chosen, x: 50, y: 50 } });
    await waitFor(() => expect(shell.called("send")).toMatchObject([{ target: { to: "device", id: labWs.id }, inShare: "runs/2026" }]));
    forgetOptions(labWs.id);
    document.elementFromPoint = () => null;
  });

  test("over a card the card alone says what a drop does, and over a device's row the row alone", async () => {
    const shell = await startWindow({ devices: [labWs] });
    const drop = screen.getByRole("region", { name: t("send.chosen") });
    const card = screen.getByRole("button", { name: /^Send to lab-ws/ });
    const row = document.querySelector<HTMLElement>("[data-row]")!;
    const what = t("send.dropFolders", { n: 1, name: "lab-ws" });
    shell.tell({ event: "dragged", drag: { is: "entered", chosen } });
    await waitFor(() => expect(drop).toHaveClass("dragging"));
    for (const [over, other] of [[card, row], [row, card]] as const) {
      document.elementFromPoint = () => over;
      shell.tell({ event: "dragged", drag: { is: "over", x: 50, y: 50 } });
      await waitFor(() => expect(over).toHaveTextContent(what));
      expect(over).toHaveClass("over");
      expect(other).not.toHaveClass("over");
      expect(other).not.toHaveTextContent(what);
      expect(drop).not.toHaveClass("dragging");
      expect(screen.queryByText(t("send.dropNow"))).toBeNull();
    }
    document.elementFromPoint = () => null;
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
    expect(shell.called("send")).toEqual([{ chosen: 7, target: { to: "device", id: labWs.id }, code: null, verify: false, limit: null, leaveOut: "", inShare: null }]);
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
    expect(await screen.findByText(t("send.dropFirst")), "nothing is selected yet").toBeVisible();
    shell.tell({ event: "dragged", drag: { is: "dropped", chosen, x: 5, y: 5 } });
    expect(await screen.findByRole("button", { name: t("send.clear") })).toBeVisible();
    shell.tell({ event: "dragged", drag: { is: "entered", chosen } });
    expect(await screen.findByText(t("send.dropNow"))).toBeVisible();
    shell.tell({ event: "dragged", drag: { is: "left" } });
    expect(screen.getByText("dataset-v3")).toBeVisible();
    expect(shell.called("send")).toEqual([]);

    const card = screen.getByRole("button", { name: /^Send to lab-ws/ });
    document.elementFromPoint = () => card;
    shell.tell({ event: "dragged", drag: { is: "dropped", chosen, x: 50, y: 50 } });
    await waitFor(() => expect(shell.called("send")).toEqual([{ chosen: 7, target: { to: "device", id: labWs.id }, code: null, verify: false, limit: null, leaveOut: "", inShare: null }]));
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
    // The first one's end is reported where transfers are, and what is chosen stays.
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
      joinChosen: ({ chosen: id, added }) => selection({ id: 20, items: [source(), photos], merged: id === 7 && added === 8 ? merged : [], total: { items: 80, bytes: 8_000_000, excluded: 0, state: "counting" } }),
    });
    const drop = (what: typeof chosen) => shell.tell({ event: "dragged", drag: { is: "dropped", chosen: what, x: 5, y: 5 } });
    drop(chosen);
    drop(selection({ id: 8, items: [photos] }));
    expect(await screen.findByText("photos")).toBeVisible();
    expect(screen.getByText("dataset-v3")).toBeVisible();
    expect(screen.getByText(t("send.mergedWithin", { name: "raw", folder: "dataset-v3" }))).toBeVisible();
    expect(shell.called("joinChosen")).toEqual([{ chosen: 7, added: 8 }]);
    await waitFor(() => expect(shell.called("countChosen").at(-1)).toEqual({ chosen: 20, leaveOut: "" }));
    shell.tell({ event: "chosenCounted", chosen: 20, sizes: [{ item: 2, size: { items: 1_204, bytes: 3_400_000_000, excluded: 0, state: "exact" } }], total: { items: 1_244, bytes: 3_404_000_000, excluded: 0, state: "exact" } });
    expect(await screen.findByText("3.4 GB", { selector: "[data-item=photos] *" })).toBeVisible();
    shell.tell({ event: "chosenCounted", chosen: 7, sizes: [], total: { items: 1, bytes: 1, excluded: 0, state: "exact" } });
    expect(shell.app.outbox.chosen?.total.items, "of an earlier list").toBe(1_244);

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
    const button = within(screen.getByRole("group", { name: t("send.action") })).getByRole("button", { name: t("send.button") });
    expect(button, "the options do not move to make room for it").toBeDisabled();
    const card = screen.getByRole("button", { name: /^Send to lab-ws/ });
    await user.click(card);
    expect(card).toHaveAttribute("aria-pressed", "true");
    expect(screen.getByText(t("send.what", { what: "dataset-v3", name: "lab-ws" }))).toBeVisible();
    expect(button).toBeEnabled();
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
    expect(await screen.findByText(t("send.waitsFor", { what: "holiday" })), "each names what is before it").toBeVisible();
    expect(screen.getByText(t("state.waitingTurn")), "nothing is known to be under way").toBeVisible();
    expect(screen.getByRole("button", { name: t("send.moveUp", { name: "holiday" }) })).toHaveAttribute("aria-disabled", "true");
    await user.click(screen.getByRole("button", { name: t("send.moveUp", { name: "dataset-v3" }) }));
    await user.click(screen.getByRole("button", { name: t("send.remove", { name: "holiday" }) }));
    expect(shell.called("shiftWaiting")).toEqual([{ id: "2", up: true }]);
    expect(shell.called("removeWaiting")).toEqual([{ id: "1" }]);
    await show("activity");
    expect(screen.getByRole("heading", { name: t("activity.running") })).toBeVisible();
    expect(screen.getByText(t("send.waitsFor", { what: "holiday" }))).toBeVisible();
    // It begins by itself, and is listed although nobody here has just asked for it.
    shell.tell({ event: "transferStarted", transfer: moving({ id: "w2", target: "lab-ws" }) });
    await waitFor(() => expect(shell.app.transfers.find("w2")).toBeDefined());
  });

  test("what runs stands above what waits for it, which names it, and what has ended stands last", async () => {
    const ended = moving({ id: "e", title: "before", progress: progress({ stage: "ended" }), report: { ...(failed({ code: "gone" }).report), outcome: "complete" } as Report });
    const other = moving({ id: "o", title: "elsewhere", target: "nas", progress: progress({ peer_id: "cd".repeat(32) }) });
    const waiting = [{ id: "1", device: labWs.id, target: "lab-ws", title: { path: "photos" }, more_names: 0 }];
    const shell = await startWindow({ devices: [labWs], waiting, transfers: [ended, other, moving({ id: "r", title: "lidar", more_names: 2, target: "lab-ws", progress: progress() })] });
    const titles = screen.getAllByRole("heading", { level: 2 }).map(({ textContent }) => textContent);
    expect(titles.slice(-3)).toEqual([t("activity.running"), t("send.waiting"), t("send.recent")]);
    const row = () => document.querySelector<HTMLElement>("[data-waiting]")!;
    expect(within(row()).getByText(t("send.waitsFor", { what: t("activity.titleMore", { title: "lidar", n: 2 }) }))).toBeVisible();
    shell.update("r", { is: "ended", progress: progress({ stage: "ended" }), report: ended.report! });
    await waitFor(() => expect(within(row()).getByText(t("state.waitingTurn"))).toBeVisible());
    expect(screen.getByRole("article", { name: /^lidar/ })).toHaveAttribute("data-ended");
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
