/** Rules of the data that the context file declares: one finding per rule and file, for the first breach. */
import { formatPath, type JsonPath } from "../../base/json-path.js";
import { isJsonObject, type JsonValue, sameValue } from "../../format/json-value.js";
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
import { logValues } from "../log-views.js";
import { shown } from "../show-value.js";
import { broken, fact } from "./declared-breach.js";
import { checksum, listsFiles, maxAge } from "./declared-outside.js";

export function declaredRules(index: EvidenceIndex): readonly Finding[] {
  return [...unusedContext(index), ...checkedRules(index)];
}

/** Rules that somebody relies on and that were not even read: a clean result would hide it. */
function unusedContext(index: EvidenceIndex): readonly Finding[] {
  return (index.evidence.contextProblems ?? []).map(({ root, file, says }) => ({
    kind: "rule-not-checked",
    severity: "warning",
    certainty: "proved",
    root,
    file,
    says: `${file} was not used: ${says}`,
    why: "What it declares (roles, fields, rules) was guessed or left out.",
    next: ["mend it, or give the right one with --context"],
  }));
}

function checkedRules(index: EvidenceIndex): readonly Finding[] {
  return index.context.rules.flatMap((rule) => {
    const files = index.named(rule.file).filter(isDocument);
    if (index.named(rule.file).length === 0) return [notChecked(rule, `${rule.file} is not there`)];
    const kept = index.families
      .filter((family) => family.head !== undefined && files.includes(family.head))
      .flatMap((family) => family.kept);
    return [...files, ...kept].flatMap((document) => checked(index, rule, document));
  });
}

function checked(
  index: EvidenceIndex,
  rule: DeclaredRule,
  document: ObservedDocument,
): readonly Finding[] {
  const tree = index.tree(document);
  if (tree === undefined) return [];
  const places = reach(tree, rule.path);
  const found = breach(index, rule, document, places);
  return found === undefined ? [] : [found];
}

function breach(
  index: EvidenceIndex,
  rule: DeclaredRule,
  document: ObservedDocument,
  places: readonly PlacedNode[],
): Finding | undefined {
  switch (rule.rule) {
    case "each-equals":
      return eachEquals(index, rule, document, places);
    case "not-empty":
      return notEmpty(index, rule, document, places);
    case "is-list":
      return isList(index, rule, document, places);
    case "unique":
      return unique(index, document, places);
    case "refers-to":
      return refersTo(index, rule, document, places);
    case "equals-max":
      return equalsMax(index, rule, document, places);
    case "equals-count":
    case "equals-count-distinct":
      return equalsCount(index, rule, document, places);
    case "lists-files":
      return listsFiles(index, rule, document, places);
    case "crc32-of":
      return checksum(index, rule, document, places);
    case "max-age":
      return maxAge(index, rule, document, places);
  }
}

function notChecked(rule: DeclaredRule, because: string): Finding {
  return {
    kind: "rule-not-checked",
    severity: "notice",
    certainty: "proved",
    root: 0,
    file: rule.file,
    path: formatPath(rule.path),
    says: `The rule ${rule.rule} for ${rule.file} was not checked: ${because}.`,
    next: ["mend the context file, or find out where the file went"],
  };
}

/** Values that a rule compares with, from a document or a log. */
function operandValues(
  index: EvidenceIndex,
  rule: DeclaredRule,
  document: ObservedDocument,
): { readonly values: readonly JsonValue[]; readonly complete: boolean } | undefined {
  if (rule.of.kind !== "place") return undefined;
  const { file, path } = rule.of;
  // A rule about a document and itself holds for each of its kept versions by itself.
  const own = file === rule.file ? document : index.named(file).find(isDocument);
  if (own !== undefined) {
    const tree = index.tree(own);
    if (tree === undefined) return undefined;
    return { values: reach(tree, path).map((place) => place.node.value), complete: true };
  }
  return logValues(index, file, path);
}

function eachEquals(
  index: EvidenceIndex,
  rule: DeclaredRule,
  document: ObservedDocument,
  places: readonly PlacedNode[],
): Finding | undefined {
  const expected = operandValues(index, rule, document)?.values[0];
  if (expected === undefined) return undefined;
  const place = places.find((one) => !sameValue(one.node.value, expected));
  if (place === undefined) return undefined;
  const path = placeText(place);
  const of = rule.of.kind === "place" ? formatPath(rule.of.path) : "";
  return {
    ...broken(index, "invariant-broken", document, place, path),
    facts: { found: fact(place.node.value), expected: fact(expected) },
    says: `${document.path}: ${path} is ${shown(place.node.value)}, while ${of} is ${shown(expected)}.`,
    why: "The file parses; only this rule of the data shows that its parts do not belong together.",
    next: ["do not mend the one value: what stands around it may be of the other generation too"],
  };
}

function notEmpty(
  index: EvidenceIndex,
  rule: DeclaredRule,
  document: ObservedDocument,
  places: readonly PlacedNode[],
): Finding | undefined {
  const place = places.find((one) => isEmpty(one.node.value));
  if (place === undefined && places.length > 0) return undefined;
  const path = place === undefined ? formatPath(rule.path) : placeText(place);
  return {
    ...broken(index, "invariant-broken", document, place, path),
    facts: {
      found: place === undefined ? "nothing" : fact(place.node.value),
      expected: "not empty",
    },
    says: `${document.path}: ${path} is ${place === undefined ? "not there" : "empty"}; the rules say it never is.`,
    next: ["compare with an older copy"],
  };
}

