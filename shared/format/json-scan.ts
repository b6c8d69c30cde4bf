/**
 * Strict, total, position-keeping JSON scanner: takes bytes in chunks of any size, never throws, never
 * recurses, and says where and inside what the bytes stop being JSON. Deviations that leave the structure
 * readable (NaN, comments, a comma too many, invalid UTF-8 …) become notes and the scan goes on; `strict`
 * tells whether a parser that keeps to RFC 8259 would take the bytes.
 */
import { limits } from "../base/limits.js";
import type { CaptureNode, CapturePlan } from "./capture-plan.js";
import { CaptureRun } from "./capture-run.js";
import type {
  CapturedValue,
  CutPlace,
  JsonAnswer,
  JsonNote,
  JsonNoteKind,
  JsonOutcome,
  Position,
  RootKind,
} from "./json-answer.js";
import { JsonLevels } from "./json-levels.js";
import {
  escapeLetters,
  hexDigit,
  literalFor,
  N_INT,
  N_MINUS,
  N_ZERO,
  numberMayEnd,
  numberStep,
} from "./json-tokens.js";
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

const VALUE = 0; // a value must come: at the top, after a colon, after a comma in an array
const VALUE_OR_CLOSE = 1; // after [
const KEY_OR_CLOSE = 2; // after {
const KEY = 3; // after a comma in an object
const COLON = 4;
const AFTER = 5; // after a value in a container
const END = 6; // after the root
const STRING = 7;
const ESCAPE = 8;
const HEX = 9;
const NUMBER = 10;
const LITERAL = 11;
const SLASH = 12;
const LINE_COMMENT = 13;
const BLOCK_COMMENT = 14;
const BLOCK_STAR = 15;
const STOPPED = 16;

const noCounts: Readonly<Record<JsonNoteKind, number>> = {
  "invalid-utf8": 0,
  "lone-surrogate": 0,
  "nul-in-string": 0,
  "nonstandard-number": 0,
  "duplicate-key": 0,
  "trailing-comma": 0,
  comment: 0,
};

/** Notes that a parser keeping to RFC 8259 would refuse. */
const refusedByStrict: readonly JsonNoteKind[] = [
  "invalid-utf8",
  "nul-in-string",
  "nonstandard-number",
  "trailing-comma",
  "comment",
];

export class JsonScanner {
  private readonly levels = new JsonLevels();
  private readonly key = new KeyBytes();
  private readonly utf8 = new Utf8Check();
  private readonly captures: CaptureRun | undefined;
  private readonly trackDuplicates: boolean;
  private state = VALUE;
  private offset = 0;
  private startOffset = 0;
  private line = 1;
  private lineStart = 0;
  private tokenAt: Position = { byteOffset: 0, line: 1, column: 1 };
  private inKey = false;
  private number = N_MINUS;
  private literal = "";
  private literalAt = 0;
  private hexLeft = 0;
  private hexValue = 0;
  /** Offset of an escape holding a high surrogate whose other half must follow at once, or -1. */
  private highAt = -1;
  private escapeAt = 0;
  private characterAt = 0;
  private commaAt: Position | undefined;
  private commentReturn = VALUE;
  private commentAt: Position = this.tokenAt;
  private root: RootKind = "none";
  private rootEnd = -1;
  private stopped: JsonOutcome | undefined;
  private notes: JsonNote[] = [];
  private counts: Record<JsonNoteKind, number> = { ...noCounts };

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

  /** Takes the next bytes. The chunk is not kept. */
  push(bytes: Uint8Array, from = 0, to = bytes.length): void {
    const base = this.offset - from;
    this.captures?.chunk(bytes, base, from);
    let i = from;
    while (i < to && this.state !== STOPPED) i = this.step(bytes, i, to, base);
    this.offset = base + to;
    this.captures?.endOfChunk(to);
  }

