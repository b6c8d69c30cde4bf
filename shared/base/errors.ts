/**
 * What the world refused, as a word a script can rely on. Outcomes that a protocol foresees
 * (a conflict, a stale input, doubt) are values, not errors; our own mistakes are InvariantBroken.
 */
export type ErrorCode =
  | "storage-full"
  | "read-only"
  | "not-permitted"
  | "busy"
  | "cross-device"
  | "not-found"
  | "not-a-file"
  | "name-rejected"
  | "too-many-open-files"
  | "io-failed"
  | "vanished"
  | "limit-exceeded"
  | "input-rejected"
  | "lease-lost"
  | "writer-stopped"
  | "store-refused";

/**
 * Refused by the world. The message says what failed, on which path, what is still true, and what to do.
 *
 * Guarantee: `code` is stable across releases; the message is for people and is not.
 */
export class LastgoodError extends Error {
  override readonly name = "LastgoodError";
  readonly code: ErrorCode;
  /** Key or path that the refusal is about, where there is one. */
  readonly subject: string | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { subject?: string; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.subject = options.subject;
  }
}

export function isLastgoodError(error: unknown): error is LastgoodError {
  return error instanceof LastgoodError;
}
