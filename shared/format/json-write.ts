/** Writing JSON: the text of one scalar, and the bytes of a document made of new text and old spans. */
import { JsonNumber } from "./json-number.js";

const numberGrammar = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const encoder = new TextEncoder();

export type ScalarText =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "rejected"; readonly reason: string };

/** A string as JSON; half a surrogate pair becomes an escape, so that the result is always valid UTF-8. */
export function stringText(text: string): string {
  return JSON.stringify(text);
}

/** The JSON text of a scalar; anything that JSON has no word for is rejected rather than turned into null. */
export function scalarText(value: unknown): ScalarText {
  switch (typeof value) {
    case "string":
      return { kind: "text", text: stringText(value) };
    case "boolean":
      return { kind: "text", text: String(value) };
    case "bigint":
      return { kind: "text", text: value.toString() };
    case "number":
      if (!Number.isFinite(value)) return rejected(`${value} is not a number of JSON`);
      return { kind: "text", text: Object.is(value, -0) ? "-0" : String(value) };
    case "undefined":
      return rejected("undefined is not a value of JSON; delete the member, or write null");
    case "object":
      if (value === null) return { kind: "text", text: "null" };
      if (!(value instanceof JsonNumber))
        return rejected("only plain objects and arrays can be written");
      if (!numberGrammar.test(value.text))
        return rejected("the text of a JsonNumber is not a number");
      return { kind: "text", text: value.text };
    default:
      return rejected(`a ${typeof value} is not a value of JSON`);
  }
}

function rejected(reason: string): ScalarText {
  return { kind: "rejected", reason };
}

/** A document under construction: spans of the old bytes, and new text between them. */
export class JsonOutput {
  readonly #source: Uint8Array;
  readonly #pieces: (Uint8Array | string)[] = [];
  #from = 0;
  #to = 0;
  #sizeAtLeast = 0;

  constructor(source: Uint8Array) {
    this.#source = source;
  }

  /** Bytes written so far; text counts one byte a character until it is encoded. */
  get sizeAtLeast(): number {
    return this.#sizeAtLeast;
  }

  copy(start: number, end: number): void {
    if (end <= start) return;
    this.#sizeAtLeast += end - start;
    if (start === this.#to && this.#to > this.#from) {
      this.#to = end; // Neighbouring spans become one: an unchanged document is a single copy.
      return;
    }
    this.#endSpan();
    this.#from = start;
    this.#to = end;
  }

  text(text: string): void {
    if (text === "") return;
    this.#endSpan();
    this.#sizeAtLeast += text.length;
    this.#pieces.push(text);
  }

  bytes(): Uint8Array {
    this.#endSpan();
    const parts = this.#pieces.map((piece) =>
      typeof piece === "string" ? encoder.encode(piece) : piece,
    );
    const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }

  #endSpan(): void {
    if (this.#to > this.#from) this.#pieces.push(this.#source.subarray(this.#from, this.#to));
    this.#from = 0;
    this.#to = 0;
  }
}
