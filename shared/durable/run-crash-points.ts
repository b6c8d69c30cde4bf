/**
 * The moments between two effects of an update at which a process can stop, in the order they come.
 * Tests stop there; whatever is left behind, the next writer must cope with it.
 */
export const updateCrashPoints = [
  "look-begun",
  "looked",
  "head-kept",
  "torn-claim-set-aside",
  "help-lease-checked",
  "help-committed",
  "help-kept",
  "help-claim-removed",
  "change-made",
  "claimed",
  "next-version-looked-for",
  "lease-checked",
  "committed",
  "kept",
  "claim-removed",
  "leftovers-set-aside",
  "pruned",
] as const;

export type UpdateCrashPoint = (typeof updateCrashPoints)[number];

export const createCrashPoints = ["create-looked", "head-created", "first-version-kept"] as const;

export type RunCrashPoint = UpdateCrashPoint | (typeof createCrashPoints)[number];
