/** What goes into a batch for one item, and what comes out of it. */
import type { AttemptState, EffectOutcome } from "../format/item-state.js";

export interface EffectRequest {
  /** To be sent along, so that the receiver does it only once. */
  readonly key: string;
  /** From 1. */
  readonly attempt: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Tries the effect once.
 *
 * "done" and "refused" are for what the receiver said. Whatever throws (a timeout, a lost connection) is in doubt:
 * the effect may have happened. So "refused" must never stand for "no answer".
 */
export type Effect<Item> = (
  item: Item,
  request: EffectRequest,
) => Promise<{ readonly kind: "done" } | { readonly kind: "refused"; readonly reason: string }>;

export interface RecheckAnswer {
  readonly outcome: EffectOutcome;
  readonly reason: string;
  /** What was looked at: a receipt number, an evidence key. */
  readonly evidence: string;
  /** Who answered: a service, a person. */
  readonly by: string;
}

/** Finds out at the receiver what became of an effect. Its answer is recorded. If it throws, the item is held. */
export type Recheck<Item> = (
  item: Item,
  doubt: { readonly key: string; readonly attempts: readonly AttemptState[] },
) => Promise<RecheckAnswer>;

export type ItemResult<Item> = {
  readonly item: Item;
  readonly id: string;
  readonly key: string;
} & (
  | { readonly kind: "done"; readonly attempt: number }
  /** `says`: a record of the one who did it, or a settlement by somebody who looked. */
  | { readonly kind: "already-done"; readonly says: "record" | "settlement" }
  | { readonly kind: "refused"; readonly attempt: number; readonly reason: string }
  /** Tried just now; whether it happened, or whether its outcome is recorded, is not known. */
  | { readonly kind: "in-doubt"; readonly attempt: number; readonly reason: string }
  /** Not tried now, because it is not known what became of it before. */
  | { readonly kind: "held"; readonly reason: string }
  | { readonly kind: "not-run"; readonly reason: string }
);
