/**
 * Every bound of the product, with its unit and its reason. A limit that bites is said in the report,
 * never silent.
 */
export const limits = {
  /** Update ids kept in a document. A retry older than this many updates is no longer protected. */
  ledgerWindowCount: 64,
  /** Characters of one update id. The window is read with every document, so an id must stay small. */
  updateIdLengthMax: 512,
  /** Kept versions beside a run document. At 4 KB a document this is a quarter of a megabyte. */
  keptVersionsCount: 64,
  /** Times an update starts again after losing a race, before the caller is told. */
  updateAttemptsMax: 64,
  /** Milliseconds. Longest pause between two attempts of an update; jitter is drawn below it. */
  updatePauseMsMax: 40,
  /** Kept versions one update removes at most, so that a lowered keptVersionsCount does not stall a single writer. */
  prunedPerUpdateMax: 16,
  /** Leftover claims of stopped writers one update sets aside at most, for the same reason. */
  claimsSetAsidePerUpdateMax: 16,
  /** Times the keeping of one version is tried again after a lost reply, before it is called in doubt. */
  keepAttemptsMax: 4,
  /** Changed places named in one answer about stale inputs; a reader needs the first few, not a million. */
  changedPathsMax: 1_000,
  /** Milliseconds a lease lasts unless renewed. Long enough for a slow sync, short enough for a waiting person. */
  leaseDurationMs: 30_000,
  /** Milliseconds two clocks may differ before we stop believing an expiry. */
  clockSkewMsMax: 2_000,
  /** Milliseconds an intent without outcome counts as in flight rather than in doubt. */
  inFlightGraceMs: 60_000,
  /** Bytes of a key. The smallest bound among the stores: a bucket takes 1,024. */
  keyBytesMax: 1024,
  /** Bytes of one segment of a key. What the common file systems take as one name. */
  keySegmentBytesMax: 255,
  /** Bytes of the last segment of a key we write. Leaves room for `.<name>.<random>.tmp` and the other neighbours. */
  writtenNameBytesMax: 200,
  /** Bytes of one object read or written whole. Logs are read in chunks and have no such bound. */
  objectBytesMax: 512 * 1024 * 1024,
  /** Bytes of the last line of a log that may be cut when it is opened for writing. A longer one needs a person. */
  logTailBytesMax: 128 * 1024 * 1024,
  /** Attempts of one rename on Windows, where a virus scanner may hold the target for a moment. */
  renameAttemptsMax: 10,
  /** Milliseconds between two such attempts, times the number of the attempt: at most about a second in all. */
  renamePauseMs: 20,
  /** Entries one listing of a folder or prefix returns at most. */
  listCountMax: 100_000,
  /** Bytes. A document above this is not diagnosed whole, and the report says so. */
  documentBytesMax: 100 * 1024 * 1024,
  /** Bytes of document contents held at once for rules that compare documents. Beyond it a rule says "not checked". */
  evidenceBytesHeldMax: 512 * 1024 * 1024,
  /** Bytes of one log line held for damage analysis. A longer line is still checked and its fields still read. */
  logLineBytesHeldMax: 4 * 1024 * 1024,
  /** Bytes read from a file at a time. */
  readChunkBytes: 512 * 1024,
  /** Bytes of one captured field of a record. A longer value cannot be an id or a phase. */
  capturedFieldBytesMax: 4 * 1024,
  /** Notes (offsets of odd bytes, duplicate keys …) kept per file; the count goes on beyond it. */
  scanNotesMax: 1_000,
  /** Bytes of one object key held for paths and duplicate checks. A longer key is shown cut, and not compared. */
  keyBytesHeldMax: 64 * 1024,
  /** Steps of one path that are written out; a deeper place is shown by its first steps. */
  pathStepsShownMax: 256,
  /** Nesting levels. Beyond this a document is answered, and called too deep to show. */
  depthShownMax: 10_000,
  /** Keys per object looked at for duplicates. */
  objectKeysTrackedMax: 1_000_000,
  /** Findings of one kind in one file that are listed one by one; the rest is counted in the last of them. */
  findingsPerKindAndFileMax: 1_000,
  /** Bytes of one text of a record we write (id, key, worker, evidence). Above capturedFieldBytesMax it could not be read back. */
  recordFieldBytesMax: 4 * 1024,
  /** Characters of the reason in a record we write; a longer one (a whole error page) is cut. */
  recordReasonCharsMax: 1_000,
  /** Bytes of the note of a record. Well below logLineBytesHeldMax, so that its line is always read back. */
  recordNoteBytesMax: 256 * 1024,
  /** Milliseconds between two looks whether a lease is due to be renewed while effects run. */
  leaseRenewLookMs: 250,
  /** Milliseconds between two asks for a lease that somebody else has, give or take half. */
  leaseWaitMs: 50,
  /** Times a lease is tried again after others changed it meanwhile, before the caller is told who has it. */
  leaseAttemptsMax: 16,
  /** Older lease records one grant removes at most. */
  leaseRecordsPrunedMax: 16,
  /** Effects of one batch under way at once unless asked for otherwise. */
  batchConcurrency: 1,
  /** Unreadable lines of a checkpoint log that are named one by one; the rest is counted. */
  unreadableLinesNamedMax: 100,
  /** Items of one log followed at once. Beyond it the log is reported as only partly followed. */
  logItemsMax: 5_000_000,
  /** Entries of one kind (attempts, effects, remarks …) kept for one item of a log; the count goes on beyond it. */
  itemStateEntriesMax: 64,
  /** Different texts (workers, runs, attempts) of one log that are held once for all its records. */
  itemStateWordsMax: 10_000,
  /** Bytes. A larger document is not unfolded into a tree for rules that compare; its bytes are still scanned whole. */
  treeDocumentBytesMax: 32 * 1024 * 1024,
  /** Elements of equal shape compared with each other in one list; beyond it a list is not searched for twins. */
  equalElementsComparedMax: 2_000,
  /** Bytes of a damaged line searched for the seam of a second record; each try scans the line anew. */
  seamLineBytesMax: 1024 * 1024,
  /** Sequence numbers, record contents, ids and versions of one log that are remembered to find a second use of them. */
  logMemoryCount: 1_000_000,
  /** Bytes around the id of a record that may still be a bare `{"id":…}`, white space included. */
  bareRecordAroundBytesMax: 64,
  /** Records looked at before the fields of a log are guessed. */
  fieldGuessRecordsMax: 64,
  /** Operations of one log, the latest ones, whose key is remembered after they ended: retries come soon after. */
  endedKeysRememberedMax: 100_000,
  /** Writers or runs of one log whose own numbering is followed. */
  numberedWritersMax: 10_000,
  /** Lines that are no JSON from which on a file of hardly anything else is called other text. */
  textLinesMin: 20,
  /** Damaged lines of one log that are told one by one; the rest is counted. */
  damagedLinesToldMax: 1_000,
  /** Pointers of one torn document that a report lists. */
  tornPointersToldMax: 100,
  /** Lines of one kind in a report's list of what could not be known. */
  unknownsToldMax: 20,
  /** Documents in a row whose versions are told. */
  versionsInARowMax: 10,
  /** Letters of a path inside a sentence; the whole path stands in the finding's own member. */
  pathLettersSaidMax: 120,
  /** NUL bytes in a row from which they are a lost block, not single odd bytes. */
  nulRunBytesMin: 8,
  /** Places tried as the start of a document behind other text. */
  prefixCandidatesMax: 64,
  /** Bytes of a prefix without a line end that still counts as a stray key press. */
  strayPrefixBytesMax: 8,
  /** Whole documents counted in a row before counting stops. */
  documentsInARowMax: 1_000,
  /** Files of one scan. */
  scanFilesMax: 200_000,
  /** Folder levels below a root. Deeper folders are skipped and counted. */
  scanDepthMax: 64,
  /** Milliseconds between two looks at a file that may still be being written. */
  secondLookMs: 200,
  /** Milliseconds since its last change during which a file counts as perhaps still being written. */
  recentChangeMs: 2_000,
  /** Looks at one file that keeps changing, before it is called changing. */
  looksMax: 3,
  /** First bytes of a file, by which its role is guessed. */
  headBytes: 4_096,
  /** Files read at the same time; more only makes the disk seek. */
  filesReadAtOnce: 8,
  /** Bytes. Larger files are read one after the other, so that eight of them are never in memory at once. */
  readTogetherBytesMax: 1024 * 1024,
  /** Skipped files named one by one for each reason; the rest is counted. */
  skippedNamedMax: 10,
  /** Changes listed by one structural diff. A person reads the first hundred; a script is told that it was cut. */
  diffChangesMax: 10_000,
  /** Inserted and removed lines that a text diff looks for. Beyond it two texts are called too different. */
  diffEditsMax: 20_000,
  /** Bytes of a small file (lock, lease, context) read for its facts. */
  smallFileBytesMax: 1024 * 1024,
} as const;
