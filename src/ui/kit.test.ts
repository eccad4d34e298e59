import { render, screen, waitFor, within } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import axe from "axe-core";
import { expect, test, vi } from "vitest";
import Kit from "../testing/Kit.svelte";

const user = userEvent.setup();

async function unobjected() {
  const { violations } = await axe.run(document.body, { rules: { region: { enabled: false } } });
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`)).toEqual([]);
}

test("a menu opens, moves and chooses by keyboard, and hands the keyboard back", async () => {
  const onchosen = vi.fn();
  render(Kit, { onchosen });
  await unobjected();
  const trigger = screen.getByRole("button", { name: "Actions for lab-ws" });
  trigger.focus();
  await user.keyboard("{Enter}");
  const first = await screen.findByRole("menuitem", { name: "Rename" });
  await waitFor(() => expect(first).toHaveFocus());
  await user.keyboard("{Enter}");
  expect(onchosen).toHaveBeenCalledWith("rename");
  await waitFor(() => expect(trigger).toHaveFocus());
});

test("a dialog gives the keyboard to what loses nothing, and back", async () => {
  render(Kit, { onchosen: () => {} });
  await user.click(screen.getByRole("button", { name: "Actions for lab-ws" }));
  await user.click(await screen.findByRole("menuitem", { name: "Forget" }));
  const dialog = await screen.findByRole("dialog", { name: "Forget lab-ws?" });
  await waitFor(() => expect(within(dialog).getByRole("button", { name: "Keep" })).toHaveFocus());
  await unobjected();
  await user.keyboard("{Escape}");
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
});

test("rows open, switches follow the keyboard, a short list is whole", async () => {
  render(Kit, { onchosen: () => {} });
  const opens = screen.getByRole("button", { name: "More" });
  expect(opens).toHaveAttribute("aria-expanded", "false");
  await user.click(opens);
  expect(screen.getByText("Opened")).toBeVisible();
  screen.getByRole("switch", { name: "Receive" }).focus();
  await user.keyboard(" ");
  expect(screen.getByRole("status")).toHaveTextContent("true");
  expect(within(screen.getByRole("list", { name: "Names" })).getAllByRole("listitem")).toHaveLength(3);
});
