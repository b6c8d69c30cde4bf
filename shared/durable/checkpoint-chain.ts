/**
 * The chain of a log: each record holds the digest of the line before it. It proves that what stands in the log is what
 * was written there, in that order; that the end was not taken off, it cannot prove: compare `lastDigest` with one
 * that was noted down elsewhere.
 */
import { readLogLine } from "../format/log-record.js";
import type { Key, ObjectStore } from "../storage/object-store.js";
import { linesOf } from "./checkpoint-read.js";

export interface ChainReading {
  /** Records whose `prev` is that of the line before them, from the first line on. */
  readonly linkedCount: number;
  /** The first record that is not linked to the line before it: one of the two was changed, or one between them is gone. */
  readonly broken?: { readonly line: number; readonly byteOffset: number; readonly reason: string };
  /** What the next record must hold: the digest of the last whole line, "" for an empty log. */
  readonly lastDigest: string;
}

/** Looks at every line of a chained log. Errors: what the store refuses. */
export async function checkChain(
  store: ObjectStore,
  log: Key,
  sha256: (bytes: Uint8Array) => string,
): Promise<ChainReading> {
  let linkedCount = 0;
  let broken: ChainReading["broken"];
  let lastDigest = "";
  for await (const { line, byteOffset, bytes, isEnded } of linesOf(store.readLog(log))) {
    if (!isEnded) break;
    const reason =
      bytes === "too-long" ? "it is too long to be checked" : unlinked(bytes, lastDigest);
    if (reason === undefined) linkedCount += broken === undefined ? 1 : 0;
    else broken ??= { line, byteOffset, reason };
    // The next record is linked to this line as it stands, whatever it is: one break is told once.
    lastDigest = bytes === "too-long" ? "" : sha256(bytes);
  }
  return broken === undefined ? { linkedCount, lastDigest } : { linkedCount, broken, lastDigest };
}

function unlinked(bytes: Uint8Array, digestBefore: string): string | undefined {
  const reading = readLogLine(bytes);
  if (reading.kind !== "record") return "it is no record";
  const { prev } = reading.record;
  if (prev === digestBefore) return undefined;
  return prev === undefined
    ? "it is not linked to anything"
    : "it is linked to another line than the one before it";
}
