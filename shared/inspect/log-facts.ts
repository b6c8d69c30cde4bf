/** What the records of one log say together, in bounded memory; see collect-log-facts. */
import type { FieldName, LogDialect } from "../dialects/log-fields.js";
import type { ItemFold } from "../format/item-state.js";

export interface RecordRead {
  readonly line: number;
  readonly byteOffset: number;
  /** Text of each field that the record has. */
  readonly fields: Readonly<Partial<Record<FieldName, string>>>;
  /** Fields whose value is a number as written. */
  readonly numeric: ReadonlySet<FieldName>;
  /** Sum of the record's bytes, its sequence number left out. */
  readonly content: string;
}

export interface HistoryRecord {
  readonly version: number;
  readonly line: number;
  readonly by: string | undefined;
  readonly at: string | undefined;
  readonly paths: readonly string[];
}

export type TryResult = "ok" | "already-applied" | "refused" | "unknown";

export interface UpdateTry {
  readonly line: number;
  readonly result: TryResult;
  /** The result as written. */
  readonly word: string;
  readonly version: number | undefined;
}

export interface LinePair {
  readonly text: string;
  readonly lines: readonly [number, number];
}

export interface ZombieWrite {
  readonly line: number;
  readonly byteOffset: number;
  readonly lease: string;
  readonly currentLease: string;
  readonly worker: string | undefined;
  readonly version: string | undefined;
}

export interface LogFacts {
  readonly dialect: LogDialect;
  readonly fold: ItemFold | undefined;
  readonly intentCount: number;
  readonly doneCount: number;
  readonly history: readonly HistoryRecord[];
  readonly updates: ReadonlyMap<string, readonly UpdateTry[]>;
  /** Ids of updates retried after more than the ledger window of others, with both lines. */
  readonly overrun: readonly LinePair[];
  readonly sequence: SequenceFacts;
  readonly duplicates: readonly LinePair[];
  readonly zombies: readonly ZombieWrite[];
  readonly unstableKeys: readonly UnstableKey[];
  readonly sharedKeys: readonly SharedKey[];
  readonly clockStep: ClockStep | undefined;
  /** Identities that fall together when read as doubles. */
  readonly roundedTogether: readonly string[];
  readonly missingParents: readonly {
    readonly parent: string;
    readonly line: number;
    readonly byteOffset: number;
  }[];
}

export interface SequenceFacts {
  readonly numbered: number;
  /** Each writer (or run) counts for itself, without a gap: then numbers of two of them say nothing together. */
  readonly isPerWriter: boolean;
  readonly reused: readonly LinePair[];
  readonly gaps: readonly {
    readonly after: number;
    readonly next: number;
    readonly line: number;
  }[];
  readonly missing: readonly {
    readonly line: number;
    readonly byteOffset: number;
    readonly expected: number;
  }[];
  readonly numbers: ReadonlySet<number>;
}

export interface UnstableKey {
  readonly item: string;
  /** In the order of the tries, with the line on which each was first used. */
  readonly keys: readonly string[];
  readonly lines: readonly number[];
}

export interface SharedKey {
  readonly key: string;
  readonly items: readonly [string, string];
  /** What was to be done, where the items are the same and the operations are not. */
  readonly operations: readonly [string, string] | undefined;
  readonly lines: readonly [number, number];
}

export interface ClockStep {
  readonly line: number;
  readonly stepSeconds: number;
}
