/**
 * What one document's bytes are: structure, no opinion. Total: any bytes are answered, and no answer rests
 * on the size being a multiple of a page.
 */
import type { JsonPath } from "../base/json-path.js";
import { limits } from "../base/limits.js";
import { capturePlan } from "../format/capture-plan.js";
import type { CapturedValue, JsonAnswer, JsonOutcome, Position } from "../format/json-answer.js";
import { scanJson } from "../format/json-scan.js";
import { noteDamage } from "./document-notes.js";
import { nulRunLength, trailingNulStart } from "./document-nul.js";
import {
  conflictMarkers,
  documentBehindText,
  documentsInARow,
  lineEndAfter,
} from "./document-seams.js";
import { byteOrderMarkLength, foreignFormat, utf16Form } from "./document-signs.js";
import { versionAmong } from "./document-version.js";
import type { Fact, FindingKind, Health, Severity } from "./finding.js";

/** One thing that is wrong with the bytes, without a sentence yet. */
export interface DocumentDamage {
  readonly kind: FindingKind;
  readonly severity: Severity;
  readonly certainty: "proved" | "suspected";
  readonly health: Health;
  readonly at: Position;
  readonly where?: string;
  readonly path?: string;
  readonly facts: Readonly<Record<string, Fact>>;
  /** The span of the file that is a whole document by itself. */
  readonly itself?: { readonly from: number; readonly to: number };
}

export interface DocumentDiagnosis {
  readonly json: "valid" | "invalid" | "not-json";
  readonly damage: readonly DocumentDamage[];
  /** The span that can be read as one whole document, if there is one. */
  readonly document: { readonly from: number; readonly to: number } | undefined;
  readonly root: JsonAnswer["root"];
  /** Values at the paths that were asked for, as far as they could be read. */
  readonly captured: readonly CapturedValue[];
  readonly bytes: number;
}

export interface DiagnoseOptions {
  readonly capture: readonly JsonPath[];
}

const start: Position = { byteOffset: 0, line: 1, column: 1 };

/** Diagnoses the bytes of one document, all of which are there. */
export function diagnoseDocument(bytes: Uint8Array, options: DiagnoseOptions): DocumentDiagnosis {
  if (bytes.length === 0) return nothing(bytes, "empty", { fileBytes: 0 });
  const nulTail = trailingNulStart(bytes);
  if (nulTail === 0) return zeroed(bytes);
  const foreign = foreignFormat(bytes);
  if (foreign !== undefined) return notJson(bytes, foreign, "foreign", "error");
  const utf16 = utf16Form(bytes);
  if (utf16 !== undefined) return utf16Document(bytes, utf16, options);
  const mark = byteOrderMarkLength(bytes);
  const scan = scanFrom(bytes, mark, bytes.length, options);
  if (nulTail < bytes.length) {
    const padded = nulPadded(bytes, mark, nulTail, options);
    if (padded !== undefined) return withMark(padded, mark);
  }
  return withMark(fromOutcome(bytes, scan, options), mark);
}

function scanFrom(
  bytes: Uint8Array,
  from: number,
  to: number,
  options: DiagnoseOptions,
): JsonAnswer {
  return scanJson(bytes.subarray(from, to), {
    capture: capturePlan(options.capture),
    startOffset: from,
    lineStart: 0,
  });
}

function fromOutcome(
  bytes: Uint8Array,
  scan: JsonAnswer,
  options: DiagnoseOptions,
): DocumentDiagnosis {
  const { outcome } = scan;
  switch (outcome.kind) {
    case "empty":
    case "blank":
      return nothing(bytes, "blank", { fileBytes: bytes.length });
    case "whole":
      return wholeDocument(bytes, scan, outcome.end);
    case "truncated":
      return conflicted(bytes, scan) ?? diagnosis(bytes, scan, [truncatedDamage(bytes, outcome)]);
    case "trailing":
      return conflicted(bytes, scan) ?? trailing(bytes, scan, outcome, options);
    case "syntax":
      return conflicted(bytes, scan) ?? malformed(bytes, scan, outcome, options);
  }
}

