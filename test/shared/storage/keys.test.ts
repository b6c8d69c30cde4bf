import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { limits } from "../../../shared/base/limits.js";
import {
  assertKey,
  assertKeyForWriting,
  assertPrefix,
  checkKey,
  isStagedName,
  nameOf,
  stagedName,
  takeOverName,
} from "../../../shared/storage/keys.js";
import { supersededKey, supersedingKey, takeOverTrace } from "../../../shared/storage/log-names.js";

describe("keys", () => {
  test("every text is answered, and what is accepted cannot lead out of its root", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), keyLike()), (text) => {
        const check = checkKey(text);
        if (check.kind === "rejected") return check.reason.length > 0;
        const segments = check.key.split("/");
        return (
          check.key === text &&
          segments.every((one) => one !== "" && one !== "." && one !== ".." && !/[\0\\]/.test(one))
        );
      }),
      { numRuns: 2_000 },
    );
  });

  test("a hostile name of many megabytes is refused without being walked over", () => {
    expect(checkKey("/".repeat(50_000_000)).kind).toBe("rejected");
    expect(checkKey("\ud83d".repeat(5_000_000)).kind).toBe("rejected");
  });

  test("the bounds are in bytes, not letters", () => {
    expect(checkKey("x".repeat(limits.keySegmentBytesMax)).kind).toBe("key");
    expect(checkKey("é".repeat(127)).kind).toBe("key");
    expect(checkKey("é".repeat(128)).kind).toBe("rejected");
  });

  test("a refusal says what was refused, why, and that nothing happened, and does not repeat megabytes", () => {
    expect(() => assertKey("a/../b")).toThrow(
      /"a\/\.\.\/b" cannot be a key: "\.\." would leave its folder\. Nothing/,
    );
    const refused = captured(() => assertKey("x".repeat(5_000_000)));
    expect(refused).toMatchObject({ code: "name-rejected" });
    expect(String(refused).length).toBeLessThan(400);
  });

  test("a name that is written leaves room for every neighbour we put beside it", () => {
    const name = `${"n".repeat(limits.writtenNameBytesMax - ".jsonl".length)}.jsonl`;
    expect(assertKeyForWriting(name)).toBe(name);
    const neighbours = [
      stagedName(name, "0".repeat(16)),
      takeOverName(name, 999_999_999_999_999, "0".repeat(16)),
      supersedingKey(name, 999_999_999_999_999),
    ];
    for (const one of neighbours) {
      expect(new TextEncoder().encode(one).length).toBeLessThanOrEqual(limits.keySegmentBytesMax);
    }
    expect(() => assertKeyForWriting(`n${name}`)).toThrow(/last segment is longer/);
  });

  test("a prefix may be empty, end with a slash or within a name, and is otherwise a key", () => {
    for (const prefix of ["", "runs/", "runs/run_", "a"]) expect(assertPrefix(prefix)).toBe(prefix);
    for (const prefix of ["/", "//", "../", "a//", "a/../"]) {
      expect(() => assertPrefix(prefix), prefix).toThrow(/cannot be a key/);
    }
  });
});

describe("names of our own", () => {
  test("staged files and fresh copies are known by their shape, and nothing else is", () => {
    expect(isStagedName(stagedName("run.json", "0123456789abcdef"))).toBe(true);
    expect(isStagedName(takeOverName("c.jsonl", 5, "0123456789abcdef"))).toBe(true);
    for (const name of [
      "run.json",
      ".run.json.tmp",
      ".x.0123.tmp",
      ".0123456789abcdef.tmp",
      "x.tmp",
    ]) {
      expect(isStagedName(name), name).toBe(false);
    }
  });

  test("what a take-over leaves is read back with its token, for that log alone", () => {
    const log = "checkpoint.jsonl";
    const fresh = takeOverName(log, 12, "0123456789abcdef");
    expect(takeOverTrace(log, fresh)).toEqual({ kind: "fresh", token: 12 });
    expect(takeOverTrace(log, supersedingKey(log, 12))).toEqual({ kind: "superseding", token: 12 });
    expect(takeOverTrace(log, supersededKey(log, 12))).toEqual({ kind: "superseded", token: 12 });
    for (const other of ["other.jsonl", "checkpoint.5.jsonl", "check.jsonl"]) {
      expect(takeOverTrace(other, fresh), other).toBeUndefined();
      expect(takeOverTrace(other, supersededKey(log, 12)), other).toBeUndefined();
    }
  });

  test.each([
    "checkpoint.jsonl",
    "checkpoint.superseded.jsonl",
    "checkpoint..superseded.jsonl",
    "checkpoint.-1.superseded.jsonl",
    "checkpoint.05.superseded.jsonl",
    "checkpoint.1e3.superseded.jsonl",
    "checkpoint.1234567890123456.superseded.jsonl",
    ".checkpoint.jsonl.take-over-5.tmp",
    ".checkpoint.jsonl.take-over--0123456789abcdef.tmp",
  ])("%s is no trace of a take-over", (name) => {
    expect(takeOverTrace("checkpoint.jsonl", name)).toBeUndefined();
  });

  test("a log without the usual ending has its traces too", () => {
    expect(supersededKey("runs/log", 3)).toBe("runs/log.3.superseded.jsonl");
    expect(nameOf(supersededKey("runs/log.jsonl", 3))).toBe("log.3.superseded.jsonl");
    expect(takeOverTrace("log", "log.3.superseded.jsonl")).toEqual({
      kind: "superseded",
      token: 3,
    });
  });
});

function keyLike() {
  const segment = fc.constantFrom("a", ".", "..", "", "b.json", "\0", "c\\d", "…");
  return fc.array(segment, { maxLength: 6 }).map((segments) => segments.join("/"));
}

function captured(use: () => unknown): unknown {
  try {
    return use();
  } catch (error) {
    return error;
  }
}
