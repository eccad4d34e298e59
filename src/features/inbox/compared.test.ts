import { screen, waitFor, within } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import axe from "axe-core";
import { beforeEach, describe, expect, test } from "vitest";
import { comparedWords, differenceWords } from "../../compared-words";
import type { Comparison, Difference } from "../../ipc";
import { t } from "../../messages";
import { labWs, offer, startWindow } from "../../testing/shell";
import { VIEWS } from "../../words";

const user = userEvent.setup();

const album: Comparison = { state: "done", new: 18, unchanged: 303, differing: 1, edited: 0, in_the_way: 0, unreadable: 0, at_least: false };

const edited: Difference = {
  path: { path: "holiday/notes" },
  here_is: "newer",
  edited: true,
  offered_bytes: 11_000,
  offered_changed_at: Date.now() / 1000 - 3 * 86_400,
  here_bytes: 12_000,
  here_changed_at: Date.now() / 1000 - 7_200,
};

async function inbox() {
  await user.click(within(screen.getByRole("navigation")).getByRole("button", { name: new RegExp(t(VIEWS.inbox)) }));
}

async function violations(): Promise<[string, string[]][]> {
  const found = await axe.run(document.body, { rules: { "color-contrast": { enabled: false }, region: { enabled: false } } });
  return found.violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
}

beforeEach(() => localStorage.clear());

