/** From evidence to findings: pure, so that the same bytes always give the same answer. */
import type { Evidence, ObservedFile } from "./evidence.js";
import { EvidenceIndex, type ObservedDocument } from "./evidence-index.js";
import { type FileVerdict, fileVerdicts } from "./file-verdicts.js";
import type { Finding, FindingKind, Health, Severity } from "./finding.js";
import { FindingList } from "./finding-list.js";
import { type Overall, overallOf } from "./overall.js";
import { bestCopy, withTarget } from "./recommend.js";
import { rules } from "./rules/index.js";
import { isSaveUnderWay } from "./rules/leftovers.js";
import { withTornPointers } from "./torn-pointers.js";
import { unknownsOf } from "./unknowns.js";

export interface Inspection {
  /** Sorted by severity, then root, file and place. */
  readonly findings: readonly Finding[];
  readonly files: readonly FileVerdict[];
  readonly overall: Overall;
  /** What could not be known, for the report's coverage. */
  readonly unknown: readonly string[];
}

/** Says what is wrong with a run's state. Total: any evidence is answered. */
export function inspectRun(evidence: Evidence): Inspection {
  const index = new EvidenceIndex(evidence);
  const raw = rules.flatMap((rule) => rule(index));
  const targeted = recommendTargets(index, raw);
  const weighed = weighByRole(index, targeted);
  const findings = bounded(weighed).sort(byWeight);
  const files = fileVerdicts(index, findings);
  return { findings, files, overall: overallOf(findings, files), unknown: unknownsOf(index) };
}

function recommendTargets(index: EvidenceIndex, findings: readonly Finding[]): readonly Finding[] {
  const unsound = new Set<ObservedDocument>();
  for (const finding of findings) {
    const file = index.file(finding.root, finding.file);
    if (finding.severity === "error" && file?.content.kind === "document")
      unsound.add(file as ObservedDocument);
  }
  const targets = new Map<string, ObservedDocument | undefined>();
  return findings.map((finding) => {
    const name = `${finding.root}:${finding.file}`;
    const family = index.familyAt(finding.root, finding.file);
    const role = index.file(finding.root, finding.file)?.role;
    if (family === undefined) {
      const alone = role === "run" || role === "derived" || role === "replica";
      return alone ? withTarget(finding, undefined) : finding;
    }
    if (!targets.has(name)) targets.set(name, bestCopy(index, family, unsound));
    const target = targets.get(name);
    const told = withTarget(finding, target);
    const isTorn = finding.kind === "truncated" || finding.kind === "nul-padding";
    return isTorn && family.head !== undefined ? withTornPointers(told, family.head, target) : told;
  });
}

/**
 * Role weighs: damage in a temporary or evidence file is a notice; a copy that must not be used is one
 * `snapshot-damaged` error, whatever is wrong in it.
 */
function weighByRole(index: EvidenceIndex, findings: readonly Finding[]): readonly Finding[] {
  const out: Finding[] = [];
  const damagedCopies = new Map<ObservedFile, Finding[]>();
  for (const finding of findings) {
    const file = index.file(finding.root, finding.file);
    if (file === undefined || aboutLeftovers.has(finding.kind)) out.push(finding);
    else if (file.role === "temp" || file.role === "evidence") {
      const isSaving =
        file.content.kind === "document" && isSaveUnderWay(index, file as ObservedDocument);
      if (!isSaving) out.push({ ...finding, severity: "notice" });
    } else if (
      file.role === "snapshot" &&
      finding.severity === "error" &&
      finding.kind !== "unreadable"
    ) {
      damagedCopies.set(file, [...(damagedCopies.get(file) ?? []), finding]);
    } else out.push(finding);
  }
  for (const [file, inside] of damagedCopies) out.push(damagedCopy(file, inside));
  return out;
}

const aboutLeftovers: ReadonlySet<FindingKind> = new Set([
  "candidate-temp",
  "orphan-temp",
  "conflict-copy",
  "nfs-placeholder",
  "unreadable",
]);

function damagedCopy(file: ObservedFile, inside: readonly Finding[]): Finding {
  const [first] = [...inside].sort(byWeight);
  const rest = inside.length > 1 ? ` (and ${inside.length - 1} more)` : "";
  const reason = first === undefined ? "" : first.says;
  const { recoverable: _target, relatedTo: _related, ...place } = first ?? {};
  return {
    ...place,
    kind: "snapshot-damaged",
    severity: "error",
    certainty: first?.certainty ?? "proved",
    root: file.root,
    file: file.path,
    facts: { ...first?.facts, damage: inside.map((finding) => finding.kind), reason },
    says: `${file.path} must not be restored: ${lowerFirst(reason)}${rest}`,
    next: ["choose another version as the target; keep this one as evidence"],
    health: first?.health ?? "suspect",
  };
}

function lowerFirst(says: string): string {
  return /^[A-Z][a-z]/.test(says) ? says[0]?.toLowerCase() + says.slice(1) : says;
}

const severityRank: Readonly<Record<Severity, number>> = { error: 0, warning: 1, notice: 2 };

function byWeight(a: Finding, b: Finding): number {
  return (
    severityRank[a.severity] - severityRank[b.severity] ||
    a.root - b.root ||
    compareText(a.file, b.file) ||
    (a.line ?? 0) - (b.line ?? 0) ||
    (a.byteOffset ?? -1) - (b.byteOffset ?? -1) ||
    compareText(a.kind, b.kind) ||
    compareText(a.path ?? "", b.path ?? "")
  );
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A file with ten thousand findings of one kind is told by the first of them and a count. */
function bounded(findings: readonly Finding[]): Finding[] {
  const files = new Map<string, FindingList>();
  for (const finding of findings) {
    const name = `${finding.root}:${finding.file}`;
    const list = files.get(name) ?? new FindingList();
    files.set(name, list);
    list.add(finding);
  }
  return [...files.values()].flatMap((list) => list.all());
}

export type { FileVerdict, Health, Overall };
