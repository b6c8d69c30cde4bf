/** What a line that is no single JSON record is instead: the mechanism, and the whole records in it. */
import { limits } from "../base/limits.js";
import type { CutPlace } from "./json-answer.js";
import { scanJson } from "./json-scan.js";

/** A span of the line, in bytes from the content's start. */
export interface LineSpan {
  readonly from: number;
  readonly to: number;
}

export type LineDamage =
  /** Whole records in a row; `seam` is the first byte of the second. */
  | { readonly kind: "glued-records"; readonly seam: number; readonly whole: readonly LineSpan[] }
  /** A cut record, then whole ones; `seam` is the first byte of the first whole one. */
  | {
      readonly kind: "truncated-then-record";
      readonly seam: number;
      /** Where the cut record begins. */
      readonly cutFrom: number;
      readonly sameRecordRepeated: boolean;
      readonly whole: readonly LineSpan[];
    }
  /** A whole record inside another; `seam` is where the inner one begins. */
  | {
      readonly kind: "interleaved-records";
      readonly seam: number;
      readonly whole: readonly LineSpan[];
    }
  /** The line ends before its record does; `from` is where the cut record begins, behind `whole`. */
  | {
      readonly kind: "cut";
      readonly from: number;
      readonly where: CutPlace;
      readonly whole: readonly LineSpan[];
    }
  /** Ends like a record and does not begin like one. */
  | { readonly kind: "missing-head" }
  | { readonly kind: "conflict-marker" }
  /** Something else, perhaps beside records that are `whole`. */
  | { readonly kind: "no-json"; readonly whole: readonly LineSpan[] };

const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;

/** Records are objects; some logs (terminal recordings) write arrays. */
const opens = (byte: number | undefined): boolean => byte === openBrace || byte === openBracket;

/** Classifies the bytes of a line that did not scan as one whole value. */
export function classifyLine(content: Uint8Array): LineDamage {
  if (isConflictMarker(content)) return { kind: "conflict-marker" };
  const start = firstByte(content);
  const row = wholeRecords(content, start);
  const isRecord = opens(content[start]);
  if (isRecord && row.rest >= content.length && row.whole.length > 1)
    return { kind: "glued-records", seam: row.whole[1]?.from ?? 0, whole: row.whole };
  const from = row.rest;
  const isObject = content[start] === openBrace;
  const seam = isObject ? seamBehind(content, from) : undefined;
  if (seam !== undefined) {
    const whole = [...row.whole, ...seam.whole];
    if (seam.kind === "inside") return { kind: "interleaved-records", seam: seam.at, whole };
    const { at } = seam;
    const sameRecordRepeated = repeats(content, from, at);
    return { kind: "truncated-then-record", seam: at, cutFrom: from, sameRecordRepeated, whole };
  }
  const tail = scanJson(content.subarray(from), { trackDuplicates: false }).outcome;
  if (tail.kind === "truncated" && opens(content[from]))
    return { kind: "cut", from, where: tail.where, whole: row.whole };
  const behind = isObject ? [] : wholeBehindText(content, start);
  if (!isRecord && behind.length === 0 && endsLikeRecord(content)) return { kind: "missing-head" };
  return { kind: "no-json", whole: [...row.whole, ...behind] };
}

/** Records at the end of a line that begins with other text: a warning printed onto the line of a record. */
function wholeBehindText(content: Uint8Array, start: number): readonly LineSpan[] {
  if (content.length - start > limits.seamLineBytesMax) return [];
  let at = content.indexOf(openBrace, start);
  for (let tried = 0; at >= 0 && tried < limits.prefixCandidatesMax; tried += 1) {
    const { whole, rest } = wholeRecords(content, at);
    // An empty object is no record that anybody wrote: it stands in texts of other languages.
    const named = keyAt(content, at) !== "";
    if (named && whole.length > 0 && rest >= content.length) return whole;
    at = content.indexOf(openBrace, at + 1);
  }
  return [];
}

function firstByte(content: Uint8Array): number {
  let at = 0;
  while (content[at] === 0x20 || content[at] === 0x09 || content[at] === 0x0d) at += 1;
  return at;
}

/** Whole records in a row from `from` on, a comma between two allowed; `rest` is where something else begins, or the length. */
function wholeRecords(content: Uint8Array, from: number): { whole: LineSpan[]; rest: number } {
  const whole: LineSpan[] = [];
  let at = from;
  while (whole.length < limits.documentsInARowMax && opens(content[at])) {
    const { outcome } = scanJson(content.subarray(at), { startOffset: at, trackDuplicates: false });
    if (outcome.kind === "whole") {
      whole.push({ from: at, to: outcome.end });
      return { whole, rest: content.length };
    }
    if (outcome.kind !== "trailing") break;
    whole.push({ from: at, to: outcome.end });
    at = behindComma(content, outcome.at.byteOffset);
  }
  return { whole, rest: at };
}

