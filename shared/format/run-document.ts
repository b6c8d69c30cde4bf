/** The run document: which members of it are ours, and how they are read and set. The rest is the user's. */
import { limits } from "../base/limits.js";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  memberOf,
  type ParsedJson,
  parseJson,
} from "./json-value.js";

/** Names of our members. A pipeline that already has its own words for them keeps those. */
export interface RunFieldNames {
  /** Integer, one higher with each accepted write. Guards against two states under one number. */
  readonly version: string;
  /** Window of update ids already absorbed, newest last. Guards against a retry being applied twice. */
  readonly appliedIds: string;
  /** Version whose content was put back. Says why a later version looks like an earlier one. */
  readonly restoredFrom: string;
  /** In a derived part: the version it was derived from. Makes a result from moved inputs recognisable. */
  readonly basedOnVersion: string;
}

export const runFieldNames: RunFieldNames = {
  version: "version",
  appliedIds: "applied_ids",
  restoredFrom: "restored_from",
  basedOnVersion: "based_on_version",
};

export interface RunDocument {
  readonly kind: "run";
  readonly version: number;
  /** As written, newest last; absent in the document reads as empty. Entries that are no text are never ours. */
  readonly appliedIds: readonly JsonValue[];
  readonly restoredFrom: number | undefined;
  readonly value: JsonObject;
  readonly parsed: ParsedJson;
}

export type RunReading =
  | RunDocument
  | { readonly kind: "not-json"; readonly byteOffset: number; readonly reason: string }
  /** JSON, but not a run document: no object, or no usable version. */
  | { readonly kind: "not-a-run"; readonly reason: string };

/** What these bytes are as a run document. Any bytes are answered. */
export function readRunDocument(bytes: Uint8Array, names = runFieldNames): RunReading {
  if (bytes.length > limits.documentBytesMax) {
    return { kind: "not-a-run", reason: `it is larger than ${limits.documentBytesMax} bytes` };
  }
  const parsed = parseJson(bytes);
  if (parsed.kind === "not-json") return parsed;
  const { value } = parsed;
  if (!isJsonObject(value)) return { kind: "not-a-run", reason: "its top is not an object" };
  const version = memberOf(value, names.version);
  if (!isVersion(version)) {
    const reason = `\`${names.version}\` is ${version === undefined ? "missing" : "not a whole number"}`;
    return { kind: "not-a-run", reason };
  }
  const appliedIds = memberOf(value, names.appliedIds) ?? [];
  if (!Array.isArray(appliedIds)) {
    return { kind: "not-a-run", reason: `\`${names.appliedIds}\` is not a list` };
  }
  const restoredFrom = memberOf(value, names.restoredFrom);
  return {
    kind: "run",
    version,
    appliedIds: [...appliedIds],
    restoredFrom: isVersion(restoredFrom) ? restoredFrom : undefined,
    value,
    parsed,
  };
}

/** Versions stay where a double counts in ones; two below the end, so that the next one does too. */
export function isVersion(value: JsonValue | undefined): value is number {
  return typeof value === "number" && value >= 0 && Number.isSafeInteger(value + 2);
}

/** Why reading failed, as the end of a sentence. */
export function readingReason(reading: Exclude<RunReading, RunDocument>): string {
  return reading.kind === "not-json"
    ? `not JSON at byte ${reading.byteOffset}: ${reading.reason}`
    : `not a run document: ${reading.reason}`;
}

/** Sets our members: version and window in one go, because they must be written in the same bytes as the change. */
export function setRunFields(
  document: JsonObject,
  fields: { readonly version: number; readonly appliedIds: readonly JsonValue[] },
  names = runFieldNames,
): void {
  document[names.version] = fields.version;
  const there = memberOf(document, names.appliedIds);
  // The same list is changed in place where there is one, so that its bytes are edited, not rewritten.
  if (Array.isArray(there)) there.splice(0, there.length, ...fields.appliedIds);
  else document[names.appliedIds] = [...fields.appliedIds];
}
