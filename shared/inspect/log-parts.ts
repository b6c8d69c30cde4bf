/** Parts of one log: rotated files are read as one when it is asked whether an operation was closed. */
import type { AttemptState, ItemState } from "../format/item-state.js";
import type { EvidenceIndex, ObservedLog } from "./evidence-index.js";

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
