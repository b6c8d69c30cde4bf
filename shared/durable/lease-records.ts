/**
 * The objects a lease consists of: made only if absent, never written over, and tidied away only when a newer one is
 * in force.
 */
import { assertNever } from "../base/assert.js";
import { LastgoodError } from "../base/errors.js";
import { limits } from "../base/limits.js";
import { leaseGrantKey, readKey } from "../format/keys.js";
import type { Etag, Key, ObjectStore } from "../storage/object-store.js";
import type { LeaseRecord } from "./lease.js";
import { encodeLease, readLease } from "./lease-state.js";

/** "lost": the name is taken. An error leaves it uncertain whether the record is there; it is removed if it can be. */
export async function createLeaseRecord(
  store: ObjectStore,
  key: Key,
  record: LeaseRecord,
): Promise<Etag | "lost"> {
  const bytes = encodeLease(record);
  const outcome = await store.replace(key, bytes, "absent");
  switch (outcome.kind) {
    case "written":
      return outcome.etag;
    case "conflict":
      return "lost";
    case "in-doubt": {
      const found = await store.read(key);
      const isOurs = found !== "absent" && isSame(found.bytes, bytes);
      if (isOurs && outcome.reason === "reply-lost") return found.etag;
      // Not on the device: after a power loss the same token could be granted again, to somebody else.
      if (isOurs) await store.remove(key, found.etag);
      throw new LastgoodError(
        "io-failed",
        `The lease record ${key} could not be written for certain (${outcome.reason}). The lease is not held ` +
          "on the strength of it. Try again; if it stays so, look at the disk.",
        { subject: key },
      );
    }
    default:
      return assertNever(outcome);
  }
}

export interface LeaseName {
  readonly key: Key;
  readonly token: number;
  readonly renewal: number;
}

export interface NewestLease extends LeaseName {
  readonly record: LeaseRecord;
}

export async function newestLease(
  store: ObjectStore,
  target: Key,
): Promise<NewestLease | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const name = await newestLeaseName(store, target);
    if (name === undefined) return undefined;
    const stored = await store.read(name.key);
    if (stored !== "absent") {
      const record = readLease(stored.bytes);
      if (record?.token === name.token) return { ...name, record };
      throw new LastgoodError(
        "input-rejected",
        `${name.key} is the newest lease of ${target} and cannot be read as one, so nobody can tell who may write. ` +
          "Nothing was changed. Make sure that no worker is running, set the file aside, and start again.",
        { subject: name.key },
      );
    }
    // Renewed and tidied away between the two looks.
    if (attempt >= limits.leaseAttemptsMax) throw outrun(target);
  }
}

export async function newestLeaseName(
  store: ObjectStore,
  target: Key,
): Promise<LeaseName | undefined> {
  const names = await leaseNames(store, target);
  return names.reduce<LeaseName | undefined>(
    (best, name) => (best === undefined || isNewer(name, best) ? name : best),
    undefined,
  );
}

async function leaseNames(store: ObjectStore, target: Key): Promise<readonly LeaseName[]> {
  const listing = await store.list(`${target}.lease.`, limits.listCountMax);
  if (!listing.complete) {
    throw new LastgoodError(
      "limit-exceeded",
      `There are more than ${limits.listCountMax} lease records of ${target}, so the newest cannot be known. ` +
        "Nothing was changed. Remove all but the newest, judged by the two numbers in their names.",
      { subject: target },
    );
  }
  return listing.keys.flatMap((key) => {
    const meaning = readKey(key);
    if (meaning.kind !== "lease-grant" || meaning.target !== target) return [];
    return [{ key, token: meaning.token, renewal: meaning.renewal }];
  });
}

function isNewer(a: LeaseName, b: LeaseName): boolean {
  return a.token > b.token || (a.token === b.token && a.renewal > b.renewal);
}

/**
 * Whether nobody was granted the lease after us, by two names instead of a listing: a holder asks before each record it
 * writes, and its folder may be full of other runs.
 *
 * `ownKey`: a record of ours that a listing found to be in force. Whoever takes the lease from it makes the first name
 * of the next token, and that name is taken away only after ours (pruneLeases). So, read in this order: the next token
 * was never granted, or ours is gone.
 */
export async function isStillInForce(
  store: ObjectStore,
  target: Key,
  token: number,
  ownKey: Key,
): Promise<boolean> {
  if ((await store.read(leaseGrantKey(target, token + 1, 0))) !== "absent") return false;
  return (await store.read(ownKey)) !== "absent";
}

/**
 * Removes records that are out of force, the oldest first, and none behind one that stays: an old holder must never
 * find its own record and not that of the one who took the lease from it. The newest is what keeps the token from
 * going back.
 */
export async function pruneLeases(store: ObjectStore, target: Key, newestKey: Key): Promise<void> {
  const names = await leaseNames(store, target);
  const newest = names.find(({ key }) => key === newestKey);
  const older = names.filter((name) => newest !== undefined && isNewer(newest, name));
  older.sort((a, b) => (isNewer(a, b) ? 1 : -1));
  for (const { key } of older.slice(0, limits.leaseRecordsPrunedMax)) {
    const stored = await store.read(key);
    if (stored !== "absent" && (await tidyLease(store, key, stored.etag)) === "left") return;
  }
}

/** Left behind, an old record does no harm: a refusal here must not cost the lease. */
export async function tidyLease(
  store: ObjectStore,
  key: Key,
  etag: Etag,
): Promise<"removed" | "left"> {
  try {
    const outcome = await store.remove(key, etag);
    const isGone = outcome.kind === "conflict" && outcome.currentEtag === "absent";
    return outcome.kind === "removed" || isGone ? "removed" : "left";
  } catch (error) {
    if (!(error instanceof LastgoodError)) throw error;
    return "left";
  }
}

export function outrun(target: Key): LastgoodError {
  return new LastgoodError(
    "busy",
    `The lease of ${target} changed hands ${limits.leaseAttemptsMax} times while it was asked for. ` +
      "Nothing is held. Try again a little later.",
    { subject: target },
  );
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}
