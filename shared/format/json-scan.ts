/**
 * Strict, total, position-keeping JSON scanner: takes bytes in chunks of any size, never throws, never
 * recurses, and says where and inside what the bytes stop being JSON. Deviations that leave the structure
 * readable (NaN, comments, a comma too many, invalid UTF-8 …) become notes and the scan goes on; `strict`
 * tells whether a parser that keeps to RFC 8259 would take the bytes.
 */
import type { CaptureNode } from "./capture-plan.js";
import type {
  CapturedValue,
  CutPlace,
  JsonAnswer,
  JsonNoteKind,
  JsonOutcome,
  RootKind,
} from "./json-answer.js";
import {
  AFTER,
  BLOCK_COMMENT,
  BLOCK_STAR,
  COLON,
  ESCAPE,
  HEX,
  type JsonScanOptions,
  KEY,
  KEY_OR_CLOSE,
  LINE_COMMENT,
  LITERAL,
  NUMBER,
  SLASH,
  STOPPED,
  STRING,
  VALUE,
  VALUE_OR_CLOSE,
} from "./json-scan-state.js";
import { JsonTokenScan } from "./json-token-scan.js";
import { literalFor, N_INT, N_MINUS, N_ZERO, numberMayEnd } from "./json-tokens.js";

export type { JsonScanOptions } from "./json-scan-state.js";

/** Notes that a parser keeping to RFC 8259 would refuse. */
const refusedByStrict: readonly JsonNoteKind[] = [
  "invalid-utf8",
  "nul-in-string",
  "nonstandard-number",
  "trailing-comma",
  "comment",
];

export class JsonScanner extends JsonTokenScan {
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

  protected override strayByte(byte: number, offset: number): void {
    this.structural(byte, offset);
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
