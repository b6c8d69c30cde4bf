/** What could not be known from this evidence, in words: unknown is never drawn as ok. */
import { limits } from "../base/limits.js";
import type { EvidenceIndex, ObservedLog } from "./evidence-index.js";
import { isInFlight } from "./rules/in-flight.js";

export function unknownsOf(index: EvidenceIndex): readonly string[] {
  return [
    ...index.logs.flatMap((log) => [...inFlight(index, log), ...unrecognised(log)]),
    ...unknownLocks(index),
    ...namedButAbsent(index),
    ...versionFieldUnused(index),
  ];
}

/** Begun a moment ago: neither healthy nor in doubt yet. */
function inFlight(index: EvidenceIndex, log: ObservedLog): readonly string[] {
  const { fold } = log.content.log.facts;
  if (fold === undefined) return [];
  const said: string[] = [];
  for (const item of fold.notable()) {
    const intent = item.open.find((attempt) => isInFlight(index, attempt.intent))?.intent;
    if (intent === undefined) continue;
    said.push(
      `${log.path}: ${item.item} was begun on line ${intent.line} a moment ago and may be under way; scan again before any retry.`,
    );
    if (said.length >= limits.unknownsToldMax) break;
  }
  return said;
}

/** A guess that found no operations has not looked for doubt; that is no clean bill. */
function unrecognised(log: ObservedLog): readonly string[] {
  if (log.role === "evidence" || log.role === "temp" || log.role === "snapshot") return [];
  const { records, facts } = log.content.log;
  const { dialect, fold, history, updates } = facts;
  const isUnderstood = fold !== undefined || history.length > 0 || updates.size > 0;
  if (dialect.from === "context" || isUnderstood || records === 0) return [];
  return [
    `${log.path}: no fields for item and phase were recognised, so its operations were not followed (a context file can name them).`,
  ];
}

function unknownLocks(index: EvidenceIndex): readonly string[] {
  if (index.context.processes !== undefined) return [];
  return index.documents
    .filter((lock) => lock.role === "lock" && !/\.lease(\.\d+)*\.json$/.test(lock.path))
    .slice(0, limits.unknownsToldMax)
    .map(
      (lock) =>
        `${lock.path}: a lock is there; whether its owner is alive cannot be told from here.`,
    );
}

function versionFieldUnused(index: EvidenceIndex): readonly string[] {
  const { versionField } = index.context;
  if (versionField === undefined || index.documents.length === 0) return [];
  if (index.documents.some((document) => index.version(document) !== undefined)) return [];
  return [
    `No document has an integer at ${JSON.stringify(versionField)}, which the context file calls the version.`,
  ];
}

/** A context that names files which are not there may be meant for another folder. */
function namedButAbsent(index: EvidenceIndex): readonly string[] {
  const { dependsOn, order, timeFields } = index.context;
  const named = new Set([
    ...order,
    ...timeFields.keys(),
    ...dependsOn.flatMap(({ output, inputs }) => [output.file, ...inputs.map((one) => one.file)]),
  ]);
  return [...named]
    .filter((file) => index.named(file).length === 0)
    .slice(0, limits.unknownsToldMax)
    .map((file) => `${JSON.stringify(file)} is named by the context file and is not there.`);
}
