import { expect, test } from "vitest";
import { offerIcon } from "./offer-icons";

const offer = (change: object) => ({ names: ["set"], moreNames: 0, entriesSoFar: 12, bytesSoFar: 5, totalsFinal: true, ...change });

test("a name has the icon of a file where the counts leave nothing else, or the name looks like one", () => {
  expect(offerIcon(offer({}), "set")).toBe("folder");
  expect(offerIcon(offer({ entriesSoFar: 1 }), "report")).toBe("file");
  expect(offerIcon(offer({ entriesSoFar: 1, totalsFinal: false }), "v3.2")).toBe("folder");
  expect(offerIcon(offer({ entriesSoFar: 1, bytesSoFar: 0 }), "empty")).toBe("folder");
  const mixed = offer({ names: ["set", "notes.txt"] });
  expect(mixed.names.map((name) => offerIcon(mixed, name))).toEqual(["folder", "file"]);
  expect(offerIcon(mixed, ".config")).toBe("folder");
});
