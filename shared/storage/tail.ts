/** What the end of a log asks for before anything may be appended to it. */
export type TailState =
  /** Empty, or ends with `\n`. */
  | { readonly kind: "ended" }
  /**
   * The last line is a whole record that lacks its `\n`. `debris` are the NULs behind it, if any: a power loss can
   * keep the new size of a file and lose the byte that was written there, the very `\n` for example.
   */
  | {
      readonly kind: "line-end-missing";
      readonly record: Uint8Array;
      readonly endByte: number;
      readonly debris: Uint8Array;
    }
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
  const recordBytes = lastLine.findLastIndex((byte) => byte !== 0) + 1;
  const record = lastLine.subarray(0, recordBytes);
  if (recordBytes > 0 && isWholeRecord(record)) {
    const debris = lastLine.subarray(recordBytes);
    return { kind: "line-end-missing", record, endByte: sizeBytes - debris.length, debris };
  }
  return { kind: "cut", fromByte: sizeBytes - lastLine.length, bytes: lastLine };
}

/** The bytes after the last `\n`; all of them when there is none. */
export function lastLineOf(bytes: Uint8Array): Uint8Array {
  return bytes.subarray(bytes.lastIndexOf(lineEnd) + 1);
}

export const lineEnd = 0x0a;
