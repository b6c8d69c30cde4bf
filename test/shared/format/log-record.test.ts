import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { limits } from "../../../shared/base/limits.js";
import {
  checkedNote,
  encodeLogRecord,
  isWholeRecord,
  type LogRecord,
  readLogLine,
  recordTextRefusal,
} from "../../../shared/format/log-record.js";

const common = {
  seq: 7,
  id: "ana@example.com",
  at: "2026-03-04T12:00:00.000Z",
  worker: "w1",
  attempt: 2,
  key: "welcome:ana",
  lease: 5,
} as const;

const head =
  '{"seq":7,"id":"ana@example.com","phase":"PHASE","at":"2026-03-04T12:00:00.000Z","worker":"w1","attempt":2,"key":"welcome:ana","lease":5';

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const bytes = (line: string) => new TextEncoder().encode(line);

describe("the bytes of a record", () => {
  test.each<[LogRecord, string]>([
    [{ ...common, phase: "intent" }, `${head.replace("PHASE", "intent")}}\n`],
    [{ ...common, phase: "done" }, `${head.replace("PHASE", "done")}}\n`],
    [
      { ...common, phase: "failed", reason: "no such address" },
      `${head.replace("PHASE", "failed")},"reason":"no such address"}\n`,
    ],
    [
      {
        ...common,
        phase: "settled",
        outcome: "not-started",
        reason: "no charge",
        evidence: "ch_1",
        by: "kim",
      },
      `${head.replace("PHASE", "settled")},"outcome":"not-started","reason":"no charge","evidence":"ch_1","by":"kim"}\n`,
    ],
    [
      { ...common, phase: "done", note: { plan: "p-1", lines: [3, 4] }, prev: "ab" },
      `${head.replace("PHASE", "done")},"note":{"plan":"p-1","lines":[3,4]},"prev":"ab"}\n`,
    ],
  ])("%j", (record, line) => {
    expect(text(encodeLogRecord(record))).toBe(line);
  });

  test("a note keeps numbers that a double cannot hold, on one line, and is read back", () => {
    const note = { big: 9_007_199_254_740_993n, text: "a\nb" };
    const line = encodeLogRecord({ ...common, phase: "done", note });
    expect(text(line)).toContain('"note":{"big":9007199254740993,"text":"a\\nb"}');
    expect([...line].filter((byte) => byte === 0x0a)).toHaveLength(1);
    expect(readLogLine(line.subarray(0, -1))).toMatchObject({ record: { note } });
  });

  test("a note is taken as it is now, and refused where JSON has no word for it or it is too long", () => {
    const note = { steps: ["cut"] };
    const checked = checkedNote(note);
    note.steps.push("added later");
    expect(checked).toEqual({ kind: "note", note: { steps: ["cut"] } });
    const wrong = { when: Number.NaN };
    expect(checkedNote(wrong)).toMatchObject({
      kind: "rejected",
      reason: expect.stringContaining("$.when"),
    });
    const long = "x".repeat(limits.recordNoteBytesMax);
    expect(checkedNote(long)).toMatchObject({ kind: "rejected" });
  });

  test("a record without a token, and a settlement without a number, leave the member out", () => {
    const record: LogRecord = {
      ...common,
      attempt: undefined,
      lease: undefined,
      phase: "settled",
      outcome: "done",
      reason: "r",
      evidence: "e",
      by: "b",
    };
    const line = text(encodeLogRecord(record));
    expect(line).not.toContain("attempt");
    expect(line).not.toContain("lease");
  });

  test("an endless reason is cut, and never in the middle of a character", () => {
    const reason = `${"x".repeat(limits.recordReasonCharsMax - 1)}😀 and more`;
    const line = text(encodeLogRecord({ ...common, phase: "failed", reason }));
    expect(JSON.parse(line).reason).toBe(`${"x".repeat(limits.recordReasonCharsMax - 1)}…`);
  });

  test("no text can end the line early", () => {
    const id = 'a\nb\r"\u2028\0';
    const written = encodeLogRecord({ ...common, id, phase: "done" });
    expect([...written].filter((byte) => byte === 0x0a)).toHaveLength(1);
    expect(readLogLine(written.subarray(0, -1))).toMatchObject({ record: { item: id } });
  });
});

