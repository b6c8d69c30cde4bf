/**
 * What a scan of JSON bytes can say. Any bytes lead to exactly one outcome; nothing here is an exception.
 * Offsets count bytes from 0 in the stored file, a byte order mark included; lines count from 1 and only
 * byte 0x0A ends one; columns count bytes from the line's start, from 1.
 */
export interface Position {
  readonly byteOffset: number;
  readonly line: number;
  readonly column: number;
}

/** What was open, or had just ended, where the bytes stop. */
export type CutPlace =
  | "inside string"
  | "inside key"
  | "inside escape"
  | "inside character"
  | "inside number"
  | "inside literal"
  | "after key"
  | "after colon"
  | "after comma"
  | "after value"
  | "after open bracket";

export type RootKind = "object" | "array" | "string" | "number" | "literal" | "none";

export type JsonOutcome =
  | { readonly kind: "empty" }
  /** Only white space (and comments). */
  | { readonly kind: "blank" }
  /** One whole value; `end` is the byte after it; only white space follows. */
  | { readonly kind: "whole"; readonly end: number }
  /** The bytes end before the value does; `at` is the first byte of the unfinished token, or the end. */
  | {
      readonly kind: "truncated";
      readonly at: Position;
      readonly where: CutPlace;
      readonly openDepth: number;
      readonly path: string;
    }
  /** One whole value, then other bytes; `end` is the byte after the value, `at` the first other byte. */
  | { readonly kind: "trailing"; readonly end: number; readonly at: Position }
  /** A byte that no JSON can have there. */
  | {
      readonly kind: "syntax";
      readonly at: Position;
      readonly found: number;
      readonly expected: string;
      readonly openDepth: number;
      readonly path: string;
    };

export type JsonNoteKind =
  | "invalid-utf8"
  | "lone-surrogate"
  | "nul-in-string"
  | "nonstandard-number"
  | "duplicate-key"
  | "trailing-comma"
  | "comment";

/** Something odd that did not stop the scan. */
export interface JsonNote {
  readonly kind: JsonNoteKind;
  readonly at: Position;
  readonly lengthBytes: number;
  readonly path: string;
  /** duplicate-key: where the same key stood first. */
  readonly firstByteOffset?: number;
}

/** A value found at a path that was asked for. */
export interface CapturedValue {
  /** Index of the pattern in the capture plan. */
  readonly pattern: number;
  readonly path: string;
  readonly kind: "object" | "array" | "string" | "number" | "true" | "false" | "null" | "other";
  readonly at: Position;
  /** Byte after the value. */
  readonly end: number;
  /** The bytes as written, as text; "too-long" above limits.capturedFieldBytesMax. */
  readonly raw: string | "too-long";
}

export interface JsonAnswer {
  readonly outcome: JsonOutcome;
  /** RFC 8259 to the letter: one whole value, valid UTF-8, no note that a strict parser would refuse. */
  readonly strict: boolean;
  readonly bytes: number;
  readonly root: RootKind;
  /** Deepest nesting met. */
  readonly depthMax: number;
  /** The first limits.scanNotesMax notes, in byte order of discovery. */
  readonly notes: readonly JsonNote[];
  readonly noteCounts: Readonly<Record<JsonNoteKind, number>>;
  readonly captured: readonly CapturedValue[];
}
