import { describe, expect, test } from "vitest";
import {
  declaredDialect,
  guessedDialect,
  type RecordTexts,
} from "../../../shared/dialects/log-fields.js";

const records = (...rows: Record<string, string>[]): RecordTexts[] =>
  rows.map((row) => new Map(Object.entries(row)));

describe("fields that nobody declared", () => {
  test.each([
    ["about_to_send", "sent"],
    ["started", "finished"],
    ["tool.call", "tool.result"],
    ["function_call", "function_call_output"],
  ])("are those of an effect log where the words are %s and %s", (intent, done) => {
    const dialect = guessedDialect(
      records({ id: "a", event: intent }, { id: "a", event: done }),
      false,
    );
    expect(dialect.paths).toMatchObject({ item: "id", phase: "event" });
    expect([dialect.words.intent.has(intent), dialect.words.done.has(done)]).toEqual([true, true]);
  });

  test("are no effect log's where records only end", () => {
    const dialect = guessedDialect(records({ id: "a", status: "ok" }), false);
    expect([dialect.paths.item, dialect.paths.phase]).toEqual([undefined, undefined]);
  });

  test("begin with the word that says it best, so that progress is no second attempt", () => {
    const begins = (...statuses: string[]) => {
      const rows = records(...statuses.map((status) => ({ id: "a", status })));
      const { words } = guessedDialect(rows, false);
      return statuses.filter((status) => words.intent.has(status));
    };
    expect(begins("pending", "started", "in_progress", "done")).toEqual(["started"]);
    expect(begins("pending", "running", "in_progress")).toEqual(["running", "in_progress"]);
    expect(begins("pending", "done")).toEqual(["pending"]);
  });

  test("make each record a finished item only where it is an id and nothing else", () => {
    const rows = records({ id: "a" }, { id: "b" });
    expect(guessedDialect(rows, true)).toMatchObject({
      doneIsImplied: true,
      paths: { item: "id" },
    });
    expect(guessedDialect(rows, false)).toMatchObject({ doneIsImplied: false });
    expect(guessedDialect(rows, false).paths.item).toBeUndefined();
    expect(guessedDialect([], true).doneIsImplied).toBe(false);
  });
});

describe("declared fields", () => {
  test("stand as declared, with the declared words only, whatever their case", () => {
    const dialect = declaredDialect({ item: "payload.call_id", phase: "kind", intent: ["CALL"] });
    expect(dialect.paths).toMatchObject({ item: "payload.call_id", phase: "kind" });
    expect([dialect.words.intent.has("call"), dialect.words.intent.has("started")]).toEqual([
      true,
      false,
    ]);
    expect(dialect).toMatchObject({ from: "context", intentDeclared: true });
  });

  test("are not joined by guessed states", () => {
    expect(declaredDialect({ seq: "n" }).paths).not.toHaveProperty("phase");
  });
});
