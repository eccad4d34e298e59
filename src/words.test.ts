import { describe, expect, test } from "vitest";
import { bindingsFaultCodes } from "./testing/codes";
import { encryptionWords, faultWords } from "./words";
import type { Fault, Paths } from "./ipc/bindings";

const os = { errno: 111, detail: "Connection refused (os error 111)" };
const path = (by: "kernel" | "userspace"): Paths => ({
  encryption: by === "kernel" ? { by } : { by, why: "moduleNotLoaded" },
  fileIo: { by: "uring" },
});

describe("faults in words", () => {
  test("a refused connection says what to start", () => {
    const { what, next } = faultWords({ code: "unreachable", target: "10.0.0.5:17464", os });
    expect(what).toBe("10.0.0.5:17464 cannot be reached: nothing listens there.");
    expect(next).toContain("Start Ringway's receiver");
  });

  test("an unknown errno falls back to the system's words", () => {
    const { what } = faultWords({ code: "connectionLost", os: { errno: 71, detail: "Protocol error" } }, "nas");
    expect(what).toContain("nas");
    expect(what).toContain("Protocol error");
  });

  test("too little room gives both figures", () => {
    const { what } = faultWords({ code: "declined", why: { reason: "noRoom", needed: 5e9, free: 1e9, entries: 0 } }, "nas");
    expect(what).toBe("nas has too little room: 5.0 GB are needed, 1.0 GB are free.");
  });

  test("another key is told with both ids", () => {
    const { next } = faultWords({ code: "identityChanged", name: "nas", expected: "aaaa", found: "bbbb" });
    expect(next).toContain("aaaa");
    expect(next).toContain("bbbb");
  });

  test("every code that the shell can send has its own sentence", () => {
    const general = faultWords({ code: "nonsense" } as unknown as Fault).what;
    const fields = { os, target: "t", path: "p", doing: "open", address: "a", peer: "p", position: 1, waitMs: 1, name: "n", detail: "d", missingBytes: 1, missingEntries: 1, maxBytes: 1 };
    const rest = { expected: "e", found: "f", why: { reason: "busy" }, by: "here", ours: 1, theirs: 2, what: "w" };
    for (const code of bindingsFaultCodes()) {
      const sentence = faultWords({ code, ...fields, ...rest } as unknown as Fault, "peer");
      expect(sentence.what, code).not.toBe(general);
      expect(sentence.what + sentence.next, code).not.toMatch(/undefined|NaN/);
    }
  });
});

describe("encryption in words", () => {
  test.each([
    ["kernel", "kernel", "TLS in the kernel at both ends"],
    ["kernel", "userspace", "TLS in the kernel here, in userspace on nas"],
    [
      "userspace",
      "kernel",
      "TLS in userspace here, in the kernel on nas. Here: kernel module not loaded (“sudo modprobe tls” turns it on)",
    ],
  ] as const)("%s here, %s there", (mine, theirs, text) => {
    expect(encryptionWords(path(mine), path(theirs), "nas")).toBe(text);
  });

  test("before it is known nothing is said", () => expect(encryptionWords(null, null, "nas")).toBe(""));
});
