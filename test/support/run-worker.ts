/**
 * A real process that updates one run on a local store, one update after another, and reports each acknowledgement.
 * Told so, it ends or stops itself at a named point, as SIGKILL or SIGSTOP from outside would, but just there.
 *
 * Argument: WorkerOrders as JSON. Messages: WorkerMessage.
 */
import { openLocalStore } from "../../shared/adapters/local/local-store.js";
import {
  nowMs,
  pause,
  processAlive,
  processIdentity,
  randomFraction,
  sha256Hex,
} from "../../shared/adapters/system.js";
import { type HeldLease, waitForLease } from "../../shared/durable/lease.js";
import type { UpdateOutcome } from "../../shared/durable/run-outcomes.js";
import { openRunStore } from "../../shared/durable/run-store.js";
import { run } from "./build-run.js";
import { countOne, type TallyDocument } from "./run-tally.js";

export interface WorkerOrders {
  readonly root: string;
  readonly name: string;
  /** Numbers of the first and the last update; `name:number` is the id of each. */
  readonly from: number;
  readonly to: number;
  readonly updatesPerLease: number;
  readonly leaseMs: number;
  readonly ledgerWindowCount: number;
  readonly at?: {
    readonly point: string;
    readonly nth: number;
    readonly signal: "SIGKILL" | "SIGSTOP";
  };
}

export type WorkerMessage =
  | { readonly kind: "acknowledged"; readonly number: number; readonly as: UpdateOutcome["kind"] }
  /** An answer that says to ask again with the same id. */
  | {
      readonly kind: "asking-again";
      readonly number: number;
      readonly because: UpdateOutcome["kind"];
    }
  | { readonly kind: "refused"; readonly number: number; readonly outcome: UpdateOutcome }
  /** Finished the claim of another worker that had stopped. */
  | { readonly kind: "helped" }
  | { readonly kind: "finished" };

const orders = JSON.parse(process.argv[2] ?? "{}") as WorkerOrders;
let reached = 0;

function tell(message: WorkerMessage): void {
  process.send?.(message);
}

function atCrashPoint(point: string): void {
  if (point === "help-kept") tell({ kind: "helped" });
  if (point !== orders.at?.point) return;
  reached += 1;
  if (reached === orders.at.nth) process.kill(process.pid, orders.at.signal);
}

const store = await openLocalStore({ root: orders.root, atCrashPoint });
const runs = openRunStore({
  store,
  sha256: sha256Hex,
  now: nowMs,
  random: randomFraction,
  pause,
  acquireLease: leaseFor,
  ledgerWindowCount: orders.ledgerWindowCount,
  atCrashPoint,
});

async function leaseFor(target: string): Promise<HeldLease> {
  const outcome = await waitForLease(
    {
      store,
      target,
      holder: orders.name,
      process: processIdentity(),
      operation: "update",
      now: nowMs,
      processAlive,
      durationMs: orders.leaseMs,
      clockSkewMsMax: Math.ceil(orders.leaseMs / 10),
    },
    { pause, random: randomFraction, waitMsMax: 120_000 },
  );
  if (outcome.kind === "granted") return outcome.lease;
  throw new Error(`the lease of ${target} never came free: ${JSON.stringify(outcome)}`);
}

function update(number: number, lease: HeldLease): Promise<UpdateOutcome> {
  const { name } = orders;
  const request = { updateId: `${name}:${number}`, onStale: "refuse", lease } as const;
  return runs.update<TallyDocument>(run, request, (document) => countOne(document, name, number));
}

/** Updates under one lease; answers the number to go on with. */
async function updateUnderOneLease(from: number): Promise<number> {
  const lease = await leaseFor(run);
  let number = from;
  try {
    while (number <= orders.to && number < from + orders.updatesPerLease) {
      const outcome = await update(number, lease);
      switch (outcome.kind) {
        case "applied":
        case "already-applied":
          tell({ kind: "acknowledged", number, as: outcome.kind });
          number += 1;
          break;
        case "lease-lost":
        case "in-doubt":
        case "gave-up":
          tell({ kind: "asking-again", number, because: outcome.kind });
          return number;
        default:
          tell({ kind: "refused", number, outcome });
          return orders.to + 1;
      }
    }
    return number;
  } finally {
    await lease.release();
  }
}

let next = orders.from;
while (next <= orders.to) next = await updateUnderOneLease(next);
tell({ kind: "finished" });
process.disconnect();
