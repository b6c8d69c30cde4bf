import type { Role } from "./context.js";
import type { ObservedFile } from "./evidence.js";
import type { EvidenceIndex } from "./evidence-index.js";
import type { Finding, Health } from "./finding.js";
import { looksLikeLogName } from "./guess-roles.js";

/** One row of the report's files. */
export interface FileVerdict {
  readonly root: number;
  readonly path: string;
  readonly nameBase64?: string;
  readonly role: Role;
  readonly roleFrom: "context" | "guessed";
  readonly format: "run-document" | "document" | "log" | "unknown";
  readonly json: "valid" | "invalid" | "not-json";
  readonly health: Health;
  readonly bytes: number;
  readonly sha256?: string;
  readonly version?: number;
  readonly records?: number;
}

/** Worst first: what a person must know about the file when it is several things at once. */
const healthOrder: readonly Health[] = [
  "unreadable",
  "missing",
  "limit",
  "zeroed",
  "empty",
  "torn",
  "mixed",
  "malformed",
  "foreign",
  "encoding",
  "nonstandard",
  "suspect",
  "ok",
];

export function fileVerdicts(
  index: EvidenceIndex,
  findings: readonly Finding[],
): readonly FileVerdict[] {
  const healths = new Map<string, Health>();
  for (const finding of findings) {
    if (finding.health === undefined) continue;
    const name = `${finding.root}:${finding.file}`;
    healths.set(name, worse(healths.get(name) ?? "ok", finding.health));
  }
  const rows = index.evidence.files.map((file) =>
    verdict(index, file, healths.get(`${file.root}:${file.path}`) ?? "ok"),
  );
  const missing = findings.filter((finding) => finding.kind === "missing-main");
  return [...rows, ...missing.map(missingRow)];
}

function worse(a: Health, b: Health): Health {
  return healthOrder.indexOf(a) <= healthOrder.indexOf(b) ? a : b;
}

function verdict(index: EvidenceIndex, file: ObservedFile, health: Health): FileVerdict {
  const { root, path, role, roleFrom, content } = file;
  const name = file.nameBase64 === undefined ? {} : { nameBase64: file.nameBase64 };
  const row = { root, path, ...name, role, roleFrom, health };
  switch (content.kind) {
    case "document": {
      const version = index.version({ ...file, content });
      const { json } = content.diagnosis;
      const format = version === undefined ? "document" : "run-document";
      const { bytes, sha256 } = content;
      return { ...row, format, json, bytes, sha256, ...(version === undefined ? {} : { version }) };
    }
    case "log": {
      const { bytes, sha256, log } = content;
      const json = health === "ok" || health === "suspect" ? "valid" : "invalid";
      return { ...row, format: "log", json, bytes, sha256, records: log.records };
    }
    case "unreadable":
      return { ...row, format: formatByName(path), json: "not-json", bytes: 0 };
    case "too-large":
    case "changing":
      return { ...row, format: formatByName(path), json: "not-json", bytes: content.bytes };
  }
}

function formatByName(path: string): "log" | "unknown" {
  return looksLikeLogName(path) ? "log" : "unknown";
}

function missingRow(finding: Finding): FileVerdict {
  return {
    root: finding.root,
    path: finding.file,
    role: "run",
    roleFrom: "guessed",
    format: "unknown",
    json: "not-json",
    health: "missing",
    bytes: 0,
  };
}
