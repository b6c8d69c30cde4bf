/**
 * THE PORT. Four verbs on whole objects, each write conditional, and four on logs. What a kind of store
 * can and cannot promise is data (StoreTraits), so that callers and the guarantee table read it from one place.
 *
 * Keys are relative, `/`-separated, never empty, without `.` or `..` segments, NUL or backslash.
 */
export type Key = string;

/** Opaque token of the stored bytes, given by the store; compared, never parsed. */
export type Etag = string & { readonly brand: "etag" };

export interface Stored {
  readonly bytes: Uint8Array;
  readonly etag: Etag;
}

/** Why it cannot be known from here whether the write took place. */
export type DoubtReason = "directory-sync-failed" | "reply-lost" | "sync-failed";

export type WriteOutcome =
  | { readonly kind: "written"; readonly etag: Etag }
  | { readonly kind: "conflict"; readonly currentEtag: Etag | "absent" }
  | { readonly kind: "in-doubt"; readonly reason: DoubtReason };

export type RemoveOutcome =
  | { readonly kind: "removed" }
  | { readonly kind: "conflict"; readonly currentEtag: Etag | "absent" }
  | { readonly kind: "in-doubt"; readonly reason: DoubtReason };

export interface Listing {
  readonly keys: readonly Key[];
  /** False when `countMax` cut the listing short: absence of a name then proves nothing. */
  readonly complete: boolean;
}

export interface StoreTraits {
  readonly kind: "local" | "memory" | "bucket";
  /** A crash can leave the last record of a log cut. */
  readonly tornTailPossible: boolean;
  /** What an acknowledged write survives. */
  readonly survives: "nothing" | "process-kill" | "power-loss" | "lost-machine";
  /**
   * For whom `replace` with an etag is decided at the very moment of the write. Whoever is outside can still be
   * overwritten between the last look at the stored bytes and the write.
   */
  readonly replaceIsConditionalFor: "this-process" | "this-host" | "all-clients";
  /** For whom `replace` with "absent" is decided at the very moment of the write. */
  readonly createIsConditionalFor: "this-process" | "this-host" | "all-clients";
  /** `remove` looks at the stored bytes; for whom that holds at the very moment is as for `replace` with an etag. */
  readonly removeIsConditional: boolean;
  readonly listFollowsWrites: boolean;
  /** A lease can tell whether its holder's process is alive. */
  readonly holdersShareProcessTable: boolean;
}

export interface ObjectStore {
  readonly traits: StoreTraits;

  read(key: Key, signal?: AbortSignal): Promise<Stored | "absent">;

  /**
   * Puts whole bytes under a key: a reader sees the old object or the new one, never a mixture.
   *
   * `expected` "absent": only if nothing is there, and the object appears whole at once.
   * `expected` an etag: only if the stored bytes are still those; see traits for whom that holds.
   * Errors: LastgoodError with storage-full, read-only, not-permitted, busy, cross-device, io-failed …
   * Guarantee: "written" is on the device (traits.survives); after an error or "conflict" nothing has changed.
   * "in-doubt": the bytes may be there, and may yet appear or, after a power loss, go again.
   */
  replace(key: Key, bytes: Uint8Array, expected: Etag | "absent"): Promise<WriteOutcome>;

  /** Keys that start with `prefix`, in code-unit order. Staged files of our own are never listed. */
  list(prefix: string, countMax: number): Promise<Listing>;

  /** Removes an object only if its bytes are still those of `expected`. */
  remove(key: Key, expected: Etag): Promise<RemoveOutcome>;

  /**
   * Opens a log for appending, made if it is not there; see LogFile. The caller holds the lease of the log.
   *
   * Errors: lease-lost when somebody else writes to it or has taken it over under a later token.
   */
  openLog(key: Key, options: OpenLogOptions): Promise<LogFile>;

  /** Reads a log from a byte position on, in chunks. Yields nothing for a log that is not there. */
  readLog(key: Key, fromByte?: number): AsyncIterable<Uint8Array>;
}

export interface OpenLogOptions {
  /**
   * Whether a last line without its `\n` (given without one) is a whole record. Then it only gets the `\n`;
   * anything else is a cut tail. A prefix of a record must never count as whole: a JSON object qualifies,
   * since it ends with its own brace; a bare number would not.
   */
  readonly isWholeRecord: (line: Uint8Array) => boolean;
  /** Where the bytes of a cut tail are kept, on the device when it resolves: only then the tail is cut. */
  readonly setAside: (cut: {
    readonly bytes: Uint8Array;
    readonly fromByte: number;
  }) => Promise<void>;
  /**
   * "in-place": the last holder is provably gone, nothing else can still write. A take-over that it began and did
   * not finish is gone on with.
   * "fresh-inode": it may still be alive; the name is moved to a fresh copy and its late records are carried over.
   * `token` is that of our lease. Under a token that has taken the log over before, this is "in-place".
   */
  readonly takeOver: "in-place" | { readonly kind: "fresh-inode"; readonly token: number };
}

/** What opening had to do to the last line; positions are those in the file as it was found. */
export type TailRepair =
  | { readonly kind: "none" }
  /** If what stands before the cut is a whole record (only NULs were cut behind it), it got its `\n`. */
  | { readonly kind: "cut"; readonly fromByte: number; readonly bytes: number }
  | { readonly kind: "line-ended"; readonly atByte: number };

export type AppendOutcome =
  | { readonly kind: "appended"; readonly endByte: number }
  /** The name leads to another file, or somebody else appended: nothing is acknowledged, the writer must stop. */
  | { readonly kind: "displaced" }
  | { readonly kind: "in-doubt"; readonly reason: DoubtReason };

/**
 * One log, open for appending by the holder of its lease.
 *
 * Guarantee: "appended" bytes are on the device and in the file that the name leads to, whoever takes it over later.
 * After "displaced", "in-doubt" or an error the handle is of no more use: reopen, which repairs the tail.
 */
export interface LogFile {
  readonly tailRepair: TailRepair;
  readonly sizeBytes: number;
  /**
   * Adds whole lines, each with its `\n`, and syncs them: a whole group of records at a time. One call at a time.
   *
   * Errors: storage-full, io-failed … when the write was refused: of these records some may be in the log.
   * writer-stopped when an earlier call ended in anything but "appended".
   */
  append(bytes: Uint8Array): Promise<AppendOutcome>;
  close(): Promise<void>;
}