function diagnosis(
  bytes: Uint8Array,
  scan: JsonAnswer,
  damage: readonly DocumentDamage[],
  document?: { from: number; to: number },
): DocumentDiagnosis {
  const { root, captured } = scan;
  return { json: "invalid", damage, document, root, captured, bytes: bytes.length };
}

function wholeDocument(bytes: Uint8Array, scan: JsonAnswer, end: number): DocumentDiagnosis {
  const from = bytes.length - scan.bytes;
  const damage = [...noteDamage(scan, bytes)];
  if (scan.depthMax > limits.depthShownMax) {
    const facts = { depth: scan.depthMax, fileBytes: bytes.length };
    damage.push({ ...base("too-deep", "error", "limit", start), facts });
  }
  const whole = diagnosis(bytes, scan, damage, { from, to: end });
  return { ...whole, json: scan.strict ? "valid" : "invalid" };
}

function base(kind: FindingKind, severity: Severity, health: Health, at: Position) {
  return { kind, severity, health, at, certainty: "proved" as const };
}

function nothing(
  bytes: Uint8Array,
  kind: "empty" | "blank",
  facts: Readonly<Record<string, Fact>>,
): DocumentDiagnosis {
  const damage = [{ ...base(kind, "error", "empty", start), facts }];
  return { ...unscanned(bytes, damage), json: "invalid" };
}

function unscanned(bytes: Uint8Array, damage: readonly DocumentDamage[]): DocumentDiagnosis {
  return {
    json: "not-json",
    damage,
    document: undefined,
    root: "none",
    captured: [],
    bytes: bytes.length,
  };
}

function zeroed(bytes: Uint8Array): DocumentDiagnosis {
  const facts = { length: bytes.length, fileBytes: bytes.length };
  return unscanned(bytes, [{ ...base("all-nul", "error", "zeroed", start), facts }]);
}

function notJson(
  bytes: Uint8Array,
  kind: FindingKind,
  health: Health,
  severity: Severity,
): DocumentDiagnosis {
  const facts = { fileBytes: bytes.length };
  return unscanned(bytes, [{ ...base(kind, severity, health, start), facts }]);
}

/** UTF-16: the text is judged after decoding; its offsets would not be the file's, so none are given. */
function utf16Document(
  bytes: Uint8Array,
  form: { readonly encoding: "utf-16-le" | "utf-16-be"; readonly markBytes: number },
  options: DiagnoseOptions,
): DocumentDiagnosis {
  const label = form.encoding === "utf-16-le" ? "utf-16le" : "utf-16be";
  const text = new TextDecoder(label).decode(bytes.subarray(form.markBytes));
  const scan = scanJson(new TextEncoder().encode(text), { capture: capturePlan(options.capture) });
  const contentWhole = scan.outcome.kind === "whole" && bytes.length % 2 === 0;
  const facts = { encoding: form.encoding, fileBytes: bytes.length, contentWhole };
  const severity = contentWhole ? "warning" : "error";
  const damage = [{ ...base("utf16", severity, contentWhole ? "encoding" : "torn", start), facts }];
  return { ...unscanned(bytes, damage), root: scan.root, captured: scan.captured };
}

function truncatedDamage(
  bytes: Uint8Array,
  outcome: Extract<JsonOutcome, { kind: "truncated" }>,
): DocumentDamage {
  const { at, where, openDepth, path } = outcome;
  const facts = { openDepth, openPath: path, fileBytes: bytes.length };
  return { ...base("truncated", "error", "torn", at), where, path, facts };
}

