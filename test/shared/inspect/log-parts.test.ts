import { describe, expect, test } from "vitest";
import type { InspectContext } from "../../../shared/inspect/context.js";
import { effectFields, type Files, inspected } from "../../support/evidence.js";

const found = (files: Files, context: Partial<InspectContext> = {}) =>
  inspected(files, context).findings.map(({ kind, severity, file, facts }) => ({
    kind,
    severity,
    file,
    ...facts,
  }));

describe("an attempt begun anew in a later part", () => {
  const row = (seq: number, phase: string) =>
    `${JSON.stringify({ seq, item: "a", key: "k", phase, attempt: 1 })}\n`;

  test("is in doubt, although an earlier part closed one of the same number", () => {
    const files = {
      "log.jsonl.1": row(1, "intent") + row(2, "done"),
      "log.jsonl": row(3, "intent"),
    };
    expect(found(files, { fields: effectFields })).toMatchObject([
      { kind: "dangling-intent", file: "log.jsonl", intentLine: 1 },
    ]);
  });
});

describe("a record cut between two parts", () => {
  test.each([
    ["numbers that grow with age", "pay.log.1", "pay.log"],
    ["numbers that grow with time", "pay.log.0", "pay.log.1"],
    ["dates", "pay-2026-03-01.log", "pay-2026-03-02.log"],
  ])("is joined where the names carry %s", (_names, first, second) => {
    const files = { [first]: '{"m":"a"}\n{"m":"b', [second]: 'c"}\n{"m":"d"}\n' };
    expect(found(files)).toMatchObject([
      { kind: first < second ? "split-record" : "missing-head", severity: "notice" },
      { kind: first < second ? "missing-head" : "split-record", severity: "notice" },
    ]);
  });

  test("is not joined with a part of another log, nor where two parts would fit", () => {
    const cut = '{"m":"a"}\n{"m":"b';
    const rest = 'c"}\n{"m":"d"}\n';
    for (const files of [
      { "pay.log.0": cut, "mail.log.1": rest },
      { "pay-1.log": cut, "pay-2.log": rest, "pay-3.log": rest },
    ])
      expect(new Set(found(files).map((one) => one.severity))).toEqual(new Set(["error"]));
  });

  test("follows the declared order and no other", () => {
    const files = { "x.log.0": '{"m":"b', "x.log.1": 'c"}\n{"m":"d"}\n' };
    expect(found(files, { order: ["x.log.0", "x.log.1"] })).toMatchObject([
      { kind: "split-record", continuesIn: "x.log.1" },
      { kind: "missing-head", continuesFrom: "x.log.0" },
    ]);
    expect(found(files, { order: ["x.log.1", "x.log.0"] })).toMatchObject([
      { kind: "torn-tail", severity: "error" },
      { kind: "missing-head", severity: "error" },
    ]);
  });
});
