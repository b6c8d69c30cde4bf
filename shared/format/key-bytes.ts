import { limits } from "../base/limits.js";

const internSlots = 1024;
const decoder = new TextDecoder("utf-8");

/**
 * Bytes of the key being read, and their text. Keys repeat from record to record, so their texts are kept
 * in a small table and decoded once.
 */
export class KeyBytes {
  length = 0;
  /** The key was longer than limits.keyBytesHeldMax: its text is only its beginning. */
  cut = false;
  private bytes = new Uint8Array(256);
  private hash = 0;
  private plain = true;
  private escaped = false;
  private readonly known: (string | undefined)[] = new Array(internSlots);

  start(): void {
    this.length = 0;
    this.cut = false;
    this.hash = 0;
    this.plain = true;
    this.escaped = false;
  }

  add(from: Uint8Array, start: number, end: number): void {
    const room = limits.keyBytesHeldMax - this.length;
    const stop = end - start > room ? start + room : end;
    if (stop < end) this.cut = true;
    this.reserve(this.length + stop - start);
    let hash = this.hash;
    for (let i = start; i < stop; i++) {
      const byte = from[i] as number;
      this.bytes[this.length++] = byte;
      hash = (Math.imul(hash, 31) + byte) | 0;
      if (byte >= 0x80) this.plain = false;
      else if (byte === 0x5c) this.escaped = true;
    }
    this.hash = hash;
  }

  private reserve(needed: number): void {
    if (needed <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.bytes.length * 2));
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
  }

  text(): string {
    if (!this.plain || this.escaped) return this.decoded();
    const slot = this.hash & (internSlots - 1);
    const known = this.known[slot];
    if (known !== undefined && this.sameAs(known)) return known;
    const text = decoder.decode(this.bytes.subarray(0, this.length));
    this.known[slot] = text;
    return text;
  }

  private sameAs(text: string): boolean {
    if (text.length !== this.length) return false;
    for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) !== this.bytes[i]) return false;
    return true;
  }

  private decoded(): string {
    const text = decoder.decode(this.bytes.subarray(0, this.length));
    if (!this.escaped) return text;
    try {
      return JSON.parse(`"${text}"`) as string;
    } catch {
      return text; // an escape that no JSON has: shown as written
    }
  }
}
