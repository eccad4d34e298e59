import { expect, test } from "vitest";
import { shortcut } from "./shortcuts";

const pressed = (key: string, held: KeyboardEventInit = {}, target: HTMLElement = document.body) => {
  let found: ReturnType<typeof shortcut> = null;
  if (target !== document.body) document.body.append(target);
  const listen = (event: KeyboardEvent) => (found = shortcut(event));
  document.addEventListener("keydown", listen);
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, ...held }));
  document.removeEventListener("keydown", listen);
  if (target !== document.body) target.remove();
  return found;
};

test("keys with Ctrl act anywhere, and others act where nothing is typed", () => {
  const field = () => document.createElement("input");
  expect(pressed("1", { ctrlKey: true }, field())).toEqual({ shows: "send" });
  expect(pressed("5", { ctrlKey: true })).toEqual({ shows: "settings" });
  expect(pressed("o", { ctrlKey: true })).toEqual({ chooses: "folders" });
  expect(pressed("O", { ctrlKey: true, shiftKey: true })).toEqual({ chooses: "files" });
  expect(pressed("f", { ctrlKey: true })).toBe("search");
  expect(pressed("v", { ctrlKey: true })).toBe("paste");
  expect(pressed("v", { ctrlKey: true }, field())).toBeNull();
  expect(pressed("?", { shiftKey: true })).toBe("help");
  expect(pressed("Escape")).toBe("clear");
  expect(pressed("?", {}, field())).toBeNull();
  expect(pressed("Escape", {}, field())).toBeNull();
});

test("others are left alone", () => {
  for (const [key, held] of [["6", { ctrlKey: true }], ["0", { ctrlKey: true }], ["1", {}], ["o", {}], ["o", { ctrlKey: true, altKey: true }], ["c", { ctrlKey: true }]] as const) {
    expect(pressed(key, held)).toBeNull();
  }
});
