import { LastgoodError } from "../base/errors.js";
import { limits } from "../base/limits.js";
import type { Key } from "./object-store.js";

export type KeyCheck =
  | { readonly kind: "key"; readonly key: Key }
  | { readonly kind: "rejected"; readonly reason: string };

/**
 * Whether a text is a key: relative, `/`-separated, no empty, `.` or `..` segment, no NUL, no backslash,
 * and short enough for every kind of store. Any text is answered.
 */
export function checkKey(text: string): KeyCheck {
  if (text === "") return rejected("a key is never empty");
  // A cheap bound first, so that the closer looks below never walk over megabytes of a hostile name.
  if (text.length > limits.keyBytesMax)
    return rejected(`it is longer than ${limits.keyBytesMax} bytes`);
  if (text.startsWith("/")) return rejected("a key is relative, it never starts with /");
  if (text.includes("\0")) return rejected("a NUL would end the name early in some systems");
  if (text.includes("\\")) return rejected("a backslash separates folders on Windows, use /");
  if (/\p{Cs}/u.test(text)) return rejected("half a surrogate pair cannot be stored as UTF-8");
  if (utf8Bytes(text) > limits.keyBytesMax) {
    return rejected(`it is longer than ${limits.keyBytesMax} bytes`);
  }
  for (const segment of text.split("/")) {
    if (segment === "") return rejected("it has an empty segment (// or a / at the end)");
    if (segment === "." || segment === "..") return rejected(`"${segment}" would leave its folder`);
    if (utf8Bytes(segment) > limits.keySegmentBytesMax) {
      return rejected(`a segment is longer than ${limits.keySegmentBytesMax} bytes`);
    }
  }
  return { kind: "key", key: text };
}

/** The key, or LastgoodError name-rejected. */
export function assertKey(text: string): Key {
  const check = checkKey(text);
  if (check.kind === "rejected") throw nameRejected(text, check.reason);
  return check.key;
}

/**
 * The key, if something may be stored under it: beyond the grammar it is not shaped like a staged file of ours,
 * which no listing would ever show, and leaves room in its name for the neighbours we make (staged, lease, superseded).
 */
export function assertKeyForWriting(text: string): Key {
  const key = assertKey(text);
  const name = nameOf(key);
  if (isStagedName(name))
    throw nameRejected(text, "names like .x.<random>.tmp are kept for staged files");
  if (utf8Bytes(name) > limits.writtenNameBytesMax) {
    throw nameRejected(text, `its last segment is longer than ${limits.writtenNameBytesMax} bytes`);
  }
  return key;
}

/** A listing prefix: empty, or the beginning of a key, a `/` at its end allowed. */
export function assertPrefix(text: string): string {
  if (text === "") return text;
  const check = checkKey(text.endsWith("/") ? text.slice(0, -1) : text);
  if (check.kind === "rejected") throw nameRejected(text, check.reason);
  return text;
}

/** The last segment of a key. */
export function nameOf(key: Key): string {
  return key.slice(key.lastIndexOf("/") + 1);
}

/** The name of a staged file beside its target; `random` is 16 hex digits. */
export function stagedName(name: string, random: string): string {
  return `.${name}.${random}.tmp`;
}

/** The name of a fresh copy that a take-over of a log makes before it moves it over the log's name. */
export function takeOverName(name: string, token: number, random: string): string {
  return `.${name}.take-over-${token}-${random}.tmp`;
}

const stagedShape = /^\..+\.(?:take-over-[0-9]+-)?[0-9a-f]{16}\.tmp$/s;

export function isStagedName(name: string): boolean {
  return stagedShape.test(name);
}

function rejected(reason: string): KeyCheck {
  return { kind: "rejected", reason };
}

function nameRejected(text: string, reason: string): LastgoodError {
  const shown = JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}…` : text);
  return new LastgoodError(
    "name-rejected",
    `${shown} cannot be a key: ${reason}. Nothing was read or written.`,
    {
      subject: text,
    },
  );
}

const encoder = new TextEncoder();

function utf8Bytes(text: string): number {
  return encoder.encode(text).length;
}
