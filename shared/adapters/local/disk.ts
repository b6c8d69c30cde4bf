import type { CrashPoint } from "./crash-points.js";
import type { FsOps } from "./fs-ops.js";

/**
 * "windows" refuses a rename while anybody has the target open, and wants it asked again; and takes some names for
 * something else than files.
 */
export type Platform = "posix" | "windows";

/** All that the durable sequences of this folder need from the world. */
export interface Disk {
  readonly fs: FsOps;
  /** 16 fresh hex digits for the name of a staged file. */
  readonly stagedRandom: () => string;
  readonly sha256Hex: (bytes: Uint8Array) => string;
  readonly platform: Platform;
  readonly pause: (waitMs: number) => Promise<void>;
  /** Where a test may stop us between two steps that must hold on their own. */
  readonly atCrashPoint: (name: CrashPoint) => void | Promise<void>;
}
