import { safeJson, visibleText } from "../../../../shared/base/text.js";
import type { Severity } from "../../../../shared/inspect/finding.js";
import type { Report } from "../../../../shared/inspect/report.js";
import { inspectPaths } from "../../../service/inspect-roots.js";
import { readBaseline, writeBaseline } from "../baseline.js";
import type { Command, CommandHost, ExitCode, Words } from "../command.js";
import { paintFor } from "../paint.js";
import { reportMarkdown } from "../render/report-markdown.js";
import { reportSarif } from "../render/report-sarif.js";
import { reportText } from "../render/report-text.js";
import { wantsColor } from "../terminal.js";

export const scanCommand: Command = {
  name: "scan",
  summary: "say what is broken, what is in doubt, and where the last good bytes are",
  usage: "scan [PATH…]",
  details: [
    "PATH is a folder of run state, or one file: then its kept versions and backups beside it are read too, and only its own findings are told. Without PATH, the current folder. Nothing is changed.",
    "Exit code: 0 nothing at or above --fail-on, 1 findings, 2 nothing could be inspected or the command was not understood.",
  ],
  options: [
    {
      name: "format",
      takes: "FORMAT",
      choices: ["text", "json", "sarif", "markdown"],
      says: "text, json, sarif or markdown (default: text)",
    },
    { name: "json", says: "the same as --format json" },
    {
      name: "fail-on",
      takes: "LEVEL",
      choices: ["error", "warning", "notice", "never"],
      says: "exit 1 for findings from this level on: error (default), warning, notice or never",
    },
    {
      name: "context",
      takes: "FILE",
      says: "what is known besides the bytes; lastgood.json in the folder is used when not given",
    },
    {
      name: "config",
      takes: "FILE",
      says: "the operator's own configuration, for actions; a scan runs no probes and needs none of it",
    },
    {
      name: "baseline",
      takes: "FILE",
      says: "findings listed there are known: not shown, not counted",
    },
    {
      name: "write-baseline",
      takes: "FILE",
      says: "write the findings of this scan as known ones",
    },
    { name: "color", says: "colour the text; --no-color or NO_COLOR=1: do not" },
    { name: "quiet", short: "q", says: "one line for each finding, no remarks" },
  ],
  examples: [
    "scan runs",
    "scan runs/run_9d4a.json",
    "scan runs --json",
    "scan runs --write-baseline known.json",
    "scan runs --baseline known.json --fail-on warning",
  ],
  run: runScan,
};

async function runScan(words: Words, host: CommandHost): Promise<ExitCode> {
  const { terminal } = host;
  const isQuiet = words.flag("quiet") === true;
  const baseline = words.text("baseline");
  const known = baseline === undefined ? new Set<string>() : await readBaseline(baseline);
  const { report, remarks, anythingRead } = await inspectPaths(host.means, {
    paths: words.positionals.length === 0 ? ["."] : words.positionals,
    contextFile: words.text("context"),
    tool: host.tool,
  });
  const fresh = { ...report, findings: report.findings.filter(({ id }) => !known.has(id)) };
  print(words, host, report, fresh, isQuiet);
  if (!isQuiet) for (const remark of remarks) terminal.err(`lastgood: ${remark}\n`);
  const target = words.text("write-baseline");
  if (target !== undefined) {
    await writeBaseline(target, report);
    if (!isQuiet)
      terminal.err(
        `lastgood: ${report.findings.length} findings are known in ${visibleText(target)}\n`,
      );
    return anythingRead ? 0 : 2;
  }
  if (!anythingRead) return 2;
  return reaches(fresh, words.text("fail-on") ?? "error") ? 1 : 0;
}

/** The machine's formats tell everything; which findings are known is a mark there, not a gap. */
function print(
  words: Words,
  host: CommandHost,
  report: Report,
  fresh: Report,
  isQuiet: boolean,
): void {
  const { terminal } = host;
  const format = words.flag("json") === true ? "json" : (words.text("format") ?? "text");
  if (format === "json") terminal.out(`${safeJson(marked(report, fresh), 2)}\n`);
  else if (format === "sarif") terminal.out(`${safeJson(reportSarif(fresh), 2)}\n`);
  else if (format === "markdown") terminal.out(reportMarkdown(fresh));
  else
    terminal.out(
      reportText(fresh, {
        columns: terminal.columns,
        paint: paintFor(wantsColor(terminal, words.flag("color"))),
        length: isQuiet ? "short" : "full",
        knownCount: report.findings.length - fresh.findings.length,
      }),
    );
}

function marked(report: Report, fresh: Report): Report {
  if (fresh.findings.length === report.findings.length) return report;
  const isFresh = new Set(fresh.findings.map(({ id }) => id));
  const findings = report.findings.map((finding) =>
    isFresh.has(finding.id) ? finding : { ...finding, known: true },
  );
  return { ...report, findings };
}

const levels: readonly Severity[] = ["notice", "warning", "error"];

function reaches(report: Report, level: string): boolean {
  const from = levels.indexOf(level as Severity);
  if (from < 0) return false;
  return report.findings.some(({ severity }) => levels.indexOf(severity) >= from);
}
