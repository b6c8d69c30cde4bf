/** One operation of a log while its records are folded; the rules are those at the top of item-state.ts. */
import { assertNever } from "../base/assert.js";
import { limits } from "../base/limits.js";
import type {
  AttemptOutcome,
  AttemptState,
  EffectOutcome,
  FoldRecord,
  ItemState,
  Overlap,
  RecordPlace,
} from "./item-state.js";

const entriesMax = limits.itemStateEntriesMax;

interface Attempt extends AttemptState {
  intent?: PlaceHeld;
  outcome?: OutcomeHeld;
}

/**
 * An operation that was tried once, and whose one attempt is open, done or failed: nearly every operation of nearly
 * every log. It is all in its one or two records, so millions of such can be held packed.
 */
export interface QuietOperation {
  readonly intent: PlaceHeld | undefined;
  readonly outcome: OutcomeHeld | undefined;
}

export class Operation implements ItemState {
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

  /** An operation as a packed one is taken out again; see QuietOperation. */
  static from(identity: string, item: string, keys: readonly string[], quiet: QuietOperation) {
    const operation = new Operation(identity, item, keys);
    const { intent, outcome } = quiet;
    const attempt = (intent ?? outcome)?.attempt;
    operation.attempts = [
      {
        attempt,
        ...(intent === undefined ? {} : { intent }),
        ...(outcome === undefined ? {} : { outcome }),
      },
    ];
    if (outcome?.phase === "done") operation.dones = [outcome];
    return operation;
  }

  /** Undefined when there is more to tell than a quiet operation holds. */
  get quiet(): QuietOperation | undefined {
    const [only, ...others] = this.attempts;
    if (only === undefined || others.length > 0 || this.keys.length > 1) return undefined;
    if (this.identity !== (this.keys[0] ?? this.item)) return undefined;
    const lists = [this.storedTwice, this.redos, this.overlaps, this.remarks];
    if (lists.some((list) => list.length > 0) || this.omittedCount > 0) return undefined;
    const { attempt, intent, outcome } = only;
    if (outcome?.phase === "settled" || this.dones.length > (outcome?.phase === "done" ? 1 : 0)) {
      return undefined;
    }
    const places = [intent, outcome].filter((one) => one !== undefined);
    if (places.some((one) => one.attempt !== attempt || !this.#isOwnKey(one))) return undefined;
    return { intent, outcome };
  }

  #isOwnKey({ key }: PlaceHeld): boolean {
    return key === undefined || key === this.keys[0];
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

  add(record: FoldRecord): void {
    const place = this.#placeOf(record);
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

  #placeOf(record: FoldRecord): PlaceHeld {
    const { line, byteOffset, worker, at, seq, run, lease, attempt } = record;
    const key = this.keys.find((one) => one === record.key) ?? record.key;
    const content = contentNeeded(record);
    // Made with all its fields: one added later costs more room than the field itself.
    const [phase, outcome] = [undefined, undefined];
    return { line, byteOffset, worker, at, seq, run, key, lease, attempt, content, phase, outcome };
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

/** Looked at only where one of the two others is missing; held always it would be the largest part of a place. */
export function contentNeeded({ at, seq, content }: FoldRecord): string | undefined {
  return (at === undefined) === (seq === undefined) ? undefined : content;
}

function isOpen(attempt: AttemptState): boolean {
  return attempt.outcome === undefined || attempt.outcome.outcome === "unknown";
}

/** An effect that happened cannot unhappen; a person's answer corrects a failure; else the first word stands. */
function overrides(next: AttemptOutcome, known: AttemptOutcome | undefined): boolean {
  if (known === undefined || known.outcome === "unknown") return true;
  if (known.outcome === "done") return next.phase === "done" && known.phase === "settled";
  return next.phase === "done" || (next.phase === "settled" && next.outcome !== "unknown");
}

export interface PlaceHeld extends RecordPlace {
  readonly attempt: string | undefined;
  readonly content: string | undefined;
  readonly phase: AttemptOutcome["phase"] | undefined;
  readonly outcome: EffectOutcome | undefined;
}

export type OutcomeHeld = PlaceHeld & AttemptOutcome;

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
