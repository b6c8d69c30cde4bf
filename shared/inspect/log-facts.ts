/** What the records of one log say together; collected while they pass by, in bounded memory. */
import { limits } from "../base/limits.js";
import type { FieldName, LogDialect } from "../dialects/log-fields.js";
import { createItemFold, type FoldRecord, type ItemFold } from "../format/item-state.js";

export interface RecordRead {
  readonly line: number;
  readonly byteOffset: number;
  /** Text of each field that the record has. */
  readonly fields: Readonly<Partial<Record<FieldName, string>>>;
  /** Fields whose value is a number as written. */
  readonly numeric: ReadonlySet<FieldName>;
  /** Sum of the record's bytes, its sequence number left out. */
  readonly content: string;
}

export interface HistoryRecord {
  readonly version: number;
  readonly line: number;
  readonly by: string | undefined;
  readonly at: string | undefined;
  readonly paths: readonly string[];
}

export type TryResult = "ok" | "already-applied" | "refused" | "unknown";

export interface UpdateTry {
  readonly line: number;
  readonly result: TryResult;
  /** The result as written. */
  readonly word: string;
  readonly version: number | undefined;
}

export interface LinePair {
  readonly text: string;
  readonly lines: readonly [number, number];
}

export interface ZombieWrite {
  readonly line: number;
  readonly byteOffset: number;
  readonly lease: string;
  readonly currentLease: string;
  readonly worker: string | undefined;
  readonly version: string | undefined;
}

export interface LogFacts {
  readonly dialect: LogDialect;
  readonly fold: ItemFold | undefined;
  readonly intentCount: number;
  readonly doneCount: number;
  readonly history: readonly HistoryRecord[];
  readonly updates: ReadonlyMap<string, readonly UpdateTry[]>;
  /** Ids of updates retried after more than the ledger window of others, with both lines. */
  readonly overrun: readonly LinePair[];
  readonly sequence: SequenceFacts;
  readonly duplicates: readonly LinePair[];
  readonly zombies: readonly ZombieWrite[];
  readonly unstableKeys: readonly UnstableKey[];
  readonly sharedKeys: readonly SharedKey[];
  readonly clockStep: ClockStep | undefined;
  /** Identities that fall together when read as doubles. */
  readonly roundedTogether: readonly string[];
  readonly missingParents: readonly {
    readonly parent: string;
    readonly line: number;
    readonly byteOffset: number;
  }[];
}

export interface SequenceFacts {
  readonly numbered: number;
  readonly reused: readonly LinePair[];
  readonly gaps: readonly {
    readonly after: number;
    readonly next: number;
    readonly line: number;
  }[];
  readonly missing: readonly {
    readonly line: number;
    readonly byteOffset: number;
    readonly expected: number;
  }[];
  readonly numbers: ReadonlySet<number>;
}

export interface UnstableKey {
  readonly item: string;
  readonly keys: readonly [string, string];
  readonly lines: readonly [number, number];
}

export interface SharedKey {
  readonly key: string;
  readonly items: readonly [string, string];
  readonly lines: readonly [number, number];
}

export interface ClockStep {
  readonly line: number;
  readonly stepSeconds: number;
}

/** Collects; `add` takes each whole record in file order. */
export class LogFactsCollector {
  private readonly dialect: LogDialect;
  private readonly fold: ItemFold | undefined;
  private intentCount = 0;
  private doneCount = 0;
  private okCount = 0;
  private readonly history: HistoryRecord[] = [];
  private readonly updates = new Map<string, UpdateTry[]>();
  private readonly firstTryAt = new Map<string, number>();
  private readonly overrun: LinePair[] = [];
  private readonly numbers = new Map<number, number>();
  private lastNumber: number | undefined;
  private readonly reused: LinePair[] = [];
  private readonly gaps: { after: number; next: number; line: number }[] = [];
  private readonly unnumbered: { line: number; byteOffset: number; expected: number }[] = [];
  private readonly contents = new Map<string, number>();
  private readonly duplicates: LinePair[] = [];
  private readonly leases: string[] = [];
  private readonly zombies: ZombieWrite[] = [];
  private readonly lastOfItem = new Map<
    string,
    { key: string; attempt: number; line: number; operation: string; open: boolean }
  >();
  private readonly itemOfKey = new Map<string, { item: string; operation: string; line: number }>();
  private readonly unstableKeys: UnstableKey[] = [];
  private readonly sharedKeys: SharedKey[] = [];
  private lastTime = new Map<string, number>();
  private clockStep: ClockStep | undefined;
  private readonly bigNumbers = new Map<number, string>();
  private readonly rounded = new Set<string>();
  private readonly uuids = new Set<string>();
  private readonly parents: { parent: string; line: number; byteOffset: number }[] = [];
  private records = 0;

