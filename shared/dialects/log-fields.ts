/** Which field of a log record says what: declared by the context file, or guessed from names and words. */
import { type JsonPath, parsePath } from "../base/json-path.js";
import type { CapturedValue } from "../format/json-answer.js";

/** The places of a record that rules ask for. */
export const fieldNames = [
  "item",
  "phase",
  "key",
  "attempt",
  "worker",
  "time",
  "seq",
  "lease",
  "run",
  "error",
  "updateId",
  "result",
  "version",
  "paths",
  "operation",
  "outcome",
  "uuid",
  "parent",
] as const;

export type FieldName = (typeof fieldNames)[number];

/** Words of the phase field, lower case. */
export interface PhaseWords {
  readonly intent: ReadonlySet<string>;
  readonly done: ReadonlySet<string>;
  readonly failed: ReadonlySet<string>;
}

/** How one log is read. */
export interface LogDialect {
  readonly paths: Readonly<Partial<Record<FieldName, string>>>;
  readonly words: PhaseWords;
  readonly doneIsImplied: boolean;
  /** An intent word was declared, so a log without intents still comes from a writer that has them. */
  readonly intentDeclared: boolean;
  readonly from: "context" | "guessed";
}

export interface DeclaredFields extends Readonly<Partial<Record<FieldName, string>>> {
  readonly intent?: readonly string[];
  readonly done?: readonly string[];
  readonly failed?: readonly string[];
  readonly doneIsImplied?: boolean;
}

const intentWords = [
  "intent",
  "about_to_send",
  "about-to-send",
  "about to send",
  "started",
  "start",
  "begin",
  "began",
  "sending",
  "tool.call",
  "tool_call",
  "tool_use",
  "function_call",
  "attempt",
];
/** Says that work goes on, and may say so many times. */
const progressWords = ["in_progress", "in-progress", "running"];
/** Says that work is to come: what stands for its beginning only where nothing else does. */
const waitingWords = ["pending", "scheduled", "requested"];
const doneWords = [
  "done",
  "sent",
  "ok",
  "finished",
  "completed",
  "complete",
  "success",
  "succeeded",
  "tool.result",
  "tool_result",
  "function_call_output",
];
const failedWords = ["failed", "failure", "not-done", "cancelled", "canceled"];

const set = (words: readonly string[]): ReadonlySet<string> =>
  new Set(words.map((word) => word.toLowerCase()));

export const knownWords: PhaseWords = {
  intent: set([...intentWords, ...progressWords, ...waitingWords]),
  done: set(doneWords),
  failed: set(failedWords),
};

/** Names tried for each field, best first. */
const candidates: Readonly<Record<FieldName, readonly string[]>> = {
  item: [
    "item",
    "id",
    "itemId",
    "item_id",
    "callId",
    "call_id",
    "tool_call_id",
    "custom_id",
    "task_id",
    "taskId",
    "job_id",
    "jobId",
    "task",
    "job",
    "ID",
  ],
  phase: ["phase", "event", "status", "state", "op", "type", "Phase", "Status", "event.type"],
  key: ["key", "idempotencyKey", "idempotency_key"],
  attempt: ["attempt", "try"],
  worker: ["worker", "by", "owner"],
  time: ["at", "time", "timestamp", "ts"],
  seq: ["seq", "ordinal", "sequence", "n"],
  lease: ["lease", "token"],
  run: ["run", "runId", "process"],
  error: ["error"],
  updateId: ["update", "updateId", "update_id"],
  result: ["result"],
  version: ["version"],
  paths: ["paths"],
  operation: ["op", "operation", "action", "tool"],
  outcome: ["outcome"],
  uuid: ["uuid"],
  parent: ["parentUuid", "parent", "parentId"],
};

/** Fields that are read by their usual names beside declared ones: they only add places, never states. */
const alwaysGuessed: readonly FieldName[] = ["operation", "outcome", "uuid", "parent", "error"];

