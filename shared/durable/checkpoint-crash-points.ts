/**
 * The moments between two effects of a checkpoint log, and of one item of a batch, at which a process can stop, in
 * the order they come. Tests stop there; whatever is left behind, the next writer must cope with it.
 */
export const checkpointCrashPoints = [
  "open: lease granted",
  "open: tail set aside",
  "open: log opened",
  "open: log read",
  "append: lease checked",
  "append: records stored",
] as const;

export type CheckpointCrashPoint = (typeof checkpointCrashPoints)[number];

export const batchCrashPoints = [
  "item: intent recorded",
  "item: effect done",
  "item: outcome recorded",
  "item: doubt settled",
  "batch: ended",
] as const;

export type BatchCrashPoint = (typeof batchCrashPoints)[number];
