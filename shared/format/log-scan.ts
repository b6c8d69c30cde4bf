/**
 * Streaming scanner of JSON Lines: bytes in chunks of any size, one call of the sink per line. Only byte 0x0A
 * ends a line; lines of white space are blank; CR before the line end is white space. Memory is bounded: NUL
 * runs cost nothing, and of a line longer than limits.logLineBytesHeldMax only its fields are kept.
 */
import { concatBytes } from "../base/bytes.js";
import { limits } from "../base/limits.js";
import type { CapturePlan } from "./capture-plan.js";
import type { JsonAnswer } from "./json-answer.js";
import { JsonScanner } from "./json-scan.js";

/** One line as it stands in the file. */
export interface ScannedLine {
  readonly line: number;
  /** First byte of the line. */
  readonly byteOffset: number;
  /** Byte after its last one, the line end left out. */
  readonly end: number;
  /** NUL bytes the line begins with. */
  readonly nulBefore: number;
  /** False for the last line of a file that does not end with a line end. */
  readonly ended: boolean;
  /** The bytes behind the leading NUL bytes; "too-long" above the limit. Valid only during the call. */
  readonly content: Uint8Array | "too-long";
  /** Scan of those bytes. */
  readonly answer: JsonAnswer;
}

export type LineSink = (line: ScannedLine) => void;

export class LogScanner {
  private readonly scanner: JsonScanner;
  private readonly sink: LineSink;
  private offset = 0;
  private line = 1;
  private lineStart = 0;
  private nulBefore = 0;
  /** Parts of the line that ended no chunk yet. */
  private held: Uint8Array[] = [];
  private heldBytes = 0;
  private isLong = false;

  constructor(sink: LineSink, capture: CapturePlan) {
    this.sink = sink;
    this.scanner = new JsonScanner({ capture });
  }

  push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.heldBytes === 0 && !this.isLong) {
        const first = at;
        while (at < chunk.length && chunk[at] === 0) at += 1;
        this.nulBefore += at - first;
        if (at >= chunk.length) break;
      }
      const end = chunk.indexOf(0x0a, at);
      if (end < 0) {
        this.hold(chunk.subarray(at));
        at = chunk.length;
      } else {
        this.endLine(chunk.subarray(at, end), this.offset + end, true);
        at = end + 1;
        this.line += 1;
        this.lineStart = this.offset + at;
      }
    }
    this.offset += chunk.length;
  }

  /** Tells the last line, if the file does not end with a line end. */
  finish(): void {
    const open = this.offset > this.lineStart;
    if (open) this.endLine(new Uint8Array(0), this.offset, false);
  }

  private hold(part: Uint8Array): void {
    if (this.isLong) {
      this.scanner.push(part);
      return;
    }
    this.held.push(part.slice());
    this.heldBytes += part.length;
    if (this.heldBytes > limits.logLineBytesHeldMax) this.beginLong();
  }

  /** From here on the line is only scanned, not held. */
  private beginLong(): void {
    this.isLong = true;
    this.scanner.reset(this.lineStart + this.nulBefore, this.line);
    for (const part of this.held) this.scanner.push(part);
    this.held = [];
  }

  private endLine(last: Uint8Array, end: number, ended: boolean): void {
    let content: Uint8Array | "too-long" = "too-long";
    // Counted with its last part, so that the size of the chunks does not decide what is too long.
    if (!this.isLong && this.heldBytes + last.length > limits.logLineBytesHeldMax) this.beginLong();
    if (!this.isLong) {
      content = this.held.length === 0 ? last : concatBytes([...this.held, last]);
      this.scanner.reset(this.lineStart + this.nulBefore, this.line);
      this.scanner.push(content);
    } else {
      this.scanner.push(last);
    }
    const { line, lineStart: byteOffset, nulBefore } = this;
    this.held = [];
    this.heldBytes = 0;
    this.isLong = false;
    this.nulBefore = 0;
    this.sink({ line, byteOffset, end, nulBefore, ended, content, answer: this.scanner.finish() });
  }
}
