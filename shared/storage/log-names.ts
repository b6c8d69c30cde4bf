/**
 * The files a take-over of a log leaves beside it. `checkpoint.jsonl` taken over under token 5:
 *
 *   .checkpoint.jsonl.take-over-5.tmp   the fresh copy, until it is moved over the name (keys.ts)
 *   checkpoint.5.superseding.jsonl      the old file, while its late records are still being carried over
 *   checkpoint.5.superseded.jsonl       the old file, for good: what reaches it from here on is a zombie write
 */
import type { Key } from "./object-store.js";

export type TakeOverTrace =
  | { readonly kind: "fresh"; readonly token: number }
  | { readonly kind: "superseding"; readonly token: number }
  | { readonly kind: "superseded"; readonly token: number };

export function supersedingKey(log: Key, token: number): Key {
  return `${stem(log)}.${token}.superseding.jsonl`;
}

export function supersededKey(log: Key, token: number): Key {
  return `${stem(log)}.${token}.superseded.jsonl`;
}

/** What `name` says about a take-over of the log named `log` in the same folder, if anything. */
export function takeOverTrace(log: string, name: string): TakeOverTrace | undefined {
  const fresh = between(name, `.${log}.take-over-`, ".tmp");
  if (fresh !== undefined) return { kind: "fresh", token: fresh };
  const superseding = between(name, `${stem(log)}.`, ".superseding.jsonl");
  if (superseding !== undefined) return { kind: "superseding", token: superseding };
  const superseded = between(name, `${stem(log)}.`, ".superseded.jsonl");
  if (superseded !== undefined) return { kind: "superseded", token: superseded };
  return undefined;
}

function stem(log: string): string {
  return log.endsWith(".jsonl") ? log.slice(0, -".jsonl".length) : log;
}

function between(name: string, before: string, after: string): number | undefined {
  if (!name.startsWith(before) || !name.endsWith(after)) return undefined;
  const digits = name.slice(before.length, name.length - after.length);
  // Up to fifteen digits: a larger number would not survive the way through a double.
  return /^(?:0|[1-9][0-9]{0,14})$/.test(digits) ? Number(digits) : undefined;
}
