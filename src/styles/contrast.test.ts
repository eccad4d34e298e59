import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const source = readFileSync("src/styles/tokens.css", "utf8");
const THEMES = ["light", "dark"] as const;
type Theme = (typeof THEMES)[number];

/** The colours that are pairs of hexadecimal numbers, by role. */
const roles = Object.fromEntries(
  [...source.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);/g)].map(([, role, light, dark]) => [role!, { light: light!, dark: dark! }]),
);

/** Relative luminance, as WCAG 2.2 defines it. */
function luminance(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(role: string, ground: string, theme: Theme): number {
  const [dim, bright] = [role, ground].map((each) => luminance(roles[each]![theme])).sort((a, b) => a - b) as [number, number];
  return (bright + 0.05) / (dim + 0.05);
}

const GROUNDS = ["ground", "sheet", "raised", "well"];
const TINTS = ["accent-soft", "good-soft", "warn-soft", "bad-soft", "hover"];

/** What stands on what, and how far apart they have to be. */
const PAIRS: { roles: string[]; on: string[]; least: number }[] = [
  { roles: ["text"], on: [...GROUNDS, ...TINTS, "tint", "tint-strong"], least: 7 },
  { roles: ["accent", "good", "warn", "bad"], on: [...GROUNDS, ...TINTS], least: 7 },
  { roles: ["on-accent"], on: ["accent", "accent-strong"], least: 7 },
  { roles: ["on-bad"], on: ["bad", "bad-strong"], least: 7 },
  { roles: ["text-quiet"], on: [...GROUNDS, ...TINTS, "tint"], least: 4.5 },
  { roles: ["line-field", "focus"], on: [...GROUNDS, ...TINTS], least: 3 },
  { roles: ["mark", ...Object.keys(roles).filter((role) => role.startsWith("limit-"))], on: ["ground", "sheet", "well"], least: 3 },
];

describe.each(THEMES)("in %s", (theme) => {
  test.each(PAIRS)("$roles on $on: $least to 1", ({ roles: above, on, least }) => {
    const found = above.flatMap((role) => on.map((ground) => ({ role, ground, contrast: contrast(role, ground, theme) })));
    expect(found.filter(({ contrast }) => contrast < least)).toEqual([]);
  });
});

test("every colour is a pair for light and dark", () => {
  expect(Object.keys(roles).length).toBeGreaterThan(25);
  expect([...source.matchAll(/--([\w-]+): *#/g)].map(([, role]) => role)).toEqual([]);
});
