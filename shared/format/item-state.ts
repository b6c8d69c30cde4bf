/**
 * What a log of effects says about each of its operations: the records folded in file order, per operation key
 * (else item id) and per attempt. Pure, streaming, bounded; used by runBatch and by the rules about logs, so that
 * the library and the inspector can never read one log in two ways.
 *
 *   nothing → intent → done | failed | settled      one attempt
 *   intent after done                               redo
 *   intent while another attempt is open            overlap (a blind retry)
 *   done again                                      a second effect, unless it is the same record stored twice
 *   any other word                                  a remark; changes nothing
 *
 * A record finds its attempt by number; without a number an outcome closes the oldest open attempt. A record
 * without a key belongs to the operation of its item that is open, so a bare `{"id":…}` closes an intent with a key.
 */
import { limits } from "../base/limits.js";
import { QuietColumns } from "./item-columns.js";
import { contentNeeded, Operation } from "./item-operation.js";

/** The four answers about an effect. A timeout is none of them. */
export type EffectOutcome = "done" | "failed" | "not-started" | "unknown";

export interface FoldRecord {
  /** Counted from 1. */
  readonly line: number;
  readonly byteOffset: number;
  readonly item: string;
  readonly key?: string | undefined;
  readonly attempt?: string | undefined;
  readonly phase: "intent" | "done" | "failed" | "settled" | "other";
  /** The phase as written, where a dialect translated it. */
  readonly word?: string | undefined;
  /** Of `settled`; without it the record settles nothing and counts as "unknown". */
  readonly outcome?: EffectOutcome | undefined;
  readonly seq?: string | undefined;
  readonly at?: string | undefined;
  readonly worker?: string | undefined;
  readonly run?: string | undefined;
  readonly lease?: string | undefined;
  /** Hash of the line. */
  readonly content?: string | undefined;
}

export interface RecordPlace {
  readonly line: number;
  readonly byteOffset: number;
  readonly worker?: string | undefined;
  readonly at?: string | undefined;
  readonly seq?: string | undefined;
  readonly run?: string | undefined;
  readonly key?: string | undefined;
  readonly lease?: string | undefined;
}

export interface AttemptOutcome extends RecordPlace {
  readonly phase: "done" | "failed" | "settled";
  readonly outcome: EffectOutcome;
}

export interface AttemptState {
  /** As written; undefined for a log that does not number its attempts. */
  readonly attempt: string | undefined;
  readonly intent?: RecordPlace;
  readonly outcome?: AttemptOutcome;
}

export interface Overlap {
  readonly openIntent: RecordPlace;
  readonly newIntent: RecordPlace;
  /** Numbers of the two attempts, in the same order. */
  readonly attempts: readonly [string | undefined, string | undefined];
}

export interface ItemState {
  /** Operation key, else item id. */
  readonly identity: string;
  readonly item: string;
  readonly keys: readonly string[];
  readonly attempts: readonly AttemptState[];
  /** Effects: each done that is not the same record stored twice. Two of them are a duplicate effect. */
  readonly dones: readonly RecordPlace[];
  readonly storedTwice: readonly { readonly first: RecordPlace; readonly second: RecordPlace }[];
  /** Intents after a done, or after a settlement that said done. */
  readonly redos: readonly RecordPlace[];
  readonly overlaps: readonly Overlap[];
  readonly remarks: readonly (RecordPlace & { readonly word: string })[];
  /** Intents without outcome, in file order; one settled as "unknown" stays among them. */
  readonly open: readonly AttemptState[];
  /** Entries beyond limits.itemStateEntriesMax that were seen and not kept, in all lists together. */
  readonly omittedCount: number;
}

/** States are as of the asking; ask again after more records. */
export interface ItemFold {
  add(record: FoldRecord): void;
  readonly itemCount: number;
  /** limits.logItemsMax was reached: operations that came later are not followed. */
  readonly full: boolean;
  /** The operation under this key, else the one of an item's records that name no key. */
  get(identity: string): ItemState | undefined;
  /** The same without mistaking one for the other, where a key is spelled like the id of another item. */
  withKey(key: string): ItemState | undefined;
  withoutKey(item: string): ItemState | undefined;
  /** Item of the operation under this key, without unpacking it. */
  itemOfKey(key: string): string | undefined;
  items(): IterableIterator<ItemState>;
  /** Those of `items` that are more than one attempt, closed by one record: all that a rule could find fault with. */
  notable(): IterableIterator<ItemState>;
}

export function createItemFold(): ItemFold {
  return new Fold();
}

/** Operations by number. Nearly all are quiet and held packed; the rest are objects. */
class Fold implements ItemFold {
  readonly #items: string[] = [];
  readonly #keys: (string | undefined)[] = [];
  readonly #quiet = new QuietColumns();
  readonly #others = new Map<number, Operation>();
  readonly #byKey = new Map<string, number>();
  readonly #byItem = new Map<string, number>();
  /** Operations of one item that have a key. Made for the first record that names only an item: most logs have none. */
  #keyedOfItem: Map<string, number | number[]> | undefined;
  #full = false;

  get itemCount(): number {
    return this.#items.length;
  }

  get full(): boolean {
    return this.#full;
  }