  constructor(dialect: LogDialect) {
    this.dialect = dialect;
    const { paths, doneIsImplied } = dialect;
    const isEffectLog = paths.item !== undefined && (paths.phase !== undefined || doneIsImplied);
    this.fold = isEffectLog ? createItemFold() : undefined;
  }

  add(record: RecordRead): void {
    this.records += 1;
    this.addSequence(record);
    if (this.fold !== undefined) this.addEffect(record, this.fold);
    else this.addContent(record);
    this.addHistory(record);
    this.addUpdate(record);
    this.addLease(record);
    this.addTime(record);
    this.addParent(record);
    this.addIdentity(record);
  }

  private addEffect(record: RecordRead, fold: ItemFold): void {
    const { fields } = record;
    const { item } = fields;
    if (item === undefined) return;
    const word = fields.phase;
    const phase = this.phaseOf(word);
    if (phase === "intent") this.intentCount += 1;
    if (phase === "done") this.doneCount += 1;
    const outcome = phase === "settled" ? outcomeOf(fields.outcome) : undefined;
    const { line, byteOffset, content } = record;
    const { key, attempt, seq, worker, run, lease, time: at } = fields;
    const folded: FoldRecord = {
      line,
      byteOffset,
      item,
      phase,
      word,
      outcome,
      key,
      attempt,
      seq,
      at,
      worker,
      run,
      lease,
      content,
    };
    fold.add(folded);
    if (key !== undefined && (phase === "intent" || phase === "done" || phase === "failed"))
      this.addKey(record, item, key, phase);
  }

  private phaseOf(word: string | undefined): FoldRecord["phase"] {
    if (word === undefined) return this.dialect.doneIsImplied ? "done" : "other";
    const lower = word.toLowerCase();
    const { words } = this.dialect;
    if (words.intent.has(lower)) return "intent";
    if (words.done.has(lower)) return "done";
    if (words.failed.has(lower)) return "failed";
    return lower === "settled" ? "settled" : "other";
  }

  /** A key belongs to the operation: a retry under another one, or another item under the same, defeats it. */
  private addKey(
    record: RecordRead,
    item: string,
    key: string,
    phase: "intent" | "done" | "failed",
  ): void {
    const operation = record.fields.operation ?? "";
    const attempt = Number(record.fields.attempt ?? Number.NaN);
    const { line } = record;
    const owner = this.itemOfKey.get(key);
    if (owner === undefined && this.itemOfKey.size < limits.logMemoryCount)
      this.itemOfKey.set(key, { item, operation, line });
    const isOther = owner !== undefined && (owner.item !== item || owner.operation !== operation);
    if (isOther && this.sharedKeys.length < limits.findingsPerKindAndFileMax)
      this.sharedKeys.push({ key, items: [owner.item, item], lines: [owner.line, line] });
    const place = `${operation}\u0000${item}`;
    const last = this.lastOfItem.get(place);
    if (phase === "intent") {
      const isRetry =
        last !== undefined &&
        last.key !== key &&
        last.open &&
        (attempt > last.attempt || attempt > 1);
      if (isRetry && this.unstableKeys.length < limits.findingsPerKindAndFileMax)
        this.unstableKeys.push({ item, keys: [last.key, key], lines: [last.line, line] });
      if (last !== undefined || this.lastOfItem.size < limits.logMemoryCount)
        this.lastOfItem.set(place, { key, attempt, line, operation, open: true });
    } else if (last !== undefined && last.key === key) {
      last.open = false;
    }
  }

