import { describe, expect, test } from "vitest";
import {
  type DocumentDiagnosis,
  diagnoseDocument,
} from "../../../shared/inspect/diagnose-document.js";

const text = (...parts: (string | number[])[]): Uint8Array =>
  Buffer.concat(
    parts.map((part) => (typeof part === "string" ? Buffer.from(part) : Buffer.from(part))),
  );
const diagnose = (bytes: Uint8Array): DocumentDiagnosis => diagnoseDocument(bytes, { capture: [] });
const nul = (count: number): number[] => new Array(count).fill(0);
const only = (bytes: Uint8Array) => {
  const { damage } = diagnose(bytes);
  expect(damage.map((one) => one.kind)).toHaveLength(1);
  const [first] = damage;
  if (first === undefined) throw new Error("no damage");
  return first;
};

describe("bytes that hold nothing", () => {
  test("zero bytes are empty, white space is blank, NUL alone is a lost document", () => {
    expect(only(text())).toMatchObject({ kind: "empty", health: "empty", severity: "error" });
    expect(only(text(" \n"))).toMatchObject({ kind: "blank", health: "empty" });
    expect(only(text(nul(1742)))).toMatchObject({
      kind: "all-nul",
      health: "zeroed",
      facts: { length: 1742 },
    });
  });

  test("NUL bytes and a line end are still all NUL", () => {
    expect(only(text(nul(10), "\n")).kind).toBe("all-nul");
  });
});

describe("NUL bytes in a document", () => {
  test("to the end, behind a cut text: padding, with what is open before it", () => {
    expect(only(text('[{"a":1},\n', nul(300)))).toMatchObject({
      kind: "nul-padding",
      health: "torn",
      at: { byteOffset: 10, line: 2 },
      where: "after comma",
      facts: { length: 300, openDepth: 1 },
    });
  });

  test("to the end, behind a whole document: the document is offered", () => {
    expect(only(text('{"a":1}', nul(9)))).toMatchObject({
      kind: "nul-padding",
      health: "mixed",
      itself: { from: 0, to: 7 },
    });
  });

  test("in a row inside a string: a lost block", () => {
    expect(only(text('{"a":"x', nul(40), 'y","b":1}'))).toMatchObject({
      kind: "nul-run",
      where: "inside string",
      at: { byteOffset: 7 },
      facts: { length: 40 },
    });
  });

  test("one by one inside strings: told together, with each offset", () => {
    expect(only(text('{"a":"x', [0], "y", [0], 'z","b":1}'))).toMatchObject({
      kind: "nul-scattered",
      health: "mixed",
      facts: { count: 2, offsets: [7, 9] },
    });
  });

  test("where a token should stand: a run at that place", () => {
    expect(only(text('{"a":', nul(20), ',"b":1}'))).toMatchObject({
      kind: "nul-run",
      at: { byteOffset: 5 },
    });
  });

  test("before a whole document: the document behind them is offered", () => {
    expect(only(text(nul(64), '{"a":1}'))).toMatchObject({
      kind: "nul-run",
      where: "start of file",
      itself: { from: 64, to: 71 },
    });
  });
});

describe("more than one document's bytes", () => {
  test("a bracket left over is an old tail behind the document and its line end", () => {
    expect(only(text('{"a":[1]}}'))).toMatchObject({
      kind: "old-tail",
      at: { byteOffset: 9 },
      itself: { from: 0, to: 9 },
    });
    expect(only(text('{"a":1}\n  "b": 2\n}\n'))).toMatchObject({
      kind: "old-tail",
      at: { byteOffset: 8 },
    });
    expect(only(text('{"a":1}\r\n"b":2}')).at.byteOffset).toBe(9);
  });

  test("a tail that is itself a bare word is no second document", () => {
    expect(only(text('{"a":1} 42')).kind).toBe("old-tail");
  });

  test("whole documents in a row are counted", () => {
    expect(only(text('{"a":1}{"a":2}\n[3]'))).toMatchObject({
      kind: "concatenated-documents",
      at: { byteOffset: 7 },
      facts: { documents: 3 },
    });
  });

  test("conflict markers are named before anything a parser would stumble over", () => {
    const merged = '{\n<<<<<<< ours\n"v":1\n=======\n"v":2\n>>>>>>> x\n}\n';
    expect(only(text(merged))).toMatchObject({
      kind: "conflict-markers",
      at: { byteOffset: 2, line: 2 },
      facts: { markers: [2, 21, 35], sides: 2 },
    });
  });
});

