import type { CapturedValue } from "./json-answer.js";

/** States of a number; see RFC 8259 section 6. */
export const N_MINUS = 0;
export const N_ZERO = 1;
export const N_INT = 2;
const N_DOT = 3;
const N_FRACTION = 4;
const N_E = 5;
const N_SIGN = 6;
const N_EXPONENT = 7;

export const escapeLetters = new Set([0x22, 0x5c, 0x2f, 0x62, 0x66, 0x6e, 0x72, 0x74]);

export function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  if (byte >= 0x61 && byte <= 0x66) return byte - 0x57;
  if (byte >= 0x41 && byte <= 0x46) return byte - 0x37;
  return -1;
}

export function literalFor(
  byte: number,
): { word: string; kind: CapturedValue["kind"] } | undefined {
  switch (byte) {
    case 0x74:
      return { word: "true", kind: "true" };
    case 0x66:
      return { word: "false", kind: "false" };
    case 0x6e:
      return { word: "null", kind: "null" };
    case 0x4e:
      return { word: "NaN", kind: "other" };
    case 0x49:
      return { word: "Infinity", kind: "other" };
    default:
      return undefined;
  }
}

/** Next state of a number, or -1 when the byte does not belong to it. */
export function numberStep(state: number, byte: number): number {
  const isDigit = byte >= 0x30 && byte <= 0x39;
  switch (state) {
    case N_MINUS:
      return byte === 0x30 ? N_ZERO : isDigit ? N_INT : -1;
    case N_ZERO:
      return afterInteger(byte);
    case N_INT:
      return isDigit ? N_INT : afterInteger(byte);
    case N_DOT:
      return isDigit ? N_FRACTION : -1;
    case N_FRACTION:
      return isDigit ? N_FRACTION : byte === 0x65 || byte === 0x45 ? N_E : -1;
    case N_E:
      return isDigit ? N_EXPONENT : byte === 0x2b || byte === 0x2d ? N_SIGN : -1;
    default:
      return isDigit ? N_EXPONENT : -1;
  }
}

function afterInteger(byte: number): number {
  return byte === 0x2e ? N_DOT : byte === 0x65 || byte === 0x45 ? N_E : -1;
}

export function numberMayEnd(state: number): boolean {
  return state === N_ZERO || state === N_INT || state === N_FRACTION || state === N_EXPONENT;
}
