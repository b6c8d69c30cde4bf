import { describe, expect, test } from "vitest";
import type { InspectContext } from "../../../shared/inspect/context.js";
import { type Files, effectFields as fields, inspected } from "../../support/evidence.js";

const rows = (...records: object[]): string =>
  records.map((record) => `${JSON.stringify(record)}\n`).join("");
const found = (files: Files, context: Partial<InspectContext> = {}) =>
  inspected(files, context).findings.map(({ kind, severity, file, facts }) => ({
    kind,
    severity,
    file,
    ...facts,
  }));

describe("one log in rotated parts", () => {
  const done = { item: "a", key: "k", attempt: 1, phase: "done" };

  test("shows an effect that a later part has again", () => {
    const files = {
      "log.jsonl.1": rows({ ...done, seq: 1, run: "r1" }),
      "log.jsonl": rows({ ...done, seq: 2, run: "r2" }),
    };
    expect(found(files, { fields })).toMatchObject([
      {
        kind: "duplicate-effect",
        file: "log.jsonl",
        lines: [1],
        earlierFile: "log.jsonl.1",
        earlierLine: 1,
        runs: ["r1", "r2"],
      },
    ]);
  });

  test("that was copied while it was written has the same records twice, not the same effects", () => {
    const record = { ...done, seq: 1, at: "2026-03-04T09:00:00Z" };
    const files = { "log.jsonl.1": rows(record), "log.jsonl": rows(record) };
    expect(found(files, { fields }).map((one) => one.kind)).not.toContain("duplicate-effect");
  });

  test("named twice in a declared order still ends", () => {
    const files = { "a.jsonl": rows(done), "b.jsonl": rows({ ...done, item: "b", key: "j" }) };
    const order = ["a.jsonl", "b.jsonl", "a.jsonl"];
    expect(found(files, { fields, order })).toEqual([]);
  });
});