describe("other formats under a document's name", () => {
  test.each([
    ["foreign-gzip", [0x1f, 0x8b, 8, 0]],
    ["foreign-zip", [0x50, 0x4b, 3, 4, 20]],
    ["foreign-html", [...Buffer.from("\n<!DOCTYPE html><html>")]],
    ["foreign-html", [...Buffer.from('<?xml version="1.0"?><Error/>')]],
  ])("%s is told by its first bytes", (kind, bytes) => {
    expect(only(text(bytes))).toMatchObject({ kind, health: "foreign" });
  });

  test("a page inside a string is a string", () => {
    expect(diagnose(text('"<!DOCTYPE html>"')).damage).toEqual([]);
  });

  test("UTF-16 is an encoding, with or without its mark, and no NUL damage", () => {
    const plain = '{"a": "b", "c": 1}';
    for (const [label, bytes] of [
      ["utf-16-le", Buffer.from(`\ufeff${plain}`, "utf16le")],
      ["utf-16-le", Buffer.from(plain, "utf16le")],
      ["utf-16-be", Buffer.from(`\ufeff${plain}`, "utf16le").swap16()],
    ] as const)
      expect(only(bytes)).toMatchObject({
        kind: "utf16",
        severity: "warning",
        facts: { encoding: label, contentWhole: true },
      });
  });

  test("UTF-16 that is cut is more than an encoding", () => {
    expect(only(Buffer.from('\ufeff{"a": "b', "utf16le"))).toMatchObject({
      severity: "error",
      health: "torn",
    });
  });

  test("a byte order mark is a notice, and offsets count it", () => {
    expect(only(text([0xef, 0xbb, 0xbf], '{"a":1}'))).toMatchObject({
      kind: "bom",
      severity: "notice",
    });
    const torn = diagnose(text([0xef, 0xbb, 0xbf], '{"a":"x'));
    expect(torn.damage[0]).toMatchObject({ kind: "truncated", at: { byteOffset: 8, column: 9 } });
  });
});

describe("text before a document", () => {
  test("a warning line is foreign text, a key press a stray prefix", () => {
    expect(only(text("2026-03-04 10:46 WARN: x\n[1]"))).toMatchObject({
      kind: "foreign-text-before",
      facts: { length: 25, documentStartsAt: 25 },
      itself: { from: 25, to: 28 },
    });
    expect(only(text('gi{"a":1}'))).toMatchObject({ kind: "stray-prefix", facts: { length: 2 } });
    expect(only(text('[WARN] low\n{"a":1}\n')).kind).toBe("foreign-text-before");
  });

  test("a cut document behind it is told as well, with its place in the file", () => {
    const { damage } = diagnose(text('warning: x\n{"a":"b'));
    expect(damage).toMatchObject([
      { kind: "foreign-text-before" },
      { kind: "truncated", at: { byteOffset: 16, line: 2, column: 6 }, where: "inside string" },
    ]);
  });

  test("a list inside broken braces is no document behind text", () => {
    expect(only(text("{x: [1]")).kind).toBe("syntax");
  });
});

describe("healthy documents", () => {
  test.each([
    '{"a":"}{ ] \\" [","b":"\\u007b"}',
    "[]",
    "42",
    '"ok"',
    "null",
    " \t\r\n{}\n\n",
    '{"big":123456789012345678901234567890,"e":1E400}',
  ])("%s is whole and nothing is said", (json) => {
    expect(diagnose(text(json))).toMatchObject({ json: "valid", damage: [] });
  });
});

describe("a document cut at every byte", () => {
  const whole = JSON.stringify(
    {
      run: "r",
      version: 62,
      ok: true,
      none: null,
      n: [-1.5e3, 0],
      tasks: [{ id: "té", note: 'a"b' }],
    },
    null,
    1,
  );
  test("is called truncated at each cut inside it, with an offset within the text", () => {
    const bytes = text(whole);
    for (let cut = 1; cut < bytes.length; cut++) {
      const { damage } = diagnose(bytes.subarray(0, cut));
      expect([cut, damage.map((one) => one.kind)]).toEqual([cut, ["truncated"]]);
      expect(damage[0]?.at.byteOffset).toBeLessThanOrEqual(cut);
    }
    expect(diagnose(bytes).damage).toEqual([]);
  });
});