  private addSequence(record: RecordRead): void {
    if (this.dialect.paths.seq === undefined) return;
    const text = record.fields.seq;
    const number = text === undefined ? Number.NaN : Number(text);
    if (!Number.isSafeInteger(number)) {
      if (
        this.lastNumber !== undefined &&
        this.unnumbered.length < limits.findingsPerKindAndFileMax
      )
        this.unnumbered.push({
          line: record.line,
          byteOffset: record.byteOffset,
          expected: this.lastNumber + 1,
        });
      return;
    }
    const before = this.numbers.get(number);
    if (before !== undefined) {
      if (this.reused.length < limits.findingsPerKindAndFileMax)
        this.reused.push({ text: String(number), lines: [before, record.line] });
    } else if (this.numbers.size < limits.logMemoryCount) this.numbers.set(number, record.line);
    if (
      this.lastNumber !== undefined &&
      number > this.lastNumber + 1 &&
      this.gaps.length < limits.findingsPerKindAndFileMax
    )
      this.gaps.push({ after: this.lastNumber, next: number, line: record.line });
    if (this.lastNumber === undefined || number > this.lastNumber) this.lastNumber = number;
  }

  /** Logs of events: the same record stored twice is told by its content and id. */
  private addContent(record: RecordRead): void {
    const id = record.fields.item ?? record.fields.uuid;
    if (id === undefined) return;
    const name = `${id}\u0000${record.content}`;
    const before = this.contents.get(name);
    if (before !== undefined) {
      if (this.duplicates.length < limits.findingsPerKindAndFileMax)
        this.duplicates.push({ text: id, lines: [before, record.line] });
    } else if (this.contents.size < limits.logMemoryCount) this.contents.set(name, record.line);
  }

  private addHistory(record: RecordRead): void {
    const { version, worker, time, paths } = record.fields;
    const isHistory =
      this.dialect.from === "context" || worker !== undefined || paths !== undefined;
    const number = version === undefined ? Number.NaN : Number(version);
    if (!isHistory || !Number.isSafeInteger(number) || this.history.length >= limits.logMemoryCount)
      return;
    if (record.fields.updateId !== undefined) return; // an update log: its versions are results, not writes
    this.history.push({
      version: number,
      line: record.line,
      by: worker,
      at: time,
      paths: listed(paths),
    });
  }

  private addUpdate(record: RecordRead): void {
    const { updateId, result, version } = record.fields;
    if (updateId === undefined || result === undefined) return;
    const tries = this.updates.get(updateId);
    if (tries === undefined && this.updates.size >= limits.logMemoryCount) return;
    const one: UpdateTry = {
      line: record.line,
      result: resultOf(result),
      word: result,
      version: version === undefined ? undefined : Number(version),
    };
    const firstAt = this.firstTryAt.get(updateId);
    if (tries === undefined) {
      this.updates.set(updateId, [one]);
      this.firstTryAt.set(updateId, this.okCount);
    } else {
      const late = this.okCount - (firstAt ?? 0) >= limits.ledgerWindowCount;
      const first = tries[0];
      if (late && one.result === "ok" && first !== undefined)
        this.overrun.push({ text: updateId, lines: [first.line, one.line] });
      tries.push(one);
    }
    if (one.result === "ok") this.okCount += 1;
  }

  /** The newest lease that took part; a record under an older one was written by a replaced holder. */
  private addLease(record: RecordRead): void {
    const { lease, worker, version } = record.fields;
    if (lease === undefined) return;
    const current = this.leases.at(-1);
    if (current === undefined || (lease !== current && !this.isOlder(lease, current))) {
      this.leases.push(lease);
      return;
    }
    if (lease === current || this.zombies.length >= limits.findingsPerKindAndFileMax) return;
    const { line, byteOffset } = record;
    this.zombies.push({ line, byteOffset, lease, currentLease: current, worker, version });
  }

