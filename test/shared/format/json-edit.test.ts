import { describe, expect, test } from "vitest";
import { editJson, writeJson } from "../../../shared/format/json-edit.js";
import { compactStyle, indentedStyle } from "../../../shared/format/json-layout.js";
import { JsonNumber } from "../../../shared/format/json-number.js";
import {
  type JsonArray,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "../../../shared/format/json-value.js";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A document as a caller of the store sees it: loosely typed, to be changed in place. */
// biome-ignore lint/suspicious/noExplicitAny: a test changes documents as plain JavaScript would
type Loose = any;

function edit(text: string, change: (doc: Loose) => unknown): string {
  const bytes = encoder.encode(text);
  const parsed = parseJson(bytes);
  if (parsed.kind === "not-json") throw new Error(parsed.reason);
  const returned = change(parsed.value);
  const outcome = editJson(bytes, parsed, (returned ?? parsed.value) as JsonValue);
  if (outcome.kind === "rejected") throw new Error(`${outcome.path}: ${outcome.reason}`);
  return decoder.decode(outcome.bytes);
}

const pythonStyle = '{"version": 62, "attempts": 1, "findings": [{"clause": "9.4"}], "cost": 1.10}';
const indented = `{
  "version": 62,
  "big": 12345678901234567890,
  "ratio": 1.10,
  "note": "caf\\u00e9",
  "tasks": [
    {
      "id": "tax",
      "status": "done"
    },
    {
      "id": "audit",
      "status": "open"
    }
  ],
  "empty": [],
  "tags": ["a", "b"]
}
`;

describe("a change in place touches only what it changes", () => {
  test("an unchanged document keeps every byte", () => {
    for (const text of [
      pythonStyle,
      indented,
      ' [ 1 , 2.0e0 ,"\\u0041" ] \r\n',
      "{ }",
      "[\n]",
      "-0",
    ]) {
      expect(edit(text, () => undefined)).toBe(text);
    }
  });

  test("a counter goes up, big integers, spellings and escapes around it stay", () => {
    expect(
      edit(indented, (doc) => {
        doc.version += 1;
      }),
    ).toBe(indented.replace("62", "63"));
  });

  test("a bigint may be counted up", () => {
    expect(
      edit(indented, (doc) => {
        doc.big += 1n;
      }),
    ).toBe(indented.replace("12345678901234567890", "12345678901234567891"));
  });

  test("a value written as the number it already was changes nothing", () => {
    expect(edit('{"a": 1.0, "b": 1e2}', (doc) => Object.assign(doc, { a: 1, b: 100n }))).toBe(
      '{"a": 1.0, "b": 1e2}',
    );
  });

  test("zero with another sign is a change", () => {
    expect(edit("[-0, 0]", (doc) => [doc[1], doc[0]])).toBe("[0, -0]");
  });
});

describe("what is new is written as the document is written", () => {
  test("an element of a list on one line", () => {
    const text = edit(pythonStyle, (doc) => void doc.findings.push({ clause: "9.5", open: true }));
    expect(text).toBe(
      '{"version": 62, "attempts": 1, "findings": [{"clause": "9.4"}, {"clause": "9.5", "open": true}], "cost": 1.10}',
    );
  });

  test("a member of a compact document", () => {
    expect(
      edit('{"a":1,"b":[]}', (doc) => {
        doc.c = { d: [1, 2], e: {} };
      }),
    ).toBe('{"a":1,"b":[],"c":{"d":[1,2],"e":{}}}');
  });

  test("a member of an indented document", () => {
    expect(
      edit('{\n\t"a": 1\n}\n', (doc) => {
        doc.b = { c: [1], d: [] };
      }),
    ).toBe('{\n\t"a": 1,\n\t"b": {\n\t\t"c": [\n\t\t\t1\n\t\t],\n\t\t"d": []\n\t}\n}\n');
  });

  test("an element of an indented list", () => {
    const text = edit(indented, (doc) => void doc.tasks.push({ id: "mail", status: "open" }));
    expect(text).toBe(
      indented.replace(
        '"open"\n    }\n',
        '"open"\n    },\n    {\n      "id": "mail",\n      "status": "open"\n    }\n',
      ),
    );
  });

  test("an element of a list that was empty", () => {
    expect(edit(indented, (doc) => void doc.empty.push(1, 2))).toBe(
      indented.replace('"empty": []', '"empty": [\n    1,\n    2\n  ]'),
    );
  });

  test("an element of a one-line list inside an indented document", () => {
    expect(edit(indented, (doc) => void doc.tags.push("c"))).toBe(
      indented.replace('["a", "b"]', '["a", "b", "c"]'),
    );
  });

  test("a one-line object beside one-line objects that stand one a line", () => {
    const text = '{\n  "findings": [\n    {"clause": "9.4"},\n    {"clause": "9.5"}\n  ]\n}';
    expect(edit(text, (doc) => void doc.findings.push({ clause: "9.6" }))).toBe(
      '{\n  "findings": [\n    {"clause": "9.4"},\n    {"clause": "9.5"},\n    {"clause": "9.6"}\n  ]\n}',
    );
  });

  test("line ends of the document's own kind", () => {
    expect(
      edit('{\r\n  "a": 1\r\n}', (doc) => {
        doc.b = [true];
      }),
    ).toBe('{\r\n  "a": 1,\r\n  "b": [\r\n    true\r\n  ]\r\n}');
  });

  test("a container in the place of a scalar", () => {
    expect(
      edit('{\n  "a": null\n}', (doc) => {
        doc.a = { b: 1 };
      }),
    ).toBe('{\n  "a": {\n    "b": 1\n  }\n}');
  });
});

describe("removing and moving", () => {
  test.each([
    ["a", '{ "b" : 2 , "c" : 3 }'],
    ["b", '{ "a" : 1 , "c" : 3 }'],
    ["c", '{ "a" : 1 , "b" : 2 }'],
  ])("member %s goes with exactly one comma", (key, expected) => {
    const text = '{ "a" : 1 , "b" : 2 , "c" : 3 }';
    expect(edit(text, (doc) => void delete doc[key])).toBe(expected);
  });

  test("the last member leaves an empty object", () => {
    expect(edit('{\n  "a": {\n    "x": 1\n  }\n}', (doc) => void delete doc.a.x)).toBe(
      '{\n  "a": {}\n}',
    );
  });

  test("all members replaced by others", () => {
    expect(edit('{ "a": 1, "b": 2 }', () => ({ c: 3, d: 4 }))).toBe('{ "c": 3, "d": 4 }');
  });

  test("the first element of a list goes, the others keep their bytes", () => {
    expect(edit('[ {"n": 1.10},  {"n": 2.20} , {"n": 3.30} ]', (doc) => void doc.shift())).toBe(
      '[ {"n": 2.20} , {"n": 3.30} ]',
    );
  });

  test("an element put in front keeps the bytes behind it", () => {
    expect(edit('[{"n": 1.10}, {"n": 2.20}]', (doc) => void doc.unshift({ n: 0 }))).toBe(
      '[{"n": 0}, {"n": 1.10}, {"n": 2.20}]',
    );
  });

  test("objects that change places take their bytes along", () => {
    expect(edit('[{"n": 1.10}, {"n": 2.20}, 3]', (doc) => void doc.reverse())).toBe(
      '[3, {"n": 2.20}, {"n": 1.10}]',
    );
  });

  test("an object moved to another place takes its bytes along", () => {
    const text = '{"open": [{"n": 1.10, "k": "\\u0041"}], "done": []}';
    expect(edit(text, (doc) => void doc.done.push(doc.open.pop()))).toBe(
      '{"open": [], "done": [{"n": 1.10, "k": "\\u0041"}]}',
    );
  });

  test("a copy with one field changed keeps the bytes of the others", () => {
    expect(edit('{"a": 1.10, "b": {"c": 1e2}}', (doc) => ({ ...doc, a: 2 }))).toBe(
      '{"a": 2, "b": {"c": 1e2}}',
    );
  });
});

describe("a window that moves on", () => {
  test("keeps the spelling of what stays", () => {
    expect(
      edit("[1.10, 2.20, 3.30]", (doc) => {
        doc.shift();
        doc.push(4);
      }),
    ).toBe("[2.20, 3.30, 4]");
  });

  test("keeps it on both sides of a replaced middle", () => {
    expect(edit("[1.10, 2.20, 3.30, 4.40]", (doc) => [doc[1], "new", "and", doc[3]])).toBe(
      '[2.20, "new", "and", 4.40]',
    );
  });

  test("keeps the longest part that stayed in order", () => {
    expect(edit("[1.10, 2.20, 3.30, 4.40]", (doc) => [doc[3], doc[0], doc[1], doc[2]])).toBe(
      "[4.4, 1.10, 2.20, 3.30]",
    );
  });
});

describe("a key written twice", () => {
  test("is edited where it counts: the last one", () => {
    expect(
      edit('{"a": 1, "b": 0, "a": 2}', (doc) => {
        doc.a = 3;
      }),
    ).toBe('{"a": 1, "b": 0, "a": 3}');
  });

  test("is removed in both places", () => {
    expect(edit('{"a": 1, "b": 0, "a": 2}', (doc) => void delete doc.a)).toBe('{"b": 0}');
  });
});

describe("keys that are dangerous elsewhere", () => {
  test("__proto__ can be changed and added like any other", () => {
    const key = "__proto__";
    expect(edit('{"__proto__": 1}', (doc) => void Object.assign(doc, { [key]: { x: 2 } }))).toBe(
      '{"__proto__": {"x": 2}}',
    );
    expect(edit("{}", (doc) => void Object.assign(doc, { [key]: 1 }))).toBe('{"__proto__":1}');
  });

  test("half a surrogate pair is written as an escape", () => {
    expect(
      edit("{}", (doc) => {
        doc["\ud800"] = "\udc00";
      }),
    ).toBe('{"\\ud800":"\\udc00"}');
  });
});

describe("a value that JSON has no word for is rejected, and named", () => {
  const holdsItself: Loose = { list: [] };
  holdsItself.list.push(holdsItself);
  test.each<[string, unknown, string]>([
    ["undefined", { a: { b: [undefined] } }, "$.a.b[0]"],
    ["NaN", { a: Number.NaN }, "$.a"],
    ["Infinity", [Number.POSITIVE_INFINITY], "$[0]"],
    ["a function", { a: () => 1 }, "$.a"],
    ["a symbol", [Symbol("x")], "$[0]"],
    ["a Date", { at: new Date(0) }, "$.at"],
    ["a Map", { m: new Map() }, "$.m"],
    ["a hole in a list", Array(2), "$[0]"],
    ["a promise", Promise.resolve(), "$"],
    ["a value that holds itself", holdsItself, "$.list[0]"],
    ["a JsonNumber that is none", { n: new JsonNumber("0x10") }, "$.n"],
  ])("%s", (_name, value, path) => {
    const bytes = encoder.encode('{"a": 1}');
    const parsed = parseJson(bytes);
    if (parsed.kind === "not-json") throw new Error(parsed.reason);
    expect(editJson(bytes, parsed, value as JsonValue)).toMatchObject({ kind: "rejected", path });
  });

  test("the same object in two places is no cycle", () => {
    const shared = { x: 1 };
    expect(edit("{}", () => ({ a: shared, b: [shared] }))).toBe('{"a":{"x":1},"b":[{"x":1}]}');
  });
});

test("100,000 levels are edited at the bottom", () => {
  const depth = 100_000;
  const text = `${"[".repeat(depth)}1${"]".repeat(depth)}`;
  const edited = edit(text, (doc) => {
    let innermost = doc;
    while (Array.isArray(innermost[0])) innermost = innermost[0];
    innermost.push(2);
  });
  expect(edited).toBe(text.replace("1", "1,2"));
});

describe("a new document", () => {
  const value: JsonObject = {
    version: 1,
    tasks: [{ id: "tax" }, {}],
    none: [],
    n: 12345678901234567890n,
  };

  test("on one line", () => {
    const outcome = writeJson(value, compactStyle);
    expect(outcome.kind === "edited" && decoder.decode(outcome.bytes)).toBe(
      '{"version":1,"tasks":[{"id":"tax"},{}],"none":[],"n":12345678901234567890}',
    );
  });

  test("in lines, with a line end at the end", () => {
    const outcome = writeJson(value, indentedStyle);
    const lines = [
      "{",
      '  "version": 1,',
      '  "tasks": [',
      "    {",
      '      "id": "tax"',
      "    },",
      "    {}",
      "  ],",
      '  "none": [],',
      '  "n": 12345678901234567890',
      "}",
      "",
    ];
    expect(outcome.kind === "edited" && decoder.decode(outcome.bytes)).toBe(lines.join("\n"));
  });

  test("of one scalar", () => {
    const outcome = writeJson([] as JsonArray, compactStyle);
    expect(outcome.kind === "edited" && decoder.decode(outcome.bytes)).toBe("[]");
  });
});
