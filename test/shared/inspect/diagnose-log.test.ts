import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createLogDiagnosis, type LogDiagnosis } from "../../../shared/inspect/diagnose-log.js";
import { reportSeed, seedOf } from "../../support/seed.js";

const seed = seedOf("diagnose-log");
const nul = (count: number): string => "\u0000".repeat(count);

function diagnose(bytes: Uint8Array | string, chunkBytes = 1 << 20): LogDiagnosis {
  const all = typeof bytes === "string" ? Buffer.from(bytes) : bytes;
  const log = createLogDiagnosis({ path: "x.jsonl", role: "log", fields: undefined });
  for (let at = 0; at < all.length; at += chunkBytes) log.push(all.subarray(at, at + chunkBytes));
  return log.finish();
}
const told = (text: string) =>
  diagnose(text).damage.map(({ kind, at, where, facts }) => ({
    kind,
    byteOffset: at.byteOffset,
    line: at.line,
    ...(where === undefined ? {} : { where }),
    ...facts,
  }));

describe("a log that is whole", () => {
  test.each([
    ["with line ends", '{"n":1}\n{"n":2}\n', 2],
    ["without the last line end", '{"n":1}\n{"n":2}', 2],
    ["with CR LF", '{"n":1}\r\n{"n":2}\r\n', 2],
    ["with blank lines", '\n{"n":1}\n\n   \n{"n":2}\n\n\n', 2],
    ["with line separators of other kinds inside strings", '{"t":"a\u2028b\u2029c\u0085d"}\n', 1],
    ["with brackets and quotes inside strings", '{"a":"}{\\" ] [","b":"{"}\n', 1],
    ["with an escaped NUL", '{"a":"\\u0000"}\n', 1],
    ["of zero bytes", "", 0],
  ])("%s says nothing", (_title, text, records) => {
    expect(diagnose(text)).toMatchObject({ records, damage: [] });
  });
});

describe("a last line that is cut", () => {
  test.each([
    ['{"n":1}\n{"n":2,"t":"ab', "inside string"],
    ['{"n":1}\n{"n":2,', "after comma"],
    ['{"n":1}\n{"n', "inside key"],
    ['{"n":1}\n{', "after open bracket"],
  ])("%j is a torn tail that begins with its line", (text, where) => {
    expect(told(text)).toMatchObject([
      {
        kind: "torn-tail",
        byteOffset: 8,
        keepBytes: 8,
        line: 2,
        records: 1,
        where,
        fileBytes: text.length,
      },
    ]);
  });

  test("inside a character says so", () => {
    const bytes = Buffer.from('{"n":1}\n{"t":"é"}').subarray(0, 15);
    expect(diagnose(bytes).damage).toMatchObject([
      { kind: "torn-tail", where: "inside character" },
    ]);
  });

  test("behind a whole record on the same line begins at its own first byte", () => {
    expect(told('{"n":1}{"n":2,"t')).toMatchObject([
      { kind: "torn-tail", byteOffset: 7, records: 1 },
    ]);
  });
});

describe("lines that hold more or less than one record", () => {
  test("two whole records are split at the seam, and both are read", () => {
    expect(told('{"n":1}\n{"n":2}{"n":3}\n')).toMatchObject([
      { kind: "glued-records", line: 2, byteOffset: 15, records: 3, lost: 0 },
    ]);
  });

  test("three records on a line are three", () => {
    expect(told('{"n":1}{"n":2}{"n":3}\n')).toMatchObject([
      { kind: "glued-records", recordsOnLine: 3, records: 3, byteOffset: 7 },
    ]);
  });

  test("a cut record and the same in full: nothing is lost", () => {
    expect(told('{"n":1,"t":"lo{"n":1,"t":"long"}\n')).toMatchObject([
      {
        kind: "truncated-then-record",
        byteOffset: 14,
        records: 1,
        sameRecordRepeated: true,
        lost: 0,
      },
    ]);
  });

  test("a cut record and another: the cut one is lost", () => {
    expect(told('{"n":1,"t":"lo{"n":2,"t":"x"}\n{"n":3}\n')).toMatchObject([
      {
        kind: "truncated-then-record",
        byteOffset: 14,
        records: 2,
        sameRecordRepeated: false,
        lost: 1,
      },
    ]);
  });

  test("a record cut right behind a nested object is cut, not two records", () => {
    expect(told('{"n":1}\n{"n":2,"x":{"a":1}')).toMatchObject([
      { kind: "torn-tail", byteOffset: 8 },
    ]);
  });

  test("a record inside another is told as such", () => {
    expect(told('{"n":1,"t":"be{"n":2}fore"}\n')).toMatchObject([
      { kind: "interleaved-records", byteOffset: 14, records: 2 },
    ]);
  });

  test("a cut line in the middle is a bad line, and the records around it stay", () => {
    expect(told('{"n":1}\n{"n":2,"t\n{"n":3}\n')).toMatchObject([
      { kind: "bad-line", line: 2, byteOffset: 8, records: 2, cut: true },
    ]);
  });

  test("a first line without its beginning is a missing head", () => {
    const { headPiece, damage } = diagnose('over the border"}\n{"n":2}\n');
    expect(damage).toMatchObject([{ kind: "missing-head", facts: { length: 17 } }]);
    expect(Buffer.from(headPiece ?? []).toString()).toBe('over the border"}');
  });
});

