import { describe, expect, test } from "vitest";
import { parsePath } from "../../../shared/base/json-path.js";
import { capturePlan } from "../../../shared/format/capture-plan.js";
import type { JsonAnswer } from "../../../shared/format/json-answer.js";
import { scanJson } from "../../../shared/format/json-scan.js";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const scan = (text: string): JsonAnswer => scanJson(bytes(text));

describe("where a document stops", () => {
  test.each([
    ['{"a":"b', "inside string", 5, 1, "$.a"],
    ['{"a', "inside key", 1, 1, "$"],
    ['{"a"', "after key", 4, 1, "$.a"],
    ['{"a":', "after colon", 5, 1, "$.a"],
    ['{"a":1,', "after comma", 7, 1, "$"],
    ['{"a":1', "inside number", 5, 1, "$.a"],
    ['{"a":1 ', "after value", 7, 1, "$"],
    ['{"a":tr', "inside literal", 5, 1, "$.a"],
    ['{"a":"x\\', "inside escape", 5, 1, "$.a"],
    ['{"a":"x\\u00', "inside escape", 5, 1, "$.a"],
    ["{", "after open bracket", 1, 1, "$"],
    ["[[1],[", "after open bracket", 6, 2, "$[1]"],
    ["[1,", "after comma", 3, 1, "$"],
    ['{"a":{"b":[{"c":-', "inside number", 16, 4, "$.a.b[0].c"],
  ] as const)("%s stops %s at byte %i", (text, where, byteOffset, openDepth, path) => {
    expect(scan(text).outcome).toMatchObject({
      kind: "truncated",
      where,
      at: { byteOffset },
      openDepth,
      path,
    });
  });

  test("a cut inside a character of a string names the character and begins at the string", () => {
    const whole = bytes('{"a":"é"}');
    expect(scanJson(whole.subarray(0, 7)).outcome).toMatchObject({
      kind: "truncated",
      where: "inside character",
      at: { byteOffset: 5 },
    });
  });

  test("lines count line ends alone, columns count bytes from one", () => {
    expect(scan('{\n "é": 1,\n  "b": "x').outcome).toMatchObject({
      at: { byteOffset: 19, line: 3, column: 8 },
    });
  });

  test("a number at the top is whole where it may end, and cut where it may not", () => {
    expect(scan("42").outcome).toEqual({ kind: "whole", end: 2 });
    expect(scan("42.").outcome).toMatchObject({ kind: "truncated", where: "inside number" });
    expect(scan("-").outcome).toMatchObject({ kind: "truncated", where: "inside number" });
  });

  test("no bytes are empty, white space is blank", () => {
    expect(scan("").outcome).toEqual({ kind: "empty" });
    expect(scan(" \r\n\t").outcome).toEqual({ kind: "blank" });
  });
});

describe("what follows a whole value", () => {
  test("other bytes are told with the end of the value and their own place", () => {
    expect(scan('{"a":1}\n}').outcome).toEqual({
      kind: "trailing",
      end: 7,
      at: { byteOffset: 8, line: 2, column: 1 },
    });
  });
});

describe("bytes that no JSON can have there", () => {
  test.each([
    ["[1 2]", 3],
    ["[01]", 2],
    ["{1:2}", 1],
    ['{"a" 1}', 5],
    ["[nul!]", 4],
    ['["\\x"]', 3],
    ['["\\u00g0"]', 6],
    ['["a\tb"]', 3],
    ["[1}", 2],
    ["[Nope]", 1],
    ["[1.e5]", 3],
  ])("%s is refused at byte %i", (text, byteOffset) => {
    expect(scan(text).outcome).toMatchObject({ kind: "syntax", at: { byteOffset } });
  });
});

