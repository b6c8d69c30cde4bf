import type { FindingKind } from "./finding.js";

/** Signs in the first bytes that tell a format before any scan; the order is most certain first. */
export function foreignFormat(bytes: Uint8Array): FindingKind | undefined {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return "foreign-gzip";
  if (
    bytes[0] === 0x50 &&
    bytes[1] === 0x4b &&
    zipSeconds.has((bytes[2] ?? 0) * 256 + (bytes[3] ?? 0))
  )
    return "foreign-zip";
  return looksLikeMarkup(bytes) ? "foreign-html" : undefined;
}

const zipSeconds = new Set([0x0304, 0x0506, 0x0708]);

function looksLikeMarkup(bytes: Uint8Array): boolean {
  let at = byteOrderMarkLength(bytes);
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09)
    at += 1;
  if (bytes[at] !== 0x3c) return false;
  const head = String.fromCharCode(...bytes.subarray(at, at + 64)).toLowerCase();
  return /^<(!doctype|!--|\?xml|[a-z][a-z0-9:-]*[\s/>])/.test(head);
}

/** 3 when the file begins with a UTF-8 byte order mark, else 0. */
export function byteOrderMarkLength(bytes: Uint8Array): number {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
}

/**
 * UTF-16 by its mark, or by every second byte of the beginning being NUL beside ASCII, which no NUL damage
 * in UTF-8 text leaves behind.
 */
export function utf16Form(
  bytes: Uint8Array,
): { readonly encoding: "utf-16-le" | "utf-16-be"; readonly markBytes: number } | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { encoding: "utf-16-le", markBytes: 2 };
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { encoding: "utf-16-be", markBytes: 2 };
  const pairs = Math.min(bytes.length >> 1, 16);
  if (pairs < 2) return undefined;
  let little = 0;
  let big = 0;
  for (let i = 0; i < pairs; i++) {
    const even = bytes[i * 2] ?? 0;
    const odd = bytes[i * 2 + 1] ?? 0;
    if (even !== 0 && odd === 0) little += 1;
    if (even === 0 && odd !== 0) big += 1;
  }
  if (little === pairs) return { encoding: "utf-16-le", markBytes: 0 };
  if (big === pairs) return { encoding: "utf-16-be", markBytes: 0 };
  return undefined;
}
