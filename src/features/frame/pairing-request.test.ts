// A device that wants to pair: shown in any view, answered by keyboard, and never in the way.
import { screen, waitFor, within } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import axe from "axe-core";
import { describe, expect, test } from "vitest";
import type { Listening } from "../../ipc";
import { t } from "../../messages";
import { everything, failed, labWs, moving, nearby, pairingRequest, progress, selection, startWindow } from "../../testing/shell";
import { VIEWS } from "../../words";

const user = userEvent.setup();
const wants = (name = "ada-laptop") => t("request.wants", { name });
const card = (name = "ada-laptop") => screen.findByRole("region", { name: wants(name) });
const button = (within_: HTMLElement, name: string) => within(within_).getByRole("button", { name });
const noCode: Listening = { is: "on", addresses: ["10.0.0.9"], port: 17464, other_port: false, code: null, firewalls: [] };
const open: Listening = { ...noCode, code: { code: "7-cabin-violin", code_valid_until: Date.now() / 1000 + 590 } };

async function show(view: keyof typeof VIEWS) {
  await user.click(within(screen.getByRole("navigation")).getByRole("button", { name: new RegExp(t(VIEWS[view])) }));
}

describe("a device that wants to pair", () => {
  test("is shown in every view with the code in force, and said once", async () => {
    const shell = await startWindow({ devices: [labWs] });
    shell.tell({ event: "requestsChanged", requests: [pairingRequest()] });
    for (const view of Object.keys(VIEWS) as (keyof typeof VIEWS)[]) {
      await show(view);
      const shown = await card();
      expect(within(shown).getByText("42-river-castle")).toBeVisible();
      expect(within(shown).getByText("adaa-daad-aada-adaa")).toBeVisible();
      expect(within(shown).getByText("10.0.0.7")).toBeVisible();
    }
    expect(shell.app.announcement).toBe(wants());
    shell.app.announcement = "";
    shell.tell({ event: "requestsChanged", requests: [pairingRequest({ allowed: true })] });
    await waitFor(async () => expect(within(await card()).getByText(t("request.typeNow", { name: "ada-laptop" }))).toBeVisible());
    expect(shell.app.announcement, "it was there already").toBe("");
    shell.tell({ event: "requestsChanged", requests: [] });
    await waitFor(() => expect(screen.queryByRole("heading", { name: wants() })).toBeNull());
  });

  test("was there before the window was", async () => {
    await startWindow({ requests: [pairingRequest()] });
    expect(await card()).toBeVisible();
  });

  test("gets a code by the click that allows it, where none is open", async () => {
    const shell = await startWindow({ listening: noCode, requests: [pairingRequest()] });
    const shown = await card();
    expect(within(shown).getByText(t("request.explain"))).toBeVisible();
    expect(within(shown).queryByRole("button", { name: new RegExp(t("common.copy")) }), "there is nothing to copy").toBeNull();
    await user.click(button(shown, t("request.allow")));
    expect(shell.called("allowPairing")).toEqual([{ id: pairingRequest().id }]);
    shell.tell({ event: "listeningChanged", listening: open });
    shell.tell({ event: "requestsChanged", requests: [pairingRequest({ allowed: true })] });
    expect(await within(await card()).findByText("7-cabin-violin")).toBeVisible();
    expect(within(await card()).queryByRole("button", { name: t("request.allow") })).toBeNull();
    shell.tell({ event: "listeningChanged", listening: noCode });
    await user.click(await within(await card()).findByRole("button", { name: t("inbox.newCode") }));
    expect(shell.called("renewCode"), "one that has run out is drawn anew by a click").toHaveLength(1);
  });

  test("leads to the code by the click that allows it, where the code was shown already", async () => {
    const shell = await startWindow({ requests: [pairingRequest()] });
    const shown = await card();
    expect(within(shown).getByText("42-river-castle")).toBeVisible();
    await user.click(button(shown, t("request.allow")));
    shell.app.announcement = "";
    shell.tell({ event: "requestsChanged", requests: [pairingRequest({ allowed: true })] });
    const code = await within(await card()).findByRole("group", { name: t("request.typeNow", { name: "ada-laptop" }) });
    await waitFor(() => expect(code).toHaveFocus());
    expect(within(code).getByText("42-river-castle")).toBeVisible();
    expect(code).toHaveClass("needed");
    expect(shell.app.announcement).toBe(`${t("request.typeNow", { name: "ada-laptop" })} 42-river-castle`);
    await user.tab();
    shell.tell({ event: "requestsChanged", requests: [pairingRequest({ allowed: true, name: "ada" })] });
    await screen.findByRole("heading", { name: wants("ada") });
    expect(code, "once").not.toHaveFocus();
  });

  test("takes the keyboard from nobody, and is answered by keyboard alone", async () => {
    const shell = await startWindow({ devices: [labWs] });
    const address = () => screen.getByRole("button", { name: /^Send to lab-ws/ });
    address().focus();
    shell.tell({ event: "requestsChanged", requests: [pairingRequest()] });
    const shown = await card();
    expect(address(), "a key that is pressed at that moment allows nobody").toHaveFocus();
    await user.keyboard("{Escape}");
    expect(shell.called("dismissPairing"), "Escape elsewhere is about something else").toEqual([]);
    button(shown, t("request.allow")).focus();
    await user.tab();
    expect(button(shown, t("request.dismiss"))).toHaveFocus();
    await user.tab();
    expect(button(shown, t("request.block"))).toHaveFocus();
    await user.keyboard("{Escape}");
    expect(shell.called("dismissPairing")).toEqual([{ id: pairingRequest().id }]);
    shell.tell({ event: "requestsChanged", requests: [] });
    await waitFor(() => expect(screen.queryByRole("heading", { name: wants() })).toBeNull());
    await waitFor(() => expect(document.body).not.toHaveFocus());
  });

  test("is blocked, which is said and can be undone", async () => {
    const shell = await startWindow({ requests: [pairingRequest()] });
    await user.click(button(await card(), t("request.block")));
    expect(shell.called("blockPairing")).toEqual([{ id: pairingRequest().id }]);
    shell.tell({ event: "requestsChanged", requests: [] });
    expect(await screen.findByText(t("request.blocked", { name: "ada-laptop" }))).toBeVisible();
    await user.click(screen.getByRole("button", { name: t("common.undo") }));
    expect(shell.called("unblockPairing")).toEqual([{ id: pairingRequest().id }]);
    expect(shell.called("allowPairing")).toEqual([]);
  });

  test("is listed among the devices once it is blocked, where that can be undone later, too", async () => {
    const [one, other] = [pairingRequest(), pairingRequest({ id: "eeeeeeeeeeeeeeee".repeat(4), name: "grace" })];
    const blocked = [one, other];
    const shell = await startWindow({}, { blockedPairings: () => [...blocked], unblockPairing: ({ id }) => void blocked.splice(blocked.findIndex((request) => request.id === id), 1) });
    await show("devices");
    expect(await screen.findByRole("heading", { name: t("devices.blocked") })).toBeVisible();
    const unblock = (name: string) => screen.queryByRole("button", { name: `${t("devices.unblock")}: ${name}` });
    await user.click(unblock("ada-laptop")!);
    expect(shell.called("unblockPairing")).toEqual([{ id: one.id }]);
    await waitFor(() => expect(unblock("ada-laptop")).toBeNull());
    expect(unblock("grace")).toHaveFocus();
    await user.click(unblock("grace")!);
    await waitFor(() => expect(screen.queryByRole("heading", { name: t("devices.blocked") })).toBeNull());
    expect(document.body).not.toHaveFocus();
    shell.tell({ event: "requestsChanged", requests: [other, one] });
    await waitFor(() => expect(screen.getByRole("region", { name: wants("grace") }), "its request is above").toHaveFocus());
  });

  test("has gone where somebody else has answered it", async () => {
    await startWindow({ requests: [pairingRequest()] }, { allowPairing: () => { throw { code: "gone" }; } });
    await user.click(button(await card(), t("request.allow")));
    await waitFor(() => expect(screen.queryByRole("heading", { name: wants() })).toBeNull());
  });

  test("has a name that is text, and one that looks like another is pointed out", async () => {
    const name = "<img src=x onerror=alert(1)>{{7*7}}";
    const looks_like = { name: "nas", id: "eeeeeeeeeeeeeeee".repeat(4) };
    await startWindow({ requests: [pairingRequest({ name, looks_like, paired_as: "ada" })] });
    const shown = await card(name);
    expect(shown.querySelector("img")).toBeNull();
    expect(within(shown).getByRole("note")).toHaveTextContent(t("request.looksLike", { name, other: "nas", id: "eeee-eeee-eeee-eeee" }));
    expect(within(shown).getByText(t("request.again", { name: "ada" }))).toBeVisible();
  });

  test("by this device's own name is pointed out as such", async () => {
    const looks_like = { name: "here", id: everything().device_id };
    await startWindow({ requests: [pairingRequest({ name: "h\u0435re", looks_like })] });
    expect(within(await card("h\u0435re")).getByRole("note")).toHaveTextContent(t("request.looksLikeThis", { name: "h\u0435re" }));
  });

  test("has names, roles and order for everyone, alone and with others", async () => {
    const requests = [pairingRequest(), pairingRequest({ id: "bb".repeat(32), name: "bo", from: "fd00::9", allowed: true })];
    await startWindow({ requests, devices: [labWs] });
    await card("bo");
    for (const view of ["send", "inbox"] as const) {
      await show(view);
      const { violations } = await axe.run(document.body, { rules: { "color-contrast": { enabled: false } } });
      expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
    }
  });

  test("is shown of one service only", async () => {
    const shell = await startWindow({ requests: [pairingRequest()] });
    await card();
    shell.tell({ event: "serviceLost", fault: { code: "gone" } });
    await waitFor(() => expect(screen.queryByRole("heading", { name: wants() })).toBeNull());
  });
});

