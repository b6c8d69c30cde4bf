/**
 * Checks UTF-8 byte by byte (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF), so that a
 * character cut by the end of a chunk or of the file is told from a wrong one.
 */
export class Utf8Check {
  /** Continuation bytes still missing; above 0 means inside a character. */
  missing = 0;
  private low = 0x80;
  private high = 0xbf;

  clear(): void {
    this.missing = 0;
  }

  /** Takes a byte that begins a character (0x80 and above). False: no character begins with it. */
  lead(byte: number): boolean {
    this.low = 0x80;
    this.high = 0xbf;
    if (byte >= 0xc2 && byte <= 0xdf) this.missing = 1;
    else if (byte >= 0xe0 && byte <= 0xef) {
      this.missing = 2;
      if (byte === 0xe0) this.low = 0xa0;
      if (byte === 0xed) this.high = 0x9f;
    } else if (byte >= 0xf0 && byte <= 0xf4) {
      this.missing = 3;
      if (byte === 0xf0) this.low = 0x90;
      if (byte === 0xf4) this.high = 0x8f;
    } else return false;
    return true;
  }

  /** Takes a byte inside a character. False: it does not continue it, and was not taken. */
  next(byte: number): boolean {
    if (byte < this.low || byte > this.high) {
      this.missing = 0;
      return false;
    }
    this.low = 0x80;
    this.high = 0xbf;
    this.missing -= 1;
    return true;
  }
}