describe("NUL bytes in a log", () => {
  test.each([
    [`${nul(100)}{"n":1}\n`, "start of file", 0],
    [`{"n":1}\n${nul(100)}{"n":2}\n`, "before a record", 8],
    [`{"n":1}\n${nul(100)}\n{"n":2}\n`, "between records", 8],
    [`{"n":1}\n${nul(100)}`, "end of file", 8],
    [`{"n":1,"t":"${nul(100)}"}\n`, "inside string", 12],
    [`{"n":1}\n{"n":2,"t${nul(100)}{"n":3}\n`, "before a record", 17],
  ])("are told by where they stand (%#)", (text, where, byteOffset) => {
    expect(told(text)).toMatchObject([{ kind: "nul-run", where, byteOffset, length: 100 }]);
  });

  test("cost no memory, however many there are", () => {
    const log = createLogDiagnosis({ path: "x.log", role: "log", fields: undefined });
    const block = new Uint8Array(1 << 20);
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 64; i++) log.push(block);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 << 20);
    log.push(Buffer.from('{"n":1}\n'));
    expect(log.finish()).toMatchObject({
      records: 1,
      damage: [{ kind: "nul-run", facts: { length: 64 << 20 } }],
    });
  });
});

describe("a line longer than is held", () => {
  test("is checked to its end and gives up its fields", () => {
    const log = createLogDiagnosis({
      path: "x.jsonl",
      role: "log",
      fields: { item: "id", phase: "phase", seq: "seq" },
    });
    log.push(Buffer.from('{"id":"a","seq":1,"phase":"intent","blob":"'));
    const block = Buffer.alloc(1 << 20, 0x78);
    for (let i = 0; i < 10; i++) log.push(block);
    log.push(Buffer.from('"}\n{"id":"b","seq":2,"phase":"done"}\n'));
    const { records, damage, facts } = log.finish();
    expect([records, damage]).toEqual([2, []]);
    expect(facts.fold?.get("a")?.open).toHaveLength(1);
  });
});

describe("other formats under a log's name", () => {
  test.each([
    ["foreign-gzip", Buffer.from([0x1f, 0x8b, 8, 0, 0])],
    ["foreign-html", Buffer.from("<html><body>no</body></html>\n")],
    ["utf16", Buffer.from('\ufeff{"n":1}\n', "utf16le")],
  ])("%s is told, and no line of it is", (kind, bytes) => {
    expect(diagnose(bytes)).toMatchObject({ foreign: kind, damage: [], records: 0 });
  });
});

describe("any log", () => {
  const pieces = fc.array(
    fc.oneof(
      fc.constantFrom(
        '{"id":"a","phase":"intent"}',
        '{"id":"a","phase":"done"}',
        '{"n":1,"t":"x',
        "\n",
        "\n\n",
        "\r\n",
        nul(9),
        nul(1),
        "}",
        "<<<<<<< a\n",
        '"}',
        "é",
      ),
      fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes).toString("latin1")),
    ),
    { maxLength: 30 },
  );

  test("is answered, and chunks of any size give the same answer", () => {
    reportSeed("diagnose-log", seed);
    fc.assert(
      fc.property(pieces, fc.integer({ min: 1, max: 17 }), (parts, chunkBytes) => {
        const bytes = Buffer.from(parts.join(""), "latin1");
        const comparable = ({ facts, ...rest }: LogDiagnosis) => ({
          ...rest,
          items:
            facts.fold === undefined
              ? undefined
              : [...facts.fold.items()].map((item) => ({ ...item })),
        });
        const inChunks = comparable(diagnose(bytes, chunkBytes));
        expect(inChunks).toEqual(comparable(diagnose(bytes)));
      }),
      { seed, numRuns: 3_000 },
    );
  });

  test("keeps each whole record: records told are records there", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.jsonValue().filter((v) => typeof v === "object" && v !== null && !Array.isArray(v)),
          { maxLength: 8 },
        ),
        (values) => {
          const text = values.map((value) => `${JSON.stringify(value)}\n`).join("");
          expect(diagnose(text)).toMatchObject({ records: values.length, damage: [] });
        },
      ),
      { seed, numRuns: 1_000 },
    );
  });
});
