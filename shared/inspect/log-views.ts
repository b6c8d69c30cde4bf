/** What rules about documents ask of the logs beside them. */
import { formatPath, type JsonPath } from "../base/json-path.js";
import { type JsonValue, parseJson } from "../format/json-value.js";
import type { InspectContext } from "./context.js";
import type { EvidenceIndex } from "./evidence-index.js";
import { baseOf, type Family, folderOf } from "./families.js";
import type { HistoryRecord, UpdateTry } from "./log-facts.js";

export interface LoggedVersion extends HistoryRecord {
  readonly file: string;
}

/** Writes of a document as the logs beside it know them, in file order. */
export function historyOf(index: EvidenceIndex, family: Family): readonly LoggedVersion[] {
  const folder = folderOf(family.path);
  const stem = baseOf(family.path).replace(/\.[^.]*$/, "");
  const runCount = index.runCountIn(family.root, folder);
  return index.logs.flatMap((log) => {
    if (log.root !== family.root || !log.path.startsWith(folder)) return [];
    // Where several documents share a folder, only a log that carries the name is this one's.
    if (runCount > 1 && !baseOf(log.path).includes(stem)) return [];
    return log.content.log.facts.history.map((record) => ({ ...record, file: log.path }));
  });
}

export interface UpdateTries {
  readonly root: number;
  readonly file: string;
  readonly id: string;
  readonly tries: readonly UpdateTry[];
}

export function updatesOf(index: EvidenceIndex): readonly UpdateTries[] {
  return index.logs.flatMap((log) =>
    [...log.content.log.facts.updates].map(([id, tries]) => ({
      root: log.root,
      file: log.path,
      id,
      tries,
    })),
  );
}

/** Values of a field over all records of a log; undefined when there is no such log. */
export function logValues(
  index: EvidenceIndex,
  file: string,
  path: JsonPath,
): { readonly values: readonly JsonValue[]; readonly complete: boolean } | undefined {
  const log = index.logs.find((one) => one.path === file);
  const queried = log?.content.log.queried.get(formatPath(path));
  if (queried === undefined) return undefined;
  const encoder = new TextEncoder();
  const values = queried.raw.flatMap((raw) => {
    const parsed = parseJson(encoder.encode(raw));
    return parsed.kind === "value" ? [parsed.value] : [];
  });
  return { values, complete: queried.complete };
}

/** What declared rules will ask of the records of a log, so that it is kept while the log streams by. */
export function logQueries(context: InspectContext, file: string): readonly JsonPath[] {
  return context.rules.flatMap((rule) =>
    rule.of.kind === "place" && rule.of.file === file ? [rule.of.path] : [],
  );
}
