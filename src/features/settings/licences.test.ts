import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import licences from "./licences.json";

const read = (path: string) => JSON.parse(readFileSync(path, "utf8"));

test("every package that the window is built with is named with its licence", () => {
  // Svelte's compiler writes part of itself into the window.
  const built = [...Object.keys(read("package.json").dependencies), "svelte"].sort();
  expect(Object.keys(licences).sort()).toEqual(built);
  for (const [name, licence] of Object.entries(licences)) expect(read(`node_modules/${name}/package.json`).license, name).toBe(licence);
});
