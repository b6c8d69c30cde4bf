/**
 * A real process that runs batches over a local store until every item is done or in doubt, or until it is killed:
 * by its parent, or by itself at a named crash point. Started by tests with one JSON argument.
 *
 * What it does to the world is one line per effect in an outbox, and what it was told is safe one line per record in
 * a second file; both are written with O_APPEND in one call each, so a kill cannot leave half of either.
 */
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { openLocalStore } from "../../shared/adapters/local/local-store.js";
import { pause, processAlive, processIdentity, sha256Hex } from "../../shared/adapters/system.js";
import { isLastgoodError } from "../../shared/base/errors.js";
import { type BatchOutcome, runBatch } from "../../shared/durable/run-batch.js";
import type { Recheck } from "../../shared/durable/run-batch-outcomes.js";
import type { ObjectStore } from "../../shared/storage/object-store.js";
import { seededRandom } from "./build-run.js";

export interface BatchWorkerOrder {
  readonly root: string;
  readonly worker: string;
  readonly items: number;
  /** How many items one batch takes, from a place drawn with the seed. */
  readonly slice: number;
  readonly concurrency: number;
  readonly seed: number;
  /** Look in the outbox what became of an item in doubt; else it is held. */
  readonly rechecks: "yes" | "no";
  /** Kills itself when it comes to this point for the n-th time. */
  readonly dieAt?: { readonly point: string; readonly time: number };
  /** Stops itself (SIGSTOP) when it first comes to this point. */
  readonly sleepAt?: string;
  /** How long its lease lasts, with no allowance for skew; default as for everybody. */
  readonly leaseMs?: number;
}

export const batchLog = "runs/checkpoint.jsonl";
const lineEnd = "\n";

export function outboxPath(root: string): string {
  return join(root, "..", "outbox.txt");
}

export function acknowledgedPath(root: string): string {
  return join(root, "..", "acknowledged.jsonl");
}

export function keyOf(number: number): string {
  return `mail:${number}`;
}

/** How often each key's effect happened. */
export function effectsByKey(root: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const key of linesAt(outboxPath(root))) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

export function linesAt(path: string): string[] {
  try {
    return readFileSync(path, "utf8").split(lineEnd).slice(0, -1);
  } catch {
    return []; // Nobody got that far.
  }
}

/** Asks the receiver: what stands in the outbox was done, and nothing else was. */
export function askOutbox(root: string): Recheck<number> {
  return async (_item, { key }) => ({
    outcome: effectsByKey(root).has(key) ? "done" : "not-started",
    reason: "looked in the outbox",
    evidence: outboxPath(root).slice(-10),
    by: "outbox",
  });
}

function addLine(path: string, text: string): void {
  const file = openSync(path, "a");
  writeSync(file, text + lineEnd);
  closeSync(file);
}

/** One batch over items `from` to `from + count - 1`. */
export async function runSlice(
  order: BatchWorkerOrder,
  store: ObjectStore,
  from: number,
  atCrashPoint: (point: string) => void,
): Promise<BatchOutcome<number>> {
  const { root, worker, slice, concurrency, leaseMs } = order;
  return await runBatch<number>({
    items: Array.from({ length: Math.min(slice, order.items - from) }, (_, n) => from + n),
    id: (number) => `item-${number}`,
    key: keyOf,
    effect: async (_item, { key }) => {
      addLine(outboxPath(root), key);
      return { kind: "done" };
    },
    ...(order.rechecks === "yes" ? { recheck: askOutbox(root) } : {}),
    store: noting(store, (records) => addLine(acknowledgedPath(root), records)),
    log: batchLog,
    worker,
    process: processIdentity(),
    processAlive,
    now: Date.now,
    sha256: sha256Hex,
    pause,
    concurrency,
    ...(leaseMs === undefined ? {} : { leaseDurationMs: leaseMs, clockSkewMsMax: 0 }),
    atCrashPoint,
  });
}

/** Notes down what the log has confirmed, at the very moment it confirms it: whole lines, without the last `\n`. */
export function noting(store: ObjectStore, note: (records: string) => void): ObjectStore {
  return {
    traits: store.traits,
    read: (...args) => store.read(...args),
    replace: (...args) => store.replace(...args),
    list: (...args) => store.list(...args),
    remove: (...args) => store.remove(...args),
    readLog: (...args) => store.readLog(...args),
    openLog: async (...args) => {
      const log = await store.openLog(...args);
      return {
        tailRepair: log.tailRepair,
        get sizeBytes() {
          return log.sizeBytes;
        },
        append: async (bytes) => {
          const outcome = await log.append(bytes);
          if (outcome.kind === "appended") note(new TextDecoder().decode(bytes).slice(0, -1));
          return outcome;
        },
        close: () => log.close(),
      };
    },
  };
}

async function work(order: BatchWorkerOrder): Promise<void> {
  const random = seededRandom(order.seed);
  let times = 0;
  let isRested = false;
  const dieIfDue = (point: string): void => {
    if (point === order.sleepAt && !isRested) {
      isRested = true;
      process.kill(process.pid, "SIGSTOP");
    }
    if (point !== order.dieAt?.point) return;
    times += 1;
    if (times === order.dieAt.time) process.kill(process.pid, "SIGKILL");
  };
  const store = await openLocalStore({ root: order.root, atCrashPoint: dieIfDue });
  const sliceCount = Math.ceil(order.items / order.slice);
  const left = new Set(Array.from({ length: sliceCount }, (_, n) => n));
  while (left.size > 0) {
    const slice = [...left][Math.floor(random() * left.size)] ?? 0;
    const outcome = await runSlice(order, store, slice * order.slice, dieIfDue).catch(busy);
    if (outcome.kind === "ran" && outcome.results.every(isSettled)) left.delete(slice);
    else if (outcome.kind === "log-unreadable") throw new Error(outcome.reason);
    else await pause(1 + random() * 10);
  }
}

type SliceOutcome = BatchOutcome<number> | { readonly kind: "refused" };

/** Others came first: to be tried again, as a scheduler would. Anything else ends the process with its error. */
function busy(error: unknown): SliceOutcome {
  if (isLastgoodError(error) && (error.code === "busy" || error.code === "lease-lost")) {
    return { kind: "refused" };
  }
  throw error;
}

function isSettled({ kind }: { readonly kind: string }): boolean {
  return kind === "done" || kind === "already-done" || kind === "held";
}

const [, script = "", argument] = process.argv;
if (script.endsWith("batch-worker.js") && argument !== undefined) {
  await work(JSON.parse(argument) as BatchWorkerOrder);
  process.disconnect?.();
}
