/** The deciding half of an update: what a look means, and what the change makes of the document. Pure. */
import { formatPath, type JsonPath, parsePath } from "../base/json-path.js";
import { editJson } from "../format/json-edit.js";
import { isJsonObject, type JsonObject, type JsonValue, memberOf } from "../format/json-value.js";
import {
  type RunDocument,
  type RunFieldNames,
  readingReason,
  readRunDocument,
  setRunFields,
} from "../format/run-document.js";
import type { Stored } from "../storage/object-store.js";
import type { KeptVersion } from "./history.js";
import { absorbUpdate, idsMissingFrom } from "./ledger.js";
import type { HeadSight, RunSight } from "./run-look.js";
import type { Change, HeadRefusal, UpdateRequest } from "./run-outcomes.js";

export type Verdict =
  | { readonly kind: "head-torn"; readonly reason: string }
  | { readonly kind: "head-missing" }
  /** Read the head again before believing it: it may only have moved between two reads. */
  | { readonly kind: "looks-behind"; readonly headVersion: number; readonly newestKept: number }
  | Extract<HeadRefusal, { kind: "version-fork" }>
  | { readonly kind: "keep-head"; readonly head: ReadyHead }
  | { readonly kind: "torn-claim"; readonly claim: Stored; readonly head: ReadyHead }
  | { readonly kind: "finish-claim"; readonly claim: Stored; readonly head: ReadyHead }
  | { readonly kind: "ready"; readonly head: ReadyHead };

/** A head that is a run document. */
export interface ReadyHead {
  readonly stored: Stored;
  readonly sha256: string;
  readonly document: RunDocument;
}

/** What has to happen before a change can be made, in the order in which it has to happen. */
export function judgeSight(sight: RunSight, windowCount: number, names: RunFieldNames): Verdict {
  if (sight.head === "absent") return { kind: "head-missing" };
  const head = readyHead(sight.head);
  if (head.kind === "head-torn") return head;
  const { version } = head.document;
  const newestKept = Math.max(
    sight.kept.versions.at(-1) ?? 0,
    sight.keptNext === "absent" ? 0 : version + 1,
  );
  if (newestKept > version) return { kind: "looks-behind", headVersion: version, newestKept };
  if (sight.keptHead !== "absent" && !sameBytes(sight.keptHead.bytes, head.stored.bytes)) {
    return { kind: "version-fork", version, sign: { kind: "kept-version-differs" } };
  }
  const missing = idsNotBuiltOn(head.document, sight.keptBefore, windowCount);
  if (missing.length > 0) {
    return { kind: "version-fork", version, sign: { kind: "ids-missing", ids: missing } };
  }
  // Kept before anything else, also before "already applied": the head may be all there is of this version.
  if (sight.keptHead === "absent") return { kind: "keep-head", head };
  if (sight.claim === "absent") return { kind: "ready", head };
  const claimed = readRunDocument(sight.claim.bytes, names);
  const isWhole = claimed.kind === "run" && claimed.version === version + 1;
  return { kind: isWhole ? "finish-claim" : "torn-claim", claim: sight.claim, head };
}

function readyHead(
  head: HeadSight,
): ({ readonly kind: "ready" } & ReadyHead) | Extract<Verdict, { kind: "head-torn" }> {
  const { stored, sha256, reading } = head;
  if (reading.kind !== "run") return { kind: "head-torn", reason: readingReason(reading) };
  return { kind: "ready", stored, sha256, document: reading };
}

function idsNotBuiltOn(
  document: RunDocument,
  before: KeptVersion,
  windowCount: number,
): readonly string[] {
  if (before.kind !== "whole") return [];
  return idsMissingFrom(document.appliedIds, before.document.appliedIds, windowCount);
}

export type ChangedDocument =
  | { readonly kind: "changed"; readonly version: number; readonly bytes: Uint8Array }
  | { readonly kind: "rejected"; readonly path: string; readonly reason: string };

/**
 * The next version's bytes: the change, its number and its id, all in one document.
 *
 * `head.document.value` is handed to the change and may be changed by it: read the head again for another try.
 */
export function changedDocument(
  head: ReadyHead,
  request: UpdateRequest,
  change: Change,
  settings: { readonly windowCount: number; readonly names: RunFieldNames },
): ChangedDocument {
  const { document, stored } = head;
  const { names, windowCount } = settings;
  const version = document.version + 1;
  const appliedIds = absorbUpdate(document.appliedIds, request.updateId, windowCount);
  const value: unknown = change(document.value) ?? document.value;
  if (!isDocument(value)) return rejected([], "a run document is an object");
  const touched = touchedField(value, document, names);
  if (touched !== undefined) {
    return rejected([{ kind: "key", key: touched }], "only the store sets this member");
  }
  setRunFields(value, { version, appliedIds }, names);
  if (request.onStale === "record" && request.basedOn !== undefined) {
    const refusal = recordBase(value, request.basedOn, request.recordAt ?? "$", names);
    if (refusal !== undefined) return refusal;
  }
  const outcome = editJson(stored.bytes, document.parsed, value);
  if (outcome.kind === "rejected") return outcome;
  return { kind: "changed", version, bytes: outcome.bytes };
}

function isDocument(value: unknown): value is JsonObject {
  return isJsonObject(value as JsonValue);
}

/** A member of ours that the change altered. A new document may leave them out; they are then set. */
function touchedField(
  value: JsonObject,
  before: RunDocument,
  names: RunFieldNames,
): string | undefined {
  const version = memberOf(value, names.version);
  if (version !== undefined && version !== before.version) return names.version;
  const ids = memberOf(value, names.appliedIds);
  if (ids === undefined) return undefined;
  const isSame =
    Array.isArray(ids) &&
    ids.length === before.appliedIds.length &&
    ids.every((id, i) => id === before.appliedIds[i]);
  return isSame ? undefined : names.appliedIds;
}

function recordBase(
  document: JsonObject,
  basedOn: number,
  recordAt: string,
  names: RunFieldNames,
): Extract<ChangedDocument, { kind: "rejected" }> | undefined {
  const parsed = parsePath(recordAt);
  if (parsed.kind === "rejected")
    return { kind: "rejected", path: recordAt, reason: parsed.reason };
  let part: JsonValue | undefined = document;
  for (const step of parsed.path) {
    if (part === undefined || step.kind === "each") part = undefined;
    else if (step.kind === "key") part = memberOf(part, step.key);
    else part = Array.isArray(part) ? part[step.index] : undefined;
  }
  if (part === undefined || !isJsonObject(part)) {
    return rejected(parsed.path, `there is no object here to carry \`${names.basedOnVersion}\``);
  }
  part[names.basedOnVersion] = basedOn;
  return undefined;
}

function rejected(path: JsonPath, reason: string): Extract<ChangedDocument, { kind: "rejected" }> {
  return { kind: "rejected", path: formatPath(path), reason };
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i += 1) if (a[i] !== b[i]) return false;
  return true;
}