describe("deviations that leave the structure readable", () => {
  test.each([
    ["[NaN, Infinity, -Infinity]", "nonstandard-number", [1, 6, 16]],
    ["[1,2,]", "trailing-comma", [4]],
    ['{"a":1,}', "trailing-comma", [6]],
    ['{ // one\n"a": /* two */ 1}', "comment", [2, 14]],
  ] as const)("%s is read to its end and noted as %s", (text, kind, offsets) => {
    const answer = scan(text);
    expect(answer.outcome.kind).toBe("whole");
    expect(answer.strict).toBe(false);
    expect(answer.notes.filter((n) => n.kind === kind).map((n) => n.at.byteOffset)).toEqual(
      offsets,
    );
  });

  test("a key that stands twice is noted with both places, and the file is still JSON", () => {
    const answer = scan('{"h":{"a":1,"b":2,"a":3}}');
    expect(answer.strict).toBe(true);
    expect(answer.notes).toMatchObject([
      { kind: "duplicate-key", path: "$.h.a", firstByteOffset: 6, at: { byteOffset: 18 } },
    ]);
  });

  test("keys that are equal only after unescaping are the same key", () => {
    expect(scan('{"a":1,"\\u0061":2}').noteCounts["duplicate-key"]).toBe(1);
  });

  test("the same key in two objects of a list is no duplicate", () => {
    expect(scan('[{"a":1},{"a":2}]').notes).toEqual([]);
  });

  test("names that objects of the language have are keys like any other", () => {
    const answer = scan('{"__proto__":1,"constructor":2,"__proto__":3}');
    expect(answer.noteCounts["duplicate-key"]).toBe(1);
    expect(Object.getPrototypeOf({})).toBe(Object.prototype);
  });

  test("half a surrogate pair is noted at its escape; a proper pair is not", () => {
    expect(scan('["\\ud83d\\ude00"]').notes).toEqual([]);
    expect(scan('["x\\ud9a4 y"]').notes).toMatchObject([
      { kind: "lone-surrogate", at: { byteOffset: 3 }, lengthBytes: 6, path: "$[0]" },
    ]);
    expect(scan('["\\ude00"]').noteCounts["lone-surrogate"]).toBe(1);
    expect(scan('["\\ud83d"]').noteCounts["lone-surrogate"]).toBe(1);
  });

  test.each([
    [[0xff], 1],
    [[0xc3, 0x28], 1],
    [[0xed, 0xa0, 0x80], 3],
    [[0xc0, 0xaf], 2],
    [[0xf5], 1],
  ])("bytes %j in a string are not UTF-8, and the scan goes on", (wrong, count) => {
    const answer = scanJson(new Uint8Array([0x5b, 0x22, ...wrong, 0x22, 0x5d]));
    expect(answer.outcome.kind).toBe("whole");
    expect(answer.strict).toBe(false);
    expect(answer.noteCounts["invalid-utf8"]).toBe(count);
  });

  test("NUL bytes inside a string are noted one by one", () => {
    const answer = scanJson(new Uint8Array([0x5b, 0x22, 0, 0, 0x22, 0x5d]));
    expect(answer.notes.map((note) => note.at.byteOffset)).toEqual([2, 3]);
  });
});

describe("depth", () => {
  test("a hundred thousand levels are answered, closed or not", () => {
    const open = "[".repeat(100_000);
    expect(scan(open).outcome).toMatchObject({
      kind: "truncated",
      where: "after open bracket",
      at: { byteOffset: 100_000 },
      openDepth: 100_000,
    });
    const closed = scan(`${open}0${"]".repeat(100_000)}`);
    expect(closed.outcome.kind).toBe("whole");
    expect(closed.depthMax).toBe(100_000);
  });
});

describe("values kept while the bytes pass by", () => {
  const plan = (...paths: string[]) =>
    capturePlan(
      paths.map((text) => {
        const parsed = parsePath(text);
        if (parsed.kind !== "path") throw new Error(parsed.reason);
        return parsed.path;
      }),
    );

  test("come as written, with their place, also from nested lists", () => {
    const capture = plan("id", "tasks[*].status", "tasks[1].n");
    const text = '{"id":1e400,"tasks":[{"status":"done"},{"status":null,"n":[1, 2]}]}';
    const { captured } = scanJson(bytes(text), { capture });
    expect(captured.map((c) => [c.pattern, c.path, c.raw])).toEqual([
      [0, "$.id", "1e400"],
      [1, "$.tasks[0].status", '"done"'],
      [1, "$.tasks[1].status", "null"],
      [2, "$.tasks[1].n", "[1, 2]"],
    ]);
  });

  test("are read from the readable part of a torn document", () => {
    const { captured } = scanJson(bytes('{"version": 62, "tasks": [{"id": "t'), {
      capture: plan("version"),
    });
    expect(captured).toMatchObject([{ raw: "62", kind: "number" }]);
  });

  test("are not held when they are longer than a field can be", () => {
    const { captured } = scanJson(bytes(`{"a":"${"x".repeat(5_000)}"}`), { capture: plan("a") });
    expect(captured).toMatchObject([{ raw: "too-long" }]);
  });
});