  add(record: FoldRecord): void {
    const number =
      record.key === undefined ? this.#ofItem(record) : this.#ofKey(record, record.key);
    if (number === undefined || this.#addAtOnce(number, record)) return;
    const operation = this.#operation(number);
    operation.add(record);
    const { quiet } = operation;
    // Once an object, always one: what makes it one never goes away.
    if (this.#others.has(number) || (quiet !== undefined && this.#quiet.pack(number, quiet)))
      return;
    this.#others.set(number, operation);
    this.#quiet.clear(number);
  }

  /**
   * The way of nearly every record, without making an object for it: the first one of an operation, and the outcome
   * of its one open attempt. The result is what Operation would come to.
   */
  #addAtOnce(number: number, record: FoldRecord): boolean {
    const { phase, key } = record;
    if (phase === "settled" || phase === "other" || this.#others.has(number)) return false;
    if (key !== undefined && key !== this.#keys[number]) return false;
    const { line, byteOffset, worker, at, seq, run, lease, attempt } = record;
    const content = contentNeeded(record);
    const place = { line, byteOffset, worker, at, seq, run, key, lease, attempt, content };
    if (!this.#quiet.has(number)) {
      return this.#quiet.put(number, phase === "intent" ? "intent" : "outcome", place, phase);
    }
    if (phase === "intent" || !this.#quiet.isOpen(number)) return false;
    return (
      this.#quiet.attemptOf(number) === attempt && this.#quiet.put(number, "outcome", place, phase)
    );
  }

  get(identity: string): ItemState | undefined {
    return this.withKey(identity) ?? this.withoutKey(identity);
  }

  withKey(key: string): ItemState | undefined {
    const number = this.#byKey.get(key);
    return number === undefined ? undefined : this.#operation(number);
  }

  withoutKey(item: string): ItemState | undefined {
    const number = this.#byItem.get(item);
    return number === undefined ? undefined : this.#operation(number);
  }

  itemOfKey(key: string): string | undefined {
    const number = this.#byKey.get(key);
    return number === undefined ? undefined : this.#items[number];
  }

  *items(): IterableIterator<ItemState> {
    for (let number = 0; number < this.#items.length; number += 1) yield this.#operation(number);
  }

  *notable(): IterableIterator<ItemState> {
    for (let number = 0; number < this.#items.length; number += 1) {
      if (this.#others.has(number) || this.#hasOpen(number)) yield this.#operation(number);
    }
  }

  #operation(number: number): Operation {
    const held = this.#others.get(number);
    if (held !== undefined) return held;
    const item = this.#items[number] ?? "";
    const key = this.#keys[number];
    const keys = key === undefined ? [] : [key];
    if (!this.#quiet.has(number)) return new Operation(key ?? item, item, keys);
    return Operation.from(key ?? item, item, keys, this.#quiet.operation(number, key));
  }

  #hasOpen(number: number): boolean {
    return this.#others.get(number)?.hasOpen ?? this.#quiet.isOpen(number);
  }

  #ofItem({ item }: FoldRecord): number | undefined {
    this.#keyedOfItem ??= this.#keyedByItem();
    const found = this.#keyedOfItem.get(item) ?? [];
    const keyed = Array.isArray(found) ? found : [found];
    const own = this.#byItem.get(item);
    const open = keyed.find((number) => this.#hasOpen(number));
    if (open !== undefined && (own === undefined || !this.#hasOpen(own))) return open;
    const known = own ?? keyed.at(-1);
    if (known !== undefined) return known;
    const made = this.#make(item, undefined);
    if (made !== undefined) this.#byItem.set(item, made);
    return made;
  }

  #ofKey(record: FoldRecord, key: string): number | undefined {
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const own = this.#byItem.get(record.item);
    // The intent named only the item and its outcome brings the key: one operation, or the intent would seem open.
    if (own !== undefined && record.phase !== "intent" && this.#hasOpen(own)) {
      this.#learnKey(own, key);
      return own;
    }
    const made = this.#make(record.item, key);
    if (made === undefined) return undefined;
    this.#byKey.set(key, made);
    if (this.#keyedOfItem !== undefined) addKeyed(this.#keyedOfItem, record.item, made);
    return made;
  }

  #learnKey(number: number, key: string): void {
    const operation = this.#operation(number);
    operation.learnKey(key);
    this.#byKey.set(key, number);
    this.#others.set(number, operation);
    this.#quiet.clear(number);
  }

  #make(item: string, key: string | undefined): number | undefined {
    if (this.#items.length >= limits.logItemsMax) {
      this.#full = true;
      return undefined;
    }
    this.#items.push(item);
    return this.#keys.push(key) - 1;
  }

  #keyedByItem(): Map<string, number | number[]> {
    const keyed = new Map<string, number | number[]>();
    for (const [number, item] of this.#items.entries()) {
      if (this.#keys[number] !== undefined) addKeyed(keyed, item, number);
    }
    return keyed;
  }
}

function addKeyed(keyed: Map<string, number | number[]>, item: string, number: number): void {
  const there = keyed.get(item);
  if (there === undefined) keyed.set(item, number);
  else if (!Array.isArray(there)) keyed.set(item, [there, number]);
  // Bounded: an item under ever new keys must not make each record without a key slower.
  else if (there.length < limits.itemStateEntriesMax) there.push(number);
}
