import { screen, waitFor, within } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import axe from "axe-core";
import { tick as painted } from "svelte";
import { describe, expect, test, vi } from "vitest";
import type { Fault } from "../../ipc";
import { t } from "../../messages";
import { chosen, earlier, labWs, moving, nearby, startWindow } from "../../testing/shell";
import { show } from "../../testing/show";

const user = userEvent.setup();

describe("machines nearby", () => {
  const stranger = nearby();

  test("one that is not paired is a card to send to, at the address where it answers", async () => {
    const shell = await startWindow(
      { nearby: [stranger] },
      { choose_sources: () => chosen, send: () => moving() },
    );
    await user.dblClick(screen.getByRole("button", { name: /Send to desk/ }));
    await waitFor(() => expect(shell.called("send")).toEqual([{ chosen: 7, target: { to: "nearby", id: stranger.id }, code: null, verify: false, limit: null, leaveOut: "", inShare: null }]));
    expect(await screen.findByText(t("stage.connecting", { peer: "desk" }))).toBeVisible();
  });

  test("one that does not answer is reported, and what was chosen is kept", async () => {
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
    const last_transfer = earlier({ direction: "sending", report: { bytes: 2_100_000_000, moved: 2_100_000_000 } });
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
    await user.type(screen.getByLabelText(t("send.addressOrCode")), "42rivercastle");
    expect(screen.getByText(t("send.codeInParts")), "a host may have that name").toBeVisible();
    await user.clear(screen.getByLabelText(t("send.addressOrCode")));
    await user.type(screen.getByLabelText(t("send.addressOrCode")), " 42 River–castle");
    expect(screen.getByText(t("send.byCode"))).toBeVisible();
    expect(screen.queryByLabelText(t("send.code"))).toBeNull();
    await user.keyboard("{Enter}");
    await waitFor(() => expect(shell.called("send")).toEqual([{ chosen: 7, target: { to: "nearby", id: desk.id }, code: "42-river-castle", verify: false, limit: null, leaveOut: "", inShare: null }]));

    await show("devices");
    // Nothing but a code can be typed there: the service tells its words apart.
    await user.type(screen.getByLabelText(t("send.code"), { selector: "[name=pair-code]" }), "42RiverCastle");
    await user.click(screen.getAllByRole("button", { name: t("devices.pairButton") }).at(-1)!);
    await waitFor(() => expect(shell.called("pair")).toEqual([{ target: { to: "nearby", id: nearby().id }, code: "42RiverCastle" }]));
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
    expect(await screen.findByText(t("devices.paired", { name: "desk" }))).toBeVisible();
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
