/** The places where a test stops a real process: each lies between two steps of a durable sequence. */
export const crashPoints = [
  "replace: staged",
  "replace: about to rename",
  "replace: renamed",
  "create: staged",
  "create: linked",
  "append: about to write",
  "append: written",
  "append: synced",
  "append: looked",
  "open log: about to set aside",
  "open log: about to cut",
  "open log: cut",
  "take-over: begun",
  "take-over: copied",
  "take-over: old file kept",
  "take-over: moved",
  "take-over: completed",
  "take-over: moved again",
  "take-over: finished",
] as const;

export type CrashPoint = (typeof crashPoints)[number];