export function declaredDialect(fields: DeclaredFields): LogDialect {
  const paths: Partial<Record<FieldName, string>> = {};
  for (const name of fieldNames) {
    const declared = fields[name];
    if (declared !== undefined) paths[name] = declared;
    else if (alwaysGuessed.includes(name)) paths[name] = candidates[name][0] ?? name;
  }
  if (fields.phase !== undefined && fields.phase === paths.operation) delete paths.operation;
  return {
    paths,
    words: {
      intent: fields.intent === undefined ? knownWords.intent : set(fields.intent),
      done: fields.done === undefined ? knownWords.done : set(fields.done),
      failed: fields.failed === undefined ? knownWords.failed : set(fields.failed),
    },
    doneIsImplied: fields.doneIsImplied ?? false,
    intentDeclared: fields.intent !== undefined,
    from: "context",
  };
}

/** Every name that a guess could need, as paths for the scanner. */
export function candidatePaths(): readonly string[] {
  return [...new Set(fieldNames.flatMap((name) => candidates[name]))];
}

/** Texts of one record by field path, as written (strings unquoted). */
export type RecordTexts = ReadonlyMap<string, string>;

/**
 * Guesses from the first records. An effect log must show an intent word once, or be the bare `{"id":…}` kind;
 * anything else has no items, so that a plain log of events is never taken for repeated effects. `bareRecords`
 * says that no record has a member besides those that were read: only then is `{"id":…}` all it says.
 */
export function guessedDialect(records: readonly RecordTexts[], bareRecords: boolean): LogDialect {
  const paths: Partial<Record<FieldName, string>> = {};
  for (const name of fieldNames) {
    const found = candidates[name].find((path) => records.some((record) => record.has(path)));
    if (found !== undefined) paths[name] = found;
  }
  const phase = phaseField(records);
  const bare =
    bareRecords &&
    records.length > 0 &&
    records.every((record) => record.size === 1 && record.has("id"));
  if (phase === undefined) delete paths.phase;
  else paths.phase = phase;
  if (phase === undefined && !bare) delete paths.item;
  if (paths.operation === paths.phase) delete paths.operation;
  if (paths.seq === "n" && !records.every((record) => /^\d+$/.test(record.get("n") ?? "")))
    delete paths.seq;
  const words = phase === undefined ? knownWords : guessedWords(records, phase);
  return { paths, words, doneIsImplied: bare, intentDeclared: false, from: "guessed" };
}

/**
 * Pending, then started, then in progress is one attempt: of all the words that could stand for its beginning only
 * those that say it best begin one, or each step would look like another try.
 */
function guessedWords(records: readonly RecordTexts[], phase: string): PhaseWords {
  const tiers = [intentWords, progressWords, waitingWords].map(set);
  const said = records.map((record) => record.get(phase)?.toLowerCase() ?? "");
  const intent = tiers.find((words) => said.some((word) => words.has(word)));
  return intent === undefined ? knownWords : { ...knownWords, intent };
}

function phaseField(records: readonly RecordTexts[]): string | undefined {
  return candidates.phase.find((path) => {
    const words = records.map((record) => record.get(path)?.toLowerCase());
    const items = records.filter((record) => candidates.item.some((name) => record.has(name)));
    return (
      items.length > 0 && words.some((word) => word !== undefined && knownWords.intent.has(word))
    );
  });
}

export function fieldPath(text: string): JsonPath {
  const parsed = parsePath(text);
  return parsed.kind === "path" ? parsed.path : [{ kind: "key", key: text }];
}

/** A captured value as text: strings decoded, numbers as written; undefined for null and containers. */
export function textOf(value: CapturedValue): string | undefined {
  if (value.raw === "too-long") return undefined;
  if (value.kind === "number" || value.kind === "true" || value.kind === "false") return value.raw;
  if (value.kind !== "string") return undefined;
  if (!value.raw.includes("\\")) return value.raw.slice(1, -1);
  try {
    return JSON.parse(value.raw) as string;
  } catch {
    return value.raw;
  }
}
