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
import { assertNever } from "../base/assert.js";
import { limits } from "../base/limits.js";

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

export interface ItemFold {
  add(record: FoldRecord): void;
  readonly itemCount: number;
  /** limits.logItemsMax was reached: operations that came later are not followed. */
  readonly full: boolean;
  get(identity: string): ItemState | undefined;
  items(): IterableIterator<ItemState>;
}

export function createItemFold(): ItemFold {
  return new Fold();
}

class Fold implements ItemFold {
  readonly #byKey = new Map<string, Operation>();
  readonly #byItem = new Map<string, Operation>();
  /** Operations of one item that have a key, for the records that name only the item. */
  readonly #keyedOfItem = new Map<string, Operation | Operation[]>();
  readonly #all: Operation[] = [];
  readonly #words = new Words();
  #full = false;

  get itemCount(): number {
    return this.#all.length;
  }

  get full(): boolean {
    return this.#full;
  }

  add(record: FoldRecord): void {
    const operation =
      record.key === undefined ? this.#ofItem(record) : this.#ofKey(record, record.key);
    operation?.add(record, this.#words);
  }

  get(identity: string): ItemState | undefined {
    return this.#byKey.get(identity) ?? this.#byItem.get(identity);
  }

  items(): IterableIterator<ItemState> {
    return this.#all.values();
  }

  #ofItem({ item }: FoldRecord): Operation | undefined {
    const found = this.#keyedOfItem.get(item) ?? [];
    const keyed = Array.isArray(found) ? found : [found];
    const own = this.#byItem.get(item);
    const open = keyed.find((one) => one.hasOpen);
    if (open !== undefined && own?.hasOpen !== true) return open;
    const known = own ?? keyed.at(-1);
    if (known !== undefined) return known;
    const made = this.#make(item, item, []);
    if (made !== undefined) this.#byItem.set(item, made);
    return made;
  }

  #ofKey(record: FoldRecord, key: string): Operation | undefined {
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const own = this.#byItem.get(record.item);
    // The intent named only the item and its outcome brings the key: one operation, or the intent would seem open.
    if (own?.hasOpen === true && record.phase !== "intent") {
      own.learnKey(key);
      this.#byKey.set(key, own);
      return own;
    }
    const made = this.#make(key, record.item, [key]);
    if (made === undefined) return undefined;
    this.#byKey.set(key, made);
    const keyed = this.#keyedOfItem.get(record.item);
    if (keyed === undefined) this.#keyedOfItem.set(record.item, made);
    else if (!Array.isArray(keyed)) this.#keyedOfItem.set(record.item, [keyed, made]);
    // Bounded: an item under ever new keys must not make each record without a key slower.
    else if (keyed.length < entriesMax) keyed.push(made);
    return made;
  }

  #make(identity: string, item: string, keys: string[]): Operation | undefined {
    if (this.#all.length >= limits.logItemsMax) {
      this.#full = true;
      return undefined;
    }
    const made = new Operation(identity, item, keys);
    this.#all.push(made);
    return made;
  }
}

const entriesMax = limits.itemStateEntriesMax;

/** Workers, runs and attempts are a few texts that stand in millions of records: each is held once. */
class Words {
  readonly #held = new Map<string, string>();

  once(text: string | undefined): string | undefined {
    if (text === undefined) return undefined;
    const held = this.#held.get(text);
    if (held !== undefined) return held;
    if (this.#held.size < limits.itemStateWordsMax) this.#held.set(text, text);
    return text;
  }
}

interface Attempt extends AttemptState {
  intent?: RecordPlace;
  outcome?: AttemptOutcome;
}

class Operation implements ItemState {
  readonly identity: string;
  readonly item: string;
  keys: readonly string[];
  // Lists are made anew when they grow: most hold one entry, and a list that is pushed to reserves room for many.
  attempts: readonly Attempt[] = none;
  dones: readonly RecordPlace[] = none;
  storedTwice: ItemState["storedTwice"] = none;
  redos: readonly RecordPlace[] = none;
  overlaps: readonly Overlap[] = none;
  remarks: ItemState["remarks"] = none;
  omittedCount = 0;

  constructor(identity: string, item: string, keys: readonly string[]) {
    this.identity = identity;
    this.item = item;
    this.keys = keys;
  }

  get open(): readonly AttemptState[] {
    return this.attempts.filter(isOpen);
  }

  get hasOpen(): boolean {
    return this.attempts.some(isOpen);
  }

  learnKey(key: string): void {
    this.keys = this.#with(this.keys, key);
  }

  add(record: FoldRecord, words: Words): void {
    const place = this.#placeOf(record, words);
    switch (record.phase) {
      case "intent":
        this.#addIntent(place);
        break;
      case "done":
        this.#addDone(Object.assign(place, { phase: "done", outcome: "done" } as const));
        break;
      case "failed":
        this.#close(Object.assign(place, { phase: "failed", outcome: "failed" } as const));
        break;
      case "settled": {
        const outcome = record.outcome ?? "unknown";
        this.#close(Object.assign(place, { phase: "settled", outcome } as const));
        break;
      }
      case "other":
        this.remarks = this.#with(this.remarks, { ...place, word: record.word ?? "" });
        break;
      default:
        assertNever(record.phase);
    }
  }