describe("a paired device that has forgotten this one", () => {
  test("says so on its card and offers to pair again, until it knows this one", async () => {
    let started = 0;
    const shell = await startWindow({ devices: [labWs] }, { send: () => moving({ id: `t${(started += 1)}` }) });
    shell.app.outbox.take(selection());
    await shell.app.outbox.sendTo(labWs);
    shell.update("t1", failed({ code: "pairing_needed", peer_name: "lab-ws" }));
    expect(await screen.findByRole("heading", { name: t("send.forgotten", { name: "lab-ws" }) })).toBeVisible();
    const target = () => screen.getByRole("button", { name: /^Send to lab-ws/ });
    expect(target()).toHaveTextContent(t("send.forgottenNote"));
    expect(screen.queryByRole("alert"), "that is no fault").toBeNull();
    await show("devices");
    expect(await screen.findByText(t("send.forgottenNote"))).toBeVisible();
    await show("send");
    await user.type(await screen.findByLabelText(t("send.code")), "42 river castle{Enter}");
    expect(shell.called("send").at(-1)).toMatchObject({ target: { to: "device", id: labWs.id }, code: "42-river-castle" });
    shell.update("t2", { is: "moved", progress: progress({ peer_id: labWs.id }) });
    await waitFor(() => expect(target()).not.toHaveTextContent(t("send.forgottenNote")));
  });
});

