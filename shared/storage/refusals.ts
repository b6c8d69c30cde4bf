/** Refusals that every kind of store words alike. */
import { LastgoodError } from "../base/errors.js";
import { limits } from "../base/limits.js";
import type { Key } from "./object-store.js";

/** LastgoodError limit-exceeded when an object is too large to be kept whole. */
export function assertObjectSize(key: Key, bytes: Uint8Array): void {
  if (bytes.length <= limits.objectBytesMax) return;
  throw new LastgoodError(
    "limit-exceeded",
    `${key} would be ${bytes.length} bytes; objects are kept whole up to ${limits.objectBytesMax} bytes. ` +
      "Nothing was written. Split the object, or keep the large part in a file of its own.",
    { subject: key },
  );
}

/** What every store answers when a stopped log is asked to go on. */
export function writerStopped(key: Key): LastgoodError {
  return new LastgoodError(
    "writer-stopped",
    `${key} is no longer open for appending here: an earlier append was not confirmed, or the log was closed. ` +
      "Nothing was written. Open it again under its lease; opening repairs the tail.",
    { subject: key },
  );
}

/** What every store answers when somebody else writes to a log while it is being opened. */
export function lostTheLog(key: Key): LastgoodError {
  return new LastgoodError(
    "lease-lost",
    `${key} was written to or taken over by somebody else while it was being opened. ` +
      "Nothing was cut, and nothing of ours was acknowledged. Look at the lease, then open it again.",
    { subject: key },
  );
}
