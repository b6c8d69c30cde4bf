/** Step 8: what may go once an update is on the device. Nothing here is needed for any promise. */
import { isLastgoodError } from "../base/errors.js";
import { limits } from "../base/limits.js";
import { keptVersionKey, type RunName } from "../format/keys.js";
import { readRunDocument } from "../format/run-document.js";
import type { Etag, Key } from "../storage/object-store.js";
import { type KeptNames, versionsToPrune } from "./history.js";
import type { RunMeans } from "./run-means.js";
import type { Tidying } from "./run-outcomes.js";
import { sameBytes } from "./update-steps.js";

export interface Committed {
  readonly run: RunName;
  readonly version: number;
  readonly bytes: Uint8Array;
  /** Our own claim, where we know that it stands. */
  readonly claim: { readonly key: Key; readonly etag: Etag } | undefined;
  /** Names as they were when the update looked. */
  readonly kept: KeptNames;
  readonly inUse: readonly number[];
}

/** Removes our claim, sets leftovers aside and prunes. A refusal is told, and takes nothing back. */
export async function tidyAfter(means: RunMeans, committed: Committed): Promise<Tidying> {
  try {
    if (committed.claim !== undefined) {
      await means.store.remove(committed.claim.key, committed.claim.etag);
    }
    await means.atCrashPoint("claim-removed");
    const claimsSetAsideCount = await setLeftoversAside(means, committed);
    await means.atCrashPoint("leftovers-set-aside");
    const prunedVersions = await prune(means, committed);
    await means.atCrashPoint("pruned");
    return { kind: "tidied", prunedVersions, claimsSetAsideCount };
  } catch (error) {
    if (!isLastgoodError(error)) throw error;
    return { kind: "refused", code: error.code, message: error.message };
  }
}

/** Claims for versions that are history now. A claim for a later version may be a living writer's. */
async function setLeftoversAside(means: RunMeans, committed: Committed): Promise<number> {
  const { store, setAside } = means;
  let count = 0;
  for (const { key, version } of committed.kept.claims) {
    if (version > committed.version || count >= limits.claimsSetAsidePerUpdateMax) continue;
    const claim = await store.read(key);
    if (claim === "absent") continue;
    // The same bytes as the head just committed are no evidence of anything.
    if (!sameBytes(claim.bytes, committed.bytes)) await setAside(key, claim.bytes);
    await store.remove(key, claim.etag);
    count += 1;
  }
  return count;
}

async function prune(means: RunMeans, committed: Committed): Promise<readonly number[]> {
  const { store, names, keptVersionsCount } = means;
  const { run, version, bytes, kept } = committed;
  const versions = kept.versions.includes(version) ? kept.versions : [...kept.versions, version];
  if (versions.length <= keptVersionsCount) return [];
  const document = readRunDocument(bytes, names);
  const restoredFrom = document.kind === "run" ? document.restoredFrom : undefined;
  const candidates = versionsToPrune({
    versions,
    baseVersion: version - 1,
    keptCount: keptVersionsCount,
    newestWhole: version,
    inUse: [
      ...committed.inUse,
      ...(restoredFrom === undefined ? [] : [restoredFrom]),
      ...(await means.versionsInUse(run)),
    ],
  });
  const pruned: number[] = [];
  for (const candidate of candidates.slice(0, limits.prunedPerUpdateMax)) {
    const key = keptVersionKey(run, candidate);
    const stored = await store.read(key);
    if (stored === "absent") continue;
    if ((await store.remove(key, stored.etag)).kind === "removed") pruned.push(candidate);
  }
  return pruned;
}
