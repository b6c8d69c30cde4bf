/**
 * One record of a checkpoint log, to bytes and back. We write one compact JSON object per line, members always in
 * the same order; we read any object that names an id, a bare `{"id":…}` being the oldest form of "done".
 */
import { invariant } from "../base/assert.js";
import { limits } from "../base/limits.js";
import type { EffectOutcome, FoldRecord } from "./item-state.js";
import { writeJson } from "./json-edit.js";
import { compactStyle } from "./json-layout.js";
import { JsonNumber } from "./json-number.js";
import {
  isJsonObject,
  type JsonValue,
  memberOf,
  type ParsedJson,
  parseJson,
} from "./json-value.js";

interface RecordCommon {
  /** Position in the log, +1 each: a gap shows a lost record, a repetition a record stored twice. */
  readonly seq: number;
  /** Which item: without it a retry cannot tell what was finished, and starts from the top. */
  readonly id: string;
  /** ISO, ms, Z: how old an intent without outcome is, and whether two equal lines are one record. */
  readonly at: string;
  /** Who wrote it: whether the writer of an intent without outcome is still alive can only be asked by name. */
  readonly worker: string;
  /** Which try, from 1: an outcome that comes late must not close a later try that is still open. */
  readonly attempt: number;
  /** Made before the first attempt and sent with every retry, so that the receiver can refuse a second effect. */
  readonly key: string;
  /** Fencing token it was written under: shows a record that came from a holder whose lease had been taken over. */
  readonly lease?: number | undefined;
  /** The caller's own, and read by nobody else: facts written elsewhere could be lost apart from their record. */
  readonly note?: JsonValue | undefined;
  /** sha256 of the line before it, in a chained log: a record changed or taken out afterwards breaks the chain. */
  readonly prev?: string | undefined;
}

/** Durable before the effect is tried: without it nobody could tell "never started" from "in doubt". */
export interface IntentRecord extends RecordCommon {
  readonly phase: "intent";
}

/** Durable before the next item: without it a retry would do the effect again. */
export interface DoneRecord extends RecordCommon {
  readonly phase: "done";
}

/** The receiver refused and nothing happened there. Never written for a timeout: that is no outcome. */
export interface FailedRecord extends RecordCommon {
  readonly phase: "failed";
  /** What the receiver said: a person must be able to tell a bad address from an outage. */
  readonly reason: string;
}

/** Somebody looked afterwards. Kept apart from `done` and `failed`, which only the one who did it can write. */
export interface SettledRecord extends Omit<RecordCommon, "attempt"> {
  readonly phase: "settled";
  /** Left out for an attempt that had no number of ours: the record then closes the oldest open one. */
  readonly attempt?: number | undefined;
  readonly outcome: EffectOutcome;
  /** Why this answer is right, in words: a settlement without a reason cannot be checked later. */
  readonly reason: string;
  /** What was looked at (a receipt number, an evidence key): a wrong settlement must be traceable. */
  readonly evidence: string;
  /** The person or service that answered: an answer nobody stands for is a guess. */
  readonly by: string;
}

export type LogRecord = IntentRecord | DoneRecord | FailedRecord | SettledRecord;

const encoder = new TextEncoder();
const halfPair = /\p{Surrogate}/u;

/** The line of a record, with its `\n`. The same record always gives the same bytes. */
export function encodeLogRecord(record: LogRecord): Uint8Array {
  const { seq, id, phase, at, worker, attempt, key, lease } = record;
  const common = { seq, id, phase, at, worker, attempt, key, lease };
  const members = JSON.stringify({ ...common, ...ownMembers(record) });
  const note = record.note === undefined ? "" : `,"note":${noteText(record.note)}`;
  const prev = record.prev === undefined ? "" : `,"prev":${JSON.stringify(record.prev)}`;
  return encoder.encode(`${members.slice(0, -1)}${note}${prev}}\n`);
}

/** On one line, and with its numbers as given, however long. */
function noteText(note: JsonValue): string {
  const written = writeJson(note, compactStyle);
  invariant(written.kind === "edited", "a note is looked at before it is written");
  return decoder.decode(written.bytes);
}

const decoder = new TextDecoder();

/** A note as it will be read back, apart from what the caller goes on doing with it; or why it cannot be written. */
export function checkedNote(
  note: JsonValue,
):
  | { readonly kind: "note"; readonly note: JsonValue }
  | { readonly kind: "rejected"; readonly reason: string } {
  const written = writeJson(note, compactStyle);
  if (written.kind === "rejected") {
    return { kind: "rejected", reason: `its note at ${written.path}: ${written.reason}` };
  }
  const sizeBytes = written.bytes.length;
  if (sizeBytes > limits.recordNoteBytesMax) {
    const reason = `its note has ${sizeBytes} bytes; a record takes ${limits.recordNoteBytesMax}`;
    return { kind: "rejected", reason };
  }
  const copy = parseJson(written.bytes);
  invariant(copy.kind === "value", "what was written as JSON is read as JSON");
  return { kind: "note", note: copy.value };
}