describe("reading a line", () => {
  test("gives back what was written", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1 }), fc.nat(), (id, seq) => {
        const written = encodeLogRecord({ ...common, id, seq, phase: "done" });
        expect(readLogLine(written.subarray(0, -1))).toEqual({
          kind: "record",
          record: {
            item: id,
            phase: "done",
            word: "done",
            outcome: undefined,
            seq: `${seq}`,
            at: common.at,
            worker: "w1",
            attempt: "2",
            key: "welcome:ana",
            run: undefined,
            lease: "5",
            reason: undefined,
            evidence: undefined,
            by: undefined,
          },
        });
      }),
      { seed: 20261129 },
    );
  });

  test("a bare id is done, as the simplest checkpoint writes it", () => {
    expect(readLogLine(bytes('{"id": "ana@example.com"}'))).toMatchObject({
      kind: "record",
      record: { item: "ana@example.com", phase: "done" },
    });
  });

  test("an object without a phase that says more than an id is not taken for done", () => {
    expect(readLogLine(bytes('{"id":"ana","error":"timeout"}'))).toMatchObject({
      kind: "unreadable",
    });
  });

  test("a word of another program is kept and means nothing", () => {
    expect(readLogLine(bytes('{"id":"a","phase":"timeout"}'))).toMatchObject({
      record: { phase: "other", word: "timeout" },
    });
  });

  test("numbers stay as written, beyond what a double holds", () => {
    expect(readLogLine(bytes('{"id":9007199254740993,"phase":"done"}'))).toMatchObject({
      record: { item: "9007199254740993" },
    });
  });

  test.each(["1e3", "1.50", "0.10000000000000000555", "123456789012345678901234567890", "-0"])(
    "a line is read the same whether or not it is one for the quick reader: %s",
    (number) => {
      const quick = readLogLine(bytes(`{"id":"a","phase":"done","seq":${number}}`));
      // Sixteen digits in a row anywhere make a line one for the slow reader.
      const slow = readLogLine(
        bytes(`{"id":"a","phase":"done","seq":${number},"x":"${"7".repeat(16)}"}`),
      );
      expect(quick).toEqual(slow);
    },
  );

  test("a byte order mark makes a line unreadable, for the quick reader too", () => {
    expect(readLogLine(bytes('\ufeff{"id":"a"}')).kind).toBe("unreadable");
  });

  test.each([
    ['{"id":"a","phase":"do', "unreadable"],
    ['{"id":"a"}{"id":"b"}', "unreadable"],
    ["[]", "unreadable"],
    ['{"phase":"done"}', "unreadable"],
    ["\0\0\0", "unreadable"],
    ["", "blank"],
    [" \t\r", "blank"],
  ])("%j is %s", (line, kind) => {
    expect(readLogLine(bytes(line)).kind).toBe(kind);
  });

  test("any bytes are answered", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (line) => {
        expect(["record", "blank", "unreadable"]).toContain(readLogLine(line).kind);
      }),
      { seed: 20261129 },
    );
  });

  test("names of JavaScript's own are no members", () => {
    expect(readLogLine(bytes('{"__proto__":{"id":"a"}}')).kind).toBe("unreadable");
  });
});

test("no prefix of a record is whole", () => {
  const record = encodeLogRecord({ ...common, phase: "failed", reason: "} ]" }).subarray(0, -1);
  expect(isWholeRecord(record)).toBe(true);
  for (let end = 0; end < record.length; end += 1) {
    expect(isWholeRecord(record.subarray(0, end))).toBe(false);
  }
});

test("texts that could not be read back are refused with the reason", () => {
  expect(recordTextRefusal("id", "")).toContain("empty");
  expect(recordTextRefusal("id", "\ud800")).toContain("surrogate");
  expect(recordTextRefusal("id", "é".repeat(limits.recordFieldBytesMax / 2))).toBeUndefined();
  expect(recordTextRefusal("id", "é".repeat(limits.recordFieldBytesMax / 2 + 1))).toContain(
    "bytes",
  );
});
