import { invariant } from "../base/assert.js";
import { leaseGrantKey } from "../format/keys.js";
import type { Etag, Key } from "../storage/object-store.js";
import type { GrantedLease, LeaseOptions, LeaseRecord } from "./lease.js";
import { createLeaseRecord, isStillInForce, newestLeaseName, tidyLease } from "./lease-records.js";
import { isoTime } from "./lease-state.js";

export interface LeasePlace {
  readonly key: Key;
  readonly etag: Etag;
}

/** A lease as granted: each renewal, and the release, is one more record under its token. */
export class Lease implements GrantedLease {
  readonly target: Key;
  readonly token: number;
  readonly #options: LeaseOptions;
  #record: LeaseRecord;
  #place: LeasePlace;
  /** The renewal before the one in force. */
  #before: LeasePlace | undefined;
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

  keepIfDue(): Promise<"held" | "lost"> {
    return this.#isDue() ? this.keep() : Promise.resolve(this.#ended ? "lost" : "held");
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
    const { store, target } = this.#options;
    if (this.#ended) return "lost";
    if (await isStillInForce(store, target, this.token, this.#place.key)) return "held";
    this.#ended = true;
    return "lost";
  }

  async #renewNow(): Promise<"held" | "lost"> {
    if ((await this.#look()) === "lost") return "lost";
    await this.#writeNext({ ...this.#record, renewedAt: this.#now() });
    // After the writing, too, and among all names: a taker that was faster has a newer one, and ours changed nothing.
    const newest = await newestLeaseName(this.#options.store, this.target);
    // Newer under our own token would be a renewal of ours that ended uncertain.
    if (newest?.token === this.token) return "held";
    this.#ended = true;
    return "lost";
  }

  async #writeNext(record: LeaseRecord): Promise<void> {
    const { store, target } = this.#options;
    const next = { ...record, earlierHolder: this.#earlierHolder };
    // Counted before the attempt: after one that ended uncertain the same name may be there.
    this.#renewal += 1;
    const key = leaseGrantKey(target, this.token, this.#renewal);
    const etag = await createLeaseRecord(store, key, next);
    invariant(etag !== "lost", "only the holder makes names under its own token");
    const outdated = this.#before;
    // Never the first of a token, by which earlier holders see that they lost; and one renewal stays beside the newest,
    // so that a listing made at this moment finds one of the two.
    const isFirst = this.#place.key === leaseGrantKey(target, this.token, 0);
    this.#before = isFirst ? undefined : this.#place;
    this.#place = { key, etag };
    this.#record = next;
    if (outdated !== undefined) await tidyLease(store, outdated.key, outdated.etag);
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