function ownMembers(record: LogRecord): object {
  switch (record.phase) {
    case "settled": {
      const { outcome, reason, evidence, by } = record;
      return { outcome, reason: shortened(reason), evidence, by };
    }
    case "failed":
      return { reason: shortened(record.reason) };
    default:
      return {};
  }
}

/** Cut, not refused: an endless error text must not keep the outcome itself from being recorded. */
function shortened(reason: string): string {
  const charsMax = limits.recordReasonCharsMax;
  return reason.length <= charsMax ? reason : `${reason.slice(0, charsMax).replace(halfPair, "")}…`;
}

/** Why a text cannot stand in a record; undefined when it can. A longer one could not be read back as a field. */
export function recordTextRefusal(name: string, text: string): string | undefined {
  if (text === "") return `the ${name} is empty`;
  const sizeBytes = encoder.encode(text).length;
  if (halfPair.test(text)) return `the ${name} holds half a surrogate pair`;
  if (sizeBytes <= limits.recordFieldBytesMax) return undefined;
  return `the ${name} has ${sizeBytes} bytes; a record takes ${limits.recordFieldBytesMax}`;
}

/** A record as found: numbers as written, other words and missing members allowed. */
export interface ReadRecord extends Omit<FoldRecord, "line" | "byteOffset"> {
  readonly reason?: string | undefined;
  readonly evidence?: string | undefined;
  readonly by?: string | undefined;
  readonly note?: JsonValue | undefined;
  readonly prev?: string | undefined;
}

export type LogLine =
  | { readonly kind: "record"; readonly record: ReadRecord }
  /** Nothing but white space. */
  | { readonly kind: "blank" }
  | { readonly kind: "unreadable"; readonly reason: string };

/** Reads one line, given without its `\n`. Any bytes are answered. */
export function readLogLine(line: Uint8Array): LogLine {
  if (line.every(isBlank)) return { kind: "blank" };
  const parsed = parseQuickly(line) ?? parseJson(line);
  if (parsed.kind === "not-json") {
    return { kind: "unreadable", reason: `${parsed.reason} at byte ${parsed.byteOffset}` };
  }
  if (!isJsonObject(parsed.value)) return { kind: "unreadable", reason: "not an object" };
  const item = textOf(memberOf(parsed.value, "id"));
  if (item === undefined) return { kind: "unreadable", reason: "no id" };
  const isBare = memberOf(parsed.value, "phase") === undefined;
  const strange = isBare
    ? Object.keys(parsed.value).find((name) => !bareMembers.has(name))
    : undefined;
  // {"id":…,"error":…} read as done would skip work that was never done; read as nothing, it would repeat it.
  if (strange !== undefined) {
    return { kind: "unreadable", reason: `no phase, and a member ${JSON.stringify(strange)}` };
  }
  return { kind: "record", record: recordFrom(parsed.value, item) };
}

const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/** A number this long may not be what its double says. */
const manyDigits = /\d{16}|\d[eE]/;

/**
 * The engine's own reader, several times faster, for the lines where it answers as ours does: undefined for the rest,
 * which are those with numbers that a double may not hold as written, and those that are no JSON and need a reason.
 */
function parseQuickly(line: Uint8Array): Pick<ParsedJson, "kind" | "value"> | undefined {
  try {
    const text = strictDecoder.decode(line);
    if (manyDigits.test(text)) return undefined;
    return { kind: "value", value: JSON.parse(text) as JsonValue };
  } catch {
    return undefined;
  }
}

/** What may stand in a record without a phase that is still a plain "done". */
const bareMembers: ReadonlySet<string> = new Set(
  "id seq at worker attempt key run lease".split(" "),
);

/** Whether a last line without its `\n` is whole: an object ends with its own brace, so no prefix of one is. */
export function isWholeRecord(line: Uint8Array): boolean {
  const parsed = parseJson(line);
  return parsed.kind === "value" && isJsonObject(parsed.value);
}

function recordFrom(value: JsonValue, item: string): ReadRecord {
  const text = (name: string) => textOf(memberOf(value, name));
  const word = text("phase");
  return {
    item,
    phase: phaseOf(memberOf(value, "phase")),
    word,
    outcome: outcomeOf(text("outcome")),
    seq: text("seq"),
    at: text("at"),
    worker: text("worker"),
    attempt: text("attempt"),
    key: text("key"),
    run: text("run"),
    lease: text("lease"),
    reason: text("reason"),
    evidence: text("evidence"),
    by: text("by"),
    note: memberOf(value, "note"),
    prev: text("prev"),
  };
}

function phaseOf(written: JsonValue | undefined): FoldRecord["phase"] {
  switch (written) {
    case undefined:
    case "done":
      return "done";
    case "intent":
    case "failed":
    case "settled":
      return written;
    default:
      return "other";
  }
}

function outcomeOf(word: string | undefined): EffectOutcome | undefined {
  switch (word) {
    case "done":
    case "failed":
    case "not-started":
    case "unknown":
      return word;
    default:
      return undefined;
  }
}

/** A string, or a number as written: ids and attempts are numbers in many logs. */
function textOf(value: JsonValue | undefined): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  return value instanceof JsonNumber ? value.text : undefined;
}

/** White space of JSON; a line of NULs is a hole in the file and not blank. */
function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d || byte === 0x0a;
}
