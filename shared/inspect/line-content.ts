import type { CapturedValue } from "../format/json-answer.js";
import type { LineVerdict } from "./log-damage.js";

/**
 * A sum of the record's bytes with its sequence number left out: two records with equal sums say the same, even
 * when a confused writer gave them two numbers. Two 32-bit sums, so that chance equality stays out of reach.
 */
export function lineContent(verdict: LineVerdict, seq: CapturedValue | undefined): string {
  if (verdict.content === undefined) return verdict.contentSum ?? `long.${verdict.line}`;
  return sumOf(verdict.content, verdict.byteOffset, seq);
}

export function sumOf(
  bytes: Uint8Array,
  byteOffset: number,
  seq: CapturedValue | undefined,
): string {
  const skipFrom = seq === undefined ? -1 : seq.at.byteOffset - byteOffset;
  const skipTo = seq === undefined ? -1 : seq.end - byteOffset;
  let a = 0x811c9dc5;
  let b = 0x9e3779b9;
  for (let i = 0; i < bytes.length; i++) {
    if (i >= skipFrom && i < skipTo) continue;
    const byte = bytes[i] ?? 0;
    if (byte === 0x0d) continue;
    a = Math.imul(a ^ byte, 0x01000193);
    b = (Math.imul(b, 31) + byte) | 0;
  }
  return `${(a >>> 0).toString(36)}.${(b >>> 0).toString(36)}`;
}
