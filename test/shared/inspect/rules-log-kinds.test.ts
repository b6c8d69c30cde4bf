import { describe, expect, test } from "vitest";
import type { InspectContext } from "../../../shared/inspect/context.js";
import { effectFields as fields, inspected } from "../../support/evidence.js";

const rows = (...records: object[]): string =>
  records.map((record) => `${JSON.stringify(record)}\n`).join("");
const found = (text: string, context: Partial<InspectContext> = { fields }) =>
  inspected({ "log.jsonl": text }, context).findings.map(({ kind, severity, line, ...rest }) => ({
    kind,
    severity,
    line,
    byteOffset: rest.byteOffset,
    where: rest.where,
    health: rest.health,
    ...rest.facts,
  }));
const none = {};

describe("two writers on one log", () => {
  test("that put a whole line between two halves of another are told apart, and nothing is lost", () => {
    const text = '{"w":0}\n{"w":1,"t":"bb{"w":2,"t":"c"}\nbb"}\n{"w":3}\n';
    expect(found(text, none)).toMatchObject([
      {
        kind: "interleaved-records",
        line: 2,
        byteOffset: 22,
        records: 4,
        lost: 0,
        resumesOnLine: 3,
      },
    ]);
  });

  test("whose halves do not fit are a cut record and a bad line", () => {
    const text = '{"w":1,"t":"bb{"w":2,"t":"c"}\nnot its end\n{"w":3}\n';
    expect(found(text, none).map((one) => one.kind)).toEqual(["truncated-then-record", "bad-line"]);
  });

  test("leave the outer record readable: what it closes is closed", () => {
    const begun = rows({ item: "a", phase: "intent" }, { item: "b", phase: "intent" });
    const text = `${begun}{"item":"a","phase":"d{"item":"b","phase":"done"}one"}\n`;
    expect(found(text).map((one) => one.kind)).toEqual(["interleaved-records"]);
    const split = `${begun}{"item":"a","phase":"d{"item":"b","phase":"done"}\none"}\n`;
    expect(found(split).map((one) => one.kind)).toEqual(["interleaved-records"]);
  });
});

describe("lines that hold something else too", () => {
  test.each([
    ["a warning printed onto them", 'WARN slow{"n":2}'],
    ["the end of another record", '{"n":2}xt":"tail"}'],
    ["a bracket too many", '{"n":2}}'],
  ])("keep their record: %s", (_what, line) => {
    expect(found(`{"n":1}\n${line}\n{"n":3}\n`, none)).toMatchObject([
      { kind: "bad-line", byteOffset: 8, records: 3 },
    ]);
  });

  test("are comments where they are, and no bad lines", () => {
    expect(found('// by hand\n{"n":1}\n', none)).toMatchObject([
      { kind: "comments", severity: "notice" },
    ]);
  });

  test("of a file of other text are told once, with their count", () => {
    const text = "it is late\n".repeat(500);
    expect(found(text, none)).toMatchObject([
      { kind: "bad-line", line: 1, badLines: 500, health: "foreign" },
    ]);
  });

  test("among many records are told one by one", () => {
    const text = `${rows(...Array.from({ length: 30 }, (_, n) => ({ n })))}oops\noops\n{"n":30}\n`;
    expect(found(text, none)).toHaveLength(2);
  });
});

describe("NUL bytes", () => {
  test("and nothing else are told as such", () => {
    expect(found("\0".repeat(4096), none)).toMatchObject([
      { kind: "all-nul", health: "zeroed", length: 4096, records: 0 },
    ]);
  });

  test("before a line without its beginning leave its place to it", () => {
    expect(found(`${"\0".repeat(50)}of it"}\n{"n":2}\n`, none)).toMatchObject([
      { kind: "nul-run", where: "start of file", length: 50 },
      { kind: "missing-head", byteOffset: 50, length: 7 },
    ]);
  });
});