test.each(["send", "devices"] as const)("a device that has forgotten this one is paired again from the view %s, without sending anything", async (view) => {
  let code = "wrong";
  const shell = await startWindow({ devices: [labWs] }, {
    pair: () => {
      if (code === "wrong") throw { code: "wrong_code" };
      return "lab-ws";
    },
  });
  shell.app.devices.said(labWs.id, false);
  await show(view);
  await user.click(await screen.findByRole("button", { name: `${t("devices.pairAgain")}: lab-ws` }));
  expect(shell.called("requestPairing")).toEqual([{ target: { to: "device", id: labWs.id } }]);
  expect(await screen.findByRole("heading", { name: t("send.forgotten", { name: "lab-ws" }) })).toBeVisible();
  const field = await screen.findByLabelText(t("send.code"), { selector: "[name=retry-code]" });
  await waitFor(() => expect(field).toHaveFocus());
  await user.type(field, "1 river castle{Enter}");
  expect(await screen.findByRole("alert")).toHaveTextContent(/Wrong code/);
  code = "right";
  await user.type(field, "42 river castle");
  await user.click(screen.getAllByRole("button", { name: t("devices.pairButton") })[0]!);
  expect(shell.called("pair").at(-1)).toEqual({ target: { to: "device", id: labWs.id }, code: "42-river-castle" });
  await waitFor(() => expect(screen.queryByText(t("send.forgottenNote"))).toBeNull());
  expect(screen.queryByRole("heading", { name: t("send.forgotten", { name: "lab-ws" }) })).toBeNull();
  expect(shell.called("send")).toEqual([]);
});

describe("a device nearby", () => {
  test("is asked to show its code as soon as its code is asked for", async () => {
    const shell = await startWindow({ nearby: [nearby()] });
    await show("devices");
    await user.click(screen.getByRole("button", { name: `${t("devices.nearbyPair")} desk` }));
    expect(shell.called("requestPairing")).toEqual([{ target: { to: "nearby", id: nearby().id } }]);
    expect(await screen.findByText(t("send.firstStep", { name: "desk", device: "here" }))).toBeVisible();
    expect(screen.getByLabelText(t("devices.nearbyCode", { name: "desk" }))).toBeVisible();
  });
});
