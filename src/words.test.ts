import { describe, expect, test } from "vitest";
import { bindingsFaultCodes, bindingsInvalidReasons } from "./testing/codes";
import { codeNumber, codeNumberAlone, encryptionWords, faultWords, tidyCode } from "./words";
import type { Fault, PathTaken, Remedy } from "./ipc/bindings";

const os = { errno: 111, detail: "Connection refused (os error 111)" };
const path = (by: "kernel" | "userspace"): PathTaken => ({
  tls: by === "kernel" ? by : { user: "module_not_loaded" },
  io: "uring",
});

describe("faults in words", () => {
  test("a refused connection says what to start", () => {
    const { what, next } = faultWords({ code: "unreachable", target: "10.0.0.5:17464", source: os, remedies: [] });
    expect(what).toBe("10.0.0.5:17464 cannot be reached: no program accepts connections there.");
    expect(next).toContain("Turn on receiving there");
  });

  test("where a firewall may be in the way, its command is there to be copied", () => {
    const remedies: Remedy[] = [
      { aim: "ufw", command: "sudo ufw allow 17464/tcp" },
      { aim: "firewalld", command: "sudo firewall-cmd --permanent --add-port=17464/tcp && sudo firewall-cmd --reload" },
    ];
    const silent = { errno: 110, detail: "timed out" };
    const { what, next, commands } = faultWords({ code: "unreachable", target: "10.0.0.5:17464", source: silent, remedies });
    expect(what).toBe("10.0.0.5:17464 cannot be reached: nothing answered in time.");
    expect(next).toContain("open its firewall");
    expect(commands).toEqual(remedies.map(({ command }, at) => ({ name: ["With ufw", "With firewalld"][at], text: command })));
  });

  test("a name that nobody has is not taken for a machine that does not answer", () => {
    const { what, next } = faultWords({ code: "unreachable", target: "labb:17464", source: { errno: null, detail: "no such host" }, remedies: [] });
    expect(what).toBe("No device was found by the name in labb:17464: no such host.");
    expect(next).toContain("spelling");
  });

  test.each([
    [98, "close that program"],
    [13, "below 1024"],
    [99, "Try again"],
  ])("a port that cannot be had (%i) says what to do", (errno, next) => {
    expect(faultWords({ code: "listen", address: "[::]:80", source: { errno, detail: "" }, remedies: [] }).next).toContain(next);
  });

  test("an unknown errno falls back to the system's words", () => {
    const { what } = faultWords({ code: "connection_lost", errno: 71, detail: "Protocol error" }, "nas");
    expect(what).toContain("nas");
    expect(what).toContain("Protocol error");
  });

  test("too little room gives both figures", () => {
    const { what } = faultWords({ code: "declined", reason: "no_room", needed: 5e9, free: 1e9, entries: 0 }, "nas");
    expect(what).toBe("nas has too little free space: at least 5.0\u00a0GB needed, 1.0\u00a0GB free.");
  });

  test("another key is reported with both ids", () => {
    const { what } = faultWords({ code: "identity_changed", name: "nas", expected: "aaaa", found: "bbbb" });
    expect(what).toContain("aaaa");
    expect(what).toContain("bbbb");
  });

  test("a bad setting is reported with its line, and a misspelt one with the setting that was meant", () => {
    const fault = { code: "config", path: { path: "/c/config.toml" }, line: 3, detail: "there is no setting prot", nearest: null } as const;
    expect(faultWords(fault)).toEqual({ what: "/c/config.toml, line 3: there is no setting prot.", next: "Correct that line, or remove it: a setting without a line has its default." });
    expect(faultWords({ ...fault, nearest: "port" }).next).toBe("Did you mean port? Correct that line, or remove it.");
    expect(faultWords({ ...fault, line: null }).what).toBe("/c/config.toml: there is no setting prot.");
  });

  test("no trouble with a file of our own but damage advises to move it", () => {
    for (const trouble of ["full", "not_writable", "not_readable", "busy", "untrusted", "other"] as const) {
      expect(faultWords({ code: "store", path: { path: "/d/ringway.db" }, trouble, detail: "x" }).next, trouble).not.toMatch(/move|identity/);
    }
    expect(faultWords({ code: "store", path: { path: "/d/ringway.db" }, trouble: "damaged_database", detail: "x" }).next).toContain("the identity stays");
  });

  test("every code that the shell can send has its own sentence", () => {
    const general = faultWords({ code: "nonsense" } as unknown as Fault).what;
    const fields = { source: os, ...os, target: "t", path: { path: "p" }, folder: { path: "p" }, has: 1, least: 2, operation: "open", address: "a", peer_name: "p", position: 1, wait_seconds: 1, name: "n", detail: "d", shortage: null, bytes_max: 1, bytes: 1, seconds: 600, line: 1, nearest: null, share: "s", kind: "device" };
    const rest = { expected: "e", found: "f", published: [], id: "i", now: null, by: "here", ours: 1, theirs: 2, what: "w", remedies: [] };
    for (const code of bindingsFaultCodes().filter((code) => code !== "invalid")) {
      const trouble = code === "share_unavailable" ? "missing" : "full";
      const sentence = faultWords({ code, trouble, reason: code === "declined" ? "busy" : "asked", ...fields, ...rest } as unknown as Fault, "peer");
      expect(sentence.what, code).not.toBe(general);
      expect(sentence.what + sentence.next, code).not.toMatch(/undefined|NaN|\[object/);
    }
  });

  test("every reason of what is not acceptable has its own sentence", () => {
    const isText = (reason: string) => ["ambiguous_name", "share_name_taken", "unknown_share"].includes(reason);
    const told = (reason: string) => faultWords({ code: "invalid", detail: "in English", reason, name: isText(reason) ? "photos" : { path: "photos" }, folder: { path: "f" }, pattern: { path: "p" } } as unknown as Fault);
    for (const reason of bindingsInvalidReasons().filter((reason) => reason !== "option")) {
      const { what, next } = told(reason);
      expect(what, reason).not.toContain("in English");
      expect(what + next, reason).not.toMatch(/undefined|fault\.|\[object/);
    }
    expect(told("same_name").what).toContain("“photos”");
    expect(told("option").what).toBe("This value is not valid: in English.");
  });
});

describe("encryption in words", () => {
  test.each([
    ["kernel", "kernel", "Encrypted by the kernel on both devices"],
    ["kernel", "userspace", "Encrypted by the kernel here, by Ringway on nas"],
    [
      "userspace",
      "kernel",
      "Encrypted by Ringway here, by the kernel on nas. Here: the kernel's TLS module is not loaded",
    ],
  ] as const)("%s here, %s there", (mine, theirs, text) => {
    expect(encryptionWords(path(mine), path(theirs), "nas")).toBe(text);
  });

  test("before it is known nothing is said", () => expect(encryptionWords(null, null, "nas")).toBe(""));
});

test.each([
  ["42-river-castle", "42-river-castle"],
  ["  42 River  Castle ", "42-river-castle"],
  ["42–RIVER—castle", "42-river-castle"],
  ["42_river_castle", "42-river-castle"],
  ["Code: 42, river, castle.", "42-river-castle"],
  ["code 42\nriver castle", "42-river-castle"],
  ["42/river/castle", "42-river-castle"],
  ["42 | river · castle", "42-river-castle"],
  ["“42-river-castle”", "42-river-castle"],
  ["`42-river-castle`\n", "42-river-castle"],
  ["(42-River-Castle)", "42-river-castle"],
  ["42\u00a0-\u00a0river\u2011castle\u200b", "42-river-castle"],
  ["\ufeff42-\u00adriver-castle", "42-river-castle"],
  ["４２－ｒｉｖｅｒ－ｃａｓｔｌｅ", "42-river-castle"],
  ["Code:\t42\triver\tcastle", "42-river-castle"],
  ["\"S3cret of a server\"", "\"S3cret of a server\""],
  ["10.0.0.5:17464", "10.0.0.5:17464"],
  ["3com-switch", "3com-switch"],
  ["http://42/river/castle", "http://42/river/castle"],
  ["S3cret of a server", "S3cret of a server"],
  ["3.lab.example", "3.lab.example"],
  ["42-river", "42-river"],
])("the code %j is read as %j", (typed, code) => expect(tidyCode(typed)).toBe(code));

test.each(["42rivercastle", " 42RiverCastle ", "42 rivercastle", "42-rivercastle", "42river castle", "42river-castle"])(
  "without all separators %j is a code only where nothing else can be typed",
  (typed) => {
    expect(codeNumberAlone(typed)).toBe(42);
    expect(codeNumber(typed), "it may be the name of a host").toBeNull();
    expect(tidyCode(typed), "the service finds the words").toBe(typed.trim());
  },
);

test.each(["42", "42-river", "rivercastle", "1000rivercastle", "10.0.0.5:17464", "42 correct horse battery"])(
  "%j has no number of a code",
  (typed) => expect(codeNumberAlone(typed)).toBeNull(),
);
