/** JSON strings at byte height: where one ends, whether it is valid, and what it says. */
import type { NotJson } from "./json-value.js";

export interface StringSpan {
  readonly kind: "string";
  /** The opening quote. */
  readonly start: number;
  /** The byte after the closing quote. */
  readonly end: number;
  readonly plain: "ascii" | "unicode" | "escaped";
}

const quote = 0x22;
const backslash = 0x5c;
/** `ignoreBOM` keeps a U+FEFF at the start of a string: without it the decoder would eat a character. */
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const shortEscapes = new Map<number, string>([
  [0x22, '"'],
  [0x5c, "\\"],
  [0x2f, "/"],
  [0x62, "\b"],
  [0x66, "\f"],
  [0x6e, "\n"],
  [0x72, "\r"],
  [0x74, "\t"],
]);

/** Walks from the opening quote past the closing one, checking escapes, control bytes and UTF-8 on the way. */
export function skipString(bytes: Uint8Array, start: number): StringSpan | NotJson {
  let plain: StringSpan["plain"] = "ascii";
  let at = start + 1;
  for (;;) {
    const byte = bytes[at];
    if (byte === undefined) return notJson(bytes.length, "the bytes end inside a string");
    if (byte === quote) return { kind: "string", start, end: at + 1, plain };
    if (byte === backslash) {
      plain = "escaped";
      const length = escapeBytes(bytes, at);
      if (typeof length !== "number") return length;
      at += length;
    } else if (byte < 0x20) {
      return notJson(at, `control byte 0x${byte.toString(16).padStart(2, "0")} inside a string`);
    } else if (byte < 0x80) {
      at += 1;
    } else {
      const sequence = utf8SequenceBytes(bytes, at);
      if (sequence === 0) return notJson(at, "bytes that are not UTF-8 inside a string");
      if (plain === "ascii") plain = "unicode";
      at += sequence;
    }
  }
}

function escapeBytes(bytes: Uint8Array, at: number): number | NotJson {
  const letter = bytes[at + 1];
  if (letter === undefined) return notJson(bytes.length, "the bytes end inside an escape");
  if (shortEscapes.has(letter)) return 2;
  if (letter !== 0x75) return notJson(at + 1, "an escape that JSON does not have");
  for (let i = at + 2; i < at + 6; i += 1) {
    const digit = bytes[i];
    if (digit === undefined) return notJson(bytes.length, "the bytes end inside an escape");
    if (hexDigit(digit) < 0) return notJson(i, "`\\u` wants four hexadecimal digits");
  }
  return 6;
}

/** What a string says. The span comes from skipString, so its bytes are known to be valid. */
export function decodeString(bytes: Uint8Array, span: StringSpan): string {
  const inside = bytes.subarray(span.start + 1, span.end - 1);
  if (span.plain === "ascii" && inside.length <= 64) return String.fromCharCode(...inside);
  if (span.plain !== "escaped") return utf8.decode(inside);
  let text = "";
  let runFrom = 0;
  for (let at = inside.indexOf(backslash); at >= 0; at = inside.indexOf(backslash, runFrom)) {
    if (at > runFrom) text += utf8.decode(inside.subarray(runFrom, at));
    const letter = inside[at + 1] ?? 0;
    const short = shortEscapes.get(letter);
    text += short ?? String.fromCharCode(hexUnit(inside, at + 2));
    runFrom = at + (short === undefined ? 6 : 2);
  }
  return text + utf8.decode(inside.subarray(runFrom));
}

function hexUnit(bytes: Uint8Array, from: number): number {
  let unit = 0;
  for (let i = from; i < from + 4; i += 1) unit = unit * 16 + hexDigit(bytes[i] ?? 0);
  return unit;
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

/** Length of the well-formed UTF-8 sequence of a character beyond ASCII (Unicode, table 3-7), 0 if it is none. */
function utf8SequenceBytes(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] ?? 0;
  const second = bytes[at + 1] ?? 0;
  if (lead >= 0xc2 && lead <= 0xdf) return isContinuation(second) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const low = lead === 0xe0 ? 0xa0 : 0x80; // below: overlong
    const high = lead === 0xed ? 0x9f : 0xbf; // above: a surrogate half
    return second >= low && second <= high && isContinuation(bytes[at + 2]) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const low = lead === 0xf0 ? 0x90 : 0x80; // below: overlong
    const high = lead === 0xf4 ? 0x8f : 0xbf; // above: beyond U+10FFFF
    const whole =
      second >= low &&
      second <= high &&
      isContinuation(bytes[at + 2]) &&
      isContinuation(bytes[at + 3]);
    return whole ? 4 : 0;
  }
  return 0;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x80 && byte <= 0xbf;
}

function notJson(byteOffset: number, reason: string): NotJson {
  return { kind: "not-json", byteOffset, reason };
}
