import { describe, expect, test } from "vitest";
import { limits } from "../../../shared/base/limits.js";
import { readablePart } from "../../../shared/inspect/readable-part.js";
import { structuralDiff } from "../../../shared/inspect/structural-diff.js";

const encoder = new TextEncoder();

function diff(before: string, after: string) {
  const [old, young] = [before, after].map((text) => readablePart(encoder.encode(text)));
  if (old === undefined || old.kind === "none") throw new Error("before cannot be read");
  if (young === undefined || young.kind === "none") throw new Error("after cannot be read");
  return structuralDiff(old, young);
}

/** `~ $.a 1 -> 2`, one line for each change. */
function lines(before: string, after: string): readonly string[] {
  const signs = { added: "+", removed: "-", changed: "~", moved: ">" } as const;
  return diff(before, after).changes.map(({ kind, path, beforePath, before: old, after: young }) =>
    [
      signs[kind],
      path,
      ...(beforePath === undefined ? [] : [`(was ${beforePath})`]),
      ...[old, young].flatMap((value) => (value === undefined ? [] : [value.text])),
    ].join(" "),
  );
}

describe("two whole documents", () => {
  test("the same values written otherwise are no change", () => {
    expect(lines('{"a": 1.0, "b": "é"}', '{ "b":"\\u00e9",\n"a":1 }')).toEqual([]);
  });

  test("members are added, removed and changed at their paths, as written", () => {
    expect(lines('{"a": 1, "b": {"c": 1e2}}', '{"b": {"c": 200}, "d.e": [1]}')).toEqual([
      "- $.a 1",
      "~ $.b.c 1e2 200",
      '+ $["d.e"] [1]',
    ]);
  });

  test("integers beyond a double that differ in the last digit differ", () => {
    expect(lines("[[9007199254740993]]", "[[9007199254740992]]")).toHaveLength(1);
  });

  test("a value of another kind is one change", () => {
    expect(lines('{"a": {"b": 1}}', '{"a": [1]}')).toEqual(['~ $.a {"b": 1} [1]']);
  });

  test("keys of a prototype are keys like any other", () => {
    expect(lines('{"__proto__": 1}', '{"__proto__": 2, "constructor": 3}')).toEqual([
      "~ $.__proto__ 1 2",
      "+ $.constructor 3",
    ]);
  });
});

describe("elements of a list", () => {
  test("with an id are told apart by it, so an insertion is one change", () => {
    expect(
      lines(
        '[{"id": "a", "n": 1}, {"id": "b"}]',
        '[{"id": "x"}, {"id": "a", "n": 2}, {"id": "b"}]',
      ),
    ).toEqual(['+ $[0] {"id": "x"}', "~ $[1].n (was $[0].n) 1 2"]);
  });

  test.each(["id", "uid", "uuid", "key", "name"])("are told apart by %s", (name) => {
    const element = (id: string) => `{"${name}": "${id}"}`;
    expect(lines(`[${element("a")},${element("b")}]`, `[${element("b")}]`)).toEqual([
      `- $[0] ${element("a")}`,
    ]);
  });

  test("that changed their order are moved, as few as possible", () => {
    const list = (...ids: string[]) => JSON.stringify(ids.map((id) => ({ id })));
    expect(lines(list("a", "b", "c", "d"), list("d", "a", "b", "c"))).toEqual([
      "> $[0] (was $[3])",
    ]);
  });

  test("an id that is there twice is no id: then the index counts", () => {
    expect(lines('[{"id": 1}, {"id": 1}]', '[{"id": 1}, {"id": 2}]')).toEqual(["~ $[1].id 1 2"]);
  });

  test("a window of plain ids that moved on is one removal and one addition", () => {
    expect(lines('["a", "b", "c"]', '["b", "c", "d"]')).toEqual(['+ $[2] "d"', '- $[0] "a"']);
  });

  test("the number 1 and the text 1 are not one id", () => {
    expect(lines('[{"id": 1}]', '[{"id": "1"}]')).toEqual([
      '+ $[0] {"id": "1"}',
      '- $[0] {"id": 1}',
    ]);
  });
});

describe("a document with a break", () => {
  const whole = '{"version": 1, "tasks": [{"id": "a", "s": "open"}, {"id": "b"}], "end": true}';

  test("what stands before the break is compared; what lies behind it is unknown, not removed", () => {
    const cut = '{"version": 2, "tasks": [{"id": "a", "s": "do';
    const { changes, unknown } = diff(whole, cut);
    expect(changes).toMatchObject([{ path: "$.version", kind: "changed" }]);
    expect(unknown).toEqual([
      { path: "$.tasks[0].s", missingIn: "after" },
      { path: "$.tasks[1]", missingIn: "after" },
      { path: "$.end", missingIn: "after" },
    ]);
  });

  test("a number that touches the cut is not taken as whole", () => {
    const { changes, unknown } = diff('{"a": 12, "b": 345}', '{"a": 12, "b": 34');
    expect(changes).toEqual([]);
    expect(unknown).toEqual([{ path: "$.b", missingIn: "after" }]);
  });

  test("cut at every byte: never a change, never a removal, only unknown", () => {
    for (let at = 1; at < whole.length; at++) {
      const { changes } = diff(whole, whole.slice(0, at));
      expect(changes, `cut at ${at}`).toEqual([]);
    }
  });

  test("the broken one may be the older one", () => {
    expect(diff('{"a": 1, "b": [1, ', '{"a": 1, "b": [1, 2]}')).toEqual({
      changes: [],
      notListed: 0,
      unknown: [{ path: "$.b[1]", missingIn: "before" }],
    });
  });

  test("bytes that hold nothing readable say so", () => {
    expect(readablePart(encoder.encode("")).kind).toBe("none");
    expect(readablePart(encoder.encode("tru")).kind).toBe("none");
    expect(readablePart(new Uint8Array(64)).kind).toBe("none");
  });
});

describe("bounds", () => {
  test("nesting of 100,000 levels is compared without the call stack", () => {
    const deep = (inside: string) => `${"[".repeat(100_000)}${inside}${"]".repeat(100_000)}`;
    const { changes } = diff(deep("1"), deep("2"));
    expect(changes).toHaveLength(1);
    expect(changes[0]?.path.endsWith("…")).toBe(true);
  });

  test("changes beyond the limit are counted", () => {
    const count = limits.diffChangesMax + 7;
    const list = (from: number) =>
      JSON.stringify(Array.from({ length: count }, (_, i) => [from + i]));
    const { changes, notListed } = diff(list(0), list(1));
    expect(changes).toHaveLength(limits.diffChangesMax);
    expect(notListed).toBe(7);
  });

  test("a large value is shown by its beginning, with its size", () => {
    const long = "x".repeat(limits.capturedFieldBytesMax * 2);
    const [change] = diff('{"a": 1}', JSON.stringify({ a: long })).changes;
    expect(change?.after?.text).toHaveLength(limits.capturedFieldBytesMax);
    expect(change?.after?.bytes).toBe(long.length + 2);
  });
});