describe("how an offer compares with what is there", () => {
  test("is reported above what is done with existing files, and not before it is known", async () => {
    const shell = await startWindow({ devices: [labWs], offers: [offer()] });
    await inbox();
    expect(screen.getByRole("group", { name: t("inbox.compared") }), "nothing moves when it is").toHaveTextContent(t("inbox.comparing"));
    shell.tell({ event: "offerChanged", offer: offer({ comparison: { ...album, state: "comparing", unchanged: 0, differing: 0 } }) });
    expect(await screen.findByText("18 new so far")).toBeVisible();
    expect(screen.getByRole("button", { name: t("inbox.accept") }), "nothing waits for it").toBeEnabled();
    shell.tell({ event: "offerChanged", offer: offer({ comparison: album }) });
    const group = await screen.findByRole("group", { name: t("inbox.compared") });
    await waitFor(() => expect(group).toHaveTextContent("18 new, 303 unchanged, 1 differs here"));
    const existing = screen.getByLabelText(t("inbox.existing"));
    expect(group.compareDocumentPosition(existing) & Node.DOCUMENT_POSITION_FOLLOWING).toBeTruthy();
    expect(existing, "what loses nothing").toHaveValue("rename_top");
    shell.tell({ event: "offerChanged", offer: offer({ comparison: { ...album, state: "unknown" } }) });
    await waitFor(() => expect(group).toHaveTextContent(t("inbox.notCompared")));
    expect(screen.getByText(t("inbox.existing.renameTop.hint"))).toBeVisible();
  });

  test("is reported for what is chosen: other names, and what of the owner's is overwritten", async () => {
    const inPlace = { ...album, new: 2, unchanged: 300, differing: 20, edited: 3 };
    const names = { comparison: { ...album, edited: 1 }, in_place: inPlace, updates: [{ path: "holiday (1)" }], renamed: [{ path: "notes (2).txt" }] };
    const shell = await startWindow({ devices: [labWs], offers: [offer(names)] }, { offerDifferences: () => [edited] });
    const banner = document.querySelector<HTMLElement>("[data-offer-banner]")!;
    const [updates, renamed] = [t("offer.updates", { names: "holiday (1)" }), t("offer.renamed", { names: "notes (2).txt" })];
    for (const said of [updates, renamed, "1 differs here (1 changed here or from elsewhere)"]) expect(banner).toHaveTextContent(said);
    await inbox();
    const group = screen.getByRole("group", { name: t("inbox.compared") });
    expect(group).toHaveTextContent("18 new, 303 unchanged, 1 differs here (1 changed here or from elsewhere)");
    for (const said of [updates, renamed]) expect(screen.getByText(said)).toBeVisible();
    await user.selectOptions(screen.getByLabelText(t("inbox.existing")), "replace");
    for (const said of [updates, renamed]) expect(screen.queryByText(said)).toBeNull();
    expect(group).toHaveTextContent("2 new, 300 unchanged, 20 differ here (3 changed here or from elsewhere)");
    const warning = screen.getByText("As listed by the sender, “Replace” overwrites 3 items that were changed here or are from elsewhere.");
    expect(warning).toBeVisible();
    expect(screen.getByLabelText(t("inbox.existing")).compareDocumentPosition(warning) & Node.DOCUMENT_POSITION_FOLLOWING, "the choice stays where it is").toBeTruthy();
    expect(screen.getByText(t("offer.overwritesAll"))).toBeVisible();
    await user.click(screen.getByRole("button", { name: t("inbox.showDifferences") }));
    expect(shell.called("offerDifferences")).toEqual([{ id: "o1", onConflict: "replace" }]);
    shell.tell({ event: "offerChanged", offer: offer({ ...names, in_place: { ...inPlace, state: "comparing" } }) });
    expect(await screen.findByText("As listed by the sender, “Replace” overwrites at least 3 items that were changed here or are from elsewhere.")).toBeVisible();
    await user.selectOptions(screen.getByLabelText(t("inbox.existing")), "keep");
    expect(screen.queryByText(/overwrites/)).toBeNull();
  });

  test("says what the choice does to what differs, and offers no choice if all is new", async () => {
    const both = { comparison: { ...album, differing: 3, edited: 1 }, in_place: { ...album, differing: 4, edited: 2 } };
    const shell = await startWindow({ devices: [labWs], offers: [offer(both)] });
    await inbox();
    const existing = screen.getByLabelText(t("inbox.existing"));
    const from = offer().from;
    expect(existing).toHaveAccessibleDescription(`${t("inbox.existing.updates", { n: 2, from })} ${t("inbox.existing.numbers", { n: 1 })}`);
    await user.selectOptions(existing, "keep");
    expect(existing).toHaveAccessibleDescription(t("inbox.existing.skips", { n: 4 }));
    await user.selectOptions(existing, "rename");
    expect(existing).toHaveAccessibleDescription(t("inbox.existing.numbers", { n: 4 }));
    shell.tell({ event: "offerChanged", offer: offer({ ...both, comparison: { ...both.comparison, at_least: true }, in_place: { ...both.in_place, at_least: true } }) });
    await waitFor(() => expect(existing).toHaveAccessibleDescription(t("inbox.existing.rename.hint")));
    const same = { ...album, differing: 0, edited: 0 };
    shell.tell({ event: "offerChanged", offer: offer({ comparison: same, in_place: same }) });
    for (const choice of ["rename", "replace", "rename_top"]) {
      await user.selectOptions(existing, choice);
      await waitFor(() => expect(existing, choice).toHaveAccessibleDescription(t("inbox.existing.nothing")));
    }
    shell.tell({ event: "offerChanged", offer: offer({ comparison: { ...album, unchanged: 0, differing: 0, edited: 0 }, in_place: null }) });
    await waitFor(() => expect(screen.queryByLabelText(t("inbox.existing"))).toBeNull());
  });

  test("opens into what differs, by keyboard, and is another list in another folder", async () => {
    let differences: Difference[] = [edited, { ...edited, path: { path: "holiday/link" }, here_is: "in_the_way", edited: false, offered_bytes: null, offered_changed_at: null }];
    const shell = await startWindow({ devices: [labWs], offers: [offer({ comparison: { ...album, in_the_way: 1 } })] }, { offerDifferences: () => differences });
    await inbox();
    const open = screen.getByRole("button", { name: t("inbox.showDifferences") });
    expect(shell.called("offerDifferences")).toEqual([]);
    open.focus();
    await user.keyboard("{Enter}");
    expect(shell.called("offerDifferences")).toEqual([{ id: "o1", onConflict: "rename_top" }]);
    expect(await screen.findByText("holiday/notes")).toBeVisible();
    expect(screen.getByText("Newer here (changed here or from elsewhere): 12.0 kB, 2 hours ago. Offered: 11.0 kB, 3 days ago")).toBeVisible();
    expect(screen.getByText(t("inbox.differs.inTheWay"))).toBeVisible();
    expect(open).toHaveFocus();
    expect(open).toHaveAttribute("aria-expanded", "true");
    expect(await violations()).toEqual([]);

    differences = [{ ...edited, path: { path: "holiday/other" } }];
    shell.tell({ event: "offerChanged", offer: offer({ destination: { path: "/elsewhere" }, comparison: album }) });
    expect(await screen.findByText("holiday/other")).toBeVisible();
    expect(screen.queryByText("holiday/notes")).toBeNull();
    await user.keyboard("{Enter}");
    expect(screen.queryByText("holiday/other")).toBeNull();
    expect(screen.getByRole("button", { name: t("inbox.showDifferences") })).toHaveFocus();
  });

  test("names as many as were listed, and counts the others", async () => {
    await startWindow({ devices: [labWs], offers: [offer({ comparison: { ...album, differing: 1_200 } })] }, { offerDifferences: () => [edited] });
    await inbox();
    await user.click(screen.getByRole("button", { name: t("inbox.showDifferences") }));
    expect(await screen.findByText(t("common.andMore", { n: 1_199 }))).toBeVisible();
  });

  test("is said in one line, in each language, and names of files are text", async () => {
    expect(comparedWords({ ...album, at_least: true })).toBe("at least 18 new, 303 unchanged, 1 differs here");
    expect(comparedWords({ ...album, new: 0, unchanged: 0, differing: 2, in_the_way: 1, unreadable: 3 })).toBe("2 differ here, 1 blocked by another item here, 3 not readable here");
    expect(comparedWords({ ...album, new: 0, unchanged: 0, differing: 0 })).toBe("0 new");
    const nothing = { ...album, unchanged: 0, differing: 0 };
    expect(comparedWords(nothing), "as in a folder that is yet to be made").toBe("All new here");
    expect(comparedWords({ ...nothing, at_least: true })).toBe("at least 18 new");
    expect(differenceWords({ ...edited, here_is: "other", edited: false, here_bytes: null, here_changed_at: null }, Date.now())).toBe(t("inbox.differs.other"));
    await startWindow({ devices: [labWs], offers: [offer({ comparison: album })] }, { offerDifferences: () => [{ ...edited, path: { path: "<img src=x onerror=alert(1)>" } }] });
    await user.click(within(screen.getByRole("navigation")).getByRole("button", { name: new RegExp(t(VIEWS.settings)) }));
    await user.selectOptions(screen.getByLabelText(t("settings.language")), "Deutsch");
    await user.click(within(screen.getByRole("navigation")).getByRole("button", { name: /Eingang/ }));
    const group = screen.getByRole("group", { name: "Verglichen mit diesem Ordner" });
    expect(group).toHaveTextContent("18 neu, 303 unverändert, 1 weicht hier ab");
    await user.click(within(group).getByRole("button", { name: "Abweichungen anzeigen" }));
    expect(await within(group).findByText("<img src=x onerror=alert(1)>")).toBeVisible();
    expect(document.querySelector("main img")).toBeNull();
    expect(await violations()).toEqual([]);
  });
});

