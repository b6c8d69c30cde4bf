/** The tokens of JSON, a byte or a run of bytes at a time: strings, numbers, words, comments. */
import { limits } from "../base/limits.js";
import {
  BLOCK_COMMENT,
  BLOCK_STAR,
  COLON,
  ESCAPE,
  HEX,
  JsonScanState,
  LINE_COMMENT,
  LITERAL,
  SLASH,
  STRING,
} from "./json-scan-state.js";
import {
  escapeLetters,
  hexDigit,
  N_MINUS,
  N_ZERO,
  numberMayEnd,
  numberStep,
} from "./json-tokens.js";

export class JsonTokenScan extends JsonScanState {
  protected inString(bytes: Uint8Array, start: number, to: number, base: number): number {
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

  protected nulInString(bytes: Uint8Array, start: number, to: number, base: number): number {
    let i = start;
    while (i < to && bytes[i] === 0) i += 1;
    for (let nul = start; nul < i; nul++) {
      if (this.counts["nul-in-string"] < limits.scanNotesMax)
        this.note("nul-in-string", this.at(base + nul), 1, this.tokenPath());
      else this.counts["nul-in-string"] += 1;
    }
    return i;
  }

  protected inCharacter(bytes: Uint8Array, i: number, base: number): number {
    if (this.utf8.next(bytes[i] as number)) {
      if (this.inKey) this.key.add(bytes, i, i + 1);
      return i + 1;
    }
    const lengthBytes = base + i - this.characterAt;
    this.note("invalid-utf8", this.at(this.characterAt), lengthBytes, this.tokenPath());
    return i;
  }

  protected inEscape(bytes: Uint8Array, i: number, base: number): number {
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

  protected inHex(bytes: Uint8Array, i: number, base: number): number {
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

  protected endUnicodeEscape(): void {
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

  protected lonely(): void {
    this.note("lone-surrogate", this.at(this.highAt), 6, this.tokenPath());
    this.highAt = -1;
  }

  protected endString(offset: number): void {
    if (this.highAt >= 0) this.lonely();
    if (this.inKey) this.endKey(offset);
    else this.endValue(offset + 1);
  }

  protected endKey(offset: number): void {
    const comparable = this.trackDuplicates && !this.key.cut;
    const before = this.levels.enterKey(this.key.text(), this.tokenAt.byteOffset, comparable);
    if (before >= 0) {
      const length = offset + 1 - this.tokenAt.byteOffset;
      this.note("duplicate-key", this.tokenAt, length, this.levels.path(true), before);
    }
    this.state = COLON;
  }

  protected inNumber(bytes: Uint8Array, start: number, to: number, base: number): number {
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

  protected endNumber(byte: number, i: number, base: number): number {
    if (this.number === N_MINUS && byte === 0x49) {
      this.literal = "Infinity";
      this.literalAt = 0;
      this.state = LITERAL;
      return i;
    }
    if (!numberMayEnd(this.number) || (this.number === N_ZERO && byte >= 0x30 && byte <= 0x39)) {
      this.stop(
        byte,
        base + i,
        this.number === N_ZERO ? "no digit behind a leading zero" : "a digit",
        true,
      );
      return i;
    }
    this.endValue(base + i);
    return i;
  }

  protected inLiteral(bytes: Uint8Array, i: number, base: number): number {
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

  protected inComment(bytes: Uint8Array, i: number, base: number): number {
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
      this.strayByte(0x2f, this.commentAt.byteOffset);
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
}
