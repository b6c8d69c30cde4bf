/** The report: a public contract (schema lastgood.report/1), made from one inspection. */
import type { FileVerdict } from "./file-verdicts.js";
import type { Finding } from "./finding.js";
import type { Inspection } from "./inspect-run.js";
import type { Overall } from "./overall.js";

export interface Coverage {
  readonly files: number;
  readonly bytes: number;
  /** What was not looked at, with the reason. */
  readonly skipped: readonly {
    readonly path: string;
    readonly reason: string;
    readonly count?: number;
  }[];
  /** What could not be known, in words. */
  readonly unknown: readonly string[];
}

export interface ReportFinding {
  readonly id: string;
  readonly kind: Finding["kind"];
  readonly severity: Finding["severity"];
  readonly certainty: Finding["certainty"];
  readonly file: string;
  readonly says: string;
  readonly next: readonly string[];
  readonly related?: readonly string[];
  /** Places and facts, by the names of the public contract. */
  readonly [member: string]: unknown;
}

export interface Report {
  readonly schema: "lastgood.report/1";
  readonly tool: string;
  readonly roots: readonly string[];
  /** ISO time. */
  readonly at: string;
  readonly overall: Overall;
  readonly coverage: Coverage;
  readonly files: readonly Readonly<Record<string, unknown>>[];
  readonly findings: readonly ReportFinding[];
}

export interface ReportMeans {
  readonly tool: string;
  readonly at: string;
  readonly roots: readonly string[];
  readonly coverage: Coverage;
}

export function makeReport(inspection: Inspection, means: ReportMeans): Report {
  const several = means.roots.length > 1;
  const ids = findingIds(inspection.findings);
  return {
    schema: "lastgood.report/1",
    tool: means.tool,
    roots: means.roots,
    at: means.at,
    overall: inspection.overall,
    coverage: means.coverage,
    files: inspection.files.map((file) => fileRow(file, several)),
    findings: inspection.findings.map((finding, i) =>
      findingRow(finding, ids[i] ?? "", related(finding, inspection.findings, ids), several),
    ),
  };
}

function fileRow(file: FileVerdict, several: boolean): Readonly<Record<string, unknown>> {
  const { root, nameBase64, roleFrom, ...row } = file;
  return {
    ...(several ? { root } : {}),
    ...row,
    ...(roleFrom === "guessed" ? { roleGuessed: true } : {}),
    ...(nameBase64 === undefined ? {} : { fileNameBase64: nameBase64 }),
  };
}

function findingRow(
  finding: Finding,
  id: string,
  relatedIds: readonly string[],
  several: boolean,
): ReportFinding {
  const { root, facts, health: _health, relatedTo: _related, ...members } = finding;
  const { kind, severity, certainty, file, says, next, why, likelyCause, evidence, ...places } =
    members;
  return {
    id,
    kind,
    severity,
    certainty,
    ...(several ? { root } : {}),
    file,
    ...places,
    ...facts,
    says,
    ...(why === undefined ? {} : { why }),
    ...(likelyCause === undefined ? {} : { likelyCause }),
    next,
    ...(evidence === undefined ? {} : { evidence }),
    ...(relatedIds.length === 0 ? {} : { related: relatedIds }),
  };
}

function related(
  finding: Finding,
  all: readonly Finding[],
  ids: readonly string[],
): readonly string[] {
  const wanted = finding.relatedTo ?? [];
  return all.flatMap((other, i) => {
    const isOne = wanted.some((one) => one.file === other.file && one.kind === other.kind);
    return isOne && other !== finding && other.root === finding.root ? [ids[i] ?? ""] : [];
  });
}

/** Ids rest on kind, file and place, so the same bytes give the same ids, and a list of known ones stays good. */
export function findingIds(findings: readonly Finding[]): readonly string[] {
  const used = new Map<string, number>();
  return findings.map((finding) => {
    const { root, kind, file, byteOffset, line, path, facts } = finding;
    const item = facts?.item ?? facts?.update ?? "";
    const name = JSON.stringify([root, kind, file, byteOffset ?? line ?? "", path ?? "", item]);
    const id = `f-${hash(name).toString(16).padStart(8, "0")}`;
    const count = (used.get(id) ?? 0) + 1;
    used.set(id, count);
    return count === 1 ? id : `${id}-${count}`;
  });
}

/** FNV-1a over the UTF-16 units: short, stable names, nothing secret. */
function hash(text: string): number {
  let sum = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193);
  return sum >>> 0;
}
