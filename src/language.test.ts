import { render, screen, within } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import axe from "axe-core";
import { beforeEach, describe, expect, test } from "vitest";
import { ago, bytes, count, duration, left, moment, percent, typed } from "./format";
import { language, spoken } from "./language.svelte";
import { t } from "./messages";
import { chosen, earlier, labWs, moving, offer, startWindow, progress } from "./testing/shell";
import { endWords, failureWords, limitWords } from "./transfer-words";
import Copyable from "./ui/Copyable.svelte";
import { faultWords } from "./words";

const user = userEvent.setup();

describe("the language", () => {
  test.each([
    ["system", ["de-AT", "en"], "de", "de-AT"],
    ["system", ["en-GB", "de"], "en", "en-GB"],
    ["system", ["fr-FR", "de-CH", "en"], "de", "de-CH"],
    ["system", ["fr-FR"], "en", "en"],
    ["system", [], "en", "en"],
    ["system", ["c", "", "de_DE", "nds"], "en", "en"],
    ["de", ["en-US", "de-AT"], "de", "de-AT"],
    ["de", ["c"], "de", "de"],
    ["en", ["de-DE"], "en", "en"],
  ] as const)("chosen %s, wished for %j: %s as in %s", (choice, wishes, speaks, locale) => {
    expect(spoken(choice, wishes)).toEqual({ language: speaks, locale });
  });

  test("changes at once, everywhere, and is kept", async () => {
    await startWindow({ devices: [labWs], offers: [offer()] });
    expect(document.documentElement.lang).toBe("en");
    const views = screen.getByRole("navigation");
    await user.click(within(views).getByRole("button", { name: "Settings" }));
    await user.selectOptions(screen.getByLabelText("Language"), "Deutsch");
    expect(within(views).getAllByRole("button").map((button) => button.querySelector(".name")?.textContent)).toEqual([
      "Senden", "Eingang", "Aktivität", "Geräte", "Einstellungen",
    ]);
    expect(screen.getByText("Angebot von laptop")).toBeVisible();
    expect(screen.getByRole("heading", { level: 1 })).toHaveTextContent("Einstellungen");
    expect(screen.getByLabelText("Sprache")).toHaveValue("de");
    expect(document.documentElement.lang).toBe("de");
    expect(localStorage.getItem("language")).toBe("de");
    await user.selectOptions(screen.getByLabelText("Sprache"), "English");
    expect(screen.getByRole("heading", { level: 1 })).toHaveTextContent("Settings");
    await user.selectOptions(screen.getByLabelText("Language"), "System");
    expect(localStorage.getItem("language")).toBeNull();
  });

  test("is that of what was told before, too", async () => {
    const shell = await startWindow();
    await user.click(screen.getByRole("button", { name: "Inbox" }));
    shell.tell({ event: "devicePaired", device: labWs });
    expect(await screen.findByText("lab-ws is now paired with this device.")).toBeVisible();
    language.choice = "de";
    expect(await screen.findByText("lab-ws ist jetzt mit diesem Gerät gekoppelt.")).toBeVisible();
  });
});