  private isOlder(lease: string, current: string): boolean {
    const [a, b] = [/(\d+)$/.exec(lease)?.[1], /(\d+)$/.exec(current)?.[1]];
    const samePrefix = lease.replace(/\d+$/, "") === current.replace(/\d+$/, "");
    if (a !== undefined && b !== undefined && samePrefix) return Number(a) < Number(b);
    return this.leases.includes(lease);
  }

  private addTime(record: RecordRead): void {
    const { time, worker } = record.fields;
    if (time === undefined || this.clockStep !== undefined) return;
    const ms = Date.parse(time);
    if (Number.isNaN(ms)) return;
    const who = worker ?? "";
    const last = this.lastTime.get(who);
    if (last !== undefined && ms < last - limits.clockSkewMsMax)
      this.clockStep = { line: record.line, stepSeconds: Math.round((ms - last) / 1000) };
    if (last !== undefined || this.lastTime.size < 10_000) this.lastTime.set(who, ms);
  }

  private addParent(record: RecordRead): void {
    const { uuid, parent } = record.fields;
    if (uuid === undefined || this.uuids.size >= limits.logMemoryCount) return;
    this.uuids.add(uuid);
    // The first record may continue another session's chain.
    const isFirst = this.records === 1;
    if (parent !== undefined && !isFirst && !this.uuids.has(parent))
      this.parents.push({ parent, line: record.line, byteOffset: record.byteOffset });
  }

  private addIdentity(record: RecordRead): void {
    for (const name of ["item", "key", "updateId"] as const) {
      const text = record.fields[name];
      if (text === undefined || text.length < 16 || !record.numeric.has(name)) continue;
      const double = Number(text);
      if (Number.isSafeInteger(double)) continue;
      const other = this.bigNumbers.get(double);
      if (other === undefined) {
        if (this.bigNumbers.size < limits.logMemoryCount) this.bigNumbers.set(double, text);
      } else if (other !== text && this.rounded.size < 100) {
        this.rounded.add(other);
        this.rounded.add(text);
      }
    }
  }

  facts(): LogFacts {
    return {
      dialect: this.dialect,
      fold: this.fold,
      intentCount: this.intentCount,
      doneCount: this.doneCount,
      history: this.history,
      updates: this.updates,
      overrun: this.overrun,
      sequence: {
        numbered: this.numbers.size,
        reused: this.reused,
        gaps: this.gaps,
        missing: this.unnumbered,
        numbers: new Set(this.numbers.keys()),
      },
      duplicates: this.duplicates,
      zombies: this.zombies,
      unstableKeys: this.unstableKeys,
      sharedKeys: this.sharedKeys,
      clockStep: this.clockStep,
      roundedTogether: [...this.rounded],
      missingParents: this.parents.filter((one) => !this.uuids.has(one.parent)),
    };
  }
}

function outcomeOf(text: string | undefined): FoldRecord["outcome"] {
  return text === "done" || text === "failed" || text === "not-started" ? text : "unknown";
}

const resultWords: readonly (readonly [RegExp, TryResult])[] = [
  [/already|no-?op|duplicate|unchanged/i, "already-applied"],
  [/^(ok|applied|created|success|succeeded|accepted|done|written|20[0-9])$/i, "ok"],
  [/refused|conflict|rejected|stale|precondition|^(409|412)$|^failed$|denied/i, "refused"],
];

/** A result that is no clear answer (timeout, reset, error) leaves it open whether the update went through. */
function resultOf(word: string): TryResult {
  return resultWords.find(([pattern]) => pattern.test(word.trim()))?.[1] ?? "unknown";
}

function listed(raw: string | undefined): readonly string[] {
  if (raw === undefined) return [];
  try {
    const value: unknown = JSON.parse(raw);
    return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
  } catch {
    return [raw];
  }
}
