/**
 * What changed between two documents, place by place. Pure; no recursion over the input's depth. Elements of a
 * list are told apart by an id where they have one, so that an insertion is one change and not a hundred.
 */
import { formatPath, indexStep, keyStep, type PathStep } from "../base/json-path.js";
import { limits } from "../base/limits.js";
import {
  type ArrayNode,
  type JsonNode,
  type ObjectNode,
  sameScalar,
} from "../format/json-value.js";
import type { ReadablePart } from "./readable-part.js";

/** A value as it stands in its document; `text` is cut above limits.capturedFieldBytesMax. */
export interface WrittenValue {
  readonly text: string;
  readonly bytes: number;
}

export interface StructuralChange {
  /** In the newer document; for what was removed, in the older one. */
  readonly path: string;
  /** Where it stood before, when that is another place. */
  readonly beforePath?: string;
  readonly kind: "added" | "removed" | "changed" | "moved";
  readonly before?: WrittenValue;
  readonly after?: WrittenValue;
}

export interface StructuralDiff {
  readonly changes: readonly StructuralChange[];
  /** Changes beyond limits.diffChangesMax, counted only. */
  readonly notListed: number;
  /** Places that one document has and that the other's break may have taken away: unknown, not removed. */
  readonly unknown: readonly { readonly path: string; readonly missingIn: "before" | "after" }[];
}

type Readable = Exclude<ReadablePart, { kind: "none" }>;

/** A path as a chain, so that going one level down costs one link. */
interface Chain {
  readonly parent: Chain | undefined;
  readonly step: PathStep;
}

interface Pair {
  readonly before: JsonNode | undefined;
  readonly after: JsonNode | undefined;
  readonly beforeAt: Chain | undefined;
  readonly afterAt: Chain | undefined;
  readonly moved: boolean;
  /** The container it belongs to was open at the break of the side that lacks it. */
  readonly maybeCut: boolean;
}

export function structuralDiff(before: Readable, after: Readable): StructuralDiff {
  return new Comparison(before, after).run();
}

class Comparison {
  private readonly before: Readable;
  private readonly after: Readable;
  private readonly changes: StructuralChange[] = [];
  private readonly unknown: { path: string; missingIn: "before" | "after" }[] = [];
  private notListed = 0;

  constructor(before: Readable, after: Readable) {
    this.before = before;
    this.after = after;
  }

  run(): StructuralDiff {
    const root = { beforeAt: undefined, afterAt: undefined, moved: false, maybeCut: false };
    const open: Pair[] = [{ before: this.before.root, after: this.after.root, ...root }];
    for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
      // Reversed: the stack gives them back in the order of the document.
      for (const child of this.compare(pair).reverse()) open.push(child);
    }
    const { changes, notListed, unknown } = this;
    return { changes, notListed, unknown };
  }

  private compare(pair: Pair): Pair[] {
    const { before, after } = pair;
    if (before === undefined || after === undefined) {
      this.lacking(pair);
      return [];
    }
    if (pair.moved) this.add(pair, "moved");
    if (before.kind === "object" && after.kind === "object")
      return this.members(pair, before, after);
    if (before.kind === "array" && after.kind === "array")
      return this.elements(pair, before, after);
    const same =
      before.kind === "scalar" && after.kind === "scalar" && sameScalar(before.value, after.value);
    if (!same) this.add(pair, "changed");
    return [];
  }

  private lacking(pair: Pair): void {
    const missingIn = pair.before === undefined ? "before" : "after";
    if (!pair.maybeCut) {
      this.add(pair, missingIn === "before" ? "added" : "removed");
      return;
    }
    if (this.unknown.length >= limits.diffChangesMax) this.notListed += 1;
    else
      this.unknown.push({
        path: chainText(missingIn === "before" ? pair.afterAt : pair.beforeAt),
        missingIn,
      });
  }

  private add(pair: Pair, kind: StructuralChange["kind"]): void {
    if (this.changes.length >= limits.diffChangesMax) {
      this.notListed += 1;
      return;
    }
    const beforePath = pair.before === undefined ? undefined : chainText(pair.beforeAt);
    const path = pair.after === undefined ? (beforePath ?? "$") : chainText(pair.afterAt);
    const isElsewhere = beforePath !== undefined && beforePath !== path;
    this.changes.push({
      path,
      ...(isElsewhere ? { beforePath } : {}),
      kind,
      ...(pair.before === undefined || kind === "moved"
        ? {}
        : { before: written(this.before.bytes, pair.before) }),
      ...(pair.after === undefined || kind === "moved"
        ? {}
        : { after: written(this.after.bytes, pair.after) }),
    });
  }

  private isOpen(side: Readable, node: JsonNode): boolean {
    return side.kind === "partial" && node.end > side.readUntil;
  }

  private members(pair: Pair, before: ObjectNode, after: ObjectNode): Pair[] {
    const old = new Map(before.members.map((member) => [member.key, member.node]));
    const young = new Map(after.members.map((member) => [member.key, member.node]));
    const keys = new Set([...old.keys(), ...young.keys()]);
    return [...keys].map((key) =>
      this.child(pair, old.get(key), young.get(key), keyStep(key), keyStep(key), false),
    );
  }

  private elements(pair: Pair, before: ArrayNode, after: ArrayNode): Pair[] {
    const identity = commonIdentity(before, after);
    if (identity === undefined) {
      const count = Math.max(before.elements.length, after.elements.length);
      return Array.from({ length: count }, (_, i) =>
        this.child(pair, before.elements[i], after.elements[i], indexStep(i), indexStep(i), false),
      );
    }
    const places = new Map(identity.before.map((id, i) => [id, i]));
    const stayed = stayingElements(identity.after.map((id) => places.get(id)));
    const pairs = after.elements.map((node, i) => {
      const from = places.get(identity.after[i] ?? "");
      const moved = from !== undefined && !stayed.has(i);
      const old = from === undefined ? undefined : before.elements[from];
      return this.child(pair, old, node, indexStep(from ?? i), indexStep(i), moved);
    });
    const kept = new Set(identity.after);
    for (const [i, node] of before.elements.entries()) {
      if (!kept.has(identity.before[i] ?? ""))
        pairs.push(this.child(pair, node, undefined, indexStep(i), indexStep(i), false));
    }
    return pairs;
  }

  private child(
    parent: Pair,
    before: JsonNode | undefined,
    after: JsonNode | undefined,
    beforeStep: PathStep,
    afterStep: PathStep,
    moved: boolean,
  ): Pair {
    const lackingSide = before === undefined ? "before" : "after";
    const container = parent[lackingSide];
    const maybeCut =
      (before === undefined || after === undefined) &&
      container !== undefined &&
      this.isOpen(this[lackingSide], container);
    return {
      before,
      after,
      beforeAt: { parent: parent.beforeAt, step: beforeStep },
      afterAt: { parent: parent.afterAt, step: afterStep },
      moved,
      maybeCut,
    };
  }
}