  private step(bytes: Uint8Array, i: number, to: number, base: number): number {
    switch (this.state) {
      case STRING:
        return this.inString(bytes, i, to, base);
      case ESCAPE:
        return this.inEscape(bytes, i, base);
      case HEX:
        return this.inHex(bytes, i, base);
      case NUMBER:
        return this.inNumber(bytes, i, to, base);
      case LITERAL:
        return this.inLiteral(bytes, i, base);
      case SLASH:
      case LINE_COMMENT:
      case BLOCK_COMMENT:
      case BLOCK_STAR:
        return this.inComment(bytes, i, base);
      default:
        return this.between(bytes, i, to, base);
    }
  }

  /** Between tokens: white space, then the one byte that the state asks for. */
  private between(bytes: Uint8Array, start: number, to: number, base: number): number {
    let i = start;
    while (i < to) {
      const space = bytes[i] as number;
      if (space === 0x0a) {
        this.line += 1;
        this.lineStart = base + i + 1;
      } else if (space !== 0x20 && space !== 0x0d && space !== 0x09) break;
      i += 1;
    }
    if (i >= to) return i;
    const byte = bytes[i] as number;
    if (byte === 0x2f) {
      this.commentReturn = this.state;
      this.commentAt = this.at(base + i);
      this.state = SLASH;
      return i + 1;
    }
    this.structural(byte, base + i);
    return i + 1;
  }

  private structural(byte: number, offset: number): void {
    switch (this.state) {
      case VALUE_OR_CLOSE:
        if (byte === 0x5d) this.closeContainer(offset);
        else this.beginValue(byte, offset);
        break;
      case VALUE:
        if (byte === 0x5d && this.commaAt !== undefined) this.closeAfterComma(offset);
        else this.beginValue(byte, offset);
        break;
      case KEY_OR_CLOSE:
        if (byte === 0x22) this.beginString(offset, true);
        else if (byte === 0x7d) this.closeContainer(offset);
        else this.stop(byte, offset, "a key or }", false);
        break;
      case KEY:
        if (byte === 0x22) this.beginString(offset, true);
        else if (byte === 0x7d) this.closeAfterComma(offset);
        else this.stop(byte, offset, "a key", false);
        break;
      case COLON:
        if (byte !== 0x3a) this.stop(byte, offset, "a colon", true);
        else {
          this.commaAt = undefined;
          this.state = VALUE;
        }
        break;
      case AFTER:
        this.afterValue(byte, offset);
        break;
      default: // END
        this.stopped = { kind: "trailing", end: this.rootEnd, at: this.at(offset) };
        this.state = STOPPED;
    }
  }

  private closeAfterComma(offset: number): void {
    const comma = this.commaAt;
    if (comma !== undefined) this.note("trailing-comma", comma, 1, this.levels.path(false));
    this.closeContainer(offset);
  }

  private afterValue(byte: number, offset: number): void {
    const isObject = this.levels.topIsObject();
    if (byte === 0x2c) {
      this.commaAt = this.at(offset);
      if (!isObject) this.levels.nextElement();
      this.state = isObject ? KEY : VALUE;
    } else if (byte === (isObject ? 0x7d : 0x5d)) {
      this.closeContainer(offset);
    } else {
      this.stop(byte, offset, isObject ? "a comma or }" : "a comma or ]", false);
    }
  }

  private beginValue(byte: number, offset: number): void {
    if (byte === 0x22) this.beginString(offset, false);
    else if (byte === 0x7b || byte === 0x5b) this.openContainer(byte === 0x7b, offset);
    else if (byte === 0x2d || (byte >= 0x30 && byte <= 0x39)) {
      this.beginToken(offset, "number", "number");
      this.number = byte === 0x2d ? N_MINUS : byte === 0x30 ? N_ZERO : N_INT;
      this.state = NUMBER;
    } else this.beginLiteral(byte, offset);
  }

  private beginLiteral(byte: number, offset: number): void {
    const literal = literalFor(byte);
    if (literal === undefined) {
      this.stop(byte, offset, "a value", true);
      return;
    }
    this.beginToken(offset, "literal", literal.kind);
    this.literal = literal.word;
    this.literalAt = 1;
    this.state = LITERAL;
  }

