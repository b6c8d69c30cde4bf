/** A report as SARIF 2.1.0, for code-scanning views and CI. */
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { explainKind } from "../../../../shared/inspect/explain.js";
import type { FindingKind, Severity } from "../../../../shared/inspect/finding.js";
import type { Report, ReportFinding } from "../../../../shared/inspect/report.js";

const levels: Readonly<Record<Severity, string>> = {
  error: "error",
  warning: "warning",
  notice: "note",
};

export function reportSarif(report: Report): unknown {
  const kinds = [...new Set(report.findings.map((finding) => finding.kind))].sort();
  return {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: {
          driver: {
            name: "lastgood",
            version: report.tool,
            semanticVersion: report.tool,
            rules: kinds.map(rule),
          },
        },
        columnKind: "unicodeCodePoints",
        originalUriBaseIds: Object.fromEntries(
          report.roots.map((root, i) => [baseId(i), { uri: folderUri(root) }]),
        ),
        invocations: [
          {
            executionSuccessful: report.coverage.files > 0,
            endTimeUtc: report.at,
            toolExecutionNotifications: report.coverage.unknown.map((says) => ({
              level: "note",
              message: { text: says },
            })),
          },
        ],
        results: report.findings.map((finding) => result(report, finding, kinds)),
        properties: { overall: report.overall, coverage: report.coverage },
      },
    ],
  };
}

function baseId(root: number): string {
  return `ROOT${root}`;
}

function folderUri(root: string): string {
  const uri = pathToFileURL(resolve(root)).href;
  return uri.endsWith("/") ? uri : `${uri}/`;
}

function rule(kind: FindingKind): unknown {
  const { title, meaning, cause, lookAt, doNext } = explainKind(kind);
  return {
    id: kind,
    shortDescription: { text: title },
    fullDescription: { text: meaning },
    help: { text: `Likely cause: ${cause}\nLook at: ${lookAt}\nDo: ${doNext}` },
  };
}

function result(report: Report, finding: ReportFinding, kinds: readonly FindingKind[]): unknown {
  const { byteOffset, line, column } = finding;
  const root = typeof finding.root === "number" ? finding.root : 0;
  const next = finding.next.length === 0 ? "" : ` Next: ${finding.next.join("; ")}.`;
  // A column of ours counts bytes; of SARIF, characters. It is given only as a byte offset, which both mean alike.
  const region = {
    ...(typeof line === "number" ? { startLine: line } : {}),
    ...(typeof byteOffset === "number" ? { byteOffset, byteLength: 0 } : {}),
  };
  return {
    ruleId: finding.kind,
    ruleIndex: kinds.indexOf(finding.kind),
    level: levels[finding.severity],
    message: { text: `${finding.says}${next}` },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: uriOf(report, finding), uriBaseId: baseId(root) },
          ...(Object.keys(region).length === 0 ? {} : { region }),
        },
      },
    ],
    partialFingerprints: { "lastgoodFindingId/v1": finding.id },
    properties: {
      certainty: finding.certainty,
      ...(typeof column === "number" ? { byteColumn: column } : {}),
      ...(finding.recoverable === undefined ? {} : { recoverable: finding.recoverable }),
    },
  };
}

/** A name that is not UTF-8 is given by its bytes: the escaped form would be another file's name. */
function uriOf(report: Report, finding: ReportFinding): string {
  const row = report.files.find(
    (file) => file.path === finding.file && (file.root ?? 0) === (finding.root ?? 0),
  );
  if (typeof row?.fileNameBase64 !== "string") return relativeUri(finding.file);
  return Array.from(Buffer.from(row.fileNameBase64, "base64"), encodeByte).join("");
}

function encodeByte(byte: number): string {
  const letter = String.fromCharCode(byte);
  if (/[\w.~/-]/.test(letter)) return letter;
  return `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
}

function relativeUri(file: string): string {
  return file.split("/").map(encodeSegment).join("/");
}

/** Lone surrogates, which a name may hold after decoding, are no URI; they are replaced. */
function encodeSegment(segment: string): string {
  return encodeURIComponent(segment.replace(/\p{Cs}/gu, "\ufffd"));
}
