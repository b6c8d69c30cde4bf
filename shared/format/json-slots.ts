/** Planning an edit of one container: which child of the new value stands where which old child stood. */
import { indexStep, keyStep, type PathStep } from "../base/json-path.js";
import { alignElements } from "./json-align.js";
import { JsonNumber } from "./json-number.js";
import type { ArrayNode, JsonNode, JsonScalar, ObjectNode } from "./json-value.js";
import { sameScalar } from "./json-value.js";

/** One child to be written. */
export interface Slot {
  /** Index among the old children; undefined for a new one. */
  readonly from: number | undefined;
  /** For a member: its key and colon as they stand, or the key of a new member. */
  readonly key: { readonly start: number; readonly end: number } | string | undefined;
  /** What to write; undefined keeps the old child as it stands (an earlier one of two equal keys). */
  readonly child:
    | { readonly value: unknown; readonly node: JsonNode | undefined; readonly step: PathStep }
    | undefined;
}

export function isContainer(value: unknown): value is unknown[] | Record<string, unknown> {
  return typeof value === "object" && value !== null && !(value instanceof JsonNumber);
}

/** Whether a value from the caller's hands is the scalar that stands there. */
export function isSameScalar(stored: JsonScalar, value: unknown): boolean {
  if (isContainer(value)) return false;
  return sameScalar(stored, value as JsonScalar);
}

/** Elements that stayed keep their places, so an insertion or removal leaves those around it alone. */
export function arraySlots(value: readonly unknown[], node: ArrayNode | undefined): Slot[] {
  const old = node?.elements ?? [];
  return alignElements(old, value).map((from, i) => {
    const child = { value: value[i], node: from === undefined ? undefined : old[from] };
    return { from, key: undefined, child: { ...child, step: indexStep(i) } };
  });
}

/** Old members in their order, without those that are gone; then the new ones. */
export function objectSlots(
  value: Readonly<Record<string, unknown>>,
  node: ObjectNode | undefined,
): Slot[] {
  const members = node?.members ?? [];
  const lastOf = new Map<string, number>();
  for (const [i, member] of members.entries()) lastOf.set(member.key, i);
  const slots: Slot[] = [];
  for (const [i, member] of members.entries()) {
    if (!Object.hasOwn(value, member.key)) continue;
    if (lastOf.get(member.key) !== i) {
      slots.push({
        from: i,
        key: { start: member.keyStart, end: member.node.end },
        child: undefined,
      });
      continue;
    }
    slots.push({
      from: i,
      key: { start: member.keyStart, end: member.node.start },
      child: { value: value[member.key], node: member.node, step: keyStep(member.key) },
    });
  }
  for (const key of Object.keys(value)) {
    if (lastOf.has(key)) continue;
    const child = { value: value[key], node: undefined, step: keyStep(key) };
    slots.push({ from: undefined, key, child });
  }
  return slots;
}
