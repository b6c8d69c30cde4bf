/** What a scan has to remember between two bytes; the states it can be in. */
import { limits } from "../base/limits.js";
import type { CapturePlan } from "./capture-plan.js";
import { CaptureRun } from "./capture-run.js";
import type { JsonNote, JsonNoteKind, JsonOutcome, Position, RootKind } from "./json-answer.js";
import { JsonLevels } from "./json-levels.js";
import { N_MINUS } from "./json-tokens.js";
import { KeyBytes } from "./key-bytes.js";
import { Utf8Check } from "./utf8-check.js";

export interface JsonScanOptions {
  /** Values to keep; see capturePlan. */
  readonly capture?: CapturePlan;
  /** Position of the first byte in the stored file. */
  readonly startOffset?: number;
  readonly startLine?: number;
  /** Where the first line begins, when that is before the first byte (behind a byte order mark). */
  readonly lineStart?: number;
  /** Look for keys that stand twice in one object (default true). */
  readonly trackDuplicates?: boolean;
}

export const VALUE = 0; // a value must come: at the top, after a colon, after a comma in an array
export const VALUE_OR_CLOSE = 1; // after [
export const KEY_OR_CLOSE = 2; // after {
export const KEY = 3; // after a comma in an object
export const COLON = 4;
export const AFTER = 5; // after a value in a container
export const END = 6; // after the root
export const STRING = 7;
export const ESCAPE = 8;
export const HEX = 9;
export const NUMBER = 10;
export const LITERAL = 11;
export const SLASH = 12;
export const LINE_COMMENT = 13;
export const BLOCK_COMMENT = 14;
export const BLOCK_STAR = 15;
export const STOPPED = 16;

export const noCounts: Readonly<Record<JsonNoteKind, number>> = {
  "invalid-utf8": 0,
  "lone-surrogate": 0,
  "nul-in-string": 0,
  "nonstandard-number": 0,
  "duplicate-key": 0,
  "trailing-comma": 0,
  comment: 0,
};

export class JsonScanState {
  protected readonly levels = new JsonLevels();
  protected readonly key = new KeyBytes();
  protected readonly utf8 = new Utf8Check();
  protected readonly captures: CaptureRun | undefined;
  protected readonly trackDuplicates: boolean;
  protected state = VALUE;
  protected offset = 0;
  protected startOffset = 0;
  protected line = 1;
  protected lineStart = 0;
  protected tokenAt: Position = { byteOffset: 0, line: 1, column: 1 };
  protected inKey = false;
  protected number = N_MINUS;
  protected literal = "";
  protected literalAt = 0;
  protected hexLeft = 0;
  protected hexValue = 0;
  /** Offset of an escape holding a high surrogate whose other half must follow at once, or -1. */
  protected highAt = -1;
  protected escapeAt = 0;
  protected characterAt = 0;
  protected commaAt: Position | undefined;
  protected commentReturn = VALUE;
  protected commentAt: Position = this.tokenAt;
  protected root: RootKind = "none";
  protected rootEnd = -1;
  protected stopped: JsonOutcome | undefined;
  protected notes: JsonNote[] = [];
  protected counts: Record<JsonNoteKind, number> = { ...noCounts };

  constructor(options: JsonScanOptions = {}) {
    this.captures = options.capture === undefined ? undefined : new CaptureRun(options.capture);
    this.trackDuplicates = options.trackDuplicates ?? true;
    this.reset(options.startOffset ?? 0, options.startLine ?? 1);
    if (options.lineStart !== undefined) this.lineStart = options.lineStart;
  }

  /** Ready for another text that begins at this place of the file. */
  reset(startOffset: number, line: number): void {
    this.levels.clear();
    this.utf8.clear();
    this.captures?.clear();
    this.state = VALUE;
    this.offset = startOffset;
    this.startOffset = startOffset;
    this.line = line;
    this.lineStart = startOffset;
    this.highAt = -1;
    this.commaAt = undefined;
    this.root = "none";
    this.rootEnd = -1;
    this.stopped = undefined;
    if (this.notes.length > 0) {
      this.notes = [];
      this.counts = { ...noCounts };
    }
  }

  /** A byte between tokens that begins none; what it means depends on what was expected. */
  protected strayByte(byte: number, offset: number): void {
    this.stop(byte, offset, "a token", false);
  }

  protected at(byteOffset: number): Position {
    return { byteOffset, line: this.line, column: byteOffset - this.lineStart + 1 };
  }

  protected tokenPath(): string {
    return this.levels.path(!this.inKey || this.state !== STRING);
  }

  protected stop(found: number, offset: number, expected: string, inValue: boolean): void {
    const path = this.levels.path(inValue && !(this.inKey && this.state === STRING));
    const openDepth = this.levels.depth;
    this.stopped = { kind: "syntax", at: this.at(offset), found, expected, openDepth, path };
    this.state = STOPPED;
  }

  protected note(
    kind: JsonNoteKind,
    at: Position,
    lengthBytes: number,
    path: string,
    firstByteOffset?: number,
  ): void {
    this.counts[kind] += 1;
    if (this.notes.length >= limits.scanNotesMax) return;
    const first = firstByteOffset === undefined ? {} : { firstByteOffset };
    this.notes.push({ kind, at, lengthBytes, path, ...first });
  }

  protected endValue(end: number): void {
    this.captures?.end(this.levels.depth, end);
    if (this.levels.depth === 0) {
      this.rootEnd = end;
      this.state = END;
    } else {
      this.state = AFTER;
    }
  }
}
