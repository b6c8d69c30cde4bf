/**
 * Runs: one authoritative document each, changed by updates that are applied once, never lose an
 * acknowledged change, and say so when they cannot know.
 */
import { isLastgoodError, LastgoodError } from "../base/errors.js";
import { limits } from "../base/limits.js";
import { indentedStyle, type JsonStyle } from "../format/json-layout.js";
import type { JsonObject } from "../format/json-value.js";
import { evidenceKey, headKey, type RunName, runNameRefusal } from "../format/keys.js";
import {
  isVersion,
  type RunFieldNames,
  readingReason,
  readRunDocument,
  runFieldNames,
} from "../format/run-document.js";
import type { Key, ObjectStore } from "../storage/object-store.js";
import { readDependencies } from "./dependencies.js";
import {
  type KeptNames,
  type KeptVersion,
  listKept,
  newestWholeVersion,
  readKeptVersion,
} from "./history.js";
import type { HeldLease } from "./lease.js";
import type { RunCrashPoint } from "./run-crash-points.js";
import { createRun } from "./run-create.js";
import type { RunMeans } from "./run-means.js";
import type {
  Change,
  CreateOutcome,
  HeadReading,
  UpdateOutcome,
  UpdateRequest,
} from "./run-outcomes.js";
import { RunUpdate } from "./run-update.js";

export interface RunStoreOptions {
  readonly store: ObjectStore;
  /** Lower-case hex of the sha256 of some bytes. */
  readonly sha256: (bytes: Uint8Array) => string;
  /** Milliseconds since 1970; only for the names of evidence. */
  readonly now: () => number;
  /** At least 0, below 1; for jitter. */
  readonly random: () => number;
  readonly pause: (waitMs: number) => Promise<void>;
  /**
   * How to get the lease of a run. "not-needed" only for a store that decides every condition at the moment of
   * the write, for all its clients. An update that is handed a lease does not ask.
   */
  readonly acquireLease: "not-needed" | ((run: RunName) => Promise<HeldLease>);
  /** Copies leftover claims to evidence; durable when it resolves. By default into `.lastgood/evidence`. */
  readonly setAside?: (key: Key, bytes: Uint8Array) => Promise<void>;
  /** Kept versions that pruning must spare: read as a base and still worked on, or restored from of late. */
  readonly versionsInUse?: (run: RunName) => Promise<readonly number[]>;
  readonly names?: Partial<RunFieldNames>;
  /** How new documents are laid out; existing ones keep their own way. */
  readonly style?: JsonStyle;
  readonly ledgerWindowCount?: number;
  readonly keptVersionsCount?: number;
  readonly updateAttemptsMax?: number;
  /** For tests of stopping: called between any two effects. */
  readonly atCrashPoint?: (point: RunCrashPoint) => void | Promise<void>;
}

export interface RunStore {
  /** Creates a run as version 1. Its content must not hold the reserved members; they are set here. */
  createRun(run: RunName, initial: object): Promise<CreateOutcome>;
  /** The head as it is now. `version` is what a later update names as `basedOn`. */
  read(run: RunName): Promise<HeadReading>;
  /** One kept version, looked at without trust. */
  readVersion(run: RunName, version: number): Promise<KeptVersion>;
  /** Names of kept versions, rising, and of claims. */
  versions(run: RunName): Promise<KeptNames>;
  /**
   * Applies one change once.
   *
   * Errors:    LastgoodError when the world refuses (storage-full, not-permitted …); then nothing has changed.
   *            What the change itself throws comes through; then nothing has changed either.
   * Guarantee: "applied" survives what the store's traits say, as the head and as a kept version. One
   *            `updateId` is absorbed at most once while it is among the newest ids of the window, whoever
   *            retries it. Every other outcome says what is known; after "in-doubt" or "lease-lost" ask again
   *            with the same `updateId`.
   */
  update<Document extends object = JsonObject>(
    run: RunName,
    request: UpdateRequest,
    change: Change<Document>,
  ): Promise<UpdateOutcome>;
}

const evidenceFolder = ".lastgood/evidence";

/** Errors: input-rejected when the store needs a lease and there is no way to get one. */
export function openRunStore(options: RunStoreOptions): RunStore {
  const means = meansFrom(options);
  return {
    createRun: async (run, initial) => createRun(means, assertRunName(run), initial),
    read: async (run) => readHead(means, assertRunName(run)),
    readVersion: async (run, version) =>
      readKeptVersion(means.store, assertRunName(run), version, means.names),
    versions: async (run) => listKept(means.store, assertRunName(run)),
    update: async (run, request, change) =>
      update(means, assertRunName(run), request, change as unknown as Change),
  };
}

