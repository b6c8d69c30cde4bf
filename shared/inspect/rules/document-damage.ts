/** One finding per damage of a document, in a sentence. */
import { limits } from "../../base/limits.js";
import type { DocumentDamage } from "../diagnose-document.js";
import type { EvidenceIndex, ObservedDocument } from "../evidence-index.js";
import type { Fact, Finding } from "../finding.js";
import { sayDocumentDamage } from "../say-document-damage.js";
import { seamWithOlderCopy } from "../seam.js";

export function documentDamage(index: EvidenceIndex): readonly Finding[] {
  return index.documents.flatMap((document) => {
    if (document.role === "lock") return [];
    const { damage } = document.content.diagnosis;
    const found = damage.map((one) => damageFinding(index, document, one));
    return found.slice(0, limits.findingsPerKindAndFileMax);
  });
}

function damageFinding(
  index: EvidenceIndex,
  document: ObservedDocument,
  damage: DocumentDamage,
): Finding {
  const mixed = damage.kind === "syntax" ? seamWithOlderCopy(index, document) : undefined;
  if (mixed !== undefined) return mixedGenerations(document, damage, mixed);
  const version = index.version(document);
  const torn = damage.kind === "truncated" && version !== undefined;
  const facts: Record<string, Fact> = torn ? { versionReadable: version } : {};
  const { from, to } = spanOf(document, damage);
  return {
    ...placeOf(document, damage),
    ...sayDocumentDamage(document.path, damage),
    facts: { ...damage.facts, ...facts },
    ...ownRecovery(document, damage),
    evidence: [{ file: document.path, sha256: document.content.sha256, from, to }],
    health: damage.health,
  };
}

function placeOf(document: ObservedDocument, damage: DocumentDamage) {
  const { kind, severity, certainty, at, where, path } = damage;
  return {
    kind,
    severity,
    certainty,
    root: document.root,
    file: document.path,
    byteOffset: at.byteOffset,
    line: at.line,
    column: at.column,
    ...(where === undefined ? {} : { where }),
    ...(path === undefined ? {} : { path }),
  };
}

function spanOf(document: ObservedDocument, damage: DocumentDamage): { from: number; to: number } {
  const length = damage.facts.length;
  const from = damage.at.byteOffset;
  return { from, to: typeof length === "number" ? from + length : document.content.bytes };
}

/** Kinds whose good bytes are in the file itself, once a person has chosen. */
const choices: Readonly<Partial<Record<DocumentDamage["kind"], string>>> = {
  "concatenated-documents": "either document; needs a choice",
  "conflict-markers": "either side; needs a choice",
};

/** Kinds that leave every value readable in the file itself. */
const nothingLost: ReadonlySet<DocumentDamage["kind"]> = new Set([
  "trailing-comma",
  "comments",
  "nonstandard-number",
  "bom",
]);

function ownRecovery(
  document: ObservedDocument,
  damage: DocumentDamage,
): Pick<Finding, "recoverable"> {
  if (damage.itself !== undefined) return { recoverable: itselfText(document, damage.itself) };
  const choice = choices[damage.kind];
  if (choice !== undefined) return { recoverable: choice };
  return nothingLost.has(damage.kind) ? { recoverable: "itself" } : {};
}

function itselfText(document: ObservedDocument, span: { from: number; to: number }): string {
  if (span.to >= document.content.bytes) return `itself, from byte ${span.from}`;
  return `itself, bytes ${span.from}..${span.to}`;
}

function mixedGenerations(
  document: ObservedDocument,
  damage: DocumentDamage,
  mixed: { readonly seam: number; readonly copy: string },
): Finding {
  const name = document.path;
  const stop = damage.at.byteOffset;
  return {
    ...placeOf(document, damage),
    kind: "mixed-generations",
    certainty: "suspected",
    facts: { ...damage.facts, parserStopsAt: stop, likelySeam: mixed.seam },
    says: `${name} holds parts of two versions: from byte ${mixed.seam} on it is byte for byte ${mixed.copy}.`,
    why: `A parser stops at byte ${stop}; the bytes before the seam differ from that older copy, those behind it do not. Neither half can be trusted by itself.`,
    likelyCause: {
      says: "an in-place rewrite that reached the disk only in part",
      certainty: "suspected",
    },
    next: ["do not patch at the place where the parser stops: the seam is earlier"],
    evidence: [
      { file: name, sha256: document.content.sha256, from: mixed.seam, to: document.content.bytes },
    ],
    health: "mixed",
  };
}
