import { describe, expect, test } from "vitest";
import type { Report, FailureReason, Bottleneck, Interruption, Side, Direction } from "./ipc/bindings";
import { LIMIT_MARKS } from "./limit-marks";
import { cameToNothing, copyPathWords, copyRefusedWords, endWords, failureWords, faultWordsOf, limitWords, stageWords } from "./transfer-words";
import { copyReport, progress } from "./testing/shell";

const copied = { ...copyReport, filesystem: "vfat" };
const none = { files: 0, folders: 0, links: 0, bytes: 0, moved: 0, unchanged: 0, skipped: 0, skipped_bytes: 0, reused: 0, excluded: 0, acls_lost: 0, owners_by_number: 0, proven: null, edited: 0, edits: [], failed: 0, failures: [], seconds: 1 };
const report = (change: Partial<Report> = {}): Report => ({
  outcome: "complete",
  ...none,
  reconnected: 0,
  limited_by: null,
  here: null,
  there: null,
  arrived: [],
  copy: copied,
  ended_at: 0,
  ...change,
}) as Report;
const failure = (reason: FailureReason) => ({ path: "set/file", side: "here", operation: "open", detail: "", ...reason }) as const;
const os = (errno: number) => ({ reason: "os", errno }) as const;

test("what was in the files that were replaced is reported by its bytes", () => {
  const said = endWords(report({ files: 1, bytes: 2_000_000_000, moved: 100_000_000, reused: 1_900_000_000, copy: null }), "lab-ws", "sending").next;
  expect(said).toBe("lab-ws confirmed receipt. 1.9\u00a0GB were reused from the replaced files.");
});

test("what was sent is told from what was there and what was skipped", () => {
  const sent = { files: 3, bytes: 50_000_000, copy: null };
  const said = (change: Partial<Report>) => endWords(report({ ...sent, ...change }), "lab-ws", "sending");
  expect(said({ unchanged: 3 }).what).toContain("3 items, 50.0\u00a0MB (none transferred) in 1.0\u00a0s");
  // Links are among them.
  expect(said({ unchanged: 3 }).next).toContain("3 items were unchanged.");
  expect(said({ moved: 20_000_000 }).what).toContain("3 items, 50.0\u00a0MB (20.0\u00a0MB transferred) in 1.0\u00a0s");
  expect(said({ moved: 50_000_000 }).what).toContain("3 items, 50.0\u00a0MB in 1.0\u00a0s");
  expect(said({ skipped: 2, skipped_bytes: 30_000_000, moved: 20_000_000 }).next).toContain("2 existing items were kept (30.0\u00a0MB offered).");
});

test("access control lists that were lost are told with the device whose setting keeps them", () => {
  const lost = report({ files: 2, acls_lost: 2, copy: null });
  expect(endWords(lost, "lab-ws", "sending").next).toContain("2 items are there without their access control lists. The setting “Keep access control lists” on lab-ws keeps them");
  expect(endWords(lost, "lab-ws", "receiving", true).next).toContain("The setting “Keep access control lists” keeps them");
});

test("a transfer of which nothing moves says for how long", () => {
  expect(stageWords(progress({ stalled_seconds: 12 }), "lab-ws", "sending")).toBe("Stalled for 12\u00a0s");
});

test("a transfer that waits for a place says which", () => {
  expect(stageWords(progress({ stage: "queued", place: 3 }), "lab-ws", "sending")).toBe("Queued on lab-ws, position 3");
  expect(stageWords(progress({ stage: "queued", place: 3 }), "laptop", "receiving")).toBe("Queued, position 3");
});

