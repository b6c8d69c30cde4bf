/** Declared rules that look beyond the document's own values: at files, sums and the clock. */
import { formatPath } from "../../base/json-path.js";
import { compactCrc32, isSameChecksum } from "../checksum.js";
import type { DeclaredRule } from "../context.js";
import {
  type EvidenceIndex,
  isDocument,
  type ObservedDocument,
  type PlacedNode,
  placeText,
  reach,
} from "../evidence-index.js";
import type { Finding } from "../finding.js";
import { matchesGlob } from "../glob.js";
import { shown } from "../show-value.js";
import { broken, fact } from "./declared-breach.js";

export function listsFiles(
  index: EvidenceIndex,
  rule: DeclaredRule,
  document: ObservedDocument,
  places: readonly PlacedNode[],
): Finding | undefined {
  if (rule.of.kind !== "glob") return undefined;
  const { glob } = rule.of;
  const listed = new Set(
    places.map((place) => place.node.value).filter((v) => typeof v === "string"),
  );
  const files = index.evidence.files.filter(
    (file) => file.root === document.root && matchesGlob(glob, file.path),
  );
  const missing = files.filter((file) => !namesOf(file.path).some((name) => listed.has(name)));
  if (missing.length === 0) return undefined;
  const names = missing.map((file) => namesOf(file.path).at(-1) ?? file.path);
  const path = formatPath(rule.path);
  return {
    ...broken(index, "index-behind", document, undefined, path),
    facts: { missing: names, truth: "files on disk" },
    says: `${document.path} does not list ${names.slice(0, 8).join(", ")}${names.length > 8 ? ` and ${names.length - 8} more` : ""}, which ${names.length === 1 ? "is" : "are"} on disk.`,
    why: "Absent from the index does not mean that it does not exist.",
    next: ["build the index anew from the files"],
  };
}

/** Names an index may use for a file: path, base name, base name without its ending. */
function namesOf(path: string): readonly string[] {
  const base = path.slice(path.lastIndexOf("/") + 1);
  const dot = base.indexOf(".", 1);
  return dot < 0 ? [path, base] : [path, base, base.slice(0, dot)];
}

export function checksum(
  index: EvidenceIndex,
  rule: DeclaredRule,
  document: ObservedDocument,
  places: readonly PlacedNode[],
): Finding | undefined {
  const place = places[0];
  if (place === undefined || rule.of.kind !== "place") return undefined;
  const other = rule.of.file === rule.file ? document : index.named(rule.of.file).find(isDocument);
  const tree = other === undefined ? undefined : index.tree(other);
  const data = tree === undefined ? undefined : reach(tree, rule.of.path)[0];
  if (other === undefined || data === undefined || other.content.held === "not-held")
    return undefined;
  const from = index.offsetOf(other, data.node);
  const bytes = other.content.held.subarray(from, from + data.node.end - data.node.start);
  const found = compactCrc32(bytes);
  const stored = place.node.value;
  if (isSameChecksum(stored, found)) return undefined;
  const path = placeText(place);
  return {
    ...broken(index, "checksum-mismatch", document, place, path),
    facts: { found, stored: fact(stored), of: placeText(data) },
    says: `${document.path}: ${path} is ${shown(stored)}, but the sum of ${placeText(data)} is ${found}.`,
    why: "The structure is whole. The sum can be of a text that was read and written anew since; this alone proves no damaged byte.",
    next: [
      "compare with an older copy to see which values differ",
      "look whether the writer sums before or after it normalises",
    ],
  };
}

export function maxAge(
  index: EvidenceIndex,
  rule: DeclaredRule,
  document: ObservedDocument,
  places: readonly PlacedNode[],
): Finding | undefined {
  const place = places[0];
  const written = place?.node.value;
  if (place === undefined || rule.of.kind !== "seconds" || typeof written !== "string")
    return undefined;
  const { nowMs } = index.evidence;
  const ageSeconds = Math.floor((nowMs - Date.parse(written)) / 1000);
  if (!(ageSeconds > rule.of.seconds)) return undefined;
  const usedAt = index.context.now;
  return {
    ...broken(index, "stale-derivation", document, place, placeText(place)),
    severity: "warning",
    facts: { ageSeconds, basedOn: written, ...(usedAt === undefined ? {} : { usedAt }) },
    says: `${document.path} was written ${ageText(ageSeconds)} ago (${written}); the rules allow ${ageText(rule.of.seconds)}.`,
    why: "Old is not wrong; how old it may be is what the rule says.",
    next: ["make it anew, or find out why its source could not be reached"],
  };
}

function ageText(seconds: number): string {
  if (seconds >= 2 * 86_400) return `${Math.round(seconds / 86_400)} days`;
  if (seconds >= 2 * 3_600) return `${Math.round(seconds / 3_600)} hours`;
  if (seconds >= 120) return `${Math.round(seconds / 60)} minutes`;
  return `${seconds} seconds`;
}
