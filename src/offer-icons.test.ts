import { expect, test } from "vitest";
import type { Offer } from "./ipc";
import { offerIcon } from "./offer-icons";

const offer = (change: Partial<Offer>) => ({ names: [{ path: "set" }], kinds: [], more_names: 0, entries_so_far: 12, bytes_so_far: 5, totals_final: true, ...change });

test("a name has the icon of what its sender says that it is, whatever the name looks like", () => {
  const names = [{ path: "v1.txt" }, { path: "README" }, { path: "link" }, { path: "later" }];
  const listed = offer({ names, kinds: ["folder", "file", "link", null] });
  expect(names.map((_, at) => offerIcon(listed, at))).toEqual(["folder", "file", "file-symlink", "package"]);
});

test("what has not been listed looks like a file or a folder only where the counts leave nothing else", () => {
  expect(offerIcon(offer({}), 0)).toBe("folder");
  expect(offerIcon(offer({ entries_so_far: 1 }), 0)).toBe("file");
  expect(offerIcon(offer({ entries_so_far: 1, totals_final: false }), 0)).toBe("package");
  expect(offerIcon(offer({ entries_so_far: 1, bytes_so_far: 0 }), 0), "an empty file, or an empty folder").toBe("package");
  expect(offerIcon(offer({ names: [{ path: "set" }, { path: "notes.txt" }] }), 1)).toBe("package");
});
