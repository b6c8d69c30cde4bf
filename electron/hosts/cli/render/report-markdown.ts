/** A report to be pasted into an incident channel. Scanned text can neither format nor mention anybody. */
import { counted, visibleText } from "../../../../shared/base/text.js";
import type { Report, ReportFinding } from "../../../../shared/inspect/report.js";
import { placeOf, verdict } from "./report-text.js";

export function reportMarkdown(report: Report): string {
  const lines = [`**${escaped(capitalised(verdict(report)))}**`, "", `Scanned ${report.at}.`];
  if (report.findings.length > 0) {
    lines.push("", "| severity | finding | place | what is so |", "| --- | --- | --- | --- |");
    for (const finding of report.findings) lines.push(row(report, finding));
  }
  const steps = report.findings.filter(
    ({ severity, next }) => severity !== "notice" && next.length > 0,
  );
  if (steps.length > 0) lines.push("", "What to do:", "");
  for (const finding of steps)
    lines.push(
      `- ${code(finding.file)} (${finding.kind}): ${finding.next.map(escaped).join("; ")}`,
    );
  const { skipped, unknown } = report.coverage;
  const left = skipped.reduce((sum, { count }) => sum + (count ?? 1), 0);
  if (left + unknown.length > 0) lines.push("", "Not looked at, or not known:", "");
  if (left > 0) lines.push(`- ${counted(left, "entry was", "entries were")} skipped`);
  for (const says of unknown) lines.push(`- ${escaped(says)}`);
  return `${lines.join("\n")}\n`;
}

function row(report: Report, finding: ReportFinding): string {
  const target =
    typeof finding.recoverable === "string"
      ? ` Last good bytes: ${code(finding.recoverable)}.`
      : "";
  const severity =
    finding.certainty === "suspected" ? `${finding.severity} (suspected)` : finding.severity;
  return `| ${severity} | ${finding.kind} | ${code(placeOf(report, finding))} | ${escaped(finding.says)}${target} |`;
}

/** An "@" is written as a character reference, so that nobody is called by a file name. */
function escaped(text: string): string {
  return visibleText(text)
    .replace(/[\\`*_{}[\]<>()#+!|~&]/g, "\\$&")
    .replaceAll("@", "&#64;");
}

/** In a table even code must not hold a bar; a backtick inside needs a longer fence. */
function code(text: string): string {
  const shown = visibleText(text).replaceAll("|", "\\|");
  const longest = Math.max(0, ...[...shown.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return longest === 0 ? `${fence}${shown}${fence}` : `${fence} ${shown} ${fence}`;
}

function capitalised(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}
