import { svelte } from "@sveltejs/vite-plugin-svelte";
import { svelteTesting } from "@testing-library/svelte/vite";
import { defineConfig } from "vitest/config";

/**
 * The engine that shows the window: WebKitGTK 2.44 and newer, which is Safari 17.5 (light-dark() in
 * CSS).
 */
const WEBKIT = "safari17.5";

/** A stand-in that the tests load for a module. */
function inTesting(name: string): string {
  return new URL(`src/testing/${name}`, import.meta.url).pathname;
}

export default defineConfig({
  plugins: [svelte(), svelteTesting()],
  publicDir: "static",
  build: { target: WEBKIT, cssTarget: WEBKIT, assetsInlineLimit: 0 },
  // Where tauri.conf.json's devUrl looks for it.
  server: { port: 1420, strictPort: true, host: "127.0.0.1" },
  clearScreen: false,
  test: {
    environment: "jsdom",
    include: ["src/**/*.test.ts"],
    setupFiles: ["src/testing/setup.ts"],
    restoreMocks: true,
    // Beside builds and other suites, a test can take ten times as long as alone.
    testTimeout: 30_000,
    // One jsdom and one set of modules for all files takes a third of the time. Each test leaves a
    // clean page (setup.ts).
    pool: "threads",
    isolate: false,
    alias: [
      // Two parts of it are used. To read all of it would take most of the time of each test.
      { find: "bits-ui", replacement: inTesting("bits-ui.ts") },
      // Not its style sheet. vi.mock would make another class for each file, and modules that an
      // earlier file has loaded would keep that file's.
      { find: /^uplot$/, replacement: inTesting("uplot.ts") },
    ],
  },
});
