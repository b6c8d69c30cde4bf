/** Step 6: a version is kept under its own name. Nothing is acknowledged before this is durable. */
import { isLastgoodError } from "../base/errors.js";
import { limits } from "../base/limits.js";
import { keptVersionKey, type RunName } from "../format/keys.js";
import type { DoubtReason, ObjectStore } from "../storage/object-store.js";
import { sameBytes } from "./update-steps.js";

export type KeepOutcome =
  | { readonly kind: "kept" }
  /** Other bytes stand under this version's name. */
  | { readonly kind: "fork" }
  | { readonly kind: "in-doubt"; readonly reason: DoubtReason };

/**
 * Creates `vN.json` from the bytes that were committed, only if it is absent: never a rename onto it, and
 * always bytes staged for it alone. The head and its kept version must not share an inode, or an agent that
 * writes into head in place would tear its own fallback with it.
 */
export async function keepVersion(
  store: ObjectStore,
  run: RunName,
  version: number,
  bytes: Uint8Array,
): Promise<KeepOutcome> {
  const key = keptVersionKey(run, version);
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await store.replace(key, bytes, "absent");
    if (outcome.kind === "written") return { kind: "kept" };
    // Visible but perhaps not on the device: reading it back proves nothing.
    if (outcome.kind === "in-doubt" && outcome.reason !== "reply-lost") return outcome;
    const there = await store.read(key);
    if (there !== "absent") return { kind: sameBytes(there.bytes, bytes) ? "kept" : "fork" };
    // The reply was lost and so was the write, or a pruner took it between two looks. The same bytes again.
    if (attempt >= limits.keepAttemptsMax) return { kind: "in-doubt", reason: "reply-lost" };
  }
}

/** As above, after a commit: a refusing disk is no error any more but doubt, for the head already has the change. */
export async function keepCommitted(
  store: ObjectStore,
  run: RunName,
  version: number,
  bytes: Uint8Array,
): Promise<KeepOutcome | { readonly kind: "refused"; readonly message: string }> {
  try {
    return await keepVersion(store, run, version, bytes);
  } catch (error) {
    if (!isLastgoodError(error)) throw error;
    return { kind: "refused", message: error.message };
  }
}
