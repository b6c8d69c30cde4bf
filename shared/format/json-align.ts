/** Which element of a changed list is which element of the old one, so that bytes stay with what they say. */
import { JsonNumber } from "./json-number.js";
import type { JsonNode } from "./json-value.js";

/**
 * For each new element the index of the old one whose place it takes, or undefined where it is new.
 *
 * Elements that stand once in each list, and kept their order, take their own places; those between them
 * take the places between, one by one. Indexes only rise. Time: n log n.
 */
export function alignElements(
  old: readonly JsonNode[],
  value: readonly unknown[],
): (number | undefined)[] {
  const places = new Array<number | undefined>(value.length).fill(undefined);
  let oldFrom = 0;
  let newFrom = 0;
  const ends = { oldIndex: old.length, newIndex: value.length };
  for (const anchor of [...anchorsOf(old, value), ends]) {
    const between = Math.min(anchor.oldIndex - oldFrom, anchor.newIndex - newFrom);
    for (let i = 0; i < between; i += 1) places[newFrom + i] = oldFrom + i;
    if (anchor !== ends) places[anchor.newIndex] = anchor.oldIndex;
    oldFrom = anchor.oldIndex + 1;
    newFrom = anchor.newIndex + 1;
  }
  return places;
}

interface Anchor {
  readonly oldIndex: number;
  readonly newIndex: number;
}

/** Pairs of equal elements in an order that both lists share. */
function anchorsOf(old: readonly JsonNode[], value: readonly unknown[]): readonly Anchor[] {
  const head = countSame(old.length, value.length, (i) => same(old[i], value[i]));
  const tail = countSame(old.length - head, value.length - head, (i) =>
    same(old[old.length - 1 - i], value[value.length - 1 - i]),
  );
  const anchors: Anchor[] = [];
  for (let i = 0; i < head; i += 1) anchors.push({ oldIndex: i, newIndex: i });
  const oldIndexes = onlyOnce(old.slice(head, old.length - tail).map(nodeIdentity), head);
  const newIndexes = onlyOnce(value.slice(head, value.length - tail).map(identity), head);
  const pairs: Anchor[] = [];
  for (const [element, newIndex] of newIndexes) {
    const oldIndex = oldIndexes.get(element);
    if (oldIndex !== undefined) pairs.push({ oldIndex, newIndex });
  }
  anchors.push(...longestRising(pairs.sort((a, b) => a.newIndex - b.newIndex)));
  for (let i = tail; i > 0; i -= 1) {
    anchors.push({ oldIndex: old.length - i, newIndex: value.length - i });
  }
  return anchors;
}

function countSame(a: number, b: number, sameAt: (index: number) => boolean): number {
  let count = 0;
  while (count < Math.min(a, b) && sameAt(count)) count += 1;
  return count;
}

function same(node: JsonNode | undefined, value: unknown): boolean {
  return node !== undefined && nodeIdentity(node) === identity(value);
}

function nodeIdentity(node: JsonNode): unknown {
  return node.kind === "scalar" ? identity(node.value) : node.value;
}

/** Containers are the same only as the very same object; scalars by what they say. */
function identity(value: unknown): unknown {
  if (value instanceof JsonNumber) return `number ${value.text}`;
  if (typeof value === "bigint") return `number ${value}`;
  if (typeof value === "number") return `number ${Object.is(value, -0) ? "-0" : value}`;
  return typeof value === "string" ? `string ${value}` : value;
}

/** Where elements stand that stand there once; the first of them has the index `from`. */
function onlyOnce(elements: readonly unknown[], from: number): Map<unknown, number> {
  const indexes = new Map<unknown, number>();
  const repeated = new Set<unknown>();
  for (const [i, element] of elements.entries()) {
    if (indexes.has(element)) repeated.add(element);
    indexes.set(element, from + i);
  }
  for (const element of repeated) indexes.delete(element);
  return indexes;
}

/** The longest selection whose old indexes rise (patience sorting). */
function longestRising(pairs: readonly Anchor[]): readonly Anchor[] {
  interface Link {
    readonly pair: Anchor;
    readonly before: Link | undefined;
  }
  const ends: Link[] = []; // ends[k]: the selection of length k + 1 that ends lowest
  for (const pair of pairs) {
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((ends[middle]?.pair.oldIndex ?? 0) < pair.oldIndex) low = middle + 1;
      else high = middle;
    }
    ends[low] = { pair, before: ends[low - 1] };
  }
  const selection: Anchor[] = [];
  for (let link = ends.at(-1); link !== undefined; link = link.before) selection.push(link.pair);
  return selection.reverse();
}
