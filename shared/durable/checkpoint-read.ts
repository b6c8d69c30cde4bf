/** Reading a checkpoint log from its first line to its last, in bounded memory, whatever bytes stand in it. */
import { concatBytes } from "../base/bytes.js";
import { limits } from "../base/limits.js";
import { createItemFold, type FoldRecord, type ItemFold } from "../format/item-state.js";
import { type ReadRecord, readLogLine } from "../format/log-record.js";
import type { Key, ObjectStore } from "../storage/object-store.js";

export interface LineOfLog {
  /** Counted from 1. */
  readonly line: number;
  readonly byteOffset: number;
  /** Without its `\n`; "too-long" above limits.logLineBytesHeldMax. */
  readonly bytes: Uint8Array | "too-long";
  readonly lengthBytes: number;
  /** False for a last line that lacks its `\n`: perhaps a record on its way, perhaps a cut one. */
  readonly isEnded: boolean;
}

export interface UnreadableLine {
  readonly line: number;
  readonly byteOffset: number;
  readonly reason: string;
}

export interface CheckpointReading {
  /** What the readable records say about each operation. */
  readonly operations: ItemFold;
  /** Any record may have stood in these: what the log says about an operation is then not all there is to know. */
  readonly unreadable: readonly UnreadableLine[];
  /** All of them, those beyond limits.unreadableLinesNamedMax too. */
  readonly unreadableCount: number;
  /** The highest sequence number, 0 when there is none. */
  readonly lastSeq: number;
  /** A last line without its `\n` is not among the records. */
  readonly endsWithLine: boolean;
  readonly sizeBytes: number;
  readonly lineCount: number;
}

/** Reads and folds a whole log. Empty for one that is not there. Errors: what the store refuses. */
export async function readCheckpoint(store: ObjectStore, log: Key): Promise<CheckpointReading> {
  const operations = createItemFold();
  const unreadable: UnreadableLine[] = [];
  let unreadableCount = 0;
  let lastSeq = 0;
  let endsWithLine = true;
  let sizeBytes = 0;
  let lineCount = 0;
  for await (const line of linesOf(store.readLog(log))) {
    sizeBytes = line.byteOffset + line.lengthBytes + (line.isEnded ? 1 : 0);
    lineCount = line.line;
    endsWithLine = line.isEnded;
    if (!line.isEnded) continue;
    const reading = readLine(line);
    if (reading.kind === "record") {
      operations.add(foldRecord(reading.record, line));
      lastSeq = Math.max(lastSeq, sequenceOf(reading.record));
    } else if (reading.kind === "unreadable") {
      unreadableCount += 1;
      if (unreadable.length < limits.unreadableLinesNamedMax) {
        const { line: number, byteOffset } = line;
        unreadable.push({ line: number, byteOffset, reason: reading.reason });
      }
    }
  }
  const size = { sizeBytes, lineCount };
  return { operations, unreadable, unreadableCount, lastSeq, endsWithLine, ...size };
}

function readLine(line: LineOfLog): ReturnType<typeof readLogLine> {
  if (line.bytes !== "too-long") return readLogLine(line.bytes);
  return { kind: "unreadable", reason: `longer than ${limits.logLineBytesHeldMax} bytes` };
}

/** Named one by one: spreading a record of many fields would cost more than reading its line. */
function foldRecord(record: ReadRecord, { line, byteOffset }: LineOfLog): FoldRecord {
  const { item, phase, word, outcome, key, attempt, seq, at, worker, run, lease } = record;
  return {
    line,
    byteOffset,
    item,
    phase,
    word,
    outcome,
    key,
    attempt,
    seq,
    at,
    worker,
    run,
    lease,
  };
}

function sequenceOf({ seq }: ReadRecord): number {
  const number = seq === undefined ? 0 : Number(seq);
  return Number.isSafeInteger(number) ? number : 0;
}

const lineEnd = 0x0a;

/** Cuts chunks into lines. Holds one line at most. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<LineOfLog> {
  let line = 1;
  let byteOffset = 0;
  let lengthBytes = 0;
  let parts: Uint8Array[] = [];
  const hold = (part: Uint8Array) => {
    lengthBytes += part.length;
    if (lengthBytes <= limits.logLineBytesHeldMax) parts.push(part);
    else parts = [];
  };
  const ended = (isEnded: boolean) => {
    const bytes = lengthBytes <= limits.logLineBytesHeldMax ? onePart(parts) : "too-long";
    const whole = { line, byteOffset, bytes, isEnded, lengthBytes } as const;
    line += 1;
    byteOffset += lengthBytes + 1;
    lengthBytes = 0;
    parts = [];
    return whole;
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(lineEnd); at >= 0; at = chunk.indexOf(lineEnd, from)) {
      hold(chunk.subarray(from, at));
      yield ended(true);
      from = at + 1;
    }
    if (from < chunk.length) hold(chunk.slice(from));
  }
  if (lengthBytes > 0) yield ended(false);
}

/** A line that stands in one chunk is not copied. */
function onePart(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : concatBytes(parts);
}
