/**
 * Lossless reading of JSON: a plain value to work with, and beside it a tree of byte spans, so that
 * json-edit can put a change back without touching the bytes it did not change.
 *
 * Strict RFC 8259. No recursion: nesting is bounded by memory alone, not by the call stack.
 */
import { JsonNumber, numberOf } from "./json-number.js";
import { decodeString, skipString } from "./json-string.js";

export type JsonScalar = string | number | bigint | boolean | null | JsonNumber;
export type JsonArray = JsonValue[];
/** Made without a prototype, so that `__proto__` and `constructor` are keys like any other. */
export interface JsonObject {
  [key: string]: JsonValue;
}
export type JsonValue = JsonScalar | JsonArray | JsonObject;

interface Span {
  readonly start: number;
  /** The byte after the last one. */
  readonly end: number;
}

export interface ScalarNode extends Span {
  readonly kind: "scalar";
  readonly value: JsonScalar;
}

export interface ArrayNode extends Span {
  readonly kind: "array";
  readonly value: JsonArray;
  readonly elements: readonly JsonNode[];
}

export interface MemberNode {
  readonly key: string;
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly node: JsonNode;
}

export interface ObjectNode extends Span {
  readonly kind: "object";
  readonly value: JsonObject;
  /** In the order written, repeated keys included; `value` holds the last of each. */
  readonly members: readonly MemberNode[];
}

export type JsonNode = ScalarNode | ArrayNode | ObjectNode;

export interface ParsedJson {
  readonly kind: "value";
  readonly value: JsonValue;
  readonly root: JsonNode;
}

export interface NotJson {
  readonly kind: "not-json";
  /** First byte that cannot stand there; the length of the bytes when they end too early. */
  readonly byteOffset: number;
  readonly reason: string;
}

const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;
const colon = 0x3a;
const quote = 0x22;
const minus = 0x2d;
const literals: readonly (readonly [string, JsonScalar])[] = [
  ["true", true],
  ["false", false],
  ["null", null],
];

interface OpenArray {
  readonly kind: "array";
  readonly start: number;
  readonly value: JsonArray;
  readonly elements: JsonNode[];
}

interface OpenObject {
  readonly kind: "object";
  readonly start: number;
  readonly value: JsonObject;
  readonly members: MemberNode[];
  key: string;
  keyStart: number;
  keyEnd: number;
}

type OpenContainer = OpenArray | OpenObject;

/**
 * Reads one JSON text.
 *
 * Numbers: a JS number where the double means the same number as the text, a bigint for a longer plain
 * integer, else a JsonNumber. Text with a byte order mark is not JSON (RFC 8259, section 8.1).
 * Errors: none; any bytes are answered.
 */
export function parseJson(bytes: Uint8Array): ParsedJson | NotJson {
  const open: OpenContainer[] = [];
  let at = skipBlank(bytes, 0);
  for (;;) {
    // One turn reads one value, or opens one container.
    const opened = openContainer(bytes, at);
    let node: JsonNode;
    if (opened === undefined) {
      const scalar = readScalar(bytes, at);
      if (scalar.kind === "not-json") return scalar;
      node = scalar;
      at = node.end;
    } else {
      open.push(opened);
      at = skipBlank(bytes, at + 1);
      if (bytes[at] !== closerOf(opened)) {
        if (opened.kind === "object") {
          const value = readKey(bytes, at, opened);
          if (typeof value !== "number") return value;
          at = value;
        }
        continue;
      }
      at += 1;
      open.pop();
      node = closed(opened, at);
    }
    // The value is whole: it closes as many containers as end right after it.
    for (;;) {
      const parent = open.at(-1);
      at = skipBlank(bytes, at);
      if (parent === undefined) {
        if (at < bytes.length) return wrong(bytes, at, "nothing after the value");
        return { kind: "value", value: node.value, root: node };
      }
      addChild(parent, node);
      if (bytes[at] === comma) {
        at = skipBlank(bytes, at + 1);
        if (parent.kind === "object") {
          const value = readKey(bytes, at, parent);
          if (typeof value !== "number") return value;
          at = value;
        }
        break;
      }
      if (bytes[at] !== closerOf(parent)) {
        return wrong(bytes, at, parent.kind === "object" ? "`,` or `}`" : "`,` or `]`");
      }
      at += 1;
      open.pop();
      node = closed(parent, at);
    }
  }
}

function openContainer(bytes: Uint8Array, at: number): OpenContainer | undefined {
  if (bytes[at] === openBracket) return { kind: "array", start: at, value: [], elements: [] };
  if (bytes[at] !== openBrace) return undefined;
  const value = emptyObject();
  return { kind: "object", start: at, value, members: [], key: "", keyStart: at, keyEnd: at };
}

/** An object of this module's making: no prototype. */
export function emptyObject(): JsonObject {
  return Object.create(null) as JsonObject;
}

function closerOf(container: OpenContainer): number {
  return container.kind === "object" ? closeBrace : closeBracket;
}

function closed(container: OpenContainer, end: number): JsonNode {
  const { start } = container;
  return container.kind === "array"
    ? { kind: "array", start, end, value: container.value, elements: container.elements }
    : { kind: "object", start, end, value: container.value, members: container.members };
}

function addChild(parent: OpenContainer, node: JsonNode): void {
  if (parent.kind === "array") {
    parent.value.push(node.value);
    parent.elements.push(node);
    return;
  }
  parent.value[parent.key] = node.value;
  const { key, keyStart, keyEnd } = parent;
  parent.members.push({ key, keyStart, keyEnd, node });
}

