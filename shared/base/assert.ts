/** Our own mistake: a promise of this code base does not hold. Never thrown for foreign bytes or a refusing disk. */
export class InvariantBroken extends Error {
  override readonly name = "InvariantBroken";
}

/** Stops at once when a promise of this code base does not hold, before a wrong byte can be written. */
export function invariant(condition: boolean, promise: string): asserts condition {
  if (!condition) throw new InvariantBroken(promise);
}

/** Makes a switch exhaustive: adding a member to the union breaks the build at each place that matters. */
export function assertNever(value: never): never {
  throw new InvariantBroken(`unexpected member of a union: ${String(value)}`);
}
