import type { JsonStyle } from "../format/json-layout.js";
import type { RunName } from "../format/keys.js";
import type { RunFieldNames } from "../format/run-document.js";
import type { Key, ObjectStore } from "../storage/object-store.js";
import type { HeldLease } from "./lease.js";
import type { RunCrashPoint } from "./run-crash-points.js";

/** Everything a run store works with. Effects come in here; nothing below asks the time or draws by itself. */
export interface RunMeans {
  readonly store: ObjectStore;
  /** Lower-case hex of the sha256. */
  readonly sha256: (bytes: Uint8Array) => string;
  /** At least 0, below 1; for jitter. */
  readonly random: () => number;
  readonly pause: (waitMs: number) => Promise<void>;
  /** How an update gets the run's lease where the store needs one. */
  readonly acquireLease: "not-needed" | ((run: RunName) => Promise<HeldLease>);
  /** Copies bytes of ours to evidence before their key is removed; must be durable when it resolves. */
  readonly setAside: (key: Key, bytes: Uint8Array) => Promise<void>;
  /** Kept versions that must not be pruned: read as a base and still worked on, or named as a restore source. */
  readonly versionsInUse: (run: RunName) => Promise<readonly number[]>;
  readonly names: RunFieldNames;
  readonly style: JsonStyle;
  readonly ledgerWindowCount: number;
  readonly keptVersionsCount: number;
  readonly updateAttemptsMax: number;
  /** For tests: called between any two effects. */
  readonly atCrashPoint: (point: RunCrashPoint) => void | Promise<void>;
}
