/**
 * The files a take-over of a log leaves beside it. `checkpoint.jsonl` taken over under token 5:
 *
 *   .checkpoint.jsonl.take-over-5-<random>.tmp   a fresh copy, until it is moved over the name (keys.ts)
 *   checkpoint.5.superseding.jsonl               the old file, while the log is still to be completed from it
 *   checkpoint.5.superseded.jsonl                the old file, for good: what reaches it from here on is a zombie write
 */
import type { Key } from "./object-store.js";

export interface TakeOverTrace {
  readonly kind: "fresh" | "superseding" | "superseded";
  readonly token: number;
}

export function supersedingKey(log: Key, token: number): Key {
  return `${stem(log)}.${token}.superseding.jsonl`;
}

export function supersededKey(log: Key, token: number): Key {
  return `${stem(log)}.${token}.superseded.jsonl`;
}

/** What `name` says about a take-over of the log named `log` in the same folder, if anything. */
export function takeOverTrace(log: string, name: string): TakeOverTrace | undefined {
  const fresh = /^(.*)-[0-9a-f]{16}$/.exec(between(name, `.${log}.take-over-`, ".tmp") ?? "");
  const superseding = between(name, `${stem(log)}.`, ".superseding.jsonl");
  const superseded = between(name, `${stem(log)}.`, ".superseded.jsonl");
  if (fresh !== null) return traceOf("fresh", fresh[1]);
  return traceOf("superseding", superseding) ?? traceOf("superseded", superseded);
}

function traceOf(
  kind: TakeOverTrace["kind"],
  digits: string | undefined,
): TakeOverTrace | undefined {
  // Up to fifteen digits: a larger number would not survive the way through a double.
  if (digits === undefined || !/^(?:0|[1-9][0-9]{0,14})$/.test(digits)) return undefined;
  return { kind, token: Number(digits) };
}

function stem(log: string): string {
  return log.endsWith(".jsonl") ? log.slice(0, -".jsonl".length) : log;
}

function between(name: string, before: string, after: string): string | undefined {
  if (!name.startsWith(before) || !name.endsWith(after)) return undefined;
  return name.slice(before.length, Math.max(before.length, name.length - after.length));
}
