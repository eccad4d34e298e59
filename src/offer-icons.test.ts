import { expect, test } from "vitest";
import { offerIcon } from "./offer-icons";

const offer = (change: object) => ({ names: [{ path: "set" }], more_names: 0, entries_so_far: 12, bytes_so_far: 5, totals_final: true, ...change });

test("a name has the icon of a file where the counts leave nothing else, or the name looks like one", () => {
  expect(offerIcon(offer({}), "set")).toBe("folder");
  expect(offerIcon(offer({ entries_so_far: 1 }), "report")).toBe("file");
  expect(offerIcon(offer({ entries_so_far: 1, totals_final: false }), "v3.2")).toBe("folder");
  expect(offerIcon(offer({ entries_so_far: 1, bytes_so_far: 0 }), "empty")).toBe("folder");
  const mixed = offer({ names: [{ path: "set" }, { path: "notes.txt" }] });
  expect(mixed.names.map(({ path }) => offerIcon(mixed, path))).toEqual(["folder", "file"]);
  expect(offerIcon(mixed, ".config")).toBe("folder");
});
