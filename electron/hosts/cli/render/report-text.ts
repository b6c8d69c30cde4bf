/** A report for a person at a terminal: the verdict, then each finding, then what was not looked at. */
import { columnsOf, counted, visibleText, wrapWords } from "../../../../shared/base/text.js";
import type { Severity } from "../../../../shared/inspect/finding.js";
import type { Overall } from "../../../../shared/inspect/overall.js";
import type { Report, ReportFinding } from "../../../../shared/inspect/report.js";
import { gutterColumns, indented, labelled } from "../layout.js";
import type { Paint } from "../paint.js";

export interface ReportTextOptions {
  readonly columns: number;
  readonly paint: Paint;
  /** "short": the verdict, and one line for each finding. */
  readonly length: "full" | "short";
  /** Findings left out because a baseline knows them. */
  readonly knownCount: number;
}

export function reportText(report: Report, options: ReportTextOptions): string {
  const { columns, paint } = options;
  const lines: string[] = [...verdictLines(report, options)];
  for (const finding of report.findings) {
    if (options.length === "full") lines.push("");
    lines.push(...findingLines(report, finding, options));
  }
  if (options.knownCount > 0)
    lines.push("", `${counted(options.knownCount, "known finding")} of the baseline not shown.`);
  if (options.length === "full") lines.push(...coverageLines(report, columns, paint));
  return `${lines.join("\n")}\n`;
}

/** "run state in runs is damaged: 1 error, 1 notice in 12 files" */
export function verdict(report: Report): string {
  const where = report.roots.map(visibleText).join(", ");
  const found = (["error", "warning", "notice"] as const)
    .map((severity) => [severity, countOf(report, severity)] as const)
    .filter(([, count]) => count > 0)
    .map(([severity, count]) => counted(count, severity));
  const inFiles = `in ${counted(report.coverage.files, "file")}`;
  const nothing = report.overall === "healthy" ? "nothing found" : "nothing beyond what is known";
  const counts = found.length === 0 ? `${nothing} ${inFiles}` : `${found.join(", ")} ${inFiles}`;
  if (report.coverage.files === 0) return `nothing in ${where} could be inspected`;
  return `run state in ${where} ${overallWords[report.overall]}: ${counts}`;
}

const overallWords: Readonly<Record<Overall, string>> = {
  healthy: "is healthy",
  attention: "is whole, and needs a look",
  suspect: "is suspect",
  damaged: "is damaged",
  unreadable: "cannot be read",
  limit: "is beyond a limit",
};

function countOf(report: Report, severity: Severity): number {
  return report.findings.filter((finding) => finding.severity === severity).length;
}

function verdictLines(report: Report, { columns, paint }: ReportTextOptions): readonly string[] {
  const tone = ["damaged", "suspect", "unreadable", "limit"].includes(report.overall)
    ? (line: string) => paint.severity("error", line)
    : report.overall === "healthy" && report.coverage.files > 0
      ? (line: string) => paint.good(line)
      : (line: string) => paint.strong(line);
  return wrapWords(verdict(report), columns).map(tone);
}

function findingLines(
  report: Report,
  finding: ReportFinding,
  options: ReportTextOptions,
): readonly string[] {
  const { columns, paint } = options;
  const severity = finding.severity.padEnd(gutterColumns - 1);
  const title = finding.certainty === "suspected" ? `${finding.kind} (suspected)` : finding.kind;
  const place = visibleText(placeOf(report, finding));
  const oneLine = gutterColumns + columnsOf(title) + 2 + columnsOf(place) <= columns;
  const head = `${paint.severity(finding.severity, severity)} ${paint.strong(title)}`;
  const placed = oneLine
    ? [`${head}  ${place}`]
    : [head, ...indented(place, gutterColumns, columns)];
  if (options.length === "short") return placed;
  const cause = finding.likelyCause as { says: string; certainty: string } | undefined;
  return [
    ...placed,
    ...indented(finding.says, gutterColumns, columns),
    ...(typeof finding.why === "string" ? labelled("why", finding.why, columns, paint) : []),
    ...(cause === undefined
      ? []
      : labelled("perhaps", `${cause.says} (${cause.certainty})`, columns, paint)),
    ...recoverableLines(report, finding, columns, paint),
    ...nextLines(finding, columns, paint),
  ];
}

function recoverableLines(
  report: Report,
  finding: ReportFinding,
  columns: number,
  paint: Paint,
): readonly string[] {
  if (finding.recoverable === undefined) return [];
  const says = finding.recoverable === null ? "no whole copy was found" : targetOf(report, finding);
  return labelled("back to", says, columns, paint);
}

function nextLines(finding: ReportFinding, columns: number, paint: Paint): readonly string[] {
  const numbered = finding.next.length > 1;
  return finding.next.flatMap((step, i) =>
    labelled(i === 0 ? "next" : "", numbered ? `${i + 1}. ${step}` : step, columns, paint),
  );
}

/** "runs/run.json:34:16, byte 1,893": file, line and column in the form that editors open. */
export function placeOf(report: Report, finding: ReportFinding): string {
  const root = rootOf(report, finding);
  const line = typeof finding.line === "number" ? `:${finding.line}` : "";
  const column = line !== "" && typeof finding.column === "number" ? `:${finding.column}` : "";
  const byte = typeof finding.byteOffset === "number" ? `  byte ${finding.byteOffset}` : "";
  const item = finding.item === undefined ? "" : `  item ${String(finding.item)}`;
  return `${root}${finding.file}${line}${column}${byte}${item}`;
}

/** Several roots: each name is given with its own. */
function rootOf(report: Report, finding: ReportFinding): string {
  return typeof finding.root === "number" ? `${report.roots[finding.root] ?? ""}/` : "";
}

function targetOf(report: Report, finding: ReportFinding): string {
  const target = String(finding.recoverable);
  // A target with a space in it is told in words: the file itself, or a choice.
  if (/^(itself|either) /.test(target) || target === "itself" || /^itself,/.test(target))
    return target;
  return `last good bytes in ${rootOf(report, finding)}${target}`;
}

function coverageLines(report: Report, columns: number, paint: Paint): readonly string[] {
  const groups = new Map<string, { paths: string[]; count: number }>();
  for (const { path, reason, count } of report.coverage.skipped) {
    const group = groups.get(reason) ?? { paths: [], count: 0 };
    groups.set(reason, group);
    group.paths.push(path);
    group.count += count ?? 1;
  }
  const rows = [...groups].map(([reason, { paths, count }]) => {
    const named = paths.slice(0, 3).join(", ");
    const more = count > 3 ? ` and ${count - 3} more` : "";
    return `${counted(count, "entry", "entries")}: ${reason} (${named}${more})`;
  });
  const all = [...rows, ...report.coverage.unknown];
  if (all.length === 0) return [];
  return [
    "",
    paint.quiet("not looked at, or not known"),
    ...all.flatMap((row) =>
      wrapWords(visibleText(row), columns - 4).map((line, i) =>
        paint.quiet(i === 0 ? `  - ${line}` : `    ${line}`),
      ),
    ),
  ];
}
