/**
 * A lease: the time-limited right to write, with a token that grows with every grant.
 *
 * Each grant and each renewal is the creation of one more object, `<target>.lease.<token>.<renewal>.json`, only if
 * absent; the newest name is in force. So of two takers exactly one gets the name, and a renewal that comes late has
 * an older name than the taker's grant and cannot put it out of force. Nothing is ever written over.
 */
import { limits } from "../base/limits.js";
import { leaseGrantKey } from "../format/keys.js";
import type { Key, ObjectStore } from "../storage/object-store.js";
import { Lease } from "./lease-held.js";
import {
  createLeaseRecord,
  type NewestLease,
  newestLease,
  newestLeaseName,
  outrun,
  pruneLeases,
} from "./lease-records.js";
import { isoTime, leaseStateAt } from "./lease-state.js";

/** The lease document as stored; `holder: null` is a released lease that keeps its token. */
export interface LeaseRecord {
  readonly holder: string | null;
  /** Fencing token: grows with each grant, survives release, stands in each record written under it. */
  readonly token: number;
  readonly host: string;
  readonly pid: number;
  /** ISO time the holder's process started, so that a reused pid is not taken for the holder. */
  readonly processStartedAt?: string | undefined;
  readonly operation: string;
  readonly acquiredAt: string;
  readonly renewedAt: string;
  readonly durationMs: number;
  /**
   * "unknown" until the holder has fenced off everybody before it: if it stops before that, whoever comes next must
   * not take the log as its own because *this* holder is gone; one before it may still be writing.
   */
  readonly earlierHolder?: "stopped" | "unknown" | undefined;
}

/** A lease in our hands. */
export interface HeldLease {
  readonly target: Key;
  readonly token: number;
  /** Fresh look at the store: ours and in force, or not any more. Never guesses from memory alone. */
  check(): Promise<"held" | "lost">;
  renew(): Promise<"held" | "lost">;
  /** Writes `holder: null` under the same token; never deletes. */
  release(): Promise<void>;
}

/** A lease as acquireLease grants it. */
export interface GrantedLease extends HeldLease {
  /** Whether an earlier holder may still be writing, so that what it writes to must be moved out of its reach. */
  readonly earlierHolder: "stopped" | "unknown";
  /** The earlier holders cannot write any more: said by later renewals and the release. */
  fencedOff(): void;
  /** Renews when a third of the time has gone by since the last renewal; else only looks. */
  keep(): Promise<"held" | "lost">;
  /** The same without the look when nothing is due, for a clock that ticks often. */
  keepIfDue(): Promise<"held" | "lost">;
}

export interface LeaseOptions {
  readonly store: ObjectStore;
  /** Key of what the lease is for, without its extension: `runs/checkpoint`. */
  readonly target: Key;
  /** Name of the worker. Two holders must not share one. */
  readonly holder: string;
  /** As processIdentity() gives it. */
  readonly process: {
    readonly host: string;
    readonly pid: number;
    readonly processStartedAt: string | undefined;
  };
  /** What it is held for, in words for the person who waits. */
  readonly operation: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Asked only about a process of our own host. */
  readonly processAlive: (
    pid: number,
    startedAt: string | undefined,
  ) => "alive" | "gone" | "unknown";
  readonly durationMs?: number;
  readonly clockSkewMsMax?: number;
}

export interface TookOver {
  readonly record: LeaseRecord;
  /** "holder-gone": its process has ended, proved by the process table. "expired": by the clock alone. */
  readonly because: "holder-gone" | "expired";
}

export type AcquireOutcome =
  | { readonly kind: "granted"; readonly lease: GrantedLease; readonly tookOver?: TookOver }
  | {
      readonly kind: "held-by";
      readonly record: LeaseRecord;
      readonly state: "held" | "unsure";
    };

/**
 * Takes the lease if nobody has it: never granted before, released, expired beyond the skew allowance, or held by a
 * process of this host that has provably ended.
 *
 * Errors:    input-rejected when the newest lease record cannot be read, io-failed when it cannot be known whether
 *            ours was written; else what the store refuses. Then nothing is held.
 * Guarantee: of any number of takers at once at most one is granted, and its token is above every earlier one.
 */
