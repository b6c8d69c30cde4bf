import type { Key } from "../storage/object-store.js";

/** The lease document as stored; `holder: null` is a released lease that keeps its token. */
export interface LeaseRecord {
  readonly holder: string | null;
  /** Fencing token: grows with each grant, survives release, stands in each record written under it. */
  readonly token: number;
  readonly host: string;
  readonly pid: number;
  /** ISO time the holder's process started, so that a reused pid is not taken for the holder. */
  readonly processStartedAt: string;
  readonly operation: string;
  readonly acquiredAt: string;
  readonly renewedAt: string;
  readonly durationMs: number;
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
