/** One log in rotated parts is one story: an effect may be done again in a later part. */
import { limits } from "../../base/limits.js";
import type { ItemFold, ItemState, RecordPlace } from "../../format/item-state.js";
import type { EvidenceIndex, ObservedLog } from "../evidence-index.js";
import type { Finding } from "../finding.js";
import { partBefore } from "../log-parts.js";

/** Effects that an earlier part has already: each part for itself looks healthy. */
export function doneInAnEarlierPart(index: EvidenceIndex, log: ObservedLog): readonly Finding[] {
  const { fold } = log.content.log.facts;
  const earlier = partsBefore(index, log);
  if (fold === undefined || earlier.length === 0) return [];
  const found: Finding[] = [];
  for (const item of fold.items()) {
    if (found.length >= limits.findingsPerKindAndFileMax) break;
    const [done] = item.dones;
    if (done === undefined) continue;
    for (const part of earlier) {
      const [before] = sameOperation(part.content.log.facts.fold, item)?.dones ?? [];
      if (before === undefined || isSameRecord(before, done)) continue;
      found.push(doneAgain(log, item, done, part, before));
      break;
    }
  }
  return found;
}

/** Parts from this one back to the oldest; each once: a declared order may name one twice, and lead in a circle. */
function partsBefore(index: EvidenceIndex, log: ObservedLog): readonly ObservedLog[] {
  const parts = new Set<ObservedLog>([log]);
  for (let part = partBefore(index, log); part !== undefined; part = partBefore(index, part)) {
    if (parts.has(part)) break;
    parts.add(part);
  }
  parts.delete(log);
  return [...parts];
}

function sameOperation(fold: ItemFold | undefined, item: ItemState): ItemState | undefined {
  if (fold === undefined) return undefined;
  const [key] = item.keys;
  const withKey = key === undefined ? undefined : fold.withKey(key);
  return withKey ?? fold.withoutKey(item.item);
}

/** A part that was copied while it was written holds records that stand in the next one too. */
function isSameRecord(first: RecordPlace, second: RecordPlace): boolean {
  if (first.seq === undefined && first.at === undefined) return false;
  return first.seq === second.seq && first.at === second.at;
}

function doneAgain(
  log: ObservedLog,
  item: ItemState,
  done: RecordPlace,
  part: ObservedLog,
  before: RecordPlace,
): Finding {
  const runs = [...new Set([before.run, done.run].filter((run) => run !== undefined))];
  return {
    kind: "duplicate-effect",
    severity: "error",
    certainty: "proved",
    root: log.root,
    file: log.path,
    byteOffset: done.byteOffset,
    line: done.line,
    facts: {
      item: item.item,
      ...(item.keys[0] === undefined ? {} : { key: item.keys[0] }),
      lines: [done.line],
      earlierFile: part.path,
      earlierLine: before.line,
      ...(runs.length > 1 ? { runs } : {}),
    },
    says: `${log.path}: ${item.item} was done on line ${done.line}, and before that in ${part.path} on line ${before.line}.`,
    why: "The two files are parts of one log, so this is one operation done twice.",
    next: [
      "see what the second one did outside, and undo or explain it",
      "have the retry read the rotated parts too",
    ],
    evidence: [
      { file: log.path, sha256: log.content.sha256, from: done.byteOffset, line: done.line },
      { file: part.path, sha256: part.content.sha256, from: before.byteOffset, line: before.line },
    ],
    health: "suspect",
  };
}
