/** Small questions about one line of a log. */
import type { CapturePlan } from "../format/capture-plan.js";
import type { Position } from "../format/json-answer.js";
import type { ScannedLine } from "../format/log-scan.js";

/** A cut record whose line goes on with a whole one. */
export interface CutRecord {
  readonly line: number;
  readonly byteOffset: number;
  readonly cut: Uint8Array;
  /** Where the whole record begins: the place of the finding about it. */
  readonly at: Position;
}

export function emptyPlanRoot(): CapturePlan["root"] {
  return { keys: new Map(), indexes: new Map(), each: undefined, patterns: [] };
}

export function seamAt(line: ScannedLine, from: number, seam: number): Position {
  const byteOffset = from + seam;
  return { byteOffset, line: line.line, column: byteOffset - line.byteOffset + 1 };
}

export function isBlank(content: Uint8Array): boolean {
  return content.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}
