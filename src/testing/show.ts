// Going to another view, as a person does it.
import { screen, within } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { t } from "../messages";
import type { View } from "../state/app.svelte";
import { VIEWS } from "../words";

const user = userEvent.setup();

/** Shows a view by its place in the navigation. */
export async function show(view: View): Promise<void> {
  await user.click(within(screen.getByRole("navigation", { name: t("window.views") })).getByRole("button", { name: new RegExp(t(VIEWS[view])) }));
}