  #placeOf(record: FoldRecord, words: Words): PlaceHeld {
    const { line, byteOffset, at, seq, content } = record;
    return {
      line,
      byteOffset,
      worker: words.once(record.worker),
      at,
      seq,
      run: words.once(record.run),
      key: this.keys.find((key) => key === record.key) ?? record.key,
      lease: words.once(record.lease),
      attempt: words.once(record.attempt),
      content,
      // Made with all its fields: one added later costs more room than the field itself.
      phase: undefined,
      outcome: undefined,
    };
  }

  #addIntent(place: PlaceHeld): void {
    const { attempt } = place;
    const same = this.attempts.find(({ intent }) => isSameRecord(intent, place))?.intent;
    if (same !== undefined) {
      this.storedTwice = this.#with(this.storedTwice, { first: same, second: place });
      return;
    }
    const open = this.attempts.findLast((one) => one.outcome === undefined && one.intent);
    if (open?.intent !== undefined) {
      const attempts = [open.attempt, attempt] as const;
      const overlap = { openIntent: open.intent, newIntent: place, attempts };
      this.overlaps = this.#with(this.overlaps, overlap);
    }
    if (this.dones.length > 0 || this.attempts.some((one) => one.outcome?.outcome === "done")) {
      this.redos = this.#with(this.redos, place);
    }
    this.#addAttempt({ attempt, intent: place });
  }

  #addDone(done: OutcomeHeld): void {
    const same = this.dones.find((one) => isSameRecord(one, done));
    if (same !== undefined) {
      this.storedTwice = this.#with(this.storedTwice, { first: same, second: done });
      return;
    }
    this.dones = this.#with(this.dones, done);
    this.#close(done);
  }

  #close(outcome: OutcomeHeld): void {
    const attempt = this.#attemptOf(outcome);
    if (attempt === undefined) this.#addAttempt({ attempt: outcome.attempt, outcome });
    else if (overrides(outcome, attempt.outcome)) attempt.outcome = outcome;
  }

  #attemptOf({ attempt }: PlaceHeld): Attempt | undefined {
    const oldestOpen = (one: Attempt) => one.outcome === undefined;
    if (attempt === undefined) return this.attempts.find(oldestOpen) ?? this.attempts.find(isOpen);
    const numbered = this.attempts.filter((one) => one.attempt === attempt);
    return (
      numbered.find(isOpen) ??
      numbered.at(-1) ??
      this.attempts.find((one) => one.attempt === undefined && isOpen(one))
    );
  }

  #addAttempt(attempt: Attempt): void {
    if (this.attempts.length < entriesMax) {
      this.attempts = [...this.attempts, attempt];
      return;
    }
    this.omittedCount += 1;
    // An open attempt is what a person must look at; a closed one of long ago can go. What was done stays, since
    // redos are judged by it.
    const oldestClosed = this.attempts.findIndex(
      (one) => !isOpen(one) && one.outcome?.outcome !== "done",
    );
    if (oldestClosed === -1) return;
    this.attempts = [...this.attempts.toSpliced(oldestClosed, 1), attempt];
  }

  #with<Entry>(list: readonly Entry[], entry: Entry): readonly Entry[] {
    if (list.length >= entriesMax) {
      this.omittedCount += 1;
      return list;
    }
    return [...list, entry];
  }
}

const none: readonly never[] = [];

function isOpen(attempt: AttemptState): boolean {
  return attempt.outcome === undefined || attempt.outcome.outcome === "unknown";
}

/** An effect that happened cannot unhappen; a person's answer corrects a failure; else the first word stands. */
function overrides(next: AttemptOutcome, known: AttemptOutcome | undefined): boolean {
  if (known === undefined || known.outcome === "unknown") return true;
  if (known.outcome === "done") return next.phase === "done" && known.phase === "settled";
  return next.phase === "done" || (next.phase === "settled" && next.outcome !== "unknown");
}

interface PlaceHeld extends RecordPlace {
  readonly attempt: string | undefined;
  readonly content: string | undefined;
  readonly phase: AttemptOutcome["phase"] | undefined;
  readonly outcome: EffectOutcome | undefined;
}

type OutcomeHeld = PlaceHeld & AttemptOutcome;

/**
 * The same record stored twice (a copy, a merge), not the effect done twice. Two bare `{"id":…}` lines are equal and
 * still two effects, so something must stand in both that no second effect would share: number and time, or one of
 * them with the whole content.
 */
function isSameRecord(known: RecordPlace | undefined, next: PlaceHeld): boolean {
  if (known === undefined || known.seq !== next.seq || known.at !== next.at) return false;
  const held = known as PlaceHeld;
  if (held.attempt !== next.attempt || held.run !== next.run || held.worker !== next.worker) {
    return false;
  }
  if (next.seq !== undefined && next.at !== undefined) return true;
  if (next.seq === undefined && next.at === undefined) return false;
  return next.content !== undefined && held.content === next.content;
}
