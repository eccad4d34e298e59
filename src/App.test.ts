import { screen, waitFor } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import axe from "axe-core";
import { describe, expect, test } from "vitest";
import type { AppEvent } from "./ipc";
import { t } from "./messages";
import { askedFor, chosen, everything, labWs, moving, offer, progress, startWindow } from "./testing/shell";
import { show } from "./testing/show";

const user = userEvent.setup();

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

test.each([true, false])("the keyboard is at the heading from the start; set up: %s", async (is_set_up) => {
  await startWindow({ is_set_up });
  await waitFor(() => expect(screen.getByRole("heading", { level: 1 })).toHaveFocus());
});

describe("the service behind the window", () => {
  test("one that is lost is reported and started by a press, and everything is asked for anew", async () => {
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

  test("another version is reported without a button that would not help", async () => {
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
