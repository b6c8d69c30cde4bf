/** Which copy to go back to: by what the copies hold, never by which file was written last. */
import type { EvidenceIndex, ObservedDocument } from "./evidence-index.js";
import { type Family, numberInName } from "./families.js";
import type { Finding } from "./finding.js";

/**
 * The newest whole copy that nothing is wrong with. `unsound` are files with an error or a broken rule.
 * Copies with a version are preferred by version; else by the number in their name, then by time.
 */
export function bestCopy(
  index: EvidenceIndex,
  family: Family,
  unsound: ReadonlySet<ObservedDocument>,
): ObservedDocument | undefined {
  const sound = family.kept.filter((copy) => isSound(copy, unsound));
  const kept = newest(index, sound);
  if (kept !== undefined) return kept;
  return newest(
    index,
    family.temps.filter((copy) => isSound(copy, unsound)),
  );
}

function isSound(copy: ObservedDocument, unsound: ReadonlySet<ObservedDocument>): boolean {
  const { document } = copy.content.diagnosis;
  return document !== undefined && !unsound.has(copy);
}

function newest(
  index: EvidenceIndex,
  copies: readonly ObservedDocument[],
): ObservedDocument | undefined {
  return [...copies].sort((a, b) => compareCopies(index, b, a))[0];
}

function compareCopies(index: EvidenceIndex, a: ObservedDocument, b: ObservedDocument): number {
  const [va, vb] = [index.version(a), index.version(b)];
  if (va !== undefined && vb !== undefined && va !== vb) return va - vb;
  if (va !== undefined && vb === undefined) return 1;
  if (va === undefined && vb !== undefined) return -1;
  const [na, nb] = [numberInName(a.path), numberInName(b.path)];
  if (na !== nb) return na - nb;
  return a.modifiedMs - b.modifiedMs;
}

/** Kinds after which a person asks "what do I go back to?". */
const wantsTarget: ReadonlySet<Finding["kind"]> = new Set([
  "truncated",
  "empty",
  "blank",
  "all-nul",
  "nul-run",
  "nul-padding",
  "nul-scattered",
  "mixed-generations",
  "syntax",
  "invariant-broken",
  "checksum-mismatch",
  "reset-to-default",
  "version-regressed",
  "conflict-markers",
  "foreign-html",
  "foreign-text-before",
  "stray-prefix",
  "old-tail",
  "concatenated-documents",
  "missing-main",
  "foreign-gzip",
  "foreign-zip",
]);

const packed: ReadonlySet<Finding["kind"]> = new Set(["foreign-gzip", "foreign-zip"]);

/** Puts the recommended target, and the step to it, on the findings of a document that ask for one. */
export function withTarget(finding: Finding, target: ObservedDocument | undefined): Finding {
  if (!wantsTarget.has(finding.kind) || finding.recoverable !== undefined) return finding;
  if (target === undefined && packed.has(finding.kind))
    return { ...finding, recoverable: "itself, after unpacking, if it is whole inside" };
  if (target === undefined) {
    const next = [
      "no older whole copy was found here: look for backups elsewhere before anything else",
    ];
    return { ...finding, recoverable: null, next: [...finding.next, ...next] };
  }
  // With an older copy beside it, nobody need ask whether this was the first run.
  if (finding.kind === "empty")
    return { ...finding, recoverable: target.path, next: [`roll back to ${target.path}`] };
  const word = target.role === "temp" ? "compare with" : "roll back to";
  return {
    ...finding,
    recoverable: target.path,
    next: [`${word} ${target.path}`, ...finding.next],
  };
}
