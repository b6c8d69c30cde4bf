/** What the end of a log asks for before anything may be appended to it. */
export type TailState =
  /** Empty, or ends with `\n`. */
  | { readonly kind: "ended" }
  /** The last line is a whole record that only lacks its `\n`. */
  | { readonly kind: "line-end-missing" }
  /** The last line is cut; `bytes` begin right after the last `\n`. */
  | { readonly kind: "cut"; readonly fromByte: number; readonly bytes: Uint8Array };

/**
 * Judges the bytes after the last `\n` of a log of `sizeBytes` bytes.
 *
 * A record that lacks only its `\n` is kept, because nothing of it is lost; everything else after the last
 * `\n` is no record, and the next one must not be glued to it.
 */
export function judgeTail(
  lastLine: Uint8Array,
  sizeBytes: number,
  isWholeRecord: (line: Uint8Array) => boolean,
): TailState {
  if (lastLine.length === 0) return { kind: "ended" };
  if (isWholeRecord(lastLine)) return { kind: "line-end-missing" };
  return { kind: "cut", fromByte: sizeBytes - lastLine.length, bytes: lastLine };
}

/** The bytes after the last `\n`; all of them when there is none. */
export function lastLineOf(bytes: Uint8Array): Uint8Array {
  return bytes.subarray(bytes.lastIndexOf(lineEnd) + 1);
}

export const lineEnd = 0x0a;