describe("German", () => {
  beforeEach(() => {
    language.choice = "de";
  });

  test("plurals", () => {
    expect([0, 1, 2, 1200].map((n) => t("send.nFiles", { n }))).toEqual(["0 Dateien", "1 Datei", "2 Dateien", "1.200 Dateien"]);
    expect([1, 3].map((n) => t("window.offersWait", { n }))).toEqual(["1 Angebot wartet", "3 Angebote warten"]);
    expect([1, 2].map((n) => t("end.reconnected", { n }))).toEqual([
      "Die Verbindung wurde einmal unterbrochen.",
      "Die Verbindung wurde 2-mal unterbrochen.",
    ]);
    expect(t("pairing.wrongCodeLeft", { from: "10.0.0.7", n: 1 })).toBe("Falscher Code von 10.0.0.7. Noch 1 Versuch.");
  });

  test("numbers and sizes", () => {
    expect(count(1_234_567)).toBe("1.234.567");
    expect(typed(1234.5)).toBe("1234,5");
    expect(bytes(1_400_000_000)).toBe("1,4\u00a0GB");
    expect(t("activity.items", { done: 61_204, total: 100_000 })).toBe("61.204 von 100.000 Elementen");
    expect(percent(61, 100)).toBe("61\u00a0%");
    expect(t("fault.version", { peer: "nas", ours: 2, theirs: 3 })).toContain("Version 3 des Ringway-Protokolls");
  });

  test("times", () => {
    const now = new Date(2026, 2, 12, 14, 5).getTime();
    expect(ago(now - 5 * 60_000, now)).toBe("vor 5 Minuten");
    expect(ago(now - 60 * 60_000, now)).toBe("vor 1 Stunde");
    expect(ago(now - 86_400_000, now)).toBe("gestern");
    expect(moment(now)).toBe("12.03.2026, 14:05");
    expect(duration(240)).toBe("0,2\u00a0s");
    expect(left(185_000)).toBe("3\u00a0min\u00a005\u00a0s");
  });

  test("a fault with a path, and with a path that looks like a message", () => {
    const source = { errno: 30, detail: "" };
    expect(faultWords({ code: "path", path: { path: "/mnt/weg" }, operation: "open", source })).toEqual({
      what: "/mnt/weg konnte nicht geöffnet werden: das Dateisystem ist schreibgeschützt.",
      next: "Einen beschreibbaren Ordner wählen.",
    });
    const path = "/mnt/{n, plural, other {#}} <b>'{x}'</b>";
    expect(faultWords({ code: "path", path: { path }, operation: "metadata", source }).what).toContain(`${path} konnte nicht mit Rechten, Zeiten, Besitzer oder Attributen versehen werden`);
    const failure = { path: "satz/datei", side: "there", operation: "write", reason: "os", errno: 28, detail: "" } as const;
    expect(failureWords(failure, "nas", "sending")).toBe("konnte auf nas nicht geschrieben werden: der Datenträger ist voll");
  });

  test("how a transfer ended, and what limited it", () => {
    const report = earlier();
    expect(endWords({ ...report, folders: 1, reused: 1_500_000 }, "nas", "sending")).toEqual({
      what: "An nas gesendet: 4 Elemente, 6,0\u00a0MB in 2,0\u00a0s.",
      next: "nas hat den Empfang bestätigt. 1,5\u00a0MB wurden aus den ersetzten Dateien übernommen.",
    });
    expect(t("activity.limitedBy", { what: limitWords("encrypting", "nas", "receiving") })).toBe("Begrenzt durch: Prozessor auf nas (Verschlüsseln)");
  });

  test("what a button copies is named in the order of the language", () => {
    render(Copyable, { text: "42-river-castle", name: t("inbox.code") });
    expect(screen.getByRole("button", { name: "Code 42-river-castle kopieren" })).toHaveTextContent("Kopieren");
  });

  test.each(["Senden", "Eingang", "Aktivität", "Geräte", "Einstellungen"])("%s has names, roles and order for everyone", async (view) => {
    const transfers = [moving({ progress: progress() }), moving({ id: "t2", direction: "receiving", progress: progress() })];
    const shell = await startWindow({ devices: [labWs], offers: [offer()], transfers }, { past: () => [earlier()] });
    shell.app.outbox.take(chosen);
    await user.click(within(screen.getByRole("navigation")).getByRole("button", { name: new RegExp(view) }));
    expect(screen.getByRole("heading", { level: 1, name: view })).toHaveFocus();
    const { violations } = await axe.run(document.body, { rules: { "color-contrast": { enabled: false }, region: { enabled: false } } });
    expect(violations.map(({ id }) => id)).toEqual([]);
  });
});
