import { limits } from "../../shared/base/limits.js";

/** Runs at most `limits.filesReadAtOnce` at a time; results in the order given. */
export async function inTurns<From, To>(
  all: readonly From[],
  work: (one: From) => Promise<To>,
): Promise<readonly To[]> {
  const results: To[] = new Array(all.length);
  let next = 0;
  async function worker(): Promise<void> {
    for (let at = next++; at < all.length; at = next++) results[at] = await work(all[at] as From);
  }
  const workers = Math.min(limits.filesReadAtOnce, all.length);
  await Promise.all(Array.from({ length: workers }, worker));
  return results;
}
