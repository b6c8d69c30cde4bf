/**
 * Effects over a list of items, each recorded before and after, so that a retry from the top repeats nothing.
 *
 *   nothing known            → intent recorded → effect → done or failed recorded
 *   done                     → skipped
 *   refused before           → tried again, under the next attempt number and the same key
 *   tried, no outcome known  → held, unless `recheck` finds out; never simply tried again
 */
import { isLastgoodError, LastgoodError } from "../base/errors.js";
import { limits } from "../base/limits.js";
import { recordTextRefusal } from "../format/log-record.js";
import type { Key, ObjectStore, TailRepair } from "../storage/object-store.js";
import type { BatchCrashPoint, CheckpointCrashPoint } from "./checkpoint-crash-points.js";
import { type CheckpointLog, leaseTarget, openCheckpointLog } from "./checkpoint-log.js";
import type { UnreadableLine } from "./checkpoint-read.js";
import {
  type AcquireOutcome,
  acquireLease,
  type GrantedLease,
  type LeaseOptions,
  type TookOver,
} from "./lease.js";
import { ItemRun } from "./run-batch-item.js";
import type { Effect, ItemResult, Recheck } from "./run-batch-outcomes.js";

export interface BatchOptions<Item> {
  readonly items: readonly Item[];
  /** Stable over retries: what was done is looked up under it. */
  readonly id: (item: Item) => string;
  /**
   * The idempotency key, a pure function of the item: it must be the same in every process that ever runs this batch,
   * for what was done is looked up under it, and the receiver refuses a second effect by it. Never a random id.
   */
  readonly key: (item: Item) => string;
  readonly effect: Effect<Item>;
  /**
   * Asked about an item in doubt before anything is done about it. Without it such an item is held, and a log with
   * lines that are no records is not gone on with.
   */
  readonly recheck?: Recheck<Item>;
  readonly store: ObjectStore;
  /** `runs/checkpoint.jsonl` */
  readonly log: Key;
  /** Name of this worker; two that run at once must not share one. */
  readonly worker: string;
  readonly process: LeaseOptions["process"];
  readonly processAlive: LeaseOptions["processAlive"];
  readonly now: () => number;
  readonly sha256: (bytes: Uint8Array) => string;
  /** Really waits: between two waits the lease is renewed while effects run. */
  readonly pause: (waitMs: number) => Promise<void>;
  /** Effects under way at once. */
  readonly concurrency?: number;
  /** Once aborted no further item is begun; handed on to the effects. */
  readonly signal?: AbortSignal;
  readonly leaseDurationMs?: number;
  readonly clockSkewMsMax?: number;
  readonly evidenceFolder?: string;
  /** For tests of stopping: called between any two effects. */
  readonly atCrashPoint?: (point: BatchCrashPoint | CheckpointCrashPoint) => void | Promise<void>;
}

export type BatchOutcome<Item> =
  /** One result for each item, in their order. */
  | {
      readonly kind: "ran";
      readonly results: readonly ItemResult<Item>[];
      readonly tailRepair: TailRepair;
      readonly tookOver?: TookOver;
    }
  /** Somebody else is at it. Nothing was done; ask again later. */
  | Extract<AcquireOutcome, { kind: "held-by" }>
  /**
   * Lines that are no records, or more operations than can be followed: what was done cannot be known from this log.
   * Nothing was done. With a `recheck`, the receiver is asked about each item instead; else a person must look.
   */
  | {
      readonly kind: "log-unreadable";
      readonly lines: readonly UnreadableLine[];
      readonly lineCount: number;
      readonly reason: string;
    };

/**
 * Runs the batch under the lease of its log.
 *
 * Errors:    input-rejected for ids or keys that are empty, too long, repeated, or change from one asking to the
 *            next; what the store refuses while the log is opened. Then no effect was tried.
 *            A refusal later is in the results: the items concerned are "in-doubt" or "not-run", with the reason.
 * Guarantee: no effect is tried without a durable intent. None is tried for an item that is done or in doubt, by
 *            whatever process, killed at whatever point. An effect that throws is in doubt, and so recorded by its
 *            intent alone. That a receiver does one request only once, only the receiver can promise: by the key.
 */