  private beginToken(
    offset: number,
    root: RootKind,
    kind: CapturedValue["kind"],
  ): CaptureNode | undefined {
    this.tokenAt = this.at(offset);
    if (this.levels.depth === 0) this.root = root;
    return this.captures?.begin(this.levels, this.tokenAt, kind);
  }

  private beginString(offset: number, inKey: boolean): void {
    this.inKey = inKey;
    this.highAt = -1;
    if (inKey) {
      this.tokenAt = this.at(offset);
      this.key.start();
    } else {
      this.beginToken(offset, "string", "string");
    }
    this.state = STRING;
  }

  private openContainer(isObject: boolean, offset: number): void {
    const kind = isObject ? "object" : "array";
    const node = this.beginToken(offset, kind, kind);
    this.levels.open(isObject, node);
    this.commaAt = undefined;
    this.state = isObject ? KEY_OR_CLOSE : VALUE_OR_CLOSE;
  }

  private closeContainer(offset: number): void {
    this.levels.close();
    this.endValue(offset + 1);
  }

  private endValue(end: number): void {
    this.captures?.end(this.levels.depth, end);
    if (this.levels.depth === 0) {
      this.rootEnd = end;
      this.state = END;
    } else {
      this.state = AFTER;
    }
  }

  private inString(bytes: Uint8Array, start: number, to: number, base: number): number {
    let i = start;
    if (this.utf8.missing > 0) return this.inCharacter(bytes, start, base);
    if (this.highAt >= 0 && bytes[i] !== 0x5c) this.lonely();
    while (i < to) {
      const byte = bytes[i] as number;
      if (byte === 0x22 || byte === 0x5c || byte < 0x20 || byte >= 0x80) break;
      i += 1;
    }
    if (this.inKey && i > start) this.key.add(bytes, start, i);
    if (i >= to) return i;
    const byte = bytes[i] as number;
    if (byte === 0x22) {
      this.endString(base + i);
      return i + 1;
    }
    if (byte === 0x5c) {
      if (this.inKey) this.key.add(bytes, i, i + 1);
      this.escapeAt = base + i;
      this.state = ESCAPE;
      return i + 1;
    }
    if (byte === 0) return this.nulInString(bytes, i, to, base);
    if (byte < 0x20) {
      this.stop(byte, base + i, "no raw control character in a string", true);
      return i;
    }
    this.characterAt = base + i;
    if (!this.utf8.lead(byte)) this.note("invalid-utf8", this.at(base + i), 1, this.tokenPath());
    if (this.inKey) this.key.add(bytes, i, i + 1);
    return i + 1;
  }

  private nulInString(bytes: Uint8Array, start: number, to: number, base: number): number {
    let i = start;
    while (i < to && bytes[i] === 0) i += 1;
    for (let nul = start; nul < i; nul++) {
      if (this.counts["nul-in-string"] < limits.scanNotesMax)
        this.note("nul-in-string", this.at(base + nul), 1, this.tokenPath());
      else this.counts["nul-in-string"] += 1;
    }
    return i;
  }

  private inCharacter(bytes: Uint8Array, i: number, base: number): number {
    if (this.utf8.next(bytes[i] as number)) {
      if (this.inKey) this.key.add(bytes, i, i + 1);
      return i + 1;
    }
    const lengthBytes = base + i - this.characterAt;
    this.note("invalid-utf8", this.at(this.characterAt), lengthBytes, this.tokenPath());
    return i;
  }

  private inEscape(bytes: Uint8Array, i: number, base: number): number {
    const byte = bytes[i] as number;
    if (byte === 0x75) {
      this.hexLeft = 4;
      this.hexValue = 0;
      this.state = HEX;
    } else {
      if (this.highAt >= 0) this.lonely();
      if (!escapeLetters.has(byte)) {
        this.stop(byte, base + i, "an escape that JSON has", true);
        return i;
      }
      this.state = STRING;
    }
    if (this.inKey) this.key.add(bytes, i, i + 1);
    return i + 1;
  }

