import { describe, expect, test } from "vitest";
import { limits } from "../../../shared/base/limits.js";
import { changedPaths, readDependencies } from "../../../shared/durable/dependencies.js";
import { type JsonValue, parseJson } from "../../../shared/format/json-value.js";

function value(text: string): JsonValue {
  const parsed = parseJson(new TextEncoder().encode(text));
  if (parsed.kind === "not-json") throw new Error(parsed.reason);
  return parsed.value;
}

function changed(before: string, after: string, ...declared: string[]): readonly string[] {
  const read = readDependencies(declared);
  if (read.kind === "rejected") throw new Error(read.reason);
  return changedPaths(value(before), value(after), read.patterns);
}

const version62 = `{"version": 62, "tasks": [
  {"id": "lease", "status": "done", "output": {"uri": "s3://b/1"}},
  {"id": "tax", "status": "done", "output": {"uri": "s3://b/2"}}], "notes": {"a.b": 1}}`;

describe("the report's dependencies, as the seed declares them", () => {
  const report = ["tasks[*].status", "tasks[*].output.uri"];

  test("a rejected section is named by its concrete place", () => {
    const version65 = version62.replace('"tax", "status": "done"', '"tax", "status": "rejected"');
    expect(changed(version62, version65, ...report)).toEqual(["$.tasks[1].status"]);
  });

  test("an unrelated change moves nothing", () => {
    const version65 = version62.replace("62", "65").replace('"notes"', '"attempts": 2, "notes"');
    expect(changed(version62, version65, ...report)).toEqual([]);
  });

  test("an added section counts", () => {
    const version65 = version62.replace("}}],", '}}, {"id": "x", "status": "open"}],');
    expect(changed(version62, version65, ...report)).toEqual(["$.tasks[2].status"]);
  });

  test("a removed section counts, at each of its places", () => {
    expect(changed(version62, '{"tasks": [{"status": "done"}]}', ...report)).toEqual([
      "$.tasks[1].status",
      "$.tasks[0].output.uri",
      "$.tasks[1].output.uri",
    ]);
  });
});

describe("values are compared", () => {
  test.each([
    ['{"a": 1}', '{"a": 1.0}', "a", []],
    ['{"a": 12345678901234567890}', '{"a": 12345678901234567891}', "a", ["$.a"]],
    ['{"a": 1e400}', '{"a": 1e401}', "a", ["$.a"]],
    ['{"a": {"x": 1, "y": 2}}', '{"a": {"y": 2, "x": 1}}', "a", []],
    ['{"a": {"x": [1]}}', '{"a": {"x": [2]}}', "$.a", ["$.a"]],
    ['{"a": null}', "{}", "a", ["$.a"]],
    ['{"a": [1, 2]}', '{"a": [2, 1]}', "a[*]", ["$.a[0]", "$.a[1]"]],
    ['{"a": [1, 2]}', '{"a": [1, 3]}', "a[0]", []],
    ['{"a": [1]}', '{"a": "gone"}', "a[*]", ["$.a[0]"]],
    ["{}", "{}", "a.b[*].c", []],
    ['{"n": {"a.b": 1}}', '{"n": {"a.b": 2}}', 'n["a.b"]', ['$.n["a.b"]']],
    ['{"__proto__": 1}', "{}", "__proto__", ["$.__proto__"]],
    ["{}", "{}", "toString", []],
    ["[1]", "[2]", "$", ["$"]],
  ])("%s against %s at %s: %j", (before, after, pattern, expected) => {
    expect(changed(before, after, pattern)).toEqual(expected);
  });

  test("a place named by two patterns is told once", () => {
    expect(changed('{"a": [1]}', '{"a": [2]}', "a[*]", "a[0]")).toEqual(["$.a[0]"]);
  });

  test("a part that changed and changed back counts as unmoved", () => {
    expect(changed('{"a": 1}', '{"a": 1}', "a")).toEqual([]);
  });

  test("the answer is bounded", () => {
    const list = (n: number): string =>
      JSON.stringify({ a: Array(limits.changedPathsMax + 5).fill(n) });
    expect(changed(list(1), list(2), "a[*]")).toHaveLength(limits.changedPathsMax);
  });
});

test("a path that is none is rejected, and named", () => {
  expect(readDependencies(["tasks[*].status", "tasks[x]"])).toMatchObject({ kind: "rejected" });
});
