/** Temporary files, conflict copies and placeholders: shown, compared, never deleted by themselves. */
import { limits } from "../../base/limits.js";
import type { EvidenceIndex, ObservedDocument } from "../evidence-index.js";
import { baseOf, type Family } from "../families.js";
import type { Finding } from "../finding.js";
import { isConflictCopyName, isNfsPlaceholderName } from "../guess-roles.js";

export function leftovers(index: EvidenceIndex): readonly Finding[] {
  const found = index.families.flatMap((family) => temporaryFiles(index, family));
  return [...found, ...conflictCopies(index), ...placeholders(index)];
}

/** A save of a living writer is how a safe write looks while it happens: nothing is said about it. */
export function isSaveUnderWay(index: EvidenceIndex, temp: ObservedDocument): boolean {
  const { processes } = index.context;
  if (processes === undefined) return false;
  const age = index.evidence.nowMs - temp.modifiedMs;
  if (age < -limits.clockSkewMsMax || age > limits.inFlightGraceMs) return false;
  const numbers = new Set((baseOf(temp.path).match(/\d+/g) ?? []).map(Number));
  return processes.some((process) => {
    const started = process.started === undefined ? Number.NaN : Date.parse(process.started);
    const lived = Number.isNaN(started) || started <= temp.modifiedMs + limits.clockSkewMsMax;
    return numbers.has(process.pid) && lived;
  });
}

function temporaryFiles(index: EvidenceIndex, family: Family): readonly Finding[] {
  const temps = family.temps.filter((temp) => !isSaveUnderWay(index, temp));
  const whole = temps.filter((temp) => temp.content.diagnosis.document !== undefined);
  const candidate = candidateOf(index, family, whole);
  const orphans = whole.filter((temp) => temp !== candidate);
  const found: Finding[] = [];
  if (candidate !== undefined) found.push(candidateFinding(index, family, candidate));
  const first = orphans[0];
  if (first !== undefined) found.push(orphanFinding(index, family, first, orphans));
  return found;
}

/** The whole temporary file with the highest version above head; without versions, a newer and different one. */
function candidateOf(
  index: EvidenceIndex,
  family: Family,
  whole: readonly ObservedDocument[],
): ObservedDocument | undefined {
  const { head } = family;
  const headVersion = head === undefined ? undefined : index.version(head);
  const versioned = whole.filter((temp) => index.version(temp) !== undefined);
  const best = versioned.sort((a, b) => (index.version(b) ?? 0) - (index.version(a) ?? 0))[0];
  if (best !== undefined) {
    const above = headVersion === undefined || (index.version(best) ?? 0) > headVersion;
    return above ? best : undefined;
  }
  return whole
    .filter((temp) => head === undefined || temp.content.sha256 !== head.content.sha256)
    .filter((temp) => headVersion === undefined && temp.modifiedMs >= (head?.modifiedMs ?? 0))
    .sort((a, b) => b.modifiedMs - a.modifiedMs)[0];
}

function versions(index: EvidenceIndex, family: Family, temp: ObservedDocument) {
  const version = index.version(temp);
  const headVersion = family.head === undefined ? undefined : index.version(family.head);
  return {
    ...(version === undefined ? {} : { version }),
    ...(headVersion === undefined ? {} : { headVersion }),
  };
}

function candidateFinding(index: EvidenceIndex, family: Family, temp: ObservedDocument): Finding {
  const facts = versions(index, family, temp);
  const is = facts.version === undefined ? "a whole document" : `a whole version ${facts.version}`;
  const beside =
    facts.headVersion === undefined ? "" : `, above the ${facts.headVersion} in ${family.path}`;
  return {
    kind: "candidate-temp",
    severity: "warning",
    certainty: facts.version === undefined ? "suspected" : "proved",
    root: temp.root,
    file: temp.path,
    facts: { ...facts, of: family.path },
    says: `${temp.path} holds ${is}${beside}; it was built and never put in place.`,
    why: "It was never in force: no reader has seen it.",
    likelyCause: { says: "the writer stopped, or its rename was refused", certainty: "suspected" },
    next: [
      `compare it with ${family.path} (lastgood diff ${family.path} ${temp.path})`,
      "look for whatever holds the document open, and for a writer that is still alive",
      "promote it or set it aside; nothing deletes it by itself",
    ],
    evidence: [{ file: temp.path, sha256: temp.content.sha256 }],
  };
}

function orphanFinding(
  index: EvidenceIndex,
  family: Family,
  first: ObservedDocument,
  orphans: readonly ObservedDocument[],
): Finding {
  const count = orphans.length;
  const others =
    count === 1 ? "" : ` and ${count - 1} more temporary ${count === 2 ? "file" : "files"}`;
  return {
    kind: "orphan-temp",
    severity: "notice",
    certainty: "proved",
    root: first.root,
    file: first.path,
    facts: {
      ...versions(index, family, first),
      count,
      files: orphans.slice(0, 100).map((temp) => temp.path),
    },
    says: `${first.path}${others} of ${family.path} ${count === 1 ? "is" : "are"} left over and not newer than what is in force.`,
    next: ["set it aside after a look; nothing in it is ahead of the document"],
  };
}

function conflictCopies(index: EvidenceIndex): readonly Finding[] {
  return index.families.flatMap((family) =>
    family.conflictCopies.map((copy): Finding => {
      const facts = versions(index, family, copy);
      return {
        kind: "conflict-copy",
        severity: "warning",
        certainty: "suspected",
        root: copy.root,
        file: copy.path,
        facts: { of: family.path, ...facts },
        says: `${copy.path} is a sync tool's other copy of ${family.path}.`,
        why: "The file was changed in two places; the tool kept both and chose neither.",
        next: [
          `compare both by hand (lastgood diff ${family.path} ${copy.path}); neither is a target by itself`,
        ],
      };
    }),
  );
}

function placeholders(index: EvidenceIndex): readonly Finding[] {
  return index.evidence.files
    .filter((file) => isNfsPlaceholderName(file.path) && !isConflictCopyName(file.path))
    .map((file) => ({
      kind: "nfs-placeholder",
      severity: "notice",
      certainty: "proved",
      root: file.root,
      file: file.path,
      says: `${file.path} stands for a file that was removed while some process still had it open.`,
      why: "Network file systems give such files a hidden name until the last process closes them.",
      next: ["find the process that holds it; it goes away when that process closes it"],
    }));
}
