import fc from "fast-check";
import { expect, test } from "vitest";
import { editJson } from "../../../shared/format/json-edit.js";
import { JsonNumber } from "../../../shared/format/json-number.js";
import {
  isJsonObject,
  type JsonValue,
  type ParsedJson,
  parseJson,
  sameValue,
} from "../../../shared/format/json-value.js";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const seed = Number(process.env.LASTGOOD_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const numRuns = process.env.LASTGOOD_TEST_FULL === "1" ? 20_000 : 1_500;
const title = (sentence: string): string => `${sentence} (seed ${seed}, ${numRuns} documents)`;

const blank = fc.stringMatching(/^[ \t\r\n]{0,3}$/);
const numberText = fc.oneof(
  fc.stringMatching(/^-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,4})?([eE][+-]?[0-9]{1,3})?$/),
  fc.integer().map(String),
);
const stringText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 6 }).map((text) => JSON.stringify(text)),
  fc.constantFrom(
    '"\\u0041"',
    '"\\/"',
    '"\\ud83d\\ude00"',
    '"\\ud800"',
    '"__proto__"',
    '"a"',
    '"b"',
  ),
);

/** JSON as foreign writers write it: any white space, spelling, escapes and repeated keys. */
const { text: jsonText } = fc.letrec<{ text: string }>((tie) => ({
  text: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    numberText,
    stringText,
    fc.constantFrom("true", "false", "null"),
    fc
      .tuple(blank, fc.array(fc.tuple(blank, tie("text"), blank), { maxLength: 5 }))
      .map(([inside, parts]) =>
        parts.length === 0 ? `[${inside}]` : `[${parts.map((part) => part.join("")).join(",")}]`,
      ),
    fc
      .tuple(
        blank,
        fc.array(fc.tuple(blank, stringText, blank, blank, tie("text"), blank), { maxLength: 5 }),
      )
      .map(([inside, parts]) => {
        const members = parts.map(([a, key, b, c, value, d]) => `${a}${key}${b}:${c}${value}${d}`);
        return parts.length === 0 ? `{${inside}}` : `{${members.join(",")}}`;
      }),
  ),
}));
const documentText = fc.tuple(blank, jsonText, blank).map((parts) => parts.join(""));

const newValue: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.constantFrom<JsonValue>(null, true, "new", 7, -0, 1.5, 2n ** 70n, new JsonNumber("1e999")),
  fc.jsonValue({ maxDepth: 2 }).map((value) => value as JsonValue),
);

function parse(text: string): ParsedJson {
  const parsed = parseJson(encoder.encode(text));
  if (parsed.kind === "not-json") throw new Error(`${JSON.stringify(text)}: ${parsed.reason}`);
  return parsed;
}

function editedText(text: string, parsed: ParsedJson, value: JsonValue): string {
  const outcome = editJson(encoder.encode(text), parsed, value);
  if (outcome.kind === "rejected") throw new Error(`${outcome.path}: ${outcome.reason}`);
  return decoder.decode(outcome.bytes);
}

interface Change {
  readonly where: number;
  readonly how: "replace" | "remove" | "add" | "reverse";
  readonly value: JsonValue;
}

const change: fc.Arbitrary<Change> = fc.record({
  where: fc.nat(),
  how: fc.constantFrom("replace", "remove", "add", "reverse"),
  value: newValue,
});

/** Changes one container of the value in place; which one is drawn. */
function applyChange(value: JsonValue, { where, how, value: given }: Change): void {
  const containers: JsonValue[] = [value];
  for (const one of containers) {
    if (Array.isArray(one)) containers.push(...one.filter(isContainer));
    else if (isJsonObject(one)) containers.push(...Object.values(one).filter(isContainer));
  }
  const target = containers[where % containers.length];
  if (Array.isArray(target)) {
    const at = where % (target.length + 1);
    if (how === "add") target.splice(at, 0, given);
    else if (how === "remove") target.splice(at, 1);
    else if (how === "reverse") target.reverse();
    else if (at < target.length) target[at] = given;
  } else if (target !== undefined && isJsonObject(target)) {
    const keys = Object.keys(target);
    const key = keys[where % Math.max(1, keys.length)] ?? "first";
    if (how === "remove") delete target[key];
    else if (how === "add") target[`${key}+`] = given;
    else target[key] = given;
  }
}

function isContainer(value: JsonValue): boolean {
  return Array.isArray(value) || isJsonObject(value);
}

test(title("an unchanged document keeps every byte"), () => {
  fc.assert(
    fc.property(documentText, (text) => {
      const parsed = parse(text);
      expect(editedText(text, parsed, parsed.value)).toBe(text);
    }),
    { seed, numRuns },
  );
});

test(title("a changed document reads as the changed value"), () => {
  fc.assert(
    fc.property(documentText, fc.array(change, { minLength: 1, maxLength: 4 }), (text, changes) => {
      const parsed = parse(text);
      for (const one of changes) applyChange(parsed.value, one);
      const edited = editedText(text, parsed, parsed.value);
      expect(sameValue(parse(edited).value, parsed.value)).toBe(true);
    }),
    { seed, numRuns },
  );
});

test(title("any document put in the place of another reads as itself"), () => {
  fc.assert(
    fc.property(documentText, documentText, (text, other) => {
      const { value } = parse(other);
      expect(sameValue(parse(editedText(text, parse(text), value)).value, value)).toBe(true);
    }),
    { seed, numRuns },
  );
});

test(title("changing one member leaves the bytes before and after it alone"), () => {
  fc.assert(
    fc.property(
      fc.array(jsonText, { minLength: 1, maxLength: 5 }),
      fc.nat(),
      newValue,
      (parts, at, given) => {
        const index = at % parts.length;
        const before = parts.slice(0, index).map((part, i) => ` "k${i}" : ${part} `);
        const after = parts.slice(index + 1).map((part, i) => `\n"m${i}":${part}`);
        const head = `{${[...before, '"x": '].join(",")}`;
        const tail = ["", ...after].join(",");
        const text = `${head}${parts[index]}${tail}}`;
        const parsed = parse(text);
        if (isJsonObject(parsed.value)) parsed.value.x = given;
        const edited = editedText(text, parsed, parsed.value);
        expect(edited.startsWith(head)).toBe(true);
        expect(edited.endsWith(`${tail}}`)).toBe(true);
      },
    ),
    { seed, numRuns },
  );
});

test(title("any bytes are answered, and what is a value for us is one for JSON.parse"), () => {
  const noise = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.tuple(documentText, fc.nat(), fc.integer({ min: 0, max: 255 })).map(([text, at, byte]) => {
      const bytes = encoder.encode(text);
      bytes[at % Math.max(1, bytes.length)] = byte;
      return bytes;
    }),
  );
  fc.assert(
    fc.property(noise, (bytes) => {
      expect(parseJson(bytes).kind === "value").toBe(isJsonForTheEngine(bytes));
    }),
    { seed, numRuns },
  );
});

function isJsonForTheEngine(bytes: Uint8Array): boolean {
  try {
    JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
    return true;
  } catch {
    return false;
  }
}
