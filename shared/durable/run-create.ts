/** The first version of a run. Everything after it is an update. */
import { writeJson } from "../format/json-edit.js";
import { emptyObject, type JsonObject, memberOf } from "../format/json-value.js";
import { headKey, type RunName } from "../format/keys.js";
import { type RunFieldNames, setRunFields } from "../format/run-document.js";
import type { Etag } from "../storage/object-store.js";
import { listKept, newestWholeVersion } from "./history.js";
import { keepCommitted } from "./run-keep.js";
import type { RunMeans } from "./run-means.js";
import type { CreateOutcome } from "./run-outcomes.js";
import { sameBytes } from "./update-steps.js";

/**
 * Creates the head as version 1 and keeps it. Asked again with the same content it answers "created" again,
 * so that a lost reply is settled by asking.
 */
export async function createRun(
  means: RunMeans,
  run: RunName,
  initial: object,
): Promise<CreateOutcome> {
  const first = firstVersion(means, initial);
  if (first.kind === "input-rejected") return first;
  let isHeadInDoubt = false;
  for (let attempt = 1; attempt <= means.updateAttemptsMax; attempt += 1) {
    const there = await means.store.read(headKey(run));
    await means.atCrashPoint("create-looked");
    if (there !== "absent") {
      const isOurs = sameBytes(there.bytes, first.bytes);
      return isOurs
        ? keepFirst(means, run, first.bytes, there.etag)
        : { kind: "already-exists", etag: there.etag };
    }
    // Versions without a head are a run that lost it: a new head would bury what is kept.
    const kept = await listKept(means.store, run);
    if (kept.versions.length > 0) {
      if ((await means.store.read(headKey(run))) !== "absent") continue; // created between two reads
      const newestWhole = await newestWholeVersion(means.store, run, means.names);
      return { kind: "head-missing", newestWhole };
    }
    const created = await means.store.replace(headKey(run), first.bytes, "absent");
    if (created.kind === "written") {
      await means.atCrashPoint("head-created");
      return keepFirst(means, run, first.bytes, created.etag);
    }
    if (created.kind === "in-doubt") {
      if (created.reason !== "reply-lost") {
        const detail = "the run is visible, but perhaps not after a power loss";
        return { kind: "in-doubt", reason: created.reason, detail };
      }
      isHeadInDoubt = true; // the next look tells, or the create is tried again with the same bytes
    }
  }
  if (!isHeadInDoubt) return { kind: "gave-up", attempts: means.updateAttemptsMax };
  return {
    kind: "in-doubt",
    reason: "reply-lost",
    detail: "the run was not there at the last look",
  };
}

async function keepFirst(
  means: RunMeans,
  run: RunName,
  bytes: Uint8Array,
  etag: Etag,
): Promise<CreateOutcome> {
  const kept = await keepCommitted(means.store, run, 1, bytes);
  if (kept.kind === "fork") return { kind: "version-fork", version: 1 };
  if (kept.kind !== "kept") {
    const detail = kept.kind === "refused" ? kept.message : kept.reason;
    return { kind: "in-doubt", reason: "version-not-kept", detail };
  }
  await means.atCrashPoint("first-version-kept");
  return { kind: "created", version: 1, etag };
}

type FirstVersion =
  | { readonly kind: "first"; readonly bytes: Uint8Array }
  | { readonly kind: "input-rejected"; readonly path: string; readonly reason: string };

function firstVersion({ names, style }: RunMeans, initial: object): FirstVersion {
  const document = emptyObject();
  // Our members first: whoever opens the file sees at once which version it is.
  setRunFields(document, { version: 1, appliedIds: [] }, names);
  const given = initial as JsonObject;
  for (const name of reservedNames(names)) {
    if (memberOf(given, name) === undefined) continue;
    return { kind: "input-rejected", path: `$.${name}`, reason: "only the store sets this member" };
  }
  if (Array.isArray(initial)) {
    return { kind: "input-rejected", path: "$", reason: "a run document is an object" };
  }
  const outcome = writeJson(Object.assign(document, given), style);
  return outcome.kind === "rejected"
    ? { ...outcome, kind: "input-rejected" }
    : { kind: "first", bytes: outcome.bytes };
}

function reservedNames(names: RunFieldNames): readonly string[] {
  return [names.version, names.appliedIds, names.restoredFrom];
}
