/**
 * Quiet operations, packed: some sixty bytes each, and their texts, outside the heap of the language. As objects the
 * operations of one large log would need more memory than a process has.
 *
 *   slot      two places: the intent's and the outcome's
 *   place     line 4, byte offset 8, text position 4, text length 2, four words of 2, flags 2     little-endian
 *   texts     the fields that differ from record to record, as ASCII, with a NUL between them
 *   words     the fields that are few texts in millions of records, by their number
 */
import { limits } from "../base/limits.js";
import type { OutcomeHeld, PlaceHeld, QuietOperation } from "./item-operation.js";

const placeBytes = 28;
const slotBytes = 2 * placeBytes;
const slotsPerBlock = 256;
const textBlockBytes = 16 * 1024;
const lineMax = 2 ** 32 - 1;

const isThere = 1;
const hasSeq = 2;
const hasAt = 4;
const hasContent = 8;
const hasKey = 16;
const isDone = 32;

const workerAt = 18;
const runAt = 20;
const leaseAt = 22;
const attemptAt = 24;
const flagsAt = 26;

export type PlaceName = "intent" | "outcome";

/** What of a record is kept. */
export type PlaceSource = Omit<PlaceHeld, "phase" | "outcome">;

export class QuietColumns {
  readonly #blocks: DataView[] = [];
  readonly #texts: Uint8Array[] = [];
  /** Where the next text goes in the last block; at first there is none. */
  #textAt = textBlockBytes + 1;
  /** Number 0 is "not there". */
  readonly #words: (string | undefined)[] = [undefined];
  readonly #wordNumbers = new Map<string, number>();

  /** Holds the operation under the slot. False when it has something that cannot be packed; the slot is then empty. */
  pack(slot: number, { intent, outcome }: QuietOperation): boolean {
    const isPacked =
      (intent === undefined || this.put(slot, "intent", intent, "intent")) &&
      (outcome === undefined || this.put(slot, "outcome", outcome, outcome.phase));
    if (!isPacked) this.clear(slot);
    return isPacked;
  }

  /** Holds one place of the operation under the slot. False, and nothing held there, when it cannot be packed. */
  put(
    slot: number,
    name: PlaceName,
    place: PlaceSource,
    phase: "intent" | "done" | "failed" | "settled",
  ): boolean {
    while (this.#blocks.length * slotsPerBlock <= slot) {
      this.#blocks.push(new DataView(new ArrayBuffer(slotsPerBlock * slotBytes)));
    }
    const { seq, at, content } = place;
    const worker = this.#numberOf(place.worker);
    const run = this.#numberOf(place.run);
    const lease = this.#numberOf(place.lease);
    const attempt = this.#numberOf(place.attempt);
    const lengthBytes = this.#addText(seq, at, content);
    const textPosition = (this.#texts.length - 1) * textBlockBytes + this.#textAt - lengthBytes;
    if (worker < 0 || run < 0 || lease < 0 || attempt < 0 || lengthBytes < 0) return false;
    if (place.line > lineMax || textPosition > textPositionMax) return false;
    const view = this.#view(slot);
    const from = start(slot, name);
    view.setUint32(from, place.line, true);
    view.setFloat64(from + 4, place.byteOffset, true);
    view.setUint32(from + 12, textPosition, true);
    view.setUint16(from + 16, lengthBytes, true);
    view.setUint16(from + workerAt, worker, true);
    view.setUint16(from + runAt, run, true);
    view.setUint16(from + leaseAt, lease, true);
    view.setUint16(from + attemptAt, attempt, true);
    view.setUint16(
      from + flagsAt,
      isThere |
        (seq === undefined ? 0 : hasSeq) |
        (at === undefined ? 0 : hasAt) |
        (content === undefined ? 0 : hasContent) |
        (place.key === undefined ? 0 : hasKey) |
        (phase === "done" ? isDone : 0),
      true,
    );
    return true;
  }

  has(slot: number): boolean {
    return this.#flags(slot, "intent") !== 0 || this.#flags(slot, "outcome") !== 0;
  }

  /** Whether the operation under the slot is an intent without outcome. */
  isOpen(slot: number): boolean {
    return this.#flags(slot, "intent") !== 0 && this.#flags(slot, "outcome") === 0;
  }

  /** The number of the one attempt that `isOpen` is about. */
  attemptOf(slot: number): string | undefined {
    return this.#words[this.#view(slot).getUint16(start(slot, "intent") + attemptAt, true)];
  }

  clear(slot: number): void {
    const view = this.#view(slot);
    view.setUint16(start(slot, "intent") + flagsAt, 0, true);
    view.setUint16(start(slot, "outcome") + flagsAt, 0, true);
  }

  /** The operation under the slot; `key` is its key, for the records that named one. */
  operation(slot: number, key: string | undefined): QuietOperation {
    const intent = this.#place(slot, "intent", key);
    const ended = this.#place(slot, "outcome", key);
    if (ended === undefined) return { intent, outcome: undefined };
    const phase = (this.#flags(slot, "outcome") & isDone) === 0 ? "failed" : "done";
    return { intent, outcome: { ...ended, phase, outcome: phase } satisfies OutcomeHeld };
  }

  #place(slot: number, name: PlaceName, key: string | undefined): PlaceHeld | undefined {
    const flags = this.#flags(slot, name);
    if (flags === 0) return undefined;
    const view = this.#view(slot);
    const from = start(slot, name);
    const parts = this.#text(view.getUint32(from + 12, true), view.getUint16(from + 16, true));
    const part = (flag: number) => ((flags & flag) === 0 ? undefined : parts.shift());
    const word = (at: number) => this.#words[view.getUint16(from + at, true)];
    return {
      line: view.getUint32(from, true),
      byteOffset: view.getFloat64(from + 4, true),
      seq: part(hasSeq),
      at: part(hasAt),
      content: part(hasContent),
      worker: word(workerAt),
      run: word(runAt),
      lease: word(leaseAt),
      attempt: word(attemptAt),
      key: (flags & hasKey) === 0 ? undefined : key,
      phase: undefined,
      outcome: undefined,
    };
  }

  #view(slot: number): DataView {
    return this.#blocks[Math.floor(slot / slotsPerBlock)] ?? emptyBlock;
  }

