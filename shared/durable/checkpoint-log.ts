/**
 * The checkpoint log, open for writing by the holder of its lease: what was acknowledged is in the log that the next
 * holder reads, and no record of ours ever stands behind a cut one on the same line.
 */

import { assertNever } from "../base/assert.js";
import { concatBytes } from "../base/bytes.js";
import { LastgoodError } from "../base/errors.js";
import { evidenceKey } from "../format/keys.js";
import {
  checkedNote,
  type DoneRecord,
  encodeLogRecord,
  type FailedRecord,
  type IntentRecord,
  isWholeRecord,
  type LogRecord,
  recordTextRefusal,
  type SettledRecord,
} from "../format/log-record.js";
import type {
  AppendOutcome,
  Key,
  LogFile,
  ObjectStore,
  TailRepair,
} from "../storage/object-store.js";
import { checkChain } from "./checkpoint-chain.js";
import type { CheckpointCrashPoint } from "./checkpoint-crash-points.js";
import { type CheckpointReading, readCheckpoint } from "./checkpoint-read.js";
import type { GrantedLease } from "./lease.js";
import { isoTime } from "./lease-state.js";

export interface CheckpointLogOptions {
  readonly store: ObjectStore;
  /** `runs/checkpoint.jsonl` */
  readonly log: Key;
  /** Of leaseTarget(log), granted to us and not yet used for another log. */
  readonly lease: GrantedLease;
  /** Stands in each record. */
  readonly worker: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Lower-case hex of the sha256. */
  readonly sha256: (bytes: Uint8Array) => string;
  /** Default `.lastgood/evidence`. */
  readonly evidenceFolder?: string;
  /** "sha256": each record holds the digest of the line before it, so that checkChain finds what was changed since. */
  readonly chain?: "none" | "sha256";
  /** For tests of stopping: called between any two effects. */
  readonly atCrashPoint?: (point: CheckpointCrashPoint) => void | Promise<void>;
}

type OwnMembers = "seq" | "at" | "worker" | "lease" | "prev";

/** A record before the log has given it its number, time, worker and token. */
export type LogEntry =
  | Omit<IntentRecord, OwnMembers>
  | Omit<DoneRecord, OwnMembers>
  | Omit<FailedRecord, OwnMembers>
  | Omit<SettledRecord, OwnMembers>;

export interface CheckpointLog {
  readonly log: Key;
  /** What opening had to do to the last line. */
  readonly tailRepair: TailRepair;
  /** The log as read when it was opened; `operations` goes on with each acknowledged record. */
  readonly reading: CheckpointReading;
  /**
   * Adds one record. All that are waiting at once are stored and synced together.
   *
   * Errors:    input-rejected when a text cannot stand in a record (the log stays open); lease-lost, io-failed,
   *            storage-full … when the record was not confirmed, and writer-stopped for every record after that:
   *            it may or may not be in the log. Take the lease again and reopen; opening repairs the tail and tells.
   * Guarantee: the record returned survives what the store's traits say, also a take-over by somebody else.
   */
  append(entry: LogEntry): Promise<LogRecord>;
  /** Waits for the records under way. The lease stays with the caller. */
  close(): Promise<void>;
}

const defaultEvidenceFolder = ".lastgood/evidence";

/** What the lease of a log is for: its key without `.jsonl`. */
export function leaseTarget(log: Key): Key {
  return log.replace(/\.jsonl$/, "");
}

/**
 * Opens a log for writing, made if it is not there. A cut last line is copied to evidence and then cut off. When an
 * earlier holder may still be writing, the name is moved to a fresh copy, so that it can confirm nothing any more.
 *
 * Errors: lease-lost when the lease is not ours or somebody writes beside us; else what the store refuses.
 *         No acknowledged record is lost, and nothing is cut that is not in evidence.
 */