describe("copies in words", () => {
  test("no phase speaks of another machine", () => {
    for (const stage of ["connecting", "running", "finishing", "verifying"] as const) {
      const said = stageWords(progress({ stage, peer: null }), "/data/sets", "copying");
      expect(said, stage).not.toMatch(/Connecting|Sending|Receiving|accept/);
      expect(said, stage).not.toBe("");
    }
  });

  test("what the destination could not keep is reported", () => {
    const { what, next } = endWords(report({ files: 3, unchanged: 1, copy: { ...copied, specials: 2, attributes_lost: 3, owners_lost: 1 } }), "/mnt/stick", "copying");
    expect(what).toBe("Copied: 5 items, 0\u00a0B in 1.0\u00a0s.");
    expect(next).toBe("1 item was left unchanged. 3 items lost access lists or attributes, which vfat does not support. 1 item now belongs to you. Only root can keep another owner.");
  });

  test("a copy that found everything there says so", () => {
    expect(endWords(report({ folders: 9, unchanged: 632 }), "/data", "copying").what).toBe("Nothing to copy. 632 items were left unchanged.");
  });

  test("shared blocks are worth a word, others are not", () => {
    expect(copyPathWords(copied)).toBe("");
    expect(copyPathWords({ ...copied, filesystem: "btrfs", reflinked_bytes: 2_000_000 })).toMatch(/^2.0\u00a0MB shared with the source on btrfs/);
  });

  test.each([
    [failure({ reason: "into_itself" }), "cannot be copied into itself", "Choose a folder outside the one that is copied."],
    [failure({ reason: "same_file" }), "is the same file at the source and at the destination", "Choose another folder."],
    [failure(os(2)), "it does not exist", "It may have been moved, removed or disconnected. Choose again."],
    [failure(os(13)), "permission was denied", "Change its permissions, or choose something else."],
    [failure(os(28)), "the disk is full", "Free up space there, or choose another folder."],
    [failure(os(30)), "the filesystem is read-only", "Choose a writable folder."],
  ])("nothing copied because of %j says what to do", (first, why, wayOn) => {
    const end = report({ outcome: "partial", failed: 2, failures: [first] });
    expect(cameToNothing(end)).toBe(true);
    const { what, next } = copyRefusedWords(end, "/data/sets");
    expect(what).toContain(why);
    expect(what).toContain("The same applies to 1 more item.");
    expect(next).toBe(wayOn);
  });

  test("a failure comes with its next step at both ends", () => {
    const next = (direction: Direction) => endWords(report({ outcome: "partial", files: 1, failed: 2 }), "lab-ws", direction).next;
    expect([next("sending"), next("receiving"), next("copying")].map((words) => words.match(/cause, then (\w+)/)?.[1])).toEqual(["send", "have", "copy"]);
  });

  test("as many are said to be listed as are", () => {
    const listed = (failed: number) => endWords(report({ outcome: "partial", files: 1, failed }), "/data", "copying").next;
    expect(listed(100)).toMatch(/^See the list below\. /);
    expect(listed(1500)).toMatch(/^The list below shows the first 1,000\. /);
  });

  test("a copy that got somewhere stays in the list, and so does a cancelled one", () => {
    const full = { outcome: "failed", error: { code: "destination_full", shortage: null } } as const;
    expect(cameToNothing(report({ outcome: "partial", files: 1 }))).toBe(false);
    expect(cameToNothing(report({ ...full, folders: 1 }))).toBe(false);
    expect(cameToNothing(report(full))).toBe(true);
    expect(cameToNothing(report({ outcome: "failed", error: { code: "cancelled", by: "here" } }))).toBe(false);
    expect(cameToNothing(report())).toBe(false);
  });

  test("a file that was there before and is incomplete now is named, whatever ended the copy", () => {
    const cut = failure({ reason: "cut_short", errno: 125 });
    expect(failureWords(cut, "/data", "copying")).toBe("was being overwritten when the copy stopped, and is incomplete: copy it again");
    const full = report({ outcome: "failed", error: { code: "destination_full", shortage: null }, failed: 1, failures: [cut] });
    expect(cameToNothing(full)).toBe(false);
    expect(cameToNothing({ ...full, failures: [failure(os(28))] })).toBe(true);
  });

  test.each([
    [28, "the disk is full"],
    [122, "the quota is used up"],
  ])("errno %i of what could not be written says that %s", (errno, why) => {
    const full = { path: "set/new", side: "here", operation: "write", detail: "", ...os(errno) } as const;
    expect(failureWords(full, "/data", "copying")).toBe(`could not be written: ${why}`);
    const { next } = copyRefusedWords(report({ outcome: "partial", failed: 1, failures: [full] }), "/data");
    expect(next).toBe("Free up space there, or choose another folder.");
  });

  test("what was copied before the end is reported", () => {
    const cut = report({ outcome: "failed", error: { code: "cancelled", by: "here" }, files: 2, bytes: 5000, moved: 5000 });
    expect(endWords(cut, "/data", "copying").next).toBe("Files copied so far stay in /data. So far: 2 items, 5.0\u00a0kB in 1.0\u00a0s.");
  });

  test("a destination that went away says what to do", () => {
    expect(faultWordsOf({ code: "destination_gone" }, "/mnt/stick", "copying")).toEqual({
      what: "/mnt/stick no longer exists.",
      next: "Reconnect or create it again, or choose another folder, then copy again.",
    });
  });

  test("no reason of a copy speaks of sending or arriving", () => {
    const reasons: FailureReason["reason"][] = ["special_file", "changed_while_reading", "path_too_long", "in_the_way", "link_target_missing", "kept", "differs", "cut_short"];
    for (const reason of reasons) expect(failureWords(failure({ reason } as FailureReason), "/data", "copying"), reason).not.toMatch(/sent|arrive/);
  });
});

