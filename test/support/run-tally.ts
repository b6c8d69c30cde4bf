import type { UpdateOutcome } from "../../shared/durable/run-outcomes.js";

/** One worker's part of a document: how many of its updates are in, and the sum of their numbers. */
export interface WorkerTally {
  readonly count: number;
  readonly sum: number;
}

/** Shows an update that is missing, and one that was applied twice, whatever the window has forgotten. */
export interface TallyDocument {
  workers: Record<string, WorkerTally>;
}

export function countOne(document: TallyDocument, name: string, number: number): undefined {
  const { count, sum } = document.workers[name] ?? { count: 0, sum: 0 };
  document.workers[name] = { count: count + 1, sum: sum + number };
  return undefined;
}

export function isAcknowledged(outcome: UpdateOutcome): boolean {
  return outcome.kind === "applied" || outcome.kind === "already-applied";
}
