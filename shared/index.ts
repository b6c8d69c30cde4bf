/**
 * `lastgood/core`: durable state for agent pipelines. Everything a program needs is named here, one by one; what is
 * not named here may change from one release to the next.
 *
 *   openLocalStore    the folder the state lives in
 *   acquireLease      who may write, and since when
 *   openRunStore      run documents: updates applied once, versions kept, stale inputs refused
 *   runBatch          effects: done once as far as one side can promise it, in doubt where it cannot
 */
export { blockingFsOps } from "./adapters/local/blocking-fs-ops.js";
export { type LocalStoreOptions, openLocalStore } from "./adapters/local/local-store.js";
export { nodeFsOps } from "./adapters/local/node-fs-ops.js";
export {
  nowIso,
  nowMs,
  type ProcessIdentity,
  pause,
  processAlive,
  processIdentity,
  randomFraction,
  randomId,
  sha256Hex,
} from "./adapters/system.js";
export { type ErrorCode, isLastgoodError, LastgoodError } from "./base/errors.js";
export { limits } from "./base/limits.js";
export { type ChainReading, checkChain } from "./durable/checkpoint-chain.js";
export {
  type BatchCrashPoint,
  batchCrashPoints,
  type CheckpointCrashPoint,
  checkpointCrashPoints,
} from "./durable/checkpoint-crash-points.js";
export {
  type CheckpointLog,
  type CheckpointLogOptions,
  type LogEntry,
  leaseTarget,
  openCheckpointLog,
} from "./durable/checkpoint-log.js";
export {
  type CheckpointReading,
  type LineOfLog,
  linesOf,
  readCheckpoint,
  type UnreadableLine,
} from "./durable/checkpoint-read.js";
export type { KeptNames, KeptVersion } from "./durable/history.js";
export {
  type AcquireOutcome,
  acquireLease,
  endLease,
  type GrantedLease,
  type HeldLease,
  type LeaseOptions,
  type LeaseRecord,
  type LeaseWait,
  readCurrentLease,
  type TookOver,
  waitForLease,
} from "./durable/lease.js";
export { leaseStateAt } from "./durable/lease-state.js";
export { type BatchOptions, type BatchOutcome, runBatch } from "./durable/run-batch.js";
export type {
  Effect,
  EffectRequest,
  ItemResult,
  Recheck,
  RecheckAnswer,
} from "./durable/run-batch-outcomes.js";
export {
  createCrashPoints,
  type RunCrashPoint,
  updateCrashPoints,
} from "./durable/run-crash-points.js";
export type {
  Change,
  CreateOutcome,
  HeadReading,
  HeadRefusal,
  Tidying,
  UpdateDoubt,
  UpdateOutcome,
  UpdateRequest,
} from "./durable/run-outcomes.js";
export { openRunStore, type RunStore, type RunStoreOptions } from "./durable/run-store.js";
export {
  type AttemptOutcome,
  type AttemptState,
  createItemFold,
  type EffectOutcome,
  type FoldRecord,
  type ItemFold,
  type ItemState,
  type Overlap,
  type RecordPlace,
} from "./format/item-state.js";
export { compactStyle, indentedStyle, type JsonStyle } from "./format/json-layout.js";
export { JsonNumber } from "./format/json-number.js";
export type { JsonArray, JsonObject, JsonScalar, JsonValue } from "./format/json-value.js";
export {
  headKey,
  type KeyMeaning,
  keptVersionKey,
  leaseGrantKey,
  type RunName,
  readKey,
} from "./format/keys.js";
export {
  type DoneRecord,
  encodeLogRecord,
  type FailedRecord,
  type IntentRecord,
  isWholeRecord,
  type LogLine,
  type LogRecord,
  type ReadRecord,
  readLogLine,
  type SettledRecord,
} from "./format/log-record.js";
export { type RunFieldNames, runFieldNames } from "./format/run-document.js";
export { createMemoryStore } from "./storage/memory-store.js";
export type {
  AppendOutcome,
  DoubtReason,
  Etag,
  Key,
  Listing,
  LogFile,
  ObjectStore,
  OpenLogOptions,
  RemoveOutcome,
  Stored,
  StoreTraits,
  TailRepair,
  WriteOutcome,
} from "./storage/object-store.js";