export async function runBatch<Item>(options: BatchOptions<Item>): Promise<BatchOutcome<Item>> {
  const named = nameItems(options);
  const concurrency = concurrencyOf(options);
  const acquired = await acquireLease({
    ...options,
    ...(options.leaseDurationMs === undefined ? {} : { durationMs: options.leaseDurationMs }),
    target: leaseTarget(options.log),
    holder: options.worker,
    operation: `batch of ${named.length}`,
  });
  if (acquired.kind === "held-by") return acquired;
  const { lease, tookOver } = acquired;
  const stopRenewing = renewMeanwhile(lease, options.pause);
  try {
    const log = await openCheckpointLog({ ...options, lease });
    try {
      const outcome = await runOn(log, named, { ...options, concurrency });
      await options.atCrashPoint?.("batch: ended");
      return outcome.kind === "ran" && tookOver !== undefined ? { ...outcome, tookOver } : outcome;
    } finally {
      await closeQuietly(log);
    }
  } finally {
    stopRenewing();
    await releaseQuietly(lease);
  }
}

export interface NamedItem<Item> {
  readonly item: Item;
  readonly id: string;
  readonly key: string;
}

function nameItems<Item>(options: BatchOptions<Item>): readonly NamedItem<Item>[] {
  const ids = new Set<string>();
  const keys = new Set<string>();
  return options.items.map((item) => {
    const named = { item, id: options.id(item), key: options.key(item) };
    const refusal =
      recordTextRefusal("id", named.id) ??
      recordTextRefusal("key", named.key) ??
      (ids.has(named.id) ? "two items have this id" : undefined) ??
      (keys.has(named.key) ? `its key ${named.key} is that of another item` : undefined) ??
      // A key drawn anew for each retry protects nobody: the receiver would take the retry for another order.
      (options.key(item) === named.key ? undefined : "its key changes each time it is asked for");
    if (refusal !== undefined) throw itemRejected(named.id, refusal);
    ids.add(named.id);
    keys.add(named.key);
    return named;
  });
}

function concurrencyOf<Item>({
  concurrency = limits.batchConcurrency,
}: BatchOptions<Item>): number {
  if (Number.isSafeInteger(concurrency) && concurrency >= 1) return concurrency;
  throw new LastgoodError(
    "input-rejected",
    `The batch was not begun: ${concurrency} effects at once is not a whole number from 1. Nothing was recorded.`,
  );
}

async function runOn<Item>(
  log: CheckpointLog,
  items: readonly NamedItem<Item>[],
  options: BatchOptions<Item> & { readonly concurrency: number },
): Promise<BatchOutcome<Item>> {
  const { unreadable, unreadableCount, operations } = log.reading;
  // With somebody to ask, a line that is no record puts every item in doubt that is not known to be done.
  const isHopeless = unreadableCount > 0 && options.recheck === undefined;
  if (isHopeless || operations.full) {
    const reason = operations.full
      ? `the log names more than ${limits.logItemsMax} operations`
      : `${unreadableCount} lines are no records; one of them may have said that an item was done`;
    return { kind: "log-unreadable", lines: unreadable, lineCount: unreadableCount, reason };
  }
  const results: ItemResult<Item>[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (;;) {
      const index = next;
      const named = items[index];
      if (named === undefined) return;
      next += 1;
      results[index] = await new ItemRun(log, named, options).perform();
    }
  };
  const atOnceCount = Math.min(options.concurrency, items.length);
  await Promise.all(Array.from({ length: atOnceCount }, work));
  return { kind: "ran", results, tailRepair: log.tailRepair };
}

/** Keeps the lease while effects run that take longer than it lasts. The log itself looks before each record. */
function renewMeanwhile(lease: GrantedLease, pause: (waitMs: number) => Promise<void>): () => void {
  let stopped = false;
  const renew = async (): Promise<void> => {
    while (!stopped) {
      await pause(limits.leaseRenewLookMs);
      if (!stopped && (await lease.keepIfDue()) === "lost") return;
    }
  };
  // A refusal here is met again, and told, before the next record.
  renew().catch(() => undefined);
  return () => {
    stopped = true;
  };
}

async function closeQuietly(log: CheckpointLog): Promise<void> {
  try {
    await log.close();
  } catch {
    // What was confirmed was synced before; a close that fails can take nothing from the results.
  }
}

async function releaseQuietly(lease: GrantedLease): Promise<void> {
  try {
    await lease.release();
  } catch (error) {
    // The results stand whatever becomes of the lease; unreleased, it ends by itself.
    if (!isLastgoodError(error)) throw error;
  }
}

function itemRejected(id: string, refusal: string): LastgoodError {
  const shown = JSON.stringify(id.slice(0, 200));
  return new LastgoodError(
    "input-rejected",
    `The batch was not begun: item ${shown} cannot be run, ${refusal}. No effect was tried and nothing was recorded. ` +
      "Ids and keys must be stable and unique within the batch.",
    { subject: id },
  );
}