  private inHex(bytes: Uint8Array, i: number, base: number): number {
    const byte = bytes[i] as number;
    const digit = hexDigit(byte);
    if (digit < 0) {
      this.stop(byte, base + i, "a hexadecimal digit", true);
      return i;
    }
    if (this.inKey) this.key.add(bytes, i, i + 1);
    this.hexValue = this.hexValue * 16 + digit;
    this.hexLeft -= 1;
    if (this.hexLeft === 0) {
      this.endUnicodeEscape();
      this.state = STRING;
    }
    return i + 1;
  }

  private endUnicodeEscape(): void {
    const isHigh = this.hexValue >= 0xd800 && this.hexValue <= 0xdbff;
    const isLow = this.hexValue >= 0xdc00 && this.hexValue <= 0xdfff;
    if (isLow && this.highAt >= 0) {
      this.highAt = -1;
      return;
    }
    if (this.highAt >= 0) this.lonely();
    if (isLow) this.note("lone-surrogate", this.at(this.escapeAt), 6, this.tokenPath());
    if (isHigh) this.highAt = this.escapeAt;
  }

  private lonely(): void {
    this.note("lone-surrogate", this.at(this.highAt), 6, this.tokenPath());
    this.highAt = -1;
  }

  private endString(offset: number): void {
    if (this.highAt >= 0) this.lonely();
    if (this.inKey) this.endKey(offset);
    else this.endValue(offset + 1);
  }

  private endKey(offset: number): void {
    const comparable = this.trackDuplicates && !this.key.cut;
    const before = this.levels.enterKey(this.key.text(), this.tokenAt.byteOffset, comparable);
    if (before >= 0) {
      const length = offset + 1 - this.tokenAt.byteOffset;
      this.note("duplicate-key", this.tokenAt, length, this.levels.path(true), before);
    }
    this.state = COLON;
  }

  private inNumber(bytes: Uint8Array, start: number, to: number, base: number): number {
    let i = start;
    while (i < to) {
      const byte = bytes[i] as number;
      const next = numberStep(this.number, byte);
      if (next < 0) return this.endNumber(byte, i, base);
      this.number = next;
      i += 1;
    }
    return i;
  }

  private endNumber(byte: number, i: number, base: number): number {
    if (this.number === N_MINUS && byte === 0x49) {
      this.literal = "Infinity";
      this.literalAt = 0;
      this.state = LITERAL;
      return i;
    }
    if (!numberMayEnd(this.number) || (this.number === N_ZERO && byte >= 0x30 && byte <= 0x39)) {
      this.stop(byte, base + i, "a digit", true);
      return i;
    }
    this.endValue(base + i);
    return i;
  }

  private inLiteral(bytes: Uint8Array, i: number, base: number): number {
    const byte = bytes[i] as number;
    const nonstandard = this.literal === "NaN" || this.literal === "Infinity";
    if (byte !== this.literal.charCodeAt(this.literalAt)) {
      const first = this.literal.charCodeAt(0);
      if (nonstandard) this.stop(first, this.tokenAt.byteOffset, "a value", true);
      else this.stop(byte, base + i, `the word ${this.literal}`, true);
      return i;
    }
    this.literalAt += 1;
    if (this.literalAt === this.literal.length) {
      const length = base + i + 1 - this.tokenAt.byteOffset;
      if (nonstandard) this.note("nonstandard-number", this.tokenAt, length, this.tokenPath());
      this.endValue(base + i + 1);
    }
    return i + 1;
  }

