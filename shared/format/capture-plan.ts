import type { JsonPath } from "../base/json-path.js";

/**
 * Paths whose values a scan should keep, as a tree that is walked beside the document, so that a record of
 * any length gives up its few interesting fields without ever being held.
 */
export interface CaptureNode {
  readonly keys: Map<string, CaptureNode>;
  readonly indexes: Map<number, CaptureNode>;
  each: CaptureNode | undefined;
  /** Patterns that end here. */
  readonly patterns: number[];
}

export interface CapturePlan {
  readonly root: CaptureNode;
  readonly patterns: readonly JsonPath[];
}

function emptyNode(): CaptureNode {
  return { keys: new Map(), indexes: new Map(), each: undefined, patterns: [] };
}

export function capturePlan(patterns: readonly JsonPath[]): CapturePlan {
  const root = emptyNode();
  patterns.forEach((pattern, number) => {
    let node = root;
    for (const step of pattern) {
      if (step.kind === "each") {
        node.each ??= emptyNode();
        node = node.each;
      } else if (step.kind === "index") {
        node = childOf(node.indexes, step.index);
      } else {
        node = childOf(node.keys, step.key);
      }
    }
    node.patterns.push(number);
  });
  return { root, patterns };
}

function childOf<K>(children: Map<K, CaptureNode>, name: K): CaptureNode {
  const there = children.get(name);
  if (there !== undefined) return there;
  const made = emptyNode();
  children.set(name, made);
  return made;
}

/** Node for the element `index` of an array; an index named in a pattern stands before `[*]`. */
export function elementNode(node: CaptureNode, index: number): CaptureNode | undefined {
  const named = node.indexes.get(index);
  if (named === undefined) return node.each;
  if (node.each === undefined) return named;
  return merged(named, node.each);
}

function merged(a: CaptureNode, b: CaptureNode): CaptureNode {
  const node = emptyNode();
  node.patterns.push(...a.patterns, ...b.patterns);
  for (const [key, child] of a.keys) node.keys.set(key, child);
  for (const [key, child] of b.keys) {
    const there = node.keys.get(key);
    node.keys.set(key, there === undefined ? child : merged(there, child));
  }
  for (const [index, child] of a.indexes) node.indexes.set(index, child);
  for (const [index, child] of b.indexes) {
    const there = node.indexes.get(index);
    node.indexes.set(index, there === undefined ? child : merged(there, child));
  }
  node.each =
    a.each !== undefined && b.each !== undefined ? merged(a.each, b.each) : (a.each ?? b.each);
  return node;
}