describe("the banner in other views", () => {
  test("has the facts of the card, and its answers", async () => {
    const waits = offer({
      totals_final: true,
      names: ["holiday", "b", "c", "d"].map((path) => ({ path })),
      comparison: album,
    });
    const shell = await startWindow({ devices: [labWs], offers: [waits, offer({ id: "o2", from: "nas" })] });
    const banner = document.querySelector<HTMLElement>("[data-offer-banner]")!;
    for (const fact of [
      t("inbox.offerFrom", { from: "laptop" }),
      "holiday, b, c, and 1 more",
      "12 items, 5.0 MB",
      "into /home/me/Downloads",
      "9.0 GB free afterwards",
      "18 new, 303 unchanged, 1 differs here",
      t("window.offersWait", { n: 2 }),
    ]) {
      expect(banner).toHaveTextContent(fact);
    }
    expect(await violations()).toEqual([]);
    await user.click(within(banner).getByRole("button", { name: t("inbox.accept") }));
    expect(shell.called("accept")).toEqual([{ id: "o1", shown: { bytes: 5_000_000, is_final: true }, onConflict: "rename_top" }]);
    await waitFor(() => expect(banner).toHaveTextContent(t("inbox.offerFrom", { from: "nas" })));
    await user.click(within(banner).getByRole("button", { name: t("inbox.decline") }));
    expect(shell.called("decline")).toEqual([{ id: "o2" }]);
    await waitFor(() => expect(document.querySelector("[data-offer-banner]")).toBeNull());
    await waitFor(() => expect(document.body).not.toHaveFocus());
  });

  test("opens the card of its offer, where what is pointed out has to be read first", async () => {
    await startWindow({ devices: [labWs], offers: [offer({ dot_names: [{ path: ".bashrc" }], totals_final: true })] });
    const banner = document.querySelector<HTMLElement>("[data-offer-banner]")!;
    expect(within(banner).queryByRole("button", { name: t("inbox.accept") })).toBeNull();
    // Its facts are no control of their own.
    await user.click(within(banner).getByText("9.0 GB free afterwards"));
    await waitFor(() => expect(screen.getByRole("article", { name: t("inbox.offerFrom", { from: "laptop" }) })).toHaveFocus());
  });

  test("an offer whose notification was clicked stands first, and has the keyboard", async () => {
    const shell = await startWindow({ devices: [labWs], offers: [offer(), offer({ id: "o2", from: "nas" })] });
    shell.tell({ event: "offerPicked", id: "o2" });
    await waitFor(() => expect(document.activeElement).toHaveAttribute("data-offer", "o2"));
    const names = () => screen.getAllByRole("article").map((card) => card.dataset.offer);
    await waitFor(() => expect(names()).toEqual(["o2", "o1"]));
    shell.tell({ event: "offerPicked", id: "gone" });
    expect(names()).toEqual(["o2", "o1"]);
  });
});
