/** Where two byte strings part, and where they meet again from the end. */

export interface ByteDiff {
  readonly beforeBytes: number;
  readonly afterBytes: number;
  /** First byte that differs; undefined when both are the same. */
  readonly firstDifference: number | undefined;
  /** Bytes that both end with, behind the difference. */
  readonly commonEndBytes: number;
}

export function byteDiff(before: Uint8Array, after: Uint8Array): ByteDiff {
  const shorter = Math.min(before.length, after.length);
  let from = 0;
  while (from < shorter && before[from] === after[from]) from += 1;
  const lengths = { beforeBytes: before.length, afterBytes: after.length };
  if (from === before.length && from === after.length)
    return { ...lengths, firstDifference: undefined, commonEndBytes: 0 };
  let end = 0;
  while (end < shorter - from && before[before.length - 1 - end] === after[after.length - 1 - end])
    end += 1;
  return { ...lengths, firstDifference: from, commonEndBytes: end };
}

const rowBytes = 16;

/** Rows as `hexdump -C` shows them, around a byte. */
export function hexRows(
  bytes: Uint8Array,
  aroundByte: number,
  rowsCount: number,
): readonly string[] {
  const first = Math.max(0, Math.floor(aroundByte / rowBytes) - 1) * rowBytes;
  const rows: string[] = [];
  for (let at = first; at < bytes.length && rows.length < rowsCount; at += rowBytes) {
    const row = [...bytes.subarray(at, at + rowBytes)];
    const hex = row.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const text = row
      .map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "."))
      .join("");
    rows.push(`${String(at).padStart(9)}  ${hex.padEnd(rowBytes * 3 - 1)}  ${text}`);
  }
  return rows;
}
