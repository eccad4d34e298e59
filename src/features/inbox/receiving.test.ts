import { screen, waitFor, within } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import axe from "axe-core";
import { describe, expect, test } from "vitest";
import { bytes } from "../../format";
import type { Fault, FreeSpace, Report } from "../../ipc";
import { t } from "../../messages";
import { earlier, failed, labWs, moving, offer, pairingRequest, progress, startWindow } from "../../testing/shell";
import { show } from "../../testing/show";

const user = userEvent.setup();

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
    shell.tell({ event: "requestsChanged", requests: [pairingRequest({ name: "nas", paired_as: "nas" })] });
    await waitFor(() => expect(screen.queryByText(t("inbox.paired", { name: "nas" })), "it no longer knows this device").toBeNull());
  });

  test("the line that a machine is paired goes with the view, and a failure stays", async () => {
    const shell = await startWindow({ devices: [labWs] });
    shell.tell({ event: "devicePaired", device: labWs });
    expect(await screen.findByText(t("inbox.paired", { name: "lab-ws" })), "in another view, for a while").toBeVisible();
    await user.click(screen.getByRole("button", { name: t("common.close") }));
    shell.app.inbox.offerChanged(offer());
    shell.app.inbox.offerGone("o1", "overtaken");
    await show("inbox");
    expect(await screen.findByText(t("inbox.paired", { name: "lab-ws" }))).toBeVisible();
    await show("send");
    await show("inbox");
    expect(screen.queryByText(t("inbox.paired", { name: "lab-ws" }))).toBeNull();
    expect(screen.getByText(t("inbox.overtaken", { from: "laptop" }))).toBeVisible();
  });

  test("an offer is announced, and accepting it numbers the top folder by default", async () => {
    const shell = await startWindow({}, { accept: () => moving({ id: "o1", direction: "receiving", target: "" }) });
    shell.tell({ event: "offerChanged", offer: offer() });
    await user.click(await screen.findByRole("button", { name: t("inbox.offerFrom", { from: "laptop" }) }));
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

  test("an offer that is accepted in another view says there what becomes of it", async () => {
    const shell = await startWindow({ devices: [labWs] }, { accept: () => moving({ id: "o1", direction: "receiving", target: "" }) });
    shell.tell({ event: "offerChanged", offer: offer() });
    await user.click(await screen.findByRole("button", { name: t("inbox.accept") }));
    const told = { what: "holiday", folder: "/home/me/Downloads" };
    expect(await screen.findByText(t("inbox.accepted", told))).toBeVisible();
    // Once it has ended, nothing is being received any more.
    shell.tell({ event: "transferStarted", transfer: moving({ id: "o1", direction: "receiving", target: "" }) });
    shell.update("o1", { is: "ended", progress: progress({ stage: "ended" }), report: earlier() });
    expect(await screen.findByText(t("inbox.acceptedArrived", told))).toBeVisible();
    expect(screen.queryByText(t("inbox.accepted", told))).toBeNull();
  });

  test("an offer that is accepted in another view and fails says so there", async () => {
    const shell = await startWindow({ devices: [labWs] }, { accept: () => moving({ id: "o1", direction: "receiving", target: "" }) });
    shell.tell({ event: "offerChanged", offer: offer() });
    await user.click(await screen.findByRole("button", { name: t("inbox.accept") }));
    shell.tell({ event: "transferStarted", transfer: moving({ id: "o1", direction: "receiving", target: "" }) });
    shell.update("o1", failed({ code: "destination_gone" }));
    expect(await screen.findByText(t("inbox.acceptedEnded", { what: "holiday", outcome: t("state.failed") }))).toBeVisible();
  });

  test("an offer of which an interrupted transfer has left something here says that it resumes", async () => {
    const left = { id: "0123456789abcdef", folder: { path: "/home/me/Downloads" }, from: "laptop", names: [{ path: "holiday" }], more_names: 0, files: 3, disk_bytes: 2_000_000, last_at_work: Date.now() / 1000, in_use: false };
    await startWindow({ devices: [labWs], offers: [offer(), offer({ id: "o2", names: [{ path: "letters" }] })] }, { unfinished: () => ({ left: [left], unanswered: [] }) });
    await show("inbox");
    expect(await screen.findAllByText(t("inbox.resumes", { size: bytes(2_000_000) }).replaceAll("\u00a0", " "))).toHaveLength(1);
  });

  test("questions stand first, then what arrives, then what was received; the code for new devices last, and first while nothing is paired", async () => {
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
    expect(existing).toHaveAccessibleDescription(t("offer.overwritesAll"));
    await user.click(card.getByRole("button", { name: t("inbox.accept") }));
    expect(shell.called("accept")).toMatchObject([{ id: "o1", onConflict: "replace" }]);
    await waitFor(() => expect(screen.getByRole("button", { name: t("inbox.accept") })).toHaveFocus());
  });

  test("a received entry is removed once, from the history as well", async () => {
    const { report } = failed({ code: "cancelled", by: "there" }) as Extract<ReturnType<typeof failed>, { is: "ended" }>;
    const came = moving({ id: "r1", title: "album", direction: "receiving", report: { ...report, ended_at: 2 }, progress: progress({ stage: "ended" }) });
    const shell = await startWindow({ transfers: [came] }, { past: () => [earlier({ number: 30, id: "r1", title: "album", report }), earlier()] });
    await show("inbox");
    await user.click(await screen.findByText("album"));
    await user.click(await screen.findByRole("button", { name: `${t("activity.remove")}: album` }));
    await waitFor(() => expect(shell.called("forgetTransfer")).toEqual([{ id: "r1" }]));
    await waitFor(() => expect(screen.queryByText("album")).toBeNull());
    expect(screen.getByText("survey")).toBeVisible();
  });

  test("the same from the same device is one entry, the latest, and the others are folded below it", async () => {
    const { report } = failed({ code: "gone" }) as { report: Report };
    const peer_id = labWs.id;
    const card = (id: string, ended_at: number, change = {}) => moving({ id, direction: "receiving", title: "holiday", progress: progress({ stage: "ended", peer_id }), report: { ...report, ended_at }, ...change });
    const line = (number: number, change = {}) => earlier({ number, id: `p${number}`, title: "holiday", peer_id, report: { ended_at: number }, ...change });
    const lines = [line(40, { id: "broken", report }), line(30), line(20), line(19, { title: "other" }), line(18, { peer_id: "cd".repeat(32) }), line(17, { more_names: 1 })];
    await startWindow({ transfers: [card(`broken-${peer_id}`, 40), card("whole", 50, { report: { ...report, outcome: "complete", ended_at: 50 } })] }, { past: () => lines });
    await show("inbox");
    await screen.findByText("other");
    const entries = () => [...document.querySelectorAll<HTMLElement>("[data-transfer], [data-past]")].map(({ dataset }) => dataset.transfer ?? dataset.past);
    expect(entries(), "another name, another device and more names are something else").toEqual(["whole", "19", "18", "17"]);
    expect(screen.queryByText(t("fault.gone")), "what a later one has brought is no failure any more").toBeNull();
    await user.click(screen.getByRole("button", { name: t("inbox.times", { n: 4 }) }));
    expect(entries()).toEqual(["whole", "40", "30", "20", "19", "18", "17"]);
    expect(screen.queryByRole("button", { name: t("activity.retry") })).toBeNull();
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

  test("a destination that cannot be used is reported, with the path", async () => {
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

  test("what was refused for want of room is reported with figures, as something to be done here", async () => {
    await startWindow({ offers: [offer()] }, {
      accept: () => {
        throw { code: "declined", reason: "no_room", needed: 5e9, free: 1e9, entries: 0 };
      },
    });
    await show("inbox");
    await user.click(screen.getByRole("button", { name: t("inbox.accept") }));
    expect(await screen.findByText("The folder here has too little free space: at least 5.0 GB needed, 1.0 GB free.")).toBeVisible();
  });

  test("a taken port is reported, with a way out", async () => {
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
