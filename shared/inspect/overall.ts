import type { FileVerdict } from "./file-verdicts.js";
import type { Finding } from "./finding.js";

export type Overall = "healthy" | "attention" | "suspect" | "damaged" | "unreadable" | "limit";

/** One word for the whole scan, derived from its findings; a health that parses decides suspect or damaged. */
export function overallOf(findings: readonly Finding[], files: readonly FileVerdict[]): Overall {
  const errors = findings.filter((finding) => finding.severity === "error");
  // Nothing was there to be judged: that is no clean bill.
  if (files.length === 0) return "unreadable";
  if (errors.length === 0) return findings.length === 0 ? "healthy" : "attention";
  const healths = errors.map((error) => healthOf(error, files));
  if (healths.every((health) => health === "unreadable")) return "unreadable";
  if (healths.every((health) => health === "limit")) return "limit";
  const broken = healths.some((health) => health !== "ok" && health !== "suspect");
  return broken ? "damaged" : "suspect";
}

function healthOf(error: Finding, files: readonly FileVerdict[]) {
  const file = files.find((one) => one.root === error.root && one.path === error.file);
  return file?.health ?? error.health ?? "ok";
}
