import type { JsonPath } from "../base/json-path.js";

/** What a file is for. Damage weighs by role: in a temp or evidence file it is a notice. */
export type Role =
  | "run"
  | "snapshot"
  | "log"
  | "rotated"
  | "derived"
  | "lock"
  | "temp"
  | "replica"
  | "evidence"
  | "other";

/** Which field of a log record says what; names are paths, so `payload.call_id` works. */
export interface LogFields {
  readonly item?: string;
  readonly phase?: string;
  readonly key?: string;
  readonly attempt?: string;
  readonly worker?: string;
  readonly time?: string;
  readonly seq?: string;
  readonly lease?: string;
  readonly run?: string;
  readonly error?: string;
  readonly planned?: string;
  /** The words of the phase field. */
  readonly intent?: readonly string[];
  readonly done?: readonly string[];
  readonly failed?: readonly string[];
  /** Each record stands for a finished item. */
  readonly doneIsImplied?: boolean;
  /** Fields that say which business object an update was about. */
  readonly logicalKey?: readonly string[];
  /** Update logs. */
  readonly updateId?: string;
  readonly result?: string;
  /** History logs. */
  readonly version?: string;
  readonly paths?: string;
}

export interface FilePath {
  readonly file: string;
  /** Absent: the whole document. */
  readonly path?: JsonPath;
}

export interface Dependency {
  readonly output: FilePath;
  readonly inputs: readonly FilePath[];
}

export type RuleName =
  | "each-equals"
  | "not-empty"
  | "is-list"
  | "unique"
  | "equals-max"
  | "equals-count"
  | "equals-count-distinct"
  | "lists-files"
  | "refers-to"
  | "crc32-of"
  | "max-age";

export type RuleOperand =
  | {
      readonly kind: "place";
      readonly file: string;
      readonly path: JsonPath;
      readonly form?: string;
    }
  | { readonly kind: "glob"; readonly glob: string }
  | { readonly kind: "seconds"; readonly seconds: number }
  | { readonly kind: "none" };

export interface DeclaredRule {
  readonly file: string;
  readonly path: JsonPath;
  readonly rule: RuleName;
  readonly of: RuleOperand;
}

/** One row of a process table taken with the evidence. */
export interface KnownProcess {
  readonly pid: number;
  readonly name?: string;
  /** ISO time. */
  readonly started?: string;
  readonly host?: string;
}

/** What is known besides the bytes. Everything may be absent: then it is guessed, and the guess is shown. */
export interface InspectContext {
  readonly roles: ReadonlyMap<string, Role>;
  readonly fields: LogFields | undefined;
  readonly versionField: string | undefined;
  readonly dependsOn: readonly Dependency[];
  readonly timeFields: ReadonlyMap<string, JsonPath>;
  readonly rules: readonly DeclaredRule[];
  /** Rotated parts of one log, oldest first. */
  readonly order: readonly string[];
  /** ISO time the evidence was taken; undefined: the clock of the scan. */
  readonly now: string | undefined;
  /** undefined: nothing is known about processes. */
  readonly processes: readonly KnownProcess[] | undefined;
  readonly caseInsensitive: boolean;
}

export const emptyContext: InspectContext = {
  roles: new Map(),
  fields: undefined,
  versionField: undefined,
  dependsOn: [],
  timeFields: new Map(),
  rules: [],
  order: [],
  now: undefined,
  processes: undefined,
  caseInsensitive: false,
};
