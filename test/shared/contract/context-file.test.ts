import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parsePath } from "../../../shared/base/json-path.js";
import {
  type ContextReading,
  readContextFile,
  writeContextFile,
} from "../../../shared/contract/context-file.js";
import { emptyContext } from "../../../shared/inspect/context.js";

function path(text: string) {
  const parsed = parsePath(text);
  if (parsed.kind === "rejected") throw new Error(parsed.reason);
  return parsed.path;
}

function accepted(value: unknown): Extract<ContextReading, { kind: "context" }> {
  const reading = readContextFile(JSON.stringify(value));
  if (reading.kind === "rejected") throw new Error(reading.problems.join("; "));
  return reading;
}

function problems(value: unknown): readonly string[] {
  const reading = readContextFile(JSON.stringify(value));
  return reading.kind === "rejected" ? reading.problems : [];
}

describe("what is read", () => {
  test("an empty object is the empty context", () => {
    expect(accepted({})).toEqual({ kind: "context", context: emptyContext, remarks: [] });
  });

  test("paths with and without the leading dollar are the same path", () => {
    const { context } = accepted({
      dependsOn: [
        {
          output: { file: "run.json", path: "$.report" },
          inputs: [{ file: "run.json", path: "tasks[*].status" }, { file: "all.json" }],
        },
      ],
      timeFields: { "a.json": "$.at" },
    });
    expect(context.dependsOn).toEqual([
      {
        output: { file: "run.json", path: path("$.report") },
        inputs: [{ file: "run.json", path: path("$.tasks[*].status") }, { file: "all.json" }],
      },
    ]);
    expect(context.timeFields.get("a.json")).toEqual(path("at"));
  });

  test("a phase word may stand alone or in a list", () => {
    const { context } = accepted({
      fields: { phase: "type", intent: "begun", done: ["ok", "sent"] },
    });
    expect(context.fields).toEqual({ phase: "type", intent: ["begun"], done: ["ok", "sent"] });
  });

  test("each kind of operand is told apart", () => {
    const rule = { file: "a.json", path: "$.x" };
    const { context } = accepted({
      rules: [
        { ...rule, rule: "unique" },
        { ...rule, rule: "crc32-of", of: { file: "a.json", path: "$.data", form: "compact" } },
        { ...rule, rule: "lists-files", of: { glob: "s-*.jsonl" } },
        { ...rule, rule: "max-age", of: { seconds: 86_400 } },
      ],
    });
    expect(context.rules.map(({ of }) => of)).toEqual([
      { kind: "none" },
      { kind: "place", file: "a.json", path: path("$.data"), form: "compact" },
      { kind: "glob", glob: "s-*.jsonl" },
      { kind: "seconds", seconds: 86_400 },
    ]);
  });

  test("names of files may be those of a prototype", () => {
    const reading = readContextFile('{"roles": {"constructor": "run", "toString": "log"}}');
    expect(reading).toMatchObject({ kind: "context" });
    if (reading.kind === "context") expect(reading.context.roles.get("constructor")).toBe("run");
  });

  test("a byte order mark is let pass", () => {
    expect(readContextFile("\ufeff{}").kind).toBe("context");
  });

  test("the context of every case is read, live keys being told as unknown", () => {
    const cases = new URL("../../cases/", import.meta.url);
    let count = 0;
    for (const name of readdirSync(cases)) {
      const file = new URL(`${name}/case.json`, cases);
      if (!existsSync(file)) continue;
      const { context, files } = JSON.parse(readFileSync(file, "utf8"));
      const roles = Object.fromEntries(
        files.map((one: { path: string; role: string }) => [one.path, one.role]),
      );
      expect(readContextFile(JSON.stringify({ ...context, roles })).kind, name).toBe("context");
      count += 1;
    }
    expect(count).toBeGreaterThan(90);
  });
});

describe("what is said", () => {
  test("unknown keys have no effect and are named; they are no failure", () => {
    const { remarks, context } = accepted({ note: "x", fields: { item: "id", colour: "red" } });
    expect(remarks).toEqual([
      '"note" is not a key of a context file; it has no effect.',
      '"fields.colour" is not a field that is known; it has no effect.',
    ]);
    expect(context.fields).toEqual({ item: "id" });
  });

  test("what would run or connect is never taken from here", () => {
    const { remarks } = accepted({ probes: [{ command: "rm" }] });
    expect(remarks[0]).toContain("only from --config");
  });

  test.each([
    [{ roles: { "a.json": "king" } }, /^roles\.a\.json: /],
    [{ rules: [{ file: "a", path: "$.x", rule: "each-eqals" }] }, /^rules\[0\]\.rule: /],
    [{ rules: [{ file: "a", path: "$.x[", rule: "unique" }] }, /^rules\[0\]\.path: is no path/],
    [{ timeFields: { a: "$..x" } }, /^timeFields\.a: is no path/],
    [{ now: "yesterday" }, /^now: is no ISO time/],
    [{ processes: [{ pid: -1 }] }, /^processes\[0\]\.pid: /],
    [[], /^the whole file: /],
  ])("%j is rejected with its place", (value, expected) => {
    expect(problems(value)).toEqual([expect.stringMatching(expected)]);
  });

  test("all that is wrong is told at once", () => {
    expect(problems({ order: 1, caseInsensitive: "yes" })).toHaveLength(2);
  });

  test("text that is no JSON is answered", () => {
    const reading = readContextFile("{");
    expect(reading).toMatchObject({ kind: "rejected" });
  });
});

test("what init writes is read back as it was meant", () => {
  const text = writeContextFile({
    roles: new Map([["run.json", "run"]]),
    fields: { item: "id", doneIsImplied: true },
  });
  const reading = readContextFile(text);
  expect(reading).toMatchObject({
    kind: "context",
    remarks: [],
    context: { fields: { item: "id", doneIsImplied: true } },
  });
});
