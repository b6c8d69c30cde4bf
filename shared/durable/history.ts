/** Kept versions of a run: what is there, what is whole, and which of them may go. */
import { limits } from "../base/limits.js";
import { keptVersionKey, type RunName, readKey, versionsPrefix } from "../format/keys.js";
import {
  type RunDocument,
  type RunFieldNames,
  readingReason,
  readRunDocument,
} from "../format/run-document.js";
import type { Key, ObjectStore, Stored } from "../storage/object-store.js";

export interface ClaimName {
  readonly key: Key;
  readonly version: number;
  /** First hex digits of the sha256 of the head it was made from. */
  readonly base: string;
}

export interface KeptNames {
  /** Rising. */
  readonly versions: readonly number[];
  readonly claims: readonly ClaimName[];
  /** False when there were more names than one listing returns, or the store's listings lag behind. */
  readonly complete: boolean;
}

export async function listKept(store: ObjectStore, run: RunName): Promise<KeptNames> {
  const listing = await store.list(versionsPrefix(run), limits.listCountMax);
  const complete = listing.complete && store.traits.listFollowsWrites;
  return { ...sortKeptNames(listing.keys, run), complete };
}

/** Names beside a run, sorted into versions and claims; anything else under the prefix is not ours. */
export function sortKeptNames(
  keys: readonly Key[],
  run: RunName,
): { readonly versions: readonly number[]; readonly claims: readonly ClaimName[] } {
  const versions: number[] = [];
  const claims: ClaimName[] = [];
  for (const key of keys) {
    const meaning = readKey(key);
    if (meaning.kind === "kept-version" && meaning.run === run) versions.push(meaning.version);
    else if (meaning.kind === "pending" && meaning.run === run) {
      claims.push({ key, version: meaning.version, base: meaning.base });
    }
  }
  return { versions: versions.sort((a, b) => a - b), claims };
}

export type KeptVersion =
  | { readonly kind: "whole"; readonly stored: Stored; readonly document: RunDocument }
  /** There, but not a run document of this version. */
  | { readonly kind: "damaged"; readonly stored: Stored; readonly reason: string }
  | { readonly kind: "absent" };

export async function readKeptVersion(
  store: ObjectStore,
  run: RunName,
  version: number,
  names: RunFieldNames,
): Promise<KeptVersion> {
  const stored = await store.read(keptVersionKey(run, version));
  if (stored === "absent") return { kind: "absent" };
  const document = readRunDocument(stored.bytes, names);
  if (document.kind !== "run") return { kind: "damaged", stored, reason: readingReason(document) };
  if (document.version !== version) {
    return { kind: "damaged", stored, reason: `it holds version ${document.version}` };
  }
  return { kind: "whole", stored, document };
}

/** The newest version that can be put back, or "none". Reads from the newest down to the first whole one. */
export async function newestWholeVersion(
  store: ObjectStore,
  run: RunName,
  names: RunFieldNames,
): Promise<number | "none"> {
  const { versions } = await listKept(store, run);
  for (const version of versions.toReversed()) {
    const kept = await readKeptVersion(store, run, version, names);
    if (kept.kind === "whole") return version;
  }
  return "none";
}

/**
 * Kept versions that may be removed after an update that read `baseVersion`.
 *
 * Never: the version before the base and everything after it (another writer may be looking at them), the
 * newest `keptCount`, the newest whole one, or one of `inUse` (read as a base, named as a restore source).
 */
export function versionsToPrune(kept: {
  readonly versions: readonly number[];
  readonly baseVersion: number;
  readonly keptCount: number;
  readonly newestWhole: number;
  readonly inUse: readonly number[];
}): readonly number[] {
  const rising = kept.versions.toSorted((a, b) => a - b);
  const spared = new Set([...kept.inUse, kept.newestWhole]);
  return rising
    .slice(0, Math.max(0, rising.length - kept.keptCount))
    .filter((version) => version < kept.baseVersion - 1 && !spared.has(version));
}