  #flags(slot: number, name: PlaceName): number {
    return this.#view(slot).getUint16(start(slot, name) + flagsAt, true);
  }

  /** -1 when there are more different words than are held once. */
  #numberOf(word: string | undefined): number {
    if (word === undefined) return 0;
    const known = this.#wordNumbers.get(word);
    if (known !== undefined) return known;
    const number = this.#words.length;
    if (number >= limits.itemStateWordsMax) return -1;
    this.#words.push(word);
    this.#wordNumbers.set(word, number);
    return number;
  }

  /** Bytes added to the last block; -1 for texts that are too long, not ASCII, or hold the NUL that parts them. */
  #addText(...texts: readonly (string | undefined)[]): number {
    let lengthBytes = -1;
    for (const text of texts) if (text !== undefined) lengthBytes += text.length + 1;
    if (lengthBytes < 0) return 0;
    if (lengthBytes > textLengthMax) return -1;
    if (this.#textAt + lengthBytes > textBlockBytes) {
      this.#texts.push(new Uint8Array(textBlockBytes));
      this.#textAt = 0;
    }
    const block = this.#texts.at(-1) ?? new Uint8Array();
    let to = this.#textAt;
    let isFirst = true;
    for (const text of texts) {
      if (text === undefined) continue;
      if (!isFirst) block[to++] = 0;
      isFirst = false;
      for (let i = 0; i < text.length; i += 1) {
        const code = text.charCodeAt(i);
        if (code === 0 || code > 0x7f) return -1;
        block[to++] = code;
      }
    }
    this.#textAt = to;
    return lengthBytes;
  }

  #text(position: number, lengthBytes: number): string[] {
    const block = this.#texts[Math.floor(position / textBlockBytes)] ?? new Uint8Array();
    const from = position % textBlockBytes;
    return String.fromCharCode(...block.subarray(from, from + lengthBytes)).split("\0");
  }
}

function start(slot: number, name: PlaceName): number {
  return (slot % slotsPerBlock) * slotBytes + (name === "intent" ? 0 : placeBytes);
}

const emptyBlock = new DataView(new ArrayBuffer(slotBytes * slotsPerBlock));
/** Longer ones are no numbers or times; a block must hold any text whole. */
const textLengthMax = 1_024;
const textPositionMax = 2 ** 32 - 1;