describe("what limits a transfer", () => {
  const kinds = Object.keys(LIMIT_MARKS) as Bottleneck[];

  test("is here or there by who looks", () => {
    expect(limitWords("writing", "lab-ws", "sending")).toBe("writing on lab-ws");
    expect(limitWords("writing", "lab-ws", "receiving")).toBe("writing here");
    expect(limitWords("reading", "lab-ws", "receiving")).toBe("reading on lab-ws");
    expect(limitWords("limit", "lab-ws", "sending")).toBe("the upload limit here");
  });

  test.each(["sending", "receiving"] as const)("has words of its own for every stage when %s", (direction) => {
    expect(new Set(kinds.map((by) => limitWords(by, "lab-ws", direction))).size).toBe(kinds.length);
  });
});

describe("a lost connection", () => {
  const waiting = (interruption: Interruption) => progress({ stage: "reconnecting", interruption });

  test("says at either end who waits for what, and how long", () => {
    const soon = waiting({ why: "broken", next_try_seconds: 3.2, gives_up_seconds: 899 });
    expect(stageWords(soon, "lab-ws", "sending")).toBe("Connection to lab-ws lost. Trying again in 4\u00a0s, for another 14\u00a0min\u00a059\u00a0s");
    const trying = waiting({ why: "unreachable", next_try_seconds: null, gives_up_seconds: 600 });
    expect(stageWords(trying, "lab-ws", "sending")).toBe("lab-ws cannot be reached. Trying again…");
    const awaited = waiting({ why: "silent", next_try_seconds: null, gives_up_seconds: 600 });
    expect(stageWords(awaited, "laptop", "receiving")).toMatch(/^Interrupted. Waiting for laptop for another \d+\smin/);
  });

  test("is nothing that a full disk is taken for", () => {
    const full = (missingBytes: number, missingEntries = 0) =>
      progress({ stage: "paused", interruption: { why: "full", needed: missingBytes, free: 0, entries: missingEntries, next_try_seconds: null, gives_up_seconds: 60 } });
    expect(stageWords(full(32_000_000), "lab-ws", "sending")).toBe("Paused: the disk of lab-ws is full, 32.0\u00a0MB more needed. Resumes if there is space within 1\u00a0min\u00a000\u00a0s");
    expect(stageWords(full(0, 1200), "lab-ws", "sending")).toContain(", 1,200 items too many");
    expect(stageWords(full(0), "laptop", "receiving")).toBe("Paused: the disk is full. Free up space within 1\u00a0min\u00a000\u00a0s to resume");
  });

  test("is nothing that a pause is taken for, which is reported with who it was", () => {
    const paused = (by: Side) => progress({ stage: "paused", interruption: { why: "paused", by, next_try_seconds: null, gives_up_seconds: 8 * 3600 } });
    for (const direction of ["sending", "receiving"] as const) {
      expect(stageWords(paused("here"), "lab-ws", direction)).toMatch(/^Paused here. Resume within .*$/);
      expect(stageWords(paused("there"), "lab-ws", direction)).toMatch(/^Paused by lab-ws for at most another .*$/);
    }
    const copy = progress({ stage: "paused", interruption: { why: "paused", by: "here", next_try_seconds: null, gives_up_seconds: null } });
    expect(stageWords(copy, "/srv/sets", "copying")).toBe("Paused");
  });

  test("is reported at the end", () => {
    expect(endWords(report({ files: 2, reconnected: 1, copy: null }), "lab-ws", "sending").next).toBe("lab-ws confirmed receipt. The connection was lost once.");
    expect(endWords(report({ files: 2, reconnected: 3, copy: null }), "laptop", "receiving").next).toBe("The connection was lost 3 times.");
  });
});
