import { describe, expect, test } from "vitest";
import { editJson } from "../../../shared/format/json-edit.js";
import {
  type RunDocument,
  readingReason,
  readRunDocument,
  runFieldNames,
  setRunFields,
} from "../../../shared/format/run-document.js";

const encoder = new TextEncoder();

function run(text: string, names = runFieldNames): RunDocument {
  const reading = readRunDocument(encoder.encode(text), names);
  if (reading.kind !== "run") throw new Error(readingReason(reading));
  return reading;
}

describe("reading", () => {
  test("finds version, window and restore source at the top", () => {
    const document = run('{"version": 64, "applied_ids": ["a", "b"], "restored_from": 61, "x": 1}');
    expect(document).toMatchObject({ version: 64, appliedIds: ["a", "b"], restoredFrom: 61 });
  });

  test("takes a missing window for an empty one", () => {
    expect(run('{"version": 0}')).toMatchObject({
      version: 0,
      appliedIds: [],
      restoredFrom: undefined,
    });
  });

  test("uses the names it is given", () => {
    const names = { ...runFieldNames, version: "serial", appliedIds: "seen" };
    expect(run('{"serial": 8, "seen": ["x"], "version": "1.9"}', names)).toMatchObject({
      version: 8,
      appliedIds: ["x"],
    });
  });

  test.each([
    ['{"version": 64', "not-json"],
    ["", "not-json"],
    ["[1]", "not-a-run"],
    ["{}", "not-a-run"],
    ['{"version": "64"}', "not-a-run"],
    ['{"version": 1.5}', "not-a-run"],
    ['{"version": -1}', "not-a-run"],
    ['{"version": 9007199254740993}', "not-a-run"],
    ['{"version": 9007199254740990}', "not-a-run"],
    ['{"version": 1, "applied_ids": "a"}', "not-a-run"],
    ['{"__proto__": {"version": 1}}', "not-a-run"],
  ])("%s is %s", (text, kind) => {
    expect(readRunDocument(encoder.encode(text)).kind).toBe(kind);
  });
});

describe("setting", () => {
  function set(text: string, version: number, appliedIds: string[]): string {
    const document = run(text);
    setRunFields(document.value, { version, appliedIds });
    const outcome = editJson(encoder.encode(text), document.parsed, document.value);
    return outcome.kind === "edited" ? new TextDecoder().decode(outcome.bytes) : outcome.reason;
  }

  // Golden bytes: what one accepted write does to a document, byte for byte.
  test("changes two members and nothing else", () => {
    expect(set('{ "cost": 1.10, "version": 62, "applied_ids": ["a"] }', 63, ["a", "b"])).toBe(
      '{ "cost": 1.10, "version": 63, "applied_ids": ["a", "b"] }',
    );
  });

  test("drops the oldest id and keeps the spelling of the others", () => {
    expect(set('{"version":1,"applied_ids":["\\u0061","\\u0062"]}', 2, ["b", "c"])).toBe(
      '{"version":2,"applied_ids":["\\u0062","c"]}',
    );
  });

  test("adds a window where there was none", () => {
    expect(set('{\n  "version": 1\n}\n', 2, ["a"])).toBe(
      '{\n  "version": 2,\n  "applied_ids": [\n    "a"\n  ]\n}\n',
    );
  });
});
