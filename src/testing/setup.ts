// What jsdom lacks and the window's engine has, and a clean page after every test.
import "@testing-library/jest-dom/vitest";
import { clearMocks } from "@tauri-apps/api/mocks";
import { cleanup } from "@testing-library/svelte";
import { afterEach, vi } from "vitest";
import { language } from "../language.svelte";

vi.stubGlobal("matchMedia", (query: string) => ({
  matches: false,
  media: query,
  addEventListener: () => {},
  removeEventListener: () => {},
}));

vi.stubGlobal(
  "ResizeObserver",
  class {
    observe() {}
    unobserve() {}
    disconnect() {}
  },
);

document.elementFromPoint = () => null;

// Nor does it lay anything out: what has no place on the page would have no menu either.
Element.prototype.getClientRects = function () {
  return [this.getBoundingClientRect()] as unknown as DOMRectList;
};

afterEach(async () => {
  cleanup();
  // Channels that a component let go of still speak once.
  await new Promise((resolve) => setTimeout(resolve, 0));
  clearMocks();
  language.choice = "system";
});