/** Reads `"key" :` and answers where the value starts. */
function readKey(bytes: Uint8Array, at: number, into: OpenObject): number | NotJson {
  if (bytes[at] !== quote) return wrong(bytes, at, "a key in double quotes");
  const string = skipString(bytes, at);
  if (string.kind === "not-json") return string;
  into.key = decodeString(bytes, string);
  into.keyStart = at;
  into.keyEnd = string.end;
  const colonAt = skipBlank(bytes, string.end);
  if (bytes[colonAt] !== colon) return wrong(bytes, colonAt, "`:`");
  return skipBlank(bytes, colonAt + 1);
}

function readScalar(bytes: Uint8Array, start: number): ScalarNode | NotJson {
  const first = bytes[start];
  if (first === quote) {
    const string = skipString(bytes, start);
    if (string.kind === "not-json") return string;
    return { kind: "scalar", start, end: string.end, value: decodeString(bytes, string) };
  }
  if (first === minus || isDigit(first)) return readNumber(bytes, start);
  for (const [word, value] of literals) {
    if (first !== word.charCodeAt(0)) continue;
    for (let i = 1; i < word.length; i += 1) {
      if (bytes[start + i] !== word.charCodeAt(i))
        return wrong(bytes, start + i, `the word ${word}`);
    }
    return { kind: "scalar", start, end: start + word.length, value };
  }
  return wrong(bytes, start, "a value");
}

function readNumber(bytes: Uint8Array, start: number): ScalarNode | NotJson {
  let at = bytes[start] === minus ? start + 1 : start;
  const wholeFrom = at;
  while (isDigit(bytes[at])) at += 1;
  if (at === wholeFrom) return wrong(bytes, at, "a digit");
  if (bytes[wholeFrom] === 0x30 && at > wholeFrom + 1) {
    return wrong(bytes, wholeFrom + 1, "no digit after a leading 0");
  }
  if (bytes[at] === 0x2e) {
    const fractionFrom = at + 1;
    at = fractionFrom;
    while (isDigit(bytes[at])) at += 1;
    if (at === fractionFrom) return wrong(bytes, at, "a digit after the decimal point");
  }
  if (bytes[at] === 0x65 || bytes[at] === 0x45) {
    at += 1;
    if (bytes[at] === 0x2b || bytes[at] === minus) at += 1;
    const exponentFrom = at;
    while (isDigit(bytes[at])) at += 1;
    if (at === exponentFrom) return wrong(bytes, at, "a digit of the exponent");
  }
  return { kind: "scalar", start, end: at, value: numberOf(asciiText(bytes, start, at)) };
}

function asciiText(bytes: Uint8Array, start: number, end: number): string {
  let text = "";
  for (let from = start; from < end; from += 8_192) {
    text += String.fromCharCode(...bytes.subarray(from, Math.min(from + 8_192, end)));
  }
  return text;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

function skipBlank(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09)
    at += 1;
  return at;
}

function wrong(bytes: Uint8Array, at: number, expected: string): NotJson {
  const byte = bytes[at];
  if (byte === undefined) {
    return {
      kind: "not-json",
      byteOffset: bytes.length,
      reason: `the bytes end where ${expected} should stand`,
    };
  }
  const found =
    byte > 0x20 && byte < 0x7f
      ? `\`${String.fromCharCode(byte)}\``
      : `byte 0x${byte.toString(16).padStart(2, "0")}`;
  return { kind: "not-json", byteOffset: at, reason: `${found} stands where ${expected} should` };
}

/**
 * Whether two scalars mean the same: numbers by value whatever their type, everything else by identity.
 * `0` and `-0` differ, because they are written differently.
 */
export function sameScalar(a: JsonScalar, b: JsonScalar): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a === "bigint" && typeof b === "number") return Number.isInteger(b) && BigInt(b) === a;
  if (typeof a === "number" && typeof b === "bigint") return sameScalar(b, a);
  return a instanceof JsonNumber && b instanceof JsonNumber && a.text === b.text;
}

/** Whether two values are equal, member by member and element by element; the order of keys is of no matter. */
export function sameValue(a: JsonValue, b: JsonValue): boolean {
  const pairs: [JsonValue, JsonValue][] = [[a, b]];
  for (let pair = pairs.pop(); pair !== undefined; pair = pairs.pop()) {
    const [left, right] = pair;
    if (Array.isArray(left)) {
      if (!Array.isArray(right) || left.length !== right.length) return false;
      for (const [i, element] of left.entries()) pairs.push([element, right[i] ?? null]);
    } else if (isJsonObject(left)) {
      if (!isJsonObject(right)) return false;
      const keys = Object.keys(left);
      if (keys.length !== Object.keys(right).length) return false;
      for (const key of keys) {
        if (!Object.hasOwn(right, key)) return false;
        pairs.push([left[key] ?? null, right[key] ?? null]);
      }
    } else if (Array.isArray(right) || isJsonObject(right) || !sameScalar(left, right)) {
      return false;
    }
  }
  return true;
}

export function isJsonObject(value: JsonValue): value is JsonObject {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof JsonNumber)
  );
}

/** The member of that name, never one of a prototype's. */
export function memberOf(value: JsonValue, key: string): JsonValue | undefined {
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}