function meansFrom(options: RunStoreOptions): RunMeans {
  const { store, acquireLease } = options;
  const { kind, replaceIsConditionalFor: replace, createIsConditionalFor: create } = store.traits;
  const decidesForAll =
    kind === "memory" || (replace === "all-clients" && create === "all-clients");
  if (acquireLease === "not-needed" && !decidesForAll) {
    throw new LastgoodError(
      "input-rejected",
      `A ${kind} store decides its conditions only for ${replace}: between the check and the write of one ` +
        "client another can write. Nothing was opened. Give acquireLease a function that gets the run's lease.",
    );
  }
  return {
    store,
    acquireLease,
    sha256: options.sha256,
    random: options.random,
    pause: options.pause,
    setAside: options.setAside ?? ((key, bytes) => setAsideInStore(options, key, bytes)),
    versionsInUse: options.versionsInUse ?? (async () => []),
    names: { ...runFieldNames, ...options.names },
    style: options.style ?? indentedStyle,
    ledgerWindowCount: options.ledgerWindowCount ?? limits.ledgerWindowCount,
    keptVersionsCount: options.keptVersionsCount ?? limits.keptVersionsCount,
    updateAttemptsMax: options.updateAttemptsMax ?? limits.updateAttemptsMax,
    atCrashPoint: options.atCrashPoint ?? (() => {}),
  };
}

async function update(
  means: RunMeans,
  run: RunName,
  request: UpdateRequest,
  change: Change,
): Promise<UpdateOutcome> {
  const dependencies = readDependencies(request.dependsOn ?? []);
  if (dependencies.kind === "rejected") {
    return { kind: "input-rejected", path: "dependsOn", reason: dependencies.reason };
  }
  const refusal = requestRefusal(request);
  if (refusal !== undefined) return { kind: "input-rejected", ...refusal };
  const task = { run, request, dependencies: dependencies.patterns, change };
  if (request.lease !== undefined || means.acquireLease === "not-needed") {
    return new RunUpdate(means, { ...task, lease: request.lease ?? "none" }).perform();
  }
  const lease = await means.acquireLease(run);
  try {
    return await new RunUpdate(means, { ...task, lease }).perform();
  } finally {
    await releaseLease(lease);
  }
}

async function releaseLease(lease: HeldLease): Promise<void> {
  try {
    await lease.release();
  } catch (error) {
    // The outcome of the update stands whatever becomes of the lease; unreleased, it ends by itself.
    if (!isLastgoodError(error)) throw error;
  }
}

function requestRefusal(
  request: UpdateRequest,
): { readonly path: string; readonly reason: string } | undefined {
  const { updateId, basedOn, dependsOn = [], onStale } = request;
  if (updateId === "" || updateId.length > limits.updateIdLengthMax) {
    const reason = `an update needs an id of 1 to ${limits.updateIdLengthMax} characters`;
    return { path: "updateId", reason };
  }
  if (basedOn !== undefined) {
    return isVersion(basedOn) ? undefined : { path: "basedOn", reason: "not a version" };
  }
  if (dependsOn.length > 0) {
    return {
      path: "basedOn",
      reason: "dependencies are checked against the version they were read from",
    };
  }
  return onStale === "record"
    ? { path: "basedOn", reason: "there is no version to record" }
    : undefined;
}

async function readHead(means: RunMeans, run: RunName): Promise<HeadReading> {
  const { store, names } = means;
  const stored = await store.read(headKey(run));
  if (stored === "absent") {
    return { kind: "head-missing", newestWhole: await newestWholeVersion(store, run, names) };
  }
  const reading = readRunDocument(stored.bytes, names);
  if (reading.kind !== "run") {
    const newestWhole = await newestWholeVersion(store, run, names);
    return { kind: "head-torn", reason: readingReason(reading), newestWhole };
  }
  const { version, value } = reading;
  return { kind: "run", run, version, value, bytes: stored.bytes, etag: stored.etag };
}

async function setAsideInStore(
  { store, now, sha256 }: RunStoreOptions,
  key: Key,
  bytes: Uint8Array,
): Promise<void> {
  const evidence = evidenceKey(evidenceFolder, now(), sha256(bytes), key);
  const outcome = await store.replace(evidence, bytes, "absent");
  if (outcome.kind !== "in-doubt") return; // "conflict": the same bytes were set aside at this very moment
  throw new LastgoodError(
    "io-failed",
    `${key} could not be set aside for certain as ${evidence} (${outcome.reason}). It still stands where it was.`,
    { subject: key },
  );
}

function assertRunName(run: RunName): RunName {
  const refusal = runNameRefusal(run);
  if (refusal === undefined) return run;
  throw new LastgoodError(
    "name-rejected",
    `${JSON.stringify(run)} cannot name a run: ${refusal}. Nothing was read or written.`,
    { subject: run },
  );
}
