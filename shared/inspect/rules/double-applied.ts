/** A change that is in the document twice, or whose id is missing: valid, versioned, and wrong. */
import { formatPath, indexStep, type JsonPath, keyStep } from "../../base/json-path.js";
import { limits } from "../../base/limits.js";
import { isJsonObject, type JsonNode, memberOf, sameValue } from "../../format/json-value.js";
import type { EvidenceIndex, ObservedDocument } from "../evidence-index.js";
import { type Family, versionInName } from "../families.js";
import type { Finding } from "../finding.js";
import { type UpdateTries, updatesOf } from "../log-views.js";

export function doubleApplied(index: EvidenceIndex): readonly Finding[] {
  const updates = updatesOf(index);
  return index.families.flatMap((family) => {
    const { head } = family;
    if (head === undefined) return [];
    const near = updates.filter((update) => update.root === head.root);
    const byLog = retriedUpdates(index, head, near);
    const found = byLog.length > 0 ? byLog : betweenVersions(index, family, head);
    return [...found, ...repeatedIds(index, head), ...missingIds(index, head, near)];
  });
}

/** An update whose first try may have landed and whose retry was applied as well. */
function mayBeTwice(update: UpdateTries): boolean {
  const last = update.tries.findLast((one) => one.result === "ok");
  if (last === undefined) return false;
  const earlier = update.tries.filter((one) => one.line < last.line);
  return earlier.some((one) => one.result === "unknown" || one.result === "ok");
}

function retriedUpdates(
  index: EvidenceIndex,
  head: ObservedDocument,
  updates: readonly UpdateTries[],
): readonly Finding[] {
  const twice = updates.filter(mayBeTwice);
  const tree = index.tree(head);
  if (twice.length === 0 || tree === undefined) return [];
  const keys = index.context.fields?.logicalKey ?? [];
  return arraysIn(tree).flatMap(({ path, elements }) => {
    const pair = keys.length > 0 ? samePair(elements, keys, twice) : equalPair(elements);
    if (pair === undefined) return [];
    const update = pair.update ?? (twice.length === 1 ? twice[0] : undefined);
    return [twiceFinding(head, path, pair.indices, update, "proved")];
  });
}

interface Pair {
  readonly indices: readonly [number, number];
  readonly update?: UpdateTries;
}

/** Two objects with the business key of a retried update. */
function samePair(
  elements: readonly JsonNode[],
  keys: readonly string[],
  twice: readonly UpdateTries[],
): Pair | undefined {
  for (const update of twice) {
    const hits: number[] = [];
    elements.forEach((element, i) => {
      if (keys.some((key) => memberOf(element.value, key) === update.id)) hits.push(i);
    });
    const [a, b] = hits;
    if (a !== undefined && b !== undefined) return { indices: [a, b], update };
  }
  return equalPair(elements);
}

/** Two equal objects in one list. Lists of plain values repeat for good reasons and are left alone. */
function equalPair(elements: readonly JsonNode[]): Pair | undefined {
  const seen = new Map<number, number[]>();
  for (const [i, element] of elements.entries()) {
    if (element.kind !== "object") return undefined;
    const length = element.members.length;
    const same = seen.get(length) ?? [];
    if (same.length > limits.equalElementsComparedMax) return undefined;
    const twin = same.find((j) => {
      const other = elements[j];
      return other !== undefined && sameValue(other.value, element.value);
    });
    if (twin !== undefined && length > 0) return { indices: [twin, i] };
    same.push(i);
    seen.set(length, same);
  }
  return undefined;
}

function arraysIn(
  root: JsonNode,
  elementsMin = 2,
): readonly { path: JsonPath; elements: readonly JsonNode[] }[] {
  const found: { path: JsonPath; elements: readonly JsonNode[] }[] = [];
  const todo: { path: JsonPath; node: JsonNode }[] = [{ path: [], node: root }];
  for (let one = todo.pop(); one !== undefined; one = todo.pop()) {
    const { path, node } = one;
    if (path.length > 8) continue; // a list of updates stands near the top
    if (node.kind === "array") {
      if (node.elements.length >= elementsMin) found.push({ path, elements: node.elements });
      node.elements.forEach((element, i) => {
        todo.push({ path: [...path, indexStep(i)], node: element });
      });
    } else if (node.kind === "object") {
      for (const member of node.members)
        todo.push({ path: [...path, keyStep(member.key)], node: member.node });
    }
  }
  return found;
}