/** NUL bytes to the end: the size was recorded, the contents were not. */
function nulPadded(
  bytes: Uint8Array,
  mark: number,
  nulFrom: number,
  options: DiagnoseOptions,
): DocumentDiagnosis | undefined {
  const scan = scanFrom(bytes, mark, nulFrom, options);
  const { outcome } = scan;
  const at = positionOf(bytes, nulFrom);
  const facts = { length: bytes.length - nulFrom, fileBytes: bytes.length };
  if (outcome.kind === "whole") {
    const itself = { from: mark, to: outcome.end };
    const damage = { ...base("nul-padding", "error", "mixed", at), facts, itself };
    return diagnosis(bytes, scan, [{ ...damage, where: "after value" }], itself);
  }
  if (outcome.kind !== "truncated") return undefined;
  const { where, openDepth, path } = outcome;
  const open = { openDepth, openPath: path, tokenOffset: outcome.at.byteOffset };
  const damage = { ...base("nul-padding", "error", "torn", at), where, path };
  return diagnosis(bytes, scan, [{ ...damage, facts: { ...facts, ...open } }]);
}

function trailing(
  bytes: Uint8Array,
  scan: JsonAnswer,
  outcome: Extract<JsonOutcome, { kind: "trailing" }>,
  options: DiagnoseOptions,
): DocumentDiagnosis {
  if (scan.root !== "object" && scan.root !== "array")
    return malformed(bytes, scan, undefined, options);
  const from = bytes.length - scan.bytes;
  const itself = { from, to: outcome.end };
  const tailFrom = lineEndAfter(bytes, outcome.end);
  const at = positionOf(bytes, tailFrom);
  const notes = noteDamage(scan, bytes);
  const documents = documentsInARow(bytes, outcome.at.byteOffset);
  if (documents > 0) {
    const versions = versionsInARow(bytes, from, documents + 1, options);
    const facts = { documents: documents + 1, fileBytes: bytes.length, ...versions };
    const damage = { ...base("concatenated-documents", "error", "mixed", at), facts };
    return diagnosis(bytes, scan, [damage, ...notes], itself);
  }
  const length = bytes.length - tailFrom;
  const facts = { length, fileBytes: bytes.length, firstDocumentWhole: true };
  const damage = { ...base("old-tail", "error", "mixed", at), facts, itself };
  return diagnosis(bytes, scan, [damage, ...notes], itself);
}

/** The versions that documents in a row say they are; nothing when one of the first few says none. */
function versionsInARow(
  bytes: Uint8Array,
  from: number,
  count: number,
  options: DiagnoseOptions,
): { readonly versions?: readonly number[] } {
  const versions: number[] = [];
  let at = from;
  while (versions.length < Math.min(count, limits.versionsInARowMax)) {
    const scan = scanFrom(bytes, at, bytes.length, options);
    const version = versionAmong(scan.captured);
    if (version === undefined) return {};
    versions.push(version);
    if (scan.outcome.kind !== "trailing") break;
    at = scan.outcome.at.byteOffset;
  }
  return { versions };
}

/** Conflict markers explain whatever the scan stumbled over, so they are looked for first. */
function conflicted(bytes: Uint8Array, scan: JsonAnswer): DocumentDiagnosis | undefined {
  const markers = conflictMarkers(bytes);
  if (markers === undefined) return undefined;
  const facts = { markers: markers.offsets, sides: markers.sides, fileBytes: bytes.length };
  const at = positionOf(bytes, markers.offsets[0] ?? 0);
  return diagnosis(bytes, scan, [{ ...base("conflict-markers", "error", "mixed", at), facts }]);
}

function malformed(
  bytes: Uint8Array,
  scan: JsonAnswer,
  outcome: Extract<JsonOutcome, { kind: "syntax" }> | undefined,
  options: DiagnoseOptions,
): DocumentDiagnosis {
  const from = bytes.length - scan.bytes;
  if (outcome?.found === 0) {
    const run = nulInDocument(bytes, from, outcome, scan, options);
    if (run !== undefined) return run;
  }
  const openDepth = outcome?.openDepth ?? 0;
  if (openDepth <= 1) {
    // Inside an open bracket only a line's start counts: `{x: [1]` is no text before `[1]`.
    const behind = documentBehindText(bytes, from, openDepth === 0 ? "anywhere" : "line-start");
    if (behind !== undefined) return afterText(bytes, from, behind, options);
  }
  const at = outcome?.at ?? (scan.outcome.kind === "trailing" ? scan.outcome.at : start);
  const path = outcome?.path ?? "$";
  const stop = outcome === undefined ? {} : { found: outcome.found, expected: outcome.expected };
  const facts = { openDepth: outcome?.openDepth ?? 0, fileBytes: bytes.length, ...stop };
  return diagnosis(bytes, scan, [{ ...base("syntax", "error", "malformed", at), path, facts }]);
}

