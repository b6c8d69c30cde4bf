/**
 * Which parts of a document that somebody relied on have changed since they read it.
 *
 * Values are compared, not the history between them: a part that was changed and changed back counts as
 * unmoved. Elements of a list are compared by their index; one more or one fewer is a change.
 */
import {
  formatPath,
  indexStep,
  type JsonPath,
  type PathStep,
  parsePath,
} from "../base/json-path.js";
import { limits } from "../base/limits.js";
import { type JsonValue, memberOf, sameValue } from "../format/json-value.js";

export type DependencyPatterns =
  | { readonly kind: "patterns"; readonly patterns: readonly JsonPath[] }
  | { readonly kind: "rejected"; readonly reason: string };

/** Reads declared dependencies: `tasks[*].status`, `$.report`, `notes["a.b"]`. */
export function readDependencies(declared: readonly string[]): DependencyPatterns {
  const patterns: JsonPath[] = [];
  for (const text of declared) {
    const parsed = parsePath(text);
    if (parsed.kind === "rejected") return parsed;
    patterns.push(parsed.path);
  }
  return { kind: "patterns", patterns };
}

/** One place in both documents; undefined where there is nothing. */
interface Place {
  readonly path: JsonPath;
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
}

/**
 * The concrete places, such as `$.tasks[2].status`, that a pattern names and whose value differs.
 * In the order of the patterns, each once; at most limits.changedPathsMax of them.
 */
export function changedPaths(
  before: JsonValue,
  after: JsonValue,
  patterns: readonly JsonPath[],
): readonly string[] {
  const changed = new Set<string>();
  for (const pattern of patterns) {
    let places: readonly Place[] = [{ path: [], before, after }];
    for (const step of pattern) places = places.flatMap((place) => placesBelow(place, step));
    for (const place of places) {
      if (changed.size >= limits.changedPathsMax) return [...changed];
      if (!isUnmoved(place)) changed.add(formatPath(place.path));
    }
  }
  return [...changed];
}

function placesBelow(place: Place, step: PathStep): readonly Place[] {
  if (step.kind !== "each") return placeBelow(place, step);
  const count = Math.max(elementCount(place.before), elementCount(place.after));
  return Array.from({ length: count }, (_, i) => placeBelow(place, indexStep(i))).flat();
}

/** Nothing where neither document has such a place. */
function placeBelow(place: Place, step: PathStep): readonly Place[] {
  const before = childOf(place.before, step);
  const after = childOf(place.after, step);
  if (before === undefined && after === undefined) return [];
  return [{ path: [...place.path, step], before, after }];
}

function childOf(value: JsonValue | undefined, step: PathStep): JsonValue | undefined {
  if (value === undefined || step.kind === "each") return undefined;
  if (step.kind === "key") return memberOf(value, step.key);
  return Array.isArray(value) ? value[step.index] : undefined;
}

function elementCount(value: JsonValue | undefined): number {
  return Array.isArray(value) ? value.length : 0;
}

function isUnmoved({ before, after }: Place): boolean {
  return before !== undefined && after !== undefined && sameValue(before, after);
}