export async function openCheckpointLog(options: CheckpointLogOptions): Promise<CheckpointLog> {
  const { store, log, lease, atCrashPoint = () => {} } = options;
  assertTexts(log, { worker: options.worker });
  if ((await lease.check()) === "lost") throw leaseLost(log);
  await atCrashPoint("open: lease granted");
  const file = await store.openLog(log, {
    isWholeRecord,
    setAside: async (cut) => {
      await setAside(options, cut.bytes);
      // Only a holder cuts. One that slept since its first look may by now have the next holder's file open, and the
      // cut line in it is that holder's record under way. Held now means opened before anybody could move the name.
      if ((await lease.check()) === "lost") throw leaseLost(log);
      await atCrashPoint("open: tail set aside");
    },
    takeOver:
      lease.earlierHolder === "stopped" ? "in-place" : { kind: "fresh-inode", token: lease.token },
  });
  try {
    lease.fencedOff(); // whoever comes after us no longer has to
    await atCrashPoint("open: log opened");
    const reading = await readCheckpoint(store, log);
    // Read by name, and the name must still lead to what we have open; more bytes than ours are somebody else's.
    if (reading.sizeBytes !== file.sizeBytes) throw leaseLost(log);
    // Or a caller would act on what it read, and find out only at its first record that the log is not its own.
    if ((await lease.check()) === "lost") throw leaseLost(log);
    const prev = options.chain === "sha256" ? await lastDigest(options) : undefined;
    await atCrashPoint("open: log read");
    return new Writer(options, file, reading, prev);
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function lastDigest({ store, log, sha256 }: CheckpointLogOptions): Promise<string> {
  return (await checkChain(store, log, sha256)).lastDigest;
}

async function setAside(options: CheckpointLogOptions, bytes: Uint8Array): Promise<void> {
  const { store, log, now, sha256, evidenceFolder = defaultEvidenceFolder } = options;
  const digest = sha256(bytes);
  const key = evidenceKey(evidenceFolder, now(), digest, log);
  const outcome = await store.replace(key, bytes, "absent");
  if (outcome.kind === "written") return;
  if (outcome.kind === "conflict") {
    const found = await store.read(key);
    if (found !== "absent" && sha256(found.bytes) === digest) return; // set aside before, by one that stopped then
  }
  throw new LastgoodError(
    "io-failed",
    `The cut last line of ${log} could not be set aside for certain as ${key}, so it was not cut off. ` +
      "Nothing was changed in the log. Look at the disk, then open the log again.",
    { subject: key },
  );
}

interface Waiting {
  readonly entry: LogEntry;
  readonly acknowledge: (record: LogRecord) => void;
  readonly reject: (error: unknown) => void;
}

class Writer implements CheckpointLog {
  readonly log: Key;
  readonly tailRepair: TailRepair;
  readonly reading: CheckpointReading;
  readonly #options: CheckpointLogOptions;
  readonly #file: LogFile;
  #nextSeq: number;
  #nextLine: number;
  /** Digest of the last line; undefined in a log without chain. */
  #prev: string | undefined;
  #queue: Waiting[] = [];
  #flushing: Promise<void> | undefined;
  #stopped: { readonly because: unknown } | undefined;

  constructor(
    options: CheckpointLogOptions,
    file: LogFile,
    reading: CheckpointReading,
    prev: string | undefined,
  ) {
    this.log = options.log;
    this.tailRepair = file.tailRepair;
    this.reading = reading;
    this.#options = options;
    this.#file = file;
    this.#nextSeq = reading.lastSeq + 1;
    this.#nextLine = reading.lineCount + 1;
    this.#prev = prev;
  }

  async append(entry: LogEntry): Promise<LogRecord> {
    const checked = assertEntry(this.log, entry);
    if (this.#stopped !== undefined) throw writerStopped(this.log, this.#stopped.because);
    return await new Promise<LogRecord>((acknowledge, reject) => {
      this.#queue.push({ entry: checked, acknowledge, reject });
      this.#flushing ??= this.#flush();
    });
  }

  async close(): Promise<void> {
    this.#stopped ??= { because: undefined };
    await this.#flushing;
    await this.#file.close();
  }

  async #flush(): Promise<void> {
    // One turn later, so that everything asked for in this one shares its sync.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0);
      try {
        const records = await this.#store(batch);
        for (const [index, record] of records.entries()) batch[index]?.acknowledge(record);
      } catch (error) {
        this.#stopped = { because: error };
        for (const { reject } of batch) reject(error);
        for (const { reject } of this.#queue.splice(0)) reject(writerStopped(this.log, error));
      }
    }
    this.#flushing = undefined;
  }

  /** One append for the whole batch. Straight-line: the order is the guarantee. */
  async #store(batch: readonly Waiting[]): Promise<readonly LogRecord[]> {
    const { lease, atCrashPoint = () => {} } = this.#options;
    // First, or a holder that was asleep would write what the new holder has not read.
    if ((await lease.keep()) === "lost") throw leaseLost(this.log);
    await atCrashPoint("append: lease checked");
    const { records, lines, prev } = this.#completed(batch);
    const startByte = this.#file.sizeBytes;
    const outcome = await this.#file.append(concatBytes(lines)); // on the device, and in the file the name leads to
    if (outcome.kind !== "appended") throw notAppended(this.log, outcome);
    await atCrashPoint("append: records stored");
    this.#prev = prev;
    this.#follow(records, lines, startByte);
    return records;
  }

  #completed(batch: readonly Waiting[]) {
    const { worker, now, lease, sha256 } = this.#options;
    const records: LogRecord[] = [];
    const lines: Uint8Array[] = [];
    let prev = this.#prev;
    for (const { entry } of batch) {
      const seq = this.#nextSeq + records.length;
      const own = { seq, at: isoTime(now()), worker, lease: lease.token };
      const record = { ...entry, ...own, ...(prev === undefined ? {} : { prev }) };
      const line = encodeLogRecord(record);
      records.push(record);
      lines.push(line);
      if (prev !== undefined) prev = sha256(line.subarray(0, -1));
    }
    return { records, lines, prev };
  }

  #follow(records: readonly LogRecord[], lines: readonly Uint8Array[], startByte: number): void {
    let byteOffset = startByte;
    for (const [index, record] of records.entries()) {
      const { id, seq, attempt, lease, ...rest } = record;
      const texts = { item: id, seq: `${seq}`, attempt: attempt?.toString(), lease: `${lease}` };
      this.reading.operations.add({ ...rest, ...texts, line: this.#nextLine, byteOffset });
      this.#nextLine += 1;
      byteOffset += lines[index]?.length ?? 0;
    }
    this.#nextSeq += records.length;
  }
}

function assertEntry(log: Key, entry: LogEntry): LogEntry {
  const { id, key, note } = entry;
  assertTexts(log, entry.phase === "settled" ? { id, key, ...settledTexts(entry) } : { id, key });
  if (note === undefined) return entry;
  const checked = checkedNote(note);
  if (checked.kind === "rejected") throw notWritable(log, checked.reason);
  return { ...entry, note: checked.note };
}

function assertTexts(log: Key, texts: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(texts)) {
    const refusal = recordTextRefusal(name, text);
    if (refusal === undefined) continue;
    throw notWritable(log, refusal);
  }
}

