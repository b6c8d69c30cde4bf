import type { InspectContext, Role } from "./context.js";
import type { DocumentDiagnosis } from "./diagnose-document.js";
import type { LogDiagnosis } from "./diagnose-log.js";

/** One file as it was read once. */
export interface ObservedFile {
  readonly root: number;
  /** Relative to its root, with `/`; bytes that are not UTF-8 are escaped as \xNN and given in `nameBase64`. */
  readonly path: string;
  readonly nameBase64?: string;
  readonly role: Role;
  readonly roleFrom: "context" | "guessed";
  /** Milliseconds since 1970; 0 when unknown. */
  readonly modifiedMs: number;
  readonly content: ObservedContent;
}

export type ObservedContent =
  | {
      readonly kind: "document";
      readonly bytes: number;
      readonly sha256: string;
      readonly diagnosis: DocumentDiagnosis;
      /** The bytes, for rules that compare; "not-held" once limits.evidenceBytesHeldMax was reached. */
      readonly held: Uint8Array | "not-held";
    }
  | {
      readonly kind: "log";
      readonly bytes: number;
      readonly sha256: string;
      readonly log: LogDiagnosis;
    }
  /** Could not be opened or read; the bytes may be whole. */
  | { readonly kind: "unreadable"; readonly errno: string; readonly says: string }
  /** Above limits.documentBytesMax. */
  | { readonly kind: "too-large"; readonly bytes: number }
  /** Two looks differed, and a third did not settle it. */
  | { readonly kind: "changing"; readonly bytes: number; readonly firstBytes: number };

/** Everything one inspection rests on. */
export interface Evidence {
  readonly roots: readonly string[];
  readonly files: readonly ObservedFile[];
  readonly context: InspectContext;
  /** Milliseconds since 1970, from the context or the clock of the scan. */
  readonly nowMs: number;
  readonly hostName: string;
  /** Context files of the scanned folders that could not be used. */
  readonly contextProblems?: readonly ContextProblem[];
}

export interface ContextProblem {
  readonly root: number;
  readonly file: string;
  /** One sentence. */
  readonly says: string;
}
