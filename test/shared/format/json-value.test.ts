import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { JsonNumber } from "../../../shared/format/json-number.js";
import {
  type JsonNode,
  type JsonValue,
  type NotJson,
  type ParsedJson,
  parseJson,
  sameValue,
} from "../../../shared/format/json-value.js";

const encoder = new TextEncoder();

function parse(text: string): ParsedJson | NotJson {
  return parseJson(encoder.encode(text));
}

function readValue(text: string): JsonValue {
  const parsed = parse(text);
  if (parsed.kind === "not-json") throw new Error(`${text}: ${parsed.reason}`);
  return parsed.value;
}

describe("a JSON text becomes a plain value", () => {
  test("with objects, arrays, strings, booleans and null", () => {
    const value = readValue(' {"tasks": [{"id": "tax", "done": true}], "note": null, "": "x"}\r\n');
    expect(JSON.stringify(value)).toBe('{"tasks":[{"id":"tax","done":true}],"note":null,"":"x"}');
  });

  test("whose keys __proto__ and constructor are keys like any other", () => {
    const value = readValue('{"__proto__": {"polluted": true}, "constructor": 1}');
    expect(Object.keys(value as object)).toEqual(["__proto__", "constructor"]);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  test("whose repeated keys read as the last of them, all of them standing in the tree", () => {
    const parsed = parse('{"a": 1, "a": 2}');
    if (parsed.kind === "not-json" || parsed.root.kind !== "object") throw new Error("an object");
    expect(parsed.root.members.map((member) => member.key)).toEqual(["a", "a"]);
    expect(parsed.root.value.a).toBe(2);
  });

  test.each([
    ['"\\u0041\\n\\/\\\\\\"\\b\\f\\r\\t"', 'A\n/\\"\b\f\r\t'],
    ['"\\ud83d\\ude00 \u00e9 \u{1F600} \u2028"', "\u{1F600} \u00e9 \u{1F600} \u2028"],
    ['"\\ud800"', "\ud800"],
    ['"\ufeffx"', "\ufeffx"],
    [`"${"x".repeat(100)}"`, "x".repeat(100)],
    ['"\\u0000"', "\0"],
  ])("whose string %s reads as it should", (text, expected) => {
    expect(readValue(text)).toBe(expected);
  });
});

describe("a number is read without loss", () => {
  test.each([
    ["0", 0],
    ["-0", -0],
    ["42", 42],
    ["0.1", 0.1],
    ["1.10", 1.1],
    ["1e3", 1000],
    ["1E-7", 1e-7],
    ["9007199254740992", 2 ** 53],
    ["9007199254740993", 9007199254740993n],
    ["-12345678901234567890", -12345678901234567890n],
    ["1e22", 1e22],
    ["100000000000000000000000", 1e23],
    ["0e999999999", 0],
    ["1.7976931348623157e308", Number.MAX_VALUE],
    ["5e-324", 5e-324],
  ])("%s is the JS value that means the same", (text, expected) => {
    expect(readValue(text)).toBe(expected);
  });

  test.each([
    "1e400",
    "-1e400",
    "1e-400",
    "0.10000000000000000555",
    "1.00000000000000000001",
    "123456789012345678.5",
    "2e-324",
    `1${"0".repeat(5_000)}1`,
  ])("%s stays as written", (text) => {
    expect(readValue(text)).toEqual(new JsonNumber(text));
  });
});

describe("bytes that are not JSON are answered with the place", () => {
  test.each([
    ["", 0],
    ["   ", 3],
    ["[1,]", 3],
    ["[1 2]", 3],
    ['{"a" 1}', 5],
    ["{a: 1}", 1],
    ['{"a":1,}', 7],
    ['{"a":1', 6],
    ["01", 1],
    ["-", 1],
    ["1.", 2],
    ["1e+", 3],
    ["tru", 3],
    ["nulL", 3],
    ["NaN", 0],
    ["1 2", 2],
    ['"ab', 3],
    ['"\t"', 1],
    ['"\\x"', 2],
    ['"\\u12g4"', 5],
    ["\ufeff1", 0],
    ["]", 0],
    ["[1}", 2],
    ["// note\n1", 0],
  ])("%j stops at byte %i", (text, byteOffset) => {
    const answer = parse(text);
    expect(answer).toMatchObject({ kind: "not-json", byteOffset });
  });

  test.each([
    ["a lone continuation byte", [0x80]],
    ["an overlong slash", [0xc0, 0xaf]],
    ["an overlong three-byte form", [0xe0, 0x80, 0xaf]],
    ["a surrogate half as UTF-8", [0xed, 0xa0, 0x80]],
    ["a code point beyond U+10FFFF", [0xf4, 0x90, 0x80, 0x80]],
    ["a cut four-byte character", [0xf0, 0x9f, 0x98]],
  ])("%s inside a string is refused at its first byte", (_name, inside) => {
    const answer = parseJson(Uint8Array.from([0x22, 0x61, ...inside, 0x22]));
    expect(answer).toMatchObject({ kind: "not-json", byteOffset: 2 });
  });

  test("a document cut anywhere is never taken for a whole one", () => {
    const bytes = encoder.encode('{"a": [1, {"b": "x\\u00e9é"}, true, null, -1.5e3], "c": {}}');
    for (let end = 0; end < bytes.length; end += 1) {
      const answer = parseJson(bytes.subarray(0, end));
      expect(answer.kind, `cut after ${end} bytes`).toBe("not-json");
      if (answer.kind === "not-json") expect(answer.byteOffset).toBeLessThanOrEqual(end);
    }
  });
});

describe("depth is no danger", () => {
  test("100,000 nested arrays are a value, whole", () => {
    const depth = 100_000;
    const parsed = parse("[".repeat(depth) + "]".repeat(depth));
    if (parsed.kind === "not-json") throw new Error(parsed.reason);
    let levels = 0;
    for (let node: JsonNode | undefined = parsed.root; node?.kind === "array"; ) {
      levels += 1;
      node = node.elements[0];
    }
    expect(levels).toBe(depth);
    expect(sameValue(parsed.value, parsed.value)).toBe(true);
  });

  test("100,000 nested objects never closed are not JSON", () => {
    const answer = parse('{"a":'.repeat(100_000));
    expect(answer).toMatchObject({ kind: "not-json", byteOffset: 500_000 });
  });
});

test("every value knows the bytes it was read from", () => {
  const text = ' {"a" : [10, "é"], "b":{ } } ';
  const bytes = encoder.encode(text);
  const parsed = parseJson(bytes);
  if (parsed.kind === "not-json" || parsed.root.kind !== "object") throw new Error("an object");
  const slice = (from: { start: number; end: number }): string =>
    new TextDecoder().decode(bytes.subarray(from.start, from.end));
  const [a, b] = parsed.root.members;
  if (a?.node.kind !== "array" || b === undefined) throw new Error("two members");
  expect(slice(parsed.root)).toBe('{"a" : [10, "é"], "b":{ } }');
  expect(slice({ start: a.keyStart, end: a.keyEnd })).toBe('"a"');
  expect(a.node.elements.map(slice)).toEqual(["10", '"é"']);
  expect(slice(b.node)).toBe("{ }");
});

test.each([
  ["1", "1.0", true],
  ["0", "-0", false],
  ["12345678901234567890", "12345678901234567890", true],
  ["12345678901234567890", "12345678901234567891", false],
  ['{"a":1,"b":[2]}', '{"b":[2],"a":1}', true],
  ['{"a":1}', '{"b":1}', false],
  ['{"a":null}', "{}", false],
  ["[1,2]", "[1]", false],
  ["[]", "{}", false],
  ['"1"', "1", false],
  ['{"toString":1}', "{}", false],
])("%s and %s are the same: %s", (left, right, same) => {
  expect(sameValue(readValue(left), readValue(right))).toBe(same);
  expect(sameValue(readValue(right), readValue(left))).toBe(same);
});

const suite = new URL("../../../../shared/json-test-suite/", import.meta.url);
const suiteNames = existsSync(suite)
  ? readdirSync(suite).filter((name) => name.endsWith(".json"))
  : [];

describe.skipIf(suiteNames.length === 0)(
  "the public JSON test suite (skipped when ../shared/json-test-suite is absent)",
  () => {
    const files = suiteNames.map((name) => ({
      name,
      bytes: readFileSync(new URL(encodeURIComponent(name), suite)),
    }));

    test.each(files.filter((file) => file.name.startsWith("y_")))("accepts $name", ({ bytes }) => {
      expect(parseJson(bytes).kind).toBe("value");
    });

    test.each(files.filter((file) => file.name.startsWith("n_")))("refuses $name", ({ bytes }) => {
      expect(parseJson(bytes).kind).toBe("not-json");
    });

    test.each(files.filter((file) => file.name.startsWith("i_")))("answers $name", ({ bytes }) => {
      expect(["value", "not-json"]).toContain(parseJson(bytes).kind);
    });
  },
);