export async function acquireLease(options: LeaseOptions): Promise<AcquireOutcome> {
  for (let attempt = 1; ; attempt += 1) {
    const newest = await newestLease(options.store, options.target);
    const verdict = judge(newest, options);
    if (verdict.kind === "held-by") return verdict;
    const record = grantRecord(options, newest, verdict.earlierHolder);
    const key = leaseGrantKey(options.target, record.token, 0);
    const written = await createLeaseRecord(options.store, key, record);
    if (written !== "lost") {
      const place = { key, etag: written };
      // A slow taker may have created a name that was granted, and tidied away, meanwhile: only the newest name counts.
      // A name that does not is left to be pruned, in its turn.
      if ((await newestLeaseName(options.store, options.target))?.key === key) {
        await pruneLeases(options.store, options.target, place.key);
        const lease = new Lease(options, record, place);
        const { tookOver } = verdict;
        return tookOver === undefined
          ? { kind: "granted", lease }
          : { kind: "granted", lease, tookOver };
      }
    }
    if (attempt >= limits.leaseAttemptsMax) throw outrun(options.target);
  }
}

/**
 * Asks again until the lease is granted, for at most `waitMsMax` milliseconds; then says who has it.
 *
 * Errors: as for acquireLease.
 */
export async function waitForLease(
  options: LeaseOptions,
  { pause, random, waitMsMax }: LeaseWait,
): Promise<AcquireOutcome> {
  const startedAtMs = options.now();
  for (;;) {
    const outcome = await acquireLease(options);
    if (outcome.kind === "granted" || options.now() - startedAtMs >= waitMsMax) return outcome;
    // Drawn, so that many who wait do not all come back at one moment.
    await pause(limits.leaseWaitMs * (0.5 + random()));
  }
}

export interface LeaseWait {
  readonly pause: (waitMs: number) => Promise<void>;
  /** At least 0, below 1. */
  readonly random: () => number;
  readonly waitMsMax: number;
}

/**
 * Ends somebody else's lease on a person's word, who knows that its holder will not go on. Nobody holds it then, the
 * token has grown, and whoever takes it next still moves the log out of the old holder's reach.
 *
 * `token`: of the lease the person looked at; a newer one is left alone.
 * Errors:  as for acquireLease.
 */
export async function endLease(
  options: LeaseOptions,
  token: number,
): Promise<
  | { readonly kind: "ended" }
  | { readonly kind: "changed"; readonly current: LeaseRecord | undefined }
> {
  const { store, target } = options;
  const newest = await newestLease(store, target);
  if (newest?.token === token && newest.record.holder !== null) {
    const next = { ...grantRecord(options, newest, "unknown"), holder: null };
    const key = leaseGrantKey(target, next.token, 0);
    const written = await createLeaseRecord(store, key, next);
    if (written !== "lost" && (await newestLeaseName(store, target))?.key === key) {
      return { kind: "ended" };
    }
  }
  return { kind: "changed", current: await readCurrentLease(store, target) };
}

/** The lease in force, or the last one that was; undefined when there never was one. */
export async function readCurrentLease(
  store: ObjectStore,
  target: Key,
): Promise<LeaseRecord | undefined> {
  return (await newestLease(store, target))?.record;
}

type Verdict =
  | Extract<AcquireOutcome, { kind: "held-by" }>
  | {
      readonly kind: "free";
      readonly earlierHolder: "stopped" | "unknown";
      readonly tookOver?: TookOver;
    };

function judge(newest: NewestLease | undefined, options: LeaseOptions): Verdict {
  if (newest === undefined) return { kind: "free", earlierHolder: "stopped" };
  const { record } = newest;
  const { earlierHolder = "unknown" } = record;
  if (record.holder === null) return { kind: "free", earlierHolder };
  if (record.host === options.process.host && options.store.traits.holdersShareProcessTable) {
    if (options.processAlive(record.pid, record.processStartedAt) === "gone") {
      return { kind: "free", earlierHolder, tookOver: { record, because: "holder-gone" } };
    }
  }
  const state = leaseStateAt(record, options.now(), options.clockSkewMsMax);
  if (state !== "expired") return { kind: "held-by", record, state };
  return { kind: "free", earlierHolder: "unknown", tookOver: { record, because: "expired" } };
}

function grantRecord(
  options: LeaseOptions,
  newest: NewestLease | undefined,
  earlierHolder: "stopped" | "unknown",
): LeaseRecord {
  const at = isoTime(options.now());
  return {
    holder: options.holder,
    token: (newest?.token ?? 0) + 1,
    host: options.process.host,
    pid: options.process.pid,
    processStartedAt: options.process.processStartedAt,
    operation: options.operation,
    acquiredAt: at,
    renewedAt: at,
    durationMs: options.durationMs ?? limits.leaseDurationMs,
    earlierHolder,
  };
}
