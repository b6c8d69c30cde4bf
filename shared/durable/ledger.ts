/**
 * The ledger: which updates a document has already absorbed. It stands in the document itself, because an id
 * written apart from its change leaves a moment in which one of them is there without the other.
 *
 * The window is an expiry date: a retry older than `windowCount` updates is no longer known, and would be
 * applied again.
 */
import { limits } from "../base/limits.js";
import type { JsonValue } from "../format/json-value.js";

/** Ids as they stand in a document, newest last. Entries that are no text are somebody else's and stay. */
export type LedgerWindow = readonly JsonValue[];

export function holdsUpdate(window: LedgerWindow, updateId: string): boolean {
  return window.includes(updateId);
}

/** The window after one more update; the oldest ids go when it is full. */
export function absorbUpdate(
  window: LedgerWindow,
  updateId: string,
  windowCount: number = limits.ledgerWindowCount,
): JsonValue[] {
  return [...window, updateId].slice(-windowCount);
}

/**
 * Ids of `older` that `newer` should still hold and does not: the sign of a writer that did not build on
 * what was there. Oldest ids are forgiven when `newer` is full, since its length pushed them out.
 */
export function idsMissingFrom(
  newer: LedgerWindow,
  older: LedgerWindow,
  windowCount: number = limits.ledgerWindowCount,
): readonly string[] {
  const held = new Set(newer);
  const known = older.filter((id) => typeof id === "string");
  const oldestHeld = known.findIndex((id) => held.has(id));
  const isFull = newer.length >= windowCount;
  const pushedOutCount = !isFull ? 0 : oldestHeld < 0 ? known.length : oldestHeld;
  return known.slice(pushedOutCount).filter((id) => !held.has(id));
}
