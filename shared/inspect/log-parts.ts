/** Parts of one rotated log: which was written before which, which two share a record, which closes what another began. */
import { concatBytes } from "../base/bytes.js";
import type { AttemptState, ItemState } from "../format/item-state.js";
import { scanJson } from "../format/json-scan.js";
import type { EvidenceIndex, ObservedLog } from "./evidence-index.js";

/** The part that was written before this one: by the declared order, else by numbers that grow with age. */
export function partBefore(index: EvidenceIndex, log: ObservedLog): ObservedLog | undefined {
  const { order } = index.context;
  const at = order.indexOf(log.path);
  const path = at >= 0 ? order[at - 1] : numbered(log.path, 1);
  return path === undefined ? undefined : partAt(index, log, path);
}

/** The part that was written after this one. */
export function partAfter(index: EvidenceIndex, log: ObservedLog): ObservedLog | undefined {
  const { order } = index.context;
  const at = order.indexOf(log.path);
  const path = at >= 0 ? order[at + 1] : numbered(log.path, -1);
  return path === undefined ? undefined : partAt(index, log, path);
}

/** The part whose last, cut line the first line of this one completes. */
export function partJoiningBefore(index: EvidenceIndex, log: ObservedLog): ObservedLog | undefined {
  return joining(index, log, partBefore, joinsBehind, joins);
}

/** The part whose first line completes the cut one at the end of this one. */
export function partJoiningAfter(index: EvidenceIndex, log: ObservedLog): ObservedLog | undefined {
  return joining(index, log, partAfter, joins, joinsBehind);
}

type Fits = (log: ObservedLog, other: ObservedLog) => boolean;

/**
 * Where the names do not tell the order (numbers that grow with time, dates), the two halves do: of the parts
 * that are named alike, exactly one makes the record whole, seen from either half.
 */
function joining(
  index: EvidenceIndex,
  log: ObservedLog,
  next: (index: EvidenceIndex, log: ObservedLog) => ObservedLog | undefined,
  fits: Fits,
  fitsBack: Fits,
): ObservedLog | undefined {
  const neighbour = next(index, log);
  if (neighbour !== undefined && fits(log, neighbour)) return neighbour;
  if (index.context.order.includes(log.path)) return undefined;
  const found = onlyOneFitting(index, log, fits);
  return found !== undefined && onlyOneFitting(index, found, fitsBack) === log ? found : undefined;
}

function onlyOneFitting(
  index: EvidenceIndex,
  log: ObservedLog,
  fits: Fits,
): ObservedLog | undefined {
  const name = nameWithoutNumbers(log.path);
  const fitting = index.logs.filter(
    (other) =>
      other !== log &&
      other.root === log.root &&
      nameWithoutNumbers(other.path) === name &&
      fits(log, other),
  );
  return fitting.length === 1 ? fitting[0] : undefined;
}

function joinsBehind(log: ObservedLog, before: ObservedLog): boolean {
  return joins(before, log);
}

function joins(before: ObservedLog, after: ObservedLog): boolean {
  const { tailPiece } = before.content.log;
  const { headPiece } = after.content.log;
  if (tailPiece === undefined || headPiece === undefined) return false;
  return scanJson(concatBytes([tailPiece, headPiece])).outcome.kind === "whole";
}

function partAt(index: EvidenceIndex, log: ObservedLog, path: string): ObservedLog | undefined {
  const part = index.file(log.root, path);
  const isOtherLog = part?.content.kind === "log" && part.path !== log.path;
  return isOtherLog ? (part as ObservedLog) : undefined;
}

/** `a.jsonl` is still written, `a.jsonl.1` the part before it, `a.jsonl.2` the one before that. */
function numbered(path: string, older: 1 | -1): string | undefined {
  const number = Number(/\.(\d{1,4})$/.exec(path)?.[1] ?? 0) + older;
  const stem = path.replace(/\.\d{1,4}$/, "");
  if (number < 0) return undefined;
  return number === 0 ? stem : `${stem}.${number}`;
}

function nameWithoutNumbers(path: string): string {
  return path.replace(/\.\d{1,4}$/, "").replace(/\d+/g, "0");
}

const partNumber =
  /(\.\d{1,4}$|\.\d{1,4}(?=\.(jsonl|ndjson|log)$)|[.-]\d{4}-?\d{2}-?\d{2}(?=\.(jsonl|ndjson|log)$)|\.\d+\.supersed(ed|ing)(?=\.jsonl$))/;

function stemOf(path: string): string {
  return path.replace(partNumber, "");
}

/** Whether another part of the same log holds the outcome of this attempt: an outcome whose intent that part lacks. */
export function isClosedElsewhere(
  index: EvidenceIndex,
  log: ObservedLog,
  item: ItemState,
  attempt: AttemptState,
): boolean {
  const { order } = index.context;
  return index.logs.some((other) => {
    if (other === log || other.root !== log.root) return false;
    const isPart =
      stemOf(other.path) === stemOf(log.path) ||
      (order.includes(other.path) && order.includes(log.path));
    const there = isPart ? other.content.log.facts.fold?.get(item.identity) : undefined;
    return (
      there?.attempts.some(
        (one) =>
          one.attempt === attempt.attempt &&
          one.intent === undefined &&
          one.outcome !== undefined &&
          one.outcome.outcome !== "unknown",
      ) ?? false
    );
  });
}