function notWritable(log: Key, refusal: string): LastgoodError {
  return new LastgoodError(
    "input-rejected",
    `A record for ${log} cannot be written: ${refusal}. Nothing was written; give it in another form.`,
    { subject: log },
  );
}

function settledTexts({ evidence, by }: Pick<SettledRecord, "evidence" | "by">) {
  return { evidence, by };
}

function notAppended(
  log: Key,
  outcome: Exclude<AppendOutcome, { kind: "appended" }>,
): LastgoodError {
  switch (outcome.kind) {
    case "displaced":
      return leaseLost(log);
    case "in-doubt":
      return new LastgoodError(
        "io-failed",
        `It cannot be known whether the last records reached ${log} (${outcome.reason}). What was confirmed before is ` +
          "there. Take the lease again and reopen the log: it then shows which of them are in it.",
        { subject: log },
      );
    default:
      return assertNever(outcome);
  }
}

function leaseLost(log: Key): LastgoodError {
  return new LastgoodError(
    "lease-lost",
    `The lease of ${log} is no longer ours, or somebody else writes to the log. What was confirmed before is there; ` +
      "the last records are not confirmed. Stop, take the lease again, and reopen the log to see how it stands.",
    { subject: log },
  );
}

function writerStopped(log: Key, because: unknown): LastgoodError {
  const why = because instanceof Error ? ` after: ${because.message}` : "";
  return new LastgoodError(
    "writer-stopped",
    `${log} is closed for writing here${why || "."} This record was not written. Take the lease again and reopen the log.`,
    { subject: log, cause: because },
  );
}
