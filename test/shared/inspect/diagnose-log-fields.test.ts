import { describe, expect, test } from "vitest";
import { inspected } from "../../support/evidence.js";

const rows = (...records: object[]): string =>
  records.map((record) => `${JSON.stringify(record)}\n`).join("");
const found = (text: string) =>
  inspected({ "log.jsonl": text }).findings.map(({ kind, facts }) => ({ kind, ...facts }));

describe("logs without declared fields", () => {
  test("of records that hold more than an id are never lists of finished items", () => {
    expect(found(rows({ id: "e1", text: "x" }, { id: "e1", text: "y" }))).toEqual([]);
  });

  test("of bare ids are lists of finished items, however they are spaced", () => {
    expect(found('{ "id" : "a" }\n{"id":"b"}\r\n{"id": "a"}\n')).toMatchObject([
      { kind: "duplicate-effect", item: "a", lines: [1, 3] },
      { kind: "done-only-log" },
    ]);
  });

  test("that tell progress in several words have one attempt, not several", () => {
    const states = ["pending", "started", "in_progress", "in_progress"];
    const of = (...words: string[]) => rows(...words.map((status) => ({ id: "j", status })));
    expect(found(of(...states, "completed"))).toEqual([]);
    expect(found(of(...states))).toMatchObject([
      { kind: "dangling-intent", item: "j", intentLine: 2 },
    ]);
  });
});