/** A run of NUL where a token should stand; at the very start the document behind it may be whole. */
function nulInDocument(
  bytes: Uint8Array,
  from: number,
  outcome: Extract<JsonOutcome, { kind: "syntax" }>,
  scan: JsonAnswer,
  options: DiagnoseOptions,
): DocumentDiagnosis | undefined {
  const at = outcome.at;
  const length = nulRunLength(bytes, at.byteOffset);
  const facts = { length, fileBytes: bytes.length };
  if (at.byteOffset === from) {
    const rest = scanFrom(bytes, from + length, bytes.length, options);
    const damage = { ...base("nul-run", "error", "mixed", at), where: "start of file", facts };
    if (rest.outcome.kind === "whole") {
      const itself = { from: from + length, to: rest.outcome.end };
      return diagnosis(bytes, rest, [{ ...damage, itself }], itself);
    }
    return diagnosis(bytes, scan, [damage]);
  }
  if (length < limits.nulRunBytesMin) {
    const single = { ...base("nul-scattered", "error", "mixed", at), path: outcome.path };
    return diagnosis(bytes, scan, [
      { ...single, facts: { count: length, fileBytes: bytes.length } },
    ]);
  }
  const damage = { ...base("nul-run", "error", "mixed", at), path: outcome.path, facts };
  return diagnosis(bytes, scan, [damage]);
}

function afterText(
  bytes: Uint8Array,
  from: number,
  behind: { readonly startsAt: number },
  options: DiagnoseOptions,
): DocumentDiagnosis {
  const scan = scanFrom(bytes, behind.startsAt, bytes.length, options);
  const length = behind.startsAt - from;
  const isStray =
    length <= limits.strayPrefixBytesMax && !bytes.subarray(from, behind.startsAt).includes(0x0a);
  const kind = isStray ? "stray-prefix" : "foreign-text-before";
  const facts = { length, documentStartsAt: behind.startsAt, fileBytes: bytes.length };
  const at = positionOf(bytes, from);
  const damage: DocumentDamage = { ...base(kind, "error", "mixed", at), facts };
  if (scan.outcome.kind === "whole") {
    const itself = { from: behind.startsAt, to: scan.outcome.end };
    return diagnosis(bytes, scan, [{ ...damage, itself }, ...noteDamage(scan, bytes)], itself);
  }
  if (scan.outcome.kind !== "truncated") return diagnosis(bytes, scan, [damage]);
  const cut = truncatedDamage(bytes, scan.outcome);
  const lines = positionOf(bytes, behind.startsAt).line - 1;
  const atCut = positionOf(bytes, cut.at.byteOffset);
  return diagnosis(bytes, scan, [damage, { ...cut, at: lines === 0 ? cut.at : atCut }]);
}

function withMark(found: DocumentDiagnosis, mark: number): DocumentDiagnosis {
  if (mark === 0) return found;
  const contentWhole = found.document !== undefined && found.damage.length === 0;
  const facts = { length: mark, contentWhole };
  const damage = { ...base("bom", "notice", "ok", start), facts };
  return { ...found, damage: [...found.damage, damage] };
}

/** Line and column of a byte, counted from the start of the file. */
export function positionOf(bytes: Uint8Array, byteOffset: number): Position {
  let line = 1;
  let lineStart = 0;
  for (;;) {
    const end = bytes.indexOf(0x0a, lineStart);
    if (end < 0 || end >= byteOffset) break;
    line += 1;
    lineStart = end + 1;
  }
  return { byteOffset, line, column: byteOffset - lineStart + 1 };
}
