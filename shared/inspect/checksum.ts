import type { JsonValue } from "../format/json-value.js";

const table = new Uint32Array(256);
for (let i = 0; i < 256; i++) {
  let word = i;
  for (let bit = 0; bit < 8; bit++) word = word & 1 ? (word >>> 1) ^ 0xedb88320 : word >>> 1;
  table[i] = word >>> 0;
}

/** CRC-32 (as in zip) of a JSON text in compact form: white space between tokens left out, keys in file order. */
export function compactCrc32(json: Uint8Array): number {
  let sum = 0xffffffff;
  let inString = false;
  let escaped = false;
  for (const byte of json) {
    if (inString) {
      if (escaped) escaped = false;
      else if (byte === 0x5c) escaped = true;
      else if (byte === 0x22) inString = false;
    } else if (byte === 0x22) inString = true;
    else if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) continue;
    sum = (sum >>> 8) ^ (table[(sum ^ byte) & 0xff] ?? 0);
  }
  return (sum ^ 0xffffffff) >>> 0;
}

/** A sum is stored as a number, signed or not, or as hexadecimal text. */
export function isSameChecksum(stored: JsonValue, found: number): boolean {
  if (typeof stored === "number") return stored >>> 0 === found && Number.isSafeInteger(stored);
  if (typeof stored !== "string") return false;
  const hex = stored.toLowerCase().replace(/^(crc32:)?(0x)?/, "");
  return hex === found.toString(16).padStart(8, "0") || stored === String(found);
}
