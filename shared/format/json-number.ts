/** Numbers as written: which JS value, if any, means the same. */

/** A number that no double and no bigint holds as written: `1e400`, `0.10000000000000000555`. */
export class JsonNumber {
  /** The number as it stands in the document. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Longest plain integer turned into a bigint; a longer one stays text, since reading it costs more than linear time. */
const integerDigitsMax = 4_096;

/** The value of a number that follows the grammar of RFC 8259. */
export function numberOf(text: string): number | bigint | JsonNumber {
  const double = Number(text);
  if (text.length <= 15 && /^-?\d+$/.test(text)) return double;
  if (Number.isFinite(double) && sameDecimal(text, String(double))) return double;
  if (text.length <= integerDigitsMax && /^-?\d+$/.test(text)) return BigInt(text);
  return new JsonNumber(text);
}

/** Whether two number texts mean the same number. Only ever asked when the double is finite. */
function sameDecimal(a: string, b: string): boolean {
  if (a === b) return true;
  const left = decimalParts(a);
  const right = decimalParts(b);
  if (left.digits === "" && right.digits === "") return true; // 0, 0.0, 0e7, -0: the sign is kept by the double
  return (
    left.negative === right.negative &&
    left.digits === right.digits &&
    left.exponent === right.exponent
  );
}

interface DecimalParts {
  readonly negative: boolean;
  /** Significant digits without zeros at either end; empty for zero. */
  readonly digits: string;
  readonly exponent: number;
}

function decimalParts(text: string): DecimalParts {
  const negative = text.startsWith("-");
  const exponentAt = text.search(/[eE]/);
  const mantissa = text.slice(negative ? 1 : 0, exponentAt < 0 ? text.length : exponentAt);
  const pointAt = mantissa.indexOf(".");
  const fractionDigits = pointAt < 0 ? 0 : mantissa.length - pointAt - 1;
  const all = pointAt < 0 ? mantissa : mantissa.slice(0, pointAt) + mantissa.slice(pointAt + 1);
  let from = 0;
  while (all[from] === "0") from += 1;
  let to = all.length;
  while (to > from && all[to - 1] === "0") to -= 1;
  const written = exponentAt < 0 ? 0 : Number(text.slice(exponentAt + 1));
  return {
    negative,
    digits: all.slice(from, to),
    exponent: written - fractionDigits + all.length - to,
  };
}
