/** First byte of the NUL run that ends the file (a line end behind it is looked over); the length when there is none. */
export function trailingNulStart(bytes: Uint8Array): number {
  let end = bytes.length;
  while (end > 0 && (bytes[end - 1] === 0x0a || bytes[end - 1] === 0x0d)) end -= 1;
  let from = end;
  while (from > 0 && bytes[from - 1] === 0) from -= 1;
  return from === end ? bytes.length : from;
}

/** How many NUL bytes stand in a row from here. */
export function nulRunLength(bytes: Uint8Array, from: number): number {
  let end = from;
  while (end < bytes.length && bytes[end] === 0) end += 1;
  return end - from;
}
