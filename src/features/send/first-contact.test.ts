import { screen, waitFor } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { t } from "../../messages";
import { chosen, failed, labWs, moving, nearby, pairingRequest, progress, startWindow } from "../../testing/shell";
import { show } from "../../testing/show";

const user = userEvent.setup();
const codeField = () => screen.findByLabelText<HTMLInputElement>(t("send.code"), { selector: "[name=retry-code]" });

test("what can be no code stays in its field to be mended, and a wrong code does not", async () => {
  let started = 0;
  const shell = await startWindow({ nearby: [nearby()] }, {
    send: ({ code }) => {
      if (code === "42-river-candel") throw { code: "unknown_word", position: 2 };
      return moving({ id: `t${(started += 1)}` });
    },
  });
  shell.app.outbox.take(chosen);
  await shell.app.outbox.sendToNearby(nearby());
  shell.update("t1", failed({ code: "pairing_needed", peer_name: "desk" }));
  const field = await codeField();
  await user.type(field, "42 river candel{Enter}");
  expect(await screen.findByRole("alert")).toHaveTextContent("The second word is not in any code.");
  await waitFor(() => expect(field).toHaveValue("42 river candel"));
  await waitFor(() => expect([field.selectionStart, field.selectionEnd]).toEqual([0, 15]));
  expect(field).toHaveFocus();
  await user.keyboard("42-river-castle{Enter}");
  expect(shell.called("send").at(-1)).toMatchObject({ code: "42-river-castle" });
  shell.update("t2", failed({ code: "wrong_code" }));
  expect(await screen.findByRole("alert")).toHaveTextContent(/Wrong code/);
  expect(field).toHaveValue("");
});

test("the same holds where devices are paired without a transfer", async () => {
  const shell = await startWindow({ nearby: [nearby()] }, {
    pair: () => {
      throw { code: "unknown_word", position: 2 };
    },
  });
  await show("devices");
  await user.click(screen.getByRole("button", { name: `${t("devices.nearbyPair")} desk` }));
  const field = await screen.findByLabelText<HTMLInputElement>(t("devices.nearbyCode", { name: "desk" }));
  await user.type(field, "42 river candel{Enter}");
  await waitFor(() => expect(shell.called("pair")).toHaveLength(1));
  await waitFor(() => expect([field.selectionStart, field.selectionEnd]).toEqual([0, 15]));
  expect(field).toHaveValue("42 river candel");
});

test.each(["Enter", "a click"])("once paired by %s, the keyboard is at the transfer, and the paired card is picked", async (by) => {
  let started = 0;
  const stranger = nearby({ name: "lab-ws" });
  const shell = await startWindow({ nearby: [stranger] }, { send: () => moving({ id: `t${(started += 1)}`, target: "lab-ws" }) });
  await user.click(screen.getByRole("button", { name: /^Send to lab-ws/ }));
  shell.app.outbox.take(chosen);
  await shell.app.outbox.sendToNearby(stranger);
  shell.update("t1", failed({ code: "pairing_needed", peer_name: "lab-ws" }));
  await user.type(await codeField(), by === "Enter" ? "42-river-castle{Enter}" : "42-river-castle");
  if (by !== "Enter") await user.click(screen.getByRole("button", { name: t("send.pairAndSend") }));
  await waitFor(() => expect(shell.called("send")).toHaveLength(2));
  // A task later the keyboard would have been handed elsewhere.
  await new Promise((resolve) => setTimeout(resolve, 20));
  shell.tell({ event: "devicesChanged", devices: [labWs] });
  shell.tell({ event: "nearbyChanged", nearby: [nearby({ name: "lab-ws", paired_id: labWs.id })] });
  shell.update("t2", { is: "moved", progress: progress({ stage: "awaiting_answer" }) });
  await waitFor(() => expect(screen.queryByText(t("send.secondStep"))).toBeNull());
  expect(await screen.findByText(t("inbox.paired", { name: "lab-ws" })), "it is said here, too").toBeVisible();
  await waitFor(() => expect(document.querySelector("[data-transfer=t2]")).toHaveFocus());
  expect(screen.getByRole("button", { name: /^Send to lab-ws/, pressed: true })).toBeVisible();
});

test("the number of another device's code is not shown beside this device's code", async () => {
  const shell = await startWindow({ nearby: [nearby({ code_number: 181 })] });
  await show("devices");
  expect(screen.getByText(t("devices.codeBeginsWith", { number: "181" }))).toBeVisible();
  shell.tell({ event: "requestsChanged", requests: [pairingRequest()] });
  await waitFor(() => expect(screen.queryByText(t("devices.codeBeginsWith", { number: "181" }))).toBeNull());
});
