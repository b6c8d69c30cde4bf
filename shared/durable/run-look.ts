/** Step 1 of an update, the gathering half: everything that is read before anything is decided. */
import { headKey, keptVersionKey, pendingKey, type RunName } from "../format/keys.js";
import { type RunFieldNames, type RunReading, readRunDocument } from "../format/run-document.js";
import type { ObjectStore, Stored } from "../storage/object-store.js";
import { type KeptNames, type KeptVersion, listKept, readKeptVersion } from "./history.js";

export interface HeadSight {
  readonly stored: Stored;
  /** Our own digest of the bytes: etags are opaque. */
  readonly sha256: string;
  readonly reading: RunReading;
}

export interface RunSight {
  readonly head: HeadSight | "absent";
  readonly kept: KeptNames;
  /** `vN.json`, N being the head's version. */
  readonly keptHead: Stored | "absent";
  /** `v(N-1).json`. */
  readonly keptBefore: KeptVersion;
  /** `v(N+1).json`: read by name only where the listing alone does not prove that it is absent. */
  readonly keptNext: Stored | "absent";
  /** The claim made from this very head. */
  readonly claim: Stored | "absent";
}

export interface LookMeans {
  readonly store: ObjectStore;
  readonly sha256: (bytes: Uint8Array) => string;
  readonly names: RunFieldNames;
}

/**
 * The head first and the names after it: whoever commits in between has made `v(N+1).json` or moved the head,
 * and is seen as "looks behind"; the other way round the head could be new and the names old.
 */
export async function lookAtRun(means: LookMeans, run: RunName): Promise<RunSight> {
  const { store, sha256, names } = means;
  const stored = await store.read(headKey(run));
  const kept = await listKept(store, run);
  const unread = {
    keptHead: "absent",
    keptBefore: { kind: "absent" },
    keptNext: "absent",
  } as const;
  if (stored === "absent") return { head: "absent", kept, ...unread, claim: "absent" };
  const digest = sha256(stored.bytes);
  const reading = readRunDocument(stored.bytes, names);
  const head = { stored, sha256: digest, reading };
  if (reading.kind !== "run") return { head, kept, ...unread, claim: "absent" };
  const { version } = reading;
  return {
    head,
    kept,
    keptHead: await store.read(keptVersionKey(run, version)),
    keptBefore:
      version === 0 ? { kind: "absent" } : await readKeptVersion(store, run, version - 1, names),
    keptNext: kept.complete ? "absent" : await store.read(keptVersionKey(run, version + 1)),
    claim: await store.read(pendingKey(run, version + 1, digest)),
  };
}
