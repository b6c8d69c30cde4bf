/** What can be asked of a run store, and everything that can come of it. */
import type { ErrorCode } from "../base/errors.js";
import type { JsonObject } from "../format/json-value.js";
import type { RunName } from "../format/keys.js";
import type { DoubtReason, Etag } from "../storage/object-store.js";
import type { HeldLease } from "./lease.js";

export interface UpdateRequest {
  /** Made once, before the first attempt, and used again for each retry of the same logical change. */
  readonly updateId: string;
  /** The version the change was derived from. */
  readonly basedOn?: number;
  /** Paths the change relied on, such as `tasks[*].status`; checked between `basedOn` and the head. */
  readonly dependsOn?: readonly string[];
  /**
   * When a dependency has moved: "refuse" writes nothing; "record" writes the change with `based_on_version`.
   * With "record" the version is recorded whether or not anything moved, so that an old mark never stands.
   */
  readonly onStale: "refuse" | "record";
  /** The derived part that carries `based_on_version`, such as `report`; the top of the document by default. */
  readonly recordAt?: string;
  /** The run's lease, when the caller already holds it. Otherwise the store's own way to get one is used. */
  readonly lease?: HeldLease;
}

/**
 * The change: gets the document as a plain value and changes it in place, or returns a new one. It is called
 * again, on a fresh value, each time the head has moved; it must not count on being called once.
 *
 * `Document` is the caller's own idea of the document, so that `doc.findings.push(…)` reads as it should;
 * what comes back is checked before it is written.
 */
export type Change<Document extends object = JsonObject> = (
  document: Document,
) => Document | undefined;

export type UpdateOutcome =
  /** On the device, in the head and as a kept version. */
  | {
      readonly kind: "applied";
      readonly version: number;
      readonly etag: Etag;
      /** Dependencies that had moved and were recorded; empty unless asked for with "record". */
      readonly movedPaths: readonly string[];
      readonly tidying: Tidying;
    }
  /** The window of the head holds this id: an earlier attempt, or another caller's, went through. */
  | { readonly kind: "already-applied"; readonly headVersion: number; readonly etag: Etag }
  | {
      readonly kind: "stale-inputs";
      readonly readVersion: number;
      readonly headVersion: number;
      readonly changedPaths: readonly string[];
    }
  /** The version the change was derived from is not kept any more, so its dependencies cannot be checked. */
  | { readonly kind: "base-unknown"; readonly readVersion: number; readonly headVersion: number }
  | HeadRefusal
  /**
   * Another holder has the lease. Nothing of ours was committed by us, but a claim may stand, and the new
   * holder then finishes it: ask again with the same id to learn which.
   */
  | { readonly kind: "lease-lost" }
  /** Lost every race; nothing was applied. */
  | { readonly kind: "gave-up"; readonly attempts: number }
  /** It cannot be known from here whether the change was or will be applied: ask again with the same id. */
  | { readonly kind: "in-doubt"; readonly reason: UpdateDoubt; readonly detail: string }
  | { readonly kind: "input-rejected"; readonly path: string; readonly reason: string };

export type UpdateDoubt =
  | DoubtReason
  /** A claim could not be taken back; the next writer may finish it. */
  | "claim-left"
  /** The head holds the change, but the kept version beside it is not on the device. */
  | "version-not-kept";

/** The run is in a state that a person has to look at. Nothing was written. */
export type HeadRefusal =
  | {
      readonly kind: "head-torn";
      readonly reason: string;
      readonly newestWhole: number | "none";
    }
  | { readonly kind: "head-missing"; readonly newestWhole: number | "none" }
  /** A kept version is newer than the head: a restore by hand, or a write that came late. */
  | { readonly kind: "head-behind"; readonly headVersion: number; readonly newestKept: number }
  /** Two states claim one version number, or the head was not built on the version before it. */
  | {
      readonly kind: "version-fork";
      readonly version: number;
      readonly sign:
        | { readonly kind: "kept-version-differs" }
        | { readonly kind: "ids-missing"; readonly ids: readonly string[] };
    };

/** What became of the work after an update was acknowledged. A refusal here takes nothing back. */
export type Tidying =
  | {
      readonly kind: "tidied";
      readonly prunedVersions: readonly number[];
      readonly claimsSetAsideCount: number;
    }
  | { readonly kind: "refused"; readonly code: ErrorCode; readonly message: string };

export type CreateOutcome =
  | { readonly kind: "created"; readonly version: number; readonly etag: Etag }
  | { readonly kind: "already-exists"; readonly etag: Etag }
  | { readonly kind: "head-missing"; readonly newestWhole: number | "none" }
  | { readonly kind: "version-fork"; readonly version: number }
  | { readonly kind: "gave-up"; readonly attempts: number }
  | { readonly kind: "in-doubt"; readonly reason: UpdateDoubt; readonly detail: string }
  | { readonly kind: "input-rejected"; readonly path: string; readonly reason: string };

export type HeadReading =
  | {
      readonly kind: "run";
      readonly run: RunName;
      readonly version: number;
      readonly value: JsonObject;
      readonly bytes: Uint8Array;
      readonly etag: Etag;
    }
  | {
      readonly kind: "head-torn";
      readonly reason: string;
      readonly newestWhole: number | "none";
    }
  | { readonly kind: "head-missing"; readonly newestWhole: number | "none" };