  private inComment(bytes: Uint8Array, i: number, base: number): number {
    const byte = bytes[i] as number;
    if (byte === 0x0a) {
      this.line += 1;
      this.lineStart = base + i + 1;
    }
    if (this.state === SLASH) {
      if (byte === 0x2f || byte === 0x2a) {
        this.note("comment", this.commentAt, 2, this.levels.path(false));
        this.state = byte === 0x2f ? LINE_COMMENT : BLOCK_COMMENT;
        return i + 1;
      }
      this.state = this.commentReturn;
      this.structural(0x2f, this.commentAt.byteOffset);
      return i;
    }
    if (this.state === LINE_COMMENT) {
      if (byte === 0x0a) this.state = this.commentReturn;
    } else if (this.state === BLOCK_STAR && byte === 0x2f) {
      this.state = this.commentReturn;
    } else {
      this.state = byte === 0x2a ? BLOCK_STAR : BLOCK_COMMENT;
    }
    return i + 1;
  }

  private at(byteOffset: number): Position {
    return { byteOffset, line: this.line, column: byteOffset - this.lineStart + 1 };
  }

  private tokenPath(): string {
    return this.levels.path(!this.inKey || this.state !== STRING);
  }

  private stop(found: number, offset: number, expected: string, inValue: boolean): void {
    const path = this.levels.path(inValue && !(this.inKey && this.state === STRING));
    const openDepth = this.levels.depth;
    this.stopped = { kind: "syntax", at: this.at(offset), found, expected, openDepth, path };
    this.state = STOPPED;
  }

  private note(
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

  /** The answer for the bytes so far; more may be pushed afterwards. */
  finish(): JsonAnswer {
    const outcome = this.outcome();
    const whole = outcome.kind === "whole";
    return {
      outcome,
      strict: whole && refusedByStrict.every((kind) => this.counts[kind] === 0),
      bytes: this.offset - this.startOffset,
      root: this.root,
      depthMax: this.levels.depthMax,
      notes: this.notes,
      noteCounts: this.counts,
      captured: this.captures?.finished(this.numberAtEnd() ? this.offset : -1) ?? [],
    };
  }

  private numberAtEnd(): boolean {
    return this.state === NUMBER && this.levels.depth === 0 && numberMayEnd(this.number);
  }

  private outcome(): JsonOutcome {
    if (this.stopped !== undefined) return this.stopped;
    if (this.offset === this.startOffset) return { kind: "empty" };
    if (this.rootEnd >= 0) {
      const slash =
        this.state === SLASH || this.state === BLOCK_COMMENT || this.state === BLOCK_STAR;
      if (slash) return { kind: "trailing", end: this.rootEnd, at: this.commentAt };
      return { kind: "whole", end: this.rootEnd };
    }
    if (this.root === "none") return { kind: "blank" };
    if (this.numberAtEnd()) return { kind: "whole", end: this.offset };
    return this.truncated();
  }

  private truncated(): JsonOutcome {
    const inToken = this.state >= STRING && this.state <= LITERAL;
    const state = this.state >= SLASH ? this.commentReturn : this.state;
    const where = this.cutPlace(state);
    const inContainer =
      where === "after comma" || where === "after value" || where === "after open bracket";
    const path = this.levels.path(
      !(inContainer || (inToken && this.inKey && state !== NUMBER && state !== LITERAL)),
    );
    const at = inToken ? this.tokenAt : this.at(this.offset);
    return { kind: "truncated", at, where, openDepth: this.levels.depth, path };
  }

  private cutPlace(state: number): CutPlace {
    switch (state) {
      case STRING:
        if (this.utf8.missing > 0) return "inside character";
        return this.inKey ? "inside key" : "inside string";
      case ESCAPE:
      case HEX:
        return "inside escape";
      case NUMBER:
        return "inside number";
      case LITERAL:
        return "inside literal";
      case COLON:
        return "after key";
      case VALUE:
        return this.commaAt === undefined ? "after colon" : "after comma";
      case KEY:
        return "after comma";
      case AFTER:
        return "after value";
      default:
        return "after open bracket";
    }
  }
}

/** Scans bytes that are all there. */
export function scanJson(bytes: Uint8Array, options: JsonScanOptions = {}): JsonAnswer {
  const scanner = new JsonScanner(options);
  scanner.push(bytes);
  return scanner.finish();
}
