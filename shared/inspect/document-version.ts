import type { CapturedValue } from "../format/json-answer.js";

/**
 * The version among the captured values of the standard patterns (see documentCapture): the first name that is
 * there and holds an integer. Terraform's `version` is its format's; there the `serial` is the state's.
 */
export function versionAmong(captured: readonly CapturedValue[]): number | undefined {
  const integers = new Map<number, number>();
  for (const value of captured) {
    if (value.kind !== "number" || value.raw === "too-long") continue;
    const number = Number(value.raw);
    if (Number.isSafeInteger(number)) integers.set(value.pattern, number);
  }
  const serial = integers.get(1);
  if (serial !== undefined && integers.get(0) === 4) return serial;
  const first = [...integers.keys()].sort((a, b) => a - b)[0];
  return first === undefined ? undefined : integers.get(first);
}
