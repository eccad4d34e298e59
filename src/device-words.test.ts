import { expect, test } from "vitest";
import { lastWords } from "./device-words";
import type { Fault, Report } from "./ipc";
import { earlier } from "./testing/shell";

const last = (report: Partial<Report>, direction: "sending" | "receiving" = "receiving") => lastWords(earlier({ direction, report: { skipped_bytes: 0, ...report } as Partial<Report> }));

test("what moved is told apart from what was there", () => {
  expect(last({ bytes: 12_000_000, moved: 12_000_000 })).toBe("Received 12.0\u00a0MB 2 hours ago");
  expect(last({ bytes: 12_000_000, moved: 1_200_000 })).toBe("Received 1.2\u00a0MB 2 hours ago, 10.8\u00a0MB already there");
  expect(last({ bytes: 12_000_000, moved: 0 }, "sending")).toBe("Last transfer: nothing new, 2 hours ago");
  expect(last({ bytes: 12_000_000, moved: 2_000_000, skipped_bytes: 10_000_000 })).toBe("Received 2.0\u00a0MB 2 hours ago");
});

test("what people decided is not called incomplete", () => {
  const failed = (error: Fault) => last({ outcome: "failed", error } as Partial<Report>);
  expect(failed({ code: "declined", reason: "by_choice" })).toBe("Last transfer declined, 2 hours ago");
  expect(failed({ code: "cancelled", by: "here", kept: true })).toBe("Last transfer stopped, 2 hours ago");
  expect(failed({ code: "cancelled", by: "there", kept: true })).toBe("Last transfer cancelled, 2 hours ago");
  expect(failed({ code: "destination_gone" })).toBe("Last transfer failed, 2 hours ago");
  expect(last({ outcome: "partial" })).toBe("Last transfer incomplete, 2 hours ago");
});
