import type { JsonValue } from "../../format/json-value.js";
import type { EvidenceIndex, ObservedDocument, PlacedNode } from "../evidence-index.js";
import type { FindingKind } from "../finding.js";
import { shown } from "../show-value.js";

/** The members every breach has; `place` is where it stands in the document. */
export function broken(
  index: EvidenceIndex,
  kind: FindingKind,
  document: ObservedDocument,
  place: PlacedNode | undefined,
  path: string,
) {
  const at = place === undefined ? {} : { byteOffset: index.offsetOf(document, place.node) };
  return {
    kind,
    severity: "error" as const,
    certainty: "proved" as const,
    root: document.root,
    file: document.path,
    path,
    ...at,
    health: "suspect" as const,
  };
}

export function fact(value: JsonValue): string | number | boolean | null {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  return typeof value === "number" ? value : shown(value);
}