function isEmpty(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (isJsonObject(value)) return Object.keys(value).length === 0;
  return value === null || value === "";
}

function isList(
  index: EvidenceIndex,
  rule: DeclaredRule,
  document: ObservedDocument,
  places: readonly PlacedNode[],
): Finding | undefined {
  const place = places.find((one) => one.node.kind !== "array");
  if (place === undefined && places.length > 0) return undefined;
  const path = place === undefined ? formatPath(rule.path) : placeText(place);
  return {
    ...broken(index, "invariant-broken", document, place, path),
    facts: { found: place === undefined ? "nothing" : fact(place.node.value), expected: "a list" },
    says: `${document.path}: ${path} is ${place === undefined ? "not there" : shown(place.node.value)}; the rules say it is a list.`,
    next: ["compare with an older copy"],
  };
}

function unique(
  index: EvidenceIndex,
  document: ObservedDocument,
  places: readonly PlacedNode[],
): Finding | undefined {
  const seen = new Map<string, number>();
  for (const [i, place] of places.entries()) {
    const name = shown(place.node.value);
    const first = seen.get(name);
    if (first === undefined) {
      seen.set(name, i);
      continue;
    }
    const list = listAround(place.path);
    return {
      ...broken(index, "double-applied", document, place, formatPath(list)),
      facts: { indices: [first, i], update: fact(place.node.value) },
      says: `${document.path}: ${name} stands twice in ${formatPath(list)}, at [${first}] and [${i}].`,
      why: "The rules say it stands there once: the same change was taken in twice.",
      next: ["take one out and put right what counted both", "check and record in one write"],
    };
  }
  return undefined;
}

/** Path of the list that a place's element stands in. */
function listAround(path: JsonPath): JsonPath {
  const at = path.findLastIndex((step) => step.kind === "index");
  return at < 0 ? path : path.slice(0, at);
}

function refersTo(
  index: EvidenceIndex,
  rule: DeclaredRule,
  document: ObservedDocument,
  places: readonly PlacedNode[],
): Finding | undefined {
  const operand = operandValues(index, rule, document);
  if (operand === undefined || !operand.complete) return undefined;
  const there = new Set(operand.values.map(shown));
  const place = places.find((one) => one.node.value !== null && !there.has(shown(one.node.value)));
  if (place === undefined) return undefined;
  const path = placeText(place);
  const of = rule.of.kind === "place" ? `${rule.of.file} ${formatPath(rule.of.path)}` : "";
  return {
    ...broken(index, "invariant-broken", document, place, path),
    facts: { found: fact(place.node.value), expected: `one of ${of}` },
    says: `${document.path}: ${path} names ${shown(place.node.value)}, which is not among ${of}.`,
    next: ["look whether it was removed, renamed, or never written"],
  };
}

function equalsMax(
  index: EvidenceIndex,
  rule: DeclaredRule,
  document: ObservedDocument,
  places: readonly PlacedNode[],
): Finding | undefined {
  const operand = operandValues(index, rule, document);
  const place = places[0];
  const own = place?.node.value;
  if (operand === undefined || rule.of.kind !== "place" || typeof own !== "number")
    return undefined;
  const numbers = operand.values.filter((value) => typeof value === "number");
  const most = numbers.reduce((max, value) => Math.max(max, value), Number.NEGATIVE_INFINITY);
  const last = numbers.length === 0 ? 0 : most;
  if (last === own || place === undefined) return undefined;
  const path = placeText(place);
  if (last > own) {
    return {
      ...broken(index, "counter-mismatch", document, place, path),
      facts: { found: own, expected: last },
      says: `${document.path}: ${path} is ${own}, while ${rule.of.file} goes to ${last}.`,
      next: ["the document is behind its log: compare with the kept versions before any retry"],
    };
  }
  const { byteOffset: _place, ...onLog } = broken(index, "log-stops-early", document, place, path);
  return {
    ...onLog,
    file: rule.of.file,
    path: formatPath(rule.of.path),
    facts: { lastSeq: last, expectedSeq: own, document: document.path },
    says: `${rule.of.file} ends at ${last}, while ${document.path} is at ${own}: ${own - last} steps have no record.`,
    why: "The log is whole as far as it goes; it lacks what the document already counts.",
    likelyCause: {
      says: "appends that failed and were dropped while the run went on",
      certainty: "suspected",
    },
    next: ["treat the outside effects of the missing steps as unknown, and look them up"],
  };
}

function equalsCount(
  index: EvidenceIndex,
  rule: DeclaredRule,
  document: ObservedDocument,
  places: readonly PlacedNode[],
): Finding | undefined {
  const operand = operandValues(index, rule, document);
  const place = places[0];
  if (operand === undefined || !operand.complete || place === undefined) return undefined;
  const distinct = rule.rule === "equals-count-distinct";
  const expected = distinct ? new Set(operand.values.map(shown)).size : operand.values.length;
  const own = place.node.kind === "array" ? place.node.elements.length : place.node.value;
  if (typeof own !== "number" || own === expected) return undefined;
  const path = placeText(place);
  const of = rule.of.kind === "place" ? `${rule.of.file} ${formatPath(rule.of.path)}` : "";
  return {
    ...broken(index, "counter-mismatch", document, place, path),
    facts: { found: own, expected },
    says: `${document.path}: ${path} is ${own}; ${of} counts ${expected}${distinct ? " different ones" : ""}.`,
    next: ["find out which of the two was counted twice or not at all before correcting either"],
  };
}
