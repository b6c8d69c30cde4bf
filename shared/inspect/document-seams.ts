import { limits } from "../base/limits.js";
import { scanJson } from "../format/json-scan.js";

/** The byte after a value and its own line end (LF or CR LF). */
export function lineEndAfter(bytes: Uint8Array, end: number): number {
  if (bytes[end] === 0x0a) return end + 1;
  if (bytes[end] === 0x0d && bytes[end + 1] === 0x0a) return end + 2;
  return end;
}

/**
 * How many whole objects or arrays follow from here to the end of the file; 0 when anything else is there.
 * A bare word or number does not count: the tail of an older document can end like that.
 */
export function documentsInARow(bytes: Uint8Array, from: number): number {
  let at = from;
  for (let count = 1; count <= limits.documentsInARowMax; count++) {
    const scan = scanJson(bytes.subarray(at), { startOffset: at, trackDuplicates: false });
    if (scan.root !== "object" && scan.root !== "array") return 0;
    if (scan.outcome.kind === "whole") return count;
    if (scan.outcome.kind !== "trailing") return 0;
    at = scan.outcome.at.byteOffset;
  }
  return 0;
}

/**
 * Where a document begins behind other text: the first bracket from which the rest is one whole document
 * (or, at a line's start, one that is cut). Places tried are bounded.
 */
export function documentBehindText(
  bytes: Uint8Array,
  from: number,
  places: "anywhere" | "line-start",
): { readonly startsAt: number } | undefined {
  let cutAt: number | undefined;
  let at = from;
  for (let tried = 0; tried < limits.prefixCandidatesMax; at += 1) {
    while (at < bytes.length && bytes[at] !== 0x7b && bytes[at] !== 0x5b) at += 1;
    if (at >= bytes.length) break;
    const atLineStart = bytes[at - 1] === 0x0a;
    if (at === from || (places === "line-start" && !atLineStart)) continue;
    tried += 1;
    const scan = scanJson(bytes.subarray(at), { startOffset: at, trackDuplicates: false });
    if (scan.outcome.kind === "whole") return { startsAt: at };
    if (scan.outcome.kind === "truncated" && atLineStart && cutAt === undefined) cutAt = at;
  }
  return cutAt === undefined ? undefined : { startsAt: cutAt };
}

const ours = 0x3c; // <<<<<<<
const theirs = 0x3e; // >>>>>>>
const middle = 0x3d; // =======
const ancestor = 0x7c; // |||||||

/** Unresolved merge: lines that begin with seven marker characters, in the order a merge writes them. */
export function conflictMarkers(
  bytes: Uint8Array,
): { readonly offsets: readonly number[]; readonly sides: number } | undefined {
  const offsets: number[] = [];
  let open = false;
  let closed = false;
  let sides = 2;
  for (let lineStart = 0; lineStart >= 0 && lineStart < bytes.length; ) {
    const mark = markerAt(bytes, lineStart);
    if (mark === ours) open = true;
    if (mark === ancestor && open) sides = 3;
    if (mark === theirs && open) closed = true;
    if (mark !== undefined && open && offsets.length < limits.scanNotesMax) offsets.push(lineStart);
    const end = bytes.indexOf(0x0a, lineStart);
    lineStart = end < 0 ? -1 : end + 1;
  }
  return closed ? { offsets, sides } : undefined;
}

function markerAt(bytes: Uint8Array, at: number): number | undefined {
  const mark = bytes[at];
  if (mark !== ours && mark !== theirs && mark !== middle && mark !== ancestor) return undefined;
  for (let i = 1; i < 7; i++) if (bytes[at + i] !== mark) return undefined;
  const after = bytes[at + 7];
  const ended = after === undefined || after === 0x20 || after === 0x0a || after === 0x0d;
  return ended ? mark : undefined;
}