function twiceFinding(
  head: ObservedDocument,
  path: JsonPath,
  indices: readonly number[],
  update: UpdateTries | undefined,
  certainty: "proved" | "suspected",
): Finding {
  const place = formatPath(path);
  const which = update === undefined ? "" : ` (update ${update.id})`;
  const lines = update?.tries.map((one) => `line ${one.line} ${one.word}`).join(", ");
  return {
    kind: "double-applied",
    severity: certainty === "proved" ? "error" : "warning",
    certainty,
    root: head.root,
    file: head.path,
    path: place,
    facts: {
      indices,
      ...(update === undefined ? {} : { update: update.id, proof: `${update.file} ${lines}` }),
    },
    says: `${head.path}: the same change is in ${place} twice, at ${indices.map((i) => `[${i}]`).join(" and ")}${which}.`,
    why:
      update === undefined
        ? "The second one came with the very next version, equal to the first."
        : `${update.file}: ${lines}. The first try had no answer and had been applied; the retry applied it again.`,
    next: [
      "take one of them out, and put right whatever counted both; keep the original beside",
      "give updates an id that is stored in the same write (applied_ids)",
    ],
    health: "suspect",
  };
}

/** Without a log: an element that one version appended, appended again by the next. */
function betweenVersions(
  index: EvidenceIndex,
  family: Family,
  head: ObservedDocument,
): readonly Finding[] {
  const chain = [...family.kept.filter((kept) => versionInName(kept.path) !== undefined), head]
    .map((document) => ({
      document,
      version: index.version(document) ?? 0,
      tree: index.tree(document),
    }))
    .sort((a, b) => a.version - b.version);
  for (let i = 2; i < chain.length; i++) {
    const [before, middle, after] = [chain[i - 2], chain[i - 1], chain[i]];
    if (before?.tree === undefined || middle?.tree === undefined || after?.tree === undefined)
      continue;
    if (middle.version !== before.version + 1 || after.version !== middle.version + 1) continue;
    const again = appendedTwice(before.tree, middle.tree, after.tree);
    if (again !== undefined)
      return [twiceFinding(head, again.path, again.indices, undefined, "suspected")];
  }
  return [];
}

function appendedTwice(before: JsonNode, middle: JsonNode, after: JsonNode) {
  const lengths = (root: JsonNode) =>
    new Map(arraysIn(root, 0).map((one) => [formatPath(one.path), one.elements]));
  const [old, mid] = [lengths(before), lengths(middle)];
  for (const { path, elements } of arraysIn(after)) {
    const name = formatPath(path);
    const [was, then] = [old.get(name), mid.get(name)];
    if (was === undefined || then === undefined) continue;
    if (then.length !== was.length + 1 || elements.length !== then.length + 1) continue;
    const [first, second] = [elements.at(-2), elements.at(-1)];
    if (first === undefined || second === undefined || !isJsonObject(first.value)) continue;
    if (sameValue(first.value, second.value))
      return { path, indices: [elements.length - 2, elements.length - 1] };
  }
  return undefined;
}

/** One id twice in the window: the guard that was to prevent it has failed. */
function repeatedIds(index: EvidenceIndex, head: ObservedDocument): readonly Finding[] {
  const ids = appliedIds(index, head);
  const seen = new Set<string>();
  for (const [i, id] of ids.entries()) {
    if (!seen.has(id)) {
      seen.add(id);
      continue;
    }
    return [
      {
        kind: "double-applied",
        severity: "error",
        certainty: "proved",
        root: head.root,
        file: head.path,
        path: "$.applied_ids",
        facts: { update: id, indices: [ids.indexOf(id), i] },
        says: `${head.path}: update ${id} stands twice in applied_ids: it was absorbed twice.`,
        why: "The list is what keeps a retry from being applied again; an id in it twice got past it.",
        next: ["look what that update changed, and take one application out"],
        health: "suspect",
      },
    ];
  }
  return [];
}

function appliedIds(index: EvidenceIndex, head: ObservedDocument): readonly string[] {
  const value = index.value(head);
  const list = value === undefined ? undefined : memberOf(value, "applied_ids");
  return Array.isArray(list) ? list.filter((id) => typeof id === "string") : [];
}

/** The log says an update went through; its neighbours' ids are in the window, its own is not. */
function missingIds(
  index: EvidenceIndex,
  head: ObservedDocument,
  updates: readonly UpdateTries[],
): readonly Finding[] {
  const ids = new Set(appliedIds(index, head));
  const version = index.version(head);
  if (ids.size === 0 || version === undefined || ids.size >= limits.ledgerWindowCount) return [];
  const known = updates.filter((update) => ids.has(update.id));
  if (known.length === 0) return [];
  return updates.flatMap((update) => {
    const ok = update.tries.find((one) => one.result === "ok");
    const later = ok?.version === undefined || ok.version <= version;
    if (ids.has(update.id) || ok === undefined || !later) return [];
    return [
      {
        kind: "applied-id-missing",
        severity: "error",
        certainty: "suspected",
        root: head.root,
        file: head.path,
        path: "$.applied_ids",
        facts: { update: update.id, proof: `${update.file} line ${ok.line}` },
        says: `${head.path}: ${update.file} line ${ok.line} says update ${update.id} was applied, but its id is not in applied_ids.`,
        why: "A retry of it would be applied again; or the change itself is lost.",
        next: ["look whether its change is in the document before any retry of it"],
        health: "suspect",
      },
    ];
  });
}
