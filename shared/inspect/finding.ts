/** Finding kinds: the damage words of the report, a public contract. `lastgood explain KIND` tells each. */
export const findingKinds = [
  "truncated",
  "empty",
  "blank",
  "all-nul",
  "nul-run",
  "nul-scattered",
  "nul-padding",
  "old-tail",
  "mixed-generations",
  "concatenated-documents",
  "foreign-html",
  "foreign-gzip",
  "foreign-zip",
  "foreign-text-before",
  "stray-prefix",
  "conflict-markers",
  "bom",
  "utf16",
  "invalid-utf8",
  "lone-surrogate",
  "nonstandard-number",
  "duplicate-key",
  "trailing-comma",
  "comments",
  "precision-loss",
  "torn-tail",
  "truncated-then-record",
  "glued-records",
  "interleaved-records",
  "missing-head",
  "split-record",
  "sequence-gap",
  "sequence-reused",
  "sequence-missing",
  "duplicate-record",
  "dangling-intent",
  "duplicate-effect",
  "overlapping-attempts",
  "key-not-stable",
  "key-conflict",
  "double-applied",
  "applied-id-missing",
  "counter-mismatch",
  "stale-derivation",
  "no-provenance",
  "zombie-write",
  "stale-lock",
  "clock-skew",
  "reset-to-default",
  "version-regressed",
  "version-fork",
  "index-behind",
  "invariant-broken",
  "checksum-mismatch",
  "log-stops-early",
  "candidate-temp",
  "orphan-temp",
  "missing-main",
  "nfs-placeholder",
  "conflict-copy",
  "unreadable",
  "watch-limit",
  "cross-device",
  "rename-refused",
  "snapshot-damaged",
  "write-in-progress",
  "too-deep",
  "too-large",
  "syntax",
  "bad-line",
  "missing-parent",
  "possible-duplicate-effect",
  "in-place-writer",
  "done-only-log",
  "window-overrun",
  "version-gap",
  "lease-expired",
  "changed-while-read",
  "rule-not-checked",
] as const;

export type FindingKind = (typeof findingKinds)[number];

/** Consequence if true. `error`: state lost, effect repeated or outcome unknown; `warning`: needs a check; `notice`: untidy, or a limit of what can be seen. */
export type Severity = "error" | "warning" | "notice";

/** `proved` by the bytes, or `suspected`. Never folded into severity. */
export type Certainty = "proved" | "suspected";

export type Health =
  | "ok"
  | "suspect"
  | "torn"
  | "mixed"
  | "malformed"
  | "empty"
  | "zeroed"
  | "encoding"
  | "nonstandard"
  | "foreign"
  | "unreadable"
  | "missing"
  | "limit";

/** Bytes a finding rests on. */
export interface EvidenceReference {
  readonly file: string;
  readonly sha256?: string;
  readonly from?: number;
  readonly to?: number;
  readonly line?: number;
}

/** Values a finding carries besides its fixed members: places (openDepth, item, keepBytes …) and facts. */
export type Fact = string | number | boolean | null | readonly (string | number)[];

/** One claim about the run. What it says is plain and true for this very file. */
export interface Finding {
  readonly kind: FindingKind;
  readonly severity: Severity;
  readonly certainty: Certainty;
  /** Index into the roots of the scan. */
  readonly root: number;
  /** Relative to its root, with `/`. */
  readonly file: string;
  readonly byteOffset?: number;
  readonly line?: number;
  readonly column?: number;
  readonly where?: string;
  readonly path?: string;
  /** Where the last good bytes are: a file, or "itself, bytes A..B"; null: looked for, and none found. */
  readonly recoverable?: string | null;
  /** Further members of the report row, by the names of the public contract. */
  readonly facts?: Readonly<Record<string, Fact>>;
  /** One sentence: what is so. */
  readonly says: string;
  /** Why we say so: the facts at bytes. */
  readonly why?: string;
  readonly likelyCause?: { readonly says: string; readonly certainty: Certainty };
  /** What a person can do, most useful first. */
  readonly next: readonly string[];
  readonly evidence?: readonly EvidenceReference[];
  /** Names of findings that belong together; resolved to ids when the report is made. */
  readonly relatedTo?: readonly { readonly file: string; readonly kind: FindingKind }[];
  /** What this finding means for its file's health; the worst one wins. Absent: nothing. */
  readonly health?: Health;
}