function chainText(chain: Chain | undefined): string {
  const steps: PathStep[] = [];
  for (let link = chain; link !== undefined; link = link.parent) steps.push(link.step);
  steps.reverse();
  const shown = formatPath(steps.slice(0, limits.pathStepsShownMax));
  return steps.length > limits.pathStepsShownMax ? `${shown}…` : shown;
}

const decoder = new TextDecoder();

function written(bytes: Uint8Array, node: JsonNode): WrittenValue {
  const length = node.end - node.start;
  const shown = Math.min(length, limits.capturedFieldBytesMax);
  return { text: decoder.decode(bytes.subarray(node.start, node.start + shown)), bytes: length };
}

const idNames = ["id", "uid", "uuid", "key", "name"] as const;

interface Identity {
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** How the elements of two lists are told apart; undefined: only by their index. */
function commonIdentity(before: ArrayNode, after: ArrayNode): Identity | undefined {
  if (before.elements.length === 0 || after.elements.length === 0) return undefined;
  for (const name of [undefined, ...idNames]) {
    const old = identities(before, name);
    const young = old === undefined ? undefined : identities(after, name);
    if (old === undefined || young === undefined) continue;
    // Plain values without one in common are other values at the same places, not another list.
    if (name !== undefined || shareOne(old, young)) return { before: old, after: young };
  }
  return undefined;
}

function shareOne(a: readonly string[], b: readonly string[]): boolean {
  const ids = new Set(a);
  return b.some((id) => ids.has(id));
}

/** The id of each element, when all have one and no two the same. `undefined`: plain values are their own ids. */
function identities(list: ArrayNode, name: string | undefined): readonly string[] | undefined {
  const ids = new Set<string>();
  for (const element of list.elements) {
    const id = name === undefined ? element : memberNode(element, name);
    if (id?.kind !== "scalar" || id.value === null || typeof id.value === "boolean")
      return undefined;
    ids.add(`${typeof id.value}:${scalarText(id.value)}`);
  }
  return ids.size === list.elements.length ? [...ids] : undefined;
}

function scalarText(value: unknown): string {
  const isObject = typeof value === "object" && value !== null && "text" in value;
  return isObject ? String(value.text) : String(value);
}

function memberNode(element: JsonNode, name: string): JsonNode | undefined {
  if (element.kind !== "object") return undefined;
  return element.members.findLast((member) => member.key === name)?.node;
}

/** Of elements that stood at these places before, the most that can have stayed in order; the others moved. */
function stayingElements(places: readonly (number | undefined)[]): ReadonlySet<number> {
  const tails: number[] = [];
  const previous = new Array<number>(places.length).fill(-1);
  for (const [i, place] of places.entries()) {
    if (place === undefined) continue;
    let low = 0;
    let high = tails.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((places[tails[middle] ?? 0] ?? 0) < place) low = middle + 1;
      else high = middle;
    }
    previous[i] = low > 0 ? (tails[low - 1] ?? -1) : -1;
    tails[low] = i;
  }
  const stayed = new Set<number>();
  for (let i = tails.at(-1) ?? -1; i >= 0; i = previous[i] ?? -1) stayed.add(i);
  return stayed;
}