describe("numbers", () => {
  const events = { fields: { seq: "seq", item: "id", worker: "worker", run: "run" } };
  const numbered = (...numbers: (number | undefined)[]) =>
    rows(...numbers.map((seq, i) => ({ seq, id: `e${i}` })));

  test("out of order are all there", () => {
    expect(found(numbered(1, 3, 2, 4), events)).toEqual([]);
  });

  test("in equal steps have no gaps; one step that differs is one", () => {
    expect(found(numbered(10, 20, 30), events)).toEqual([]);
    expect(found(numbered(1, 2, 5), events).map((one) => one.kind)).toEqual(["sequence-gap"]);
  });

  test("counted by each worker or run for itself are not given out twice", () => {
    for (const who of ["worker", "run"]) {
      const two = rows(
        { seq: 1, [who]: "x", id: "a" },
        { seq: 1, [who]: "y", id: "b" },
        { seq: 2, [who]: "x", id: "c" },
        { seq: 2, [who]: "y", id: "d" },
      );
      expect(found(two, events)).toEqual([]);
    }
  });

  test("that two workers share and one took again are given out twice", () => {
    const shared = rows(
      { seq: 1, worker: "x", id: "a" },
      { seq: 2, worker: "x", id: "b" },
      { seq: 2, worker: "y", id: "c" },
    );
    expect(found(shared, events)).toMatchObject([{ kind: "sequence-reused", lines: [2, 3] }]);
  });

  test("left out by a record are one fact, not a gap besides", () => {
    expect(found(numbered(1, undefined, 3), events)).toMatchObject([
      { kind: "sequence-missing", expectedSeq: 2 },
    ]);
  });

  test("of a record stored twice are one fact", () => {
    const twice = rows({ seq: 1, id: "a" }, { seq: 2, id: "b" }, { seq: 2, id: "b" });
    expect(found(twice, events)).toMatchObject([{ kind: "duplicate-record", lines: [2, 3] }]);
  });
});

describe("keys", () => {
  const step = (phase: string, attempt: number, key: string, more: object = {}) => ({
    item: "a",
    op: "pay",
    phase,
    attempt,
    key,
    ...more,
  });

  test("that changed after a done are as unstable as those that changed after a lost answer", () => {
    const text = rows(
      step("intent", 1, "k1"),
      step("done", 1, "k1"),
      step("intent", 2, "k2"),
      step("done", 2, "k2"),
    );
    expect(found(text)).toMatchObject([
      { kind: "key-not-stable", keys: ["k1", "k2"], lines: [1, 3] },
    ]);
  });

  test("that changed with each try are told together, and so is their doubt", () => {
    const text = rows(
      step("intent", 1, "k1"),
      step("intent", 2, "k2"),
      step("intent", 3, "k3"),
      step("done", 3, "k3"),
    );
    expect(found(text)).toMatchObject([
      { kind: "dangling-intent", attempts: [1, 2], intentLine: 1, laterDone: 4 },
      { kind: "key-not-stable", keys: ["k1", "k2", "k3"], lines: [1, 2, 3] },
    ]);
  });

  test("that changed after a certain failure, or with the operation, are in order", () => {
    expect(
      found(
        rows(
          step("intent", 1, "k1"),
          step("failed", 1, "k1"),
          step("intent", 2, "k2"),
          step("done", 2, "k2"),
        ),
      ),
    ).toEqual([]);
    expect(
      found(
        rows(
          step("intent", 1, "k1"),
          step("done", 1, "k1"),
          step("intent", 1, "k2", { op: "refund" }),
          step("done", 1, "k2", { op: "refund" }),
        ),
      ),
    ).toEqual([]);
  });

  test("shared by two items or two operations are a conflict, and no effect done twice", () => {
    const items = rows(step("done", 1, "k"), step("done", 1, "k", { item: "b" }));
    expect(found(items)).toMatchObject([{ kind: "key-conflict", items: ["a", "b"] }]);
    const operations = rows(
      step("intent", 1, "k"),
      step("done", 1, "k"),
      step("intent", 1, "k", { op: "refund" }),
      step("done", 1, "k", { op: "refund" }),
    );
    expect(found(operations)).toMatchObject([
      { kind: "key-conflict", operations: ["pay", "refund"], lines: [1, 3] },
    ]);
  });

  test("whose outcome is named by another step are in order", () => {
    const text = rows(step("intent", 1, "k"), step("done", 1, "k", { op: "confirm" }));
    expect(found(text)).toEqual([]);
  });
});

describe("logs without declared fields", () => {
  test("of records that hold more than an id are never lists of finished items", () => {
    expect(found(rows({ id: "e1", text: "x" }, { id: "e2", text: "y" }), none)).toEqual([]);
  });

  test("that tell progress in several words have one attempt, not several", () => {
    const states = ["pending", "started", "in_progress", "in_progress", "completed"];
    expect(found(rows(...states.map((status) => ({ id: "j", status }))), none)).toEqual([]);
    expect(
      found(rows(...states.slice(0, 4).map((status) => ({ id: "j", status }))), none),
    ).toMatchObject([{ kind: "dangling-intent", item: "j", intentLine: 2 }]);
  });
});