/** A writer of array elements puts a comma between two records: the second still begins at its bracket. */
function behindComma(content: Uint8Array, at: number): number {
  if (content[at] !== comma) return at;
  let next = at + 1;
  while (content[next] === 0x20 || content[next] === 0x09) next += 1;
  return opens(content[next]) ? next : at;
}

interface Seam {
  readonly kind: "behind" | "inside";
  readonly at: number;
  readonly whole: readonly LineSpan[];
}

/** The first brace behind `from` at which whole records begin and nothing but them follows, or the rest closes what was cut. */
function seamBehind(content: Uint8Array, from: number): Seam | undefined {
  if (content.length - from > limits.seamLineBytesMax) return undefined;
  const firstKey = keyAt(content, from);
  let tried = 0;
  for (
    let at = content.indexOf(openBrace, from + 1);
    at >= 0;
    at = content.indexOf(openBrace, at + 1)
  ) {
    if (content[at + 1] !== 0x22 && content[at + 1] !== 0x20) continue;
    if (++tried > limits.prefixCandidatesMax) return undefined;
    const { whole, rest } = wholeRecords(content, at);
    if (whole.length === 0) continue;
    const begins = isSeam(content, from, at, firstKey);
    if (rest >= content.length && begins) return { kind: "behind", at, whole };
    const inner = whole[0];
    if (inner === undefined || !begins) continue;
    const around = joinAround(content, from, at, inner.to);
    const outer = scanJson(around, { trackDuplicates: false });
    if (outer.outcome.kind === "whole")
      return { kind: "inside", at, whole: [inner, { from, to: content.length }] };
  }
  return undefined;
}

/** A brace where the cut record expected a value is a nested object, unless it begins as records here do. */
function isSeam(content: Uint8Array, from: number, at: number, firstKey: string): boolean {
  const before = scanJson(content.subarray(from, at), { trackDuplicates: false }).outcome;
  if (before.kind !== "truncated") return before.kind === "syntax";
  const expectsValue =
    before.where === "after colon" ||
    before.where === "after comma" ||
    before.where === "after open bracket";
  return !expectsValue || (firstKey !== "" && keyAt(content, at) === firstKey);
}

function keyAt(content: Uint8Array, brace: number): string {
  const open = content.indexOf(0x22, brace);
  if (open < 0 || open > brace + 4) return "";
  const close = content.indexOf(0x22, open + 1);
  if (close < 0 || close - open > 64) return "";
  return String.fromCharCode(...content.subarray(open + 1, close));
}

function joinAround(content: Uint8Array, from: number, cut: number, resume: number): Uint8Array {
  const out = new Uint8Array(cut - from + content.length - resume);
  out.set(content.subarray(from, cut));
  out.set(content.subarray(resume), cut - from);
  return out;
}

/** The whole record behind the seam begins with the very bytes of the cut one. */
function repeats(content: Uint8Array, from: number, seam: number): boolean {
  for (let i = from; i < seam; i++) if (content[i] !== content[seam + i - from]) return false;
  return true;
}

function endsLikeRecord(content: Uint8Array): boolean {
  let end = content.length;
  while (end > 0 && (content[end - 1] === 0x0d || content[end - 1] === 0x20)) end -= 1;
  return content[end - 1] === closeBrace || content[end - 1] === closeBracket;
}

const markers = [0x3c, 0x3d, 0x3e, 0x7c];

function isConflictMarker(content: Uint8Array): boolean {
  const mark = content[0];
  if (mark === undefined || !markers.includes(mark)) return false;
  for (let i = 1; i < 7; i++) if (content[i] !== mark) return false;
  const after = content[7];
  return after === undefined || after === 0x20 || after === 0x0d;
}

/** Runs of NUL in a line's content, and the parts between them. */
export function splitAtNul(content: Uint8Array): {
  readonly runs: readonly LineSpan[];
  readonly parts: readonly LineSpan[];
} {
  const runs: LineSpan[] = [];
  const parts: LineSpan[] = [];
  let at = 0;
  while (at < content.length) {
    const nul = content.indexOf(0, at);
    if (nul < 0 || runs.length >= limits.scanNotesMax) {
      parts.push({ from: at, to: content.length });
      break;
    }
    if (nul > at) parts.push({ from: at, to: nul });
    let end = nul;
    while (content[end] === 0) end += 1;
    runs.push({ from: nul, to: end });
    at = end;
  }
  return { runs, parts };
}
