/**
 * A lease: the time-limited right to write, with a token that grows with every grant.
 *
 * Each grant and each renewal is the creation of one more object, `<target>.lease.<token>.<renewal>.json`, only if
 * absent; the newest name is in force. So of two takers exactly one gets the name, and a renewal that comes late has
 * an older name than the taker's grant and cannot put it out of force. Nothing is ever written over.
 */
import { assertNever, invariant } from "../base/assert.js";
import { LastgoodError } from "../base/errors.js";
import { limits } from "../base/limits.js";
import { leaseGrantKey, readKey } from "../format/keys.js";
import type { Etag, Key, ObjectStore } from "../storage/object-store.js";
import { encodeLease, isoTime, leaseStateAt, readLease } from "./lease-state.js";

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
    const written = await create(options.store, key, record);
    if (written !== "lost") {
      const place = { key, etag: written };
      // A slow taker may have created a name that was granted, renewed and tidied away meanwhile: only the newest
      // name counts.
      if ((await newestName(options.store, options.target))?.key === key) {
        await prune(options.store, options.target, place.key);
        const lease = new Lease(options, record, place);
        const { tookOver } = verdict;
        return tookOver === undefined
          ? { kind: "granted", lease }
          : { kind: "granted", lease, tookOver };
      }
      await options.store.remove(key, written);
    }
    if (attempt >= limits.leaseAttemptsMax) throw outrun(options.target);
  }
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

interface LeasePlace {
  readonly key: Key;
  readonly etag: Etag;
}

class Lease implements GrantedLease {
  readonly target: Key;
  readonly token: number;
  readonly #options: LeaseOptions;
  #record: LeaseRecord;
  #place: LeasePlace;
  #renewal = 0;
  #earlierHolder: "stopped" | "unknown";
  #ended = false;
  /** Renewals, and the release, one after the other: each creates the next name. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: LeaseOptions, record: LeaseRecord, place: LeasePlace) {
    this.target = options.target;
    this.token = record.token;
    this.#options = options;
    this.#record = record;
    this.#place = place;
    this.#earlierHolder = record.earlierHolder ?? "unknown";
  }

  get earlierHolder(): "stopped" | "unknown" {
    return this.#earlierHolder;
  }

  fencedOff(): void {
    this.#earlierHolder = "stopped";
  }

  check(): Promise<"held" | "lost"> {
    return this.#inTurn(() => this.#look());
  }

  keep(): Promise<"held" | "lost"> {
    return this.#inTurn(() => (this.#isDue() ? this.#renewNow() : this.#look()));
  }

  renew(): Promise<"held" | "lost"> {
    return this.#inTurn(() => this.#renewNow());
  }

  async release(): Promise<void> {
    await this.#inTurn(async () => {
      if (this.#ended || (await this.#look()) === "lost") return;
      this.#ended = true;
      await this.#writeNext({ ...this.#record, holder: null, renewedAt: this.#now() });
    });
  }

  async #look(): Promise<"held" | "lost"> {
    if (this.#ended) return "lost";
    const { store, target } = this.#options;
    const newest = await newestName(store, target);
    // Newer under our token is an unconfirmed renewal of ours; under a later one somebody took over.
    if (newest?.token === this.token) return "held";
    this.#ended = true;
    return "lost";
  }

  async #renewNow(): Promise<"held" | "lost"> {
    if ((await this.#look()) === "lost") return "lost";
    await this.#writeNext({ ...this.#record, renewedAt: this.#now() });
    // After the writing, too: a taker that was faster has the newer name, and ours changed nothing.
    return await this.#look();
  }

  async #writeNext(record: LeaseRecord): Promise<void> {
    const { store, target } = this.#options;
    const next = { ...record, earlierHolder: this.#earlierHolder };
    // Counted before the attempt: after one that ended uncertain the same name may be there.
    this.#renewal += 1;
    const key = leaseGrantKey(target, this.token, this.#renewal);
    const etag = await create(store, key, next);
    invariant(etag !== "lost", "only the holder makes names under its own token");
    const old = this.#place;
    this.#place = { key, etag };
    this.#record = next;
    await tidy(store, old.key, old.etag);
  }

  #isDue(): boolean {
    const sinceMs = this.#options.now() - Date.parse(this.#record.renewedAt);
    // A clock that was set back makes it due as well: the stored time would read as one from the future.
    return sinceMs < 0 || sinceMs >= this.#record.durationMs / 3;
  }

  #now(): string {
    return isoTime(this.#options.now());
  }

  #inTurn<Result>(act: () => Promise<Result>): Promise<Result> {
    const result = this.#turn.then(act, act);
    this.#turn = result.catch(() => undefined);
    return result;
  }
}

/** "lost": the name is taken. An error leaves it uncertain whether the record is there; it is removed if it can be. */
async function create(store: ObjectStore, key: Key, record: LeaseRecord): Promise<Etag | "lost"> {
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

interface LeaseName {
  readonly key: Key;
  readonly token: number;
  readonly renewal: number;
}

interface NewestLease extends LeaseName {
  readonly record: LeaseRecord;
}

async function newestLease(store: ObjectStore, target: Key): Promise<NewestLease | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const name = await newestName(store, target);
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

async function newestName(store: ObjectStore, target: Key): Promise<LeaseName | undefined> {
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

/** Removes records that are out of force. Only ever older ones: the newest is what keeps the token from going back. */
async function prune(store: ObjectStore, target: Key, newestKey: Key): Promise<void> {
  const names = await leaseNames(store, target);
  const newest = names.find(({ key }) => key === newestKey);
  const older = names.filter((name) => newest !== undefined && isNewer(newest, name));
  for (const { key } of older.slice(0, limits.leaseRecordsPrunedMax)) {
    const stored = await store.read(key);
    if (stored !== "absent") await tidy(store, key, stored.etag);
  }
}

/** Left behind, an old record does no harm: a refusal here must not cost the lease. */
async function tidy(store: ObjectStore, key: Key, etag: Etag): Promise<void> {
  try {
    await store.remove(key, etag);
  } catch (error) {
    if (!(error instanceof LastgoodError)) throw error;
  }
}

function outrun(target: Key): LastgoodError {
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
