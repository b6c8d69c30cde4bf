/** Collects what the records of one log say together, while they pass by. */
import { limits } from "../base/limits.js";
import type { LogDialect } from "../dialects/log-fields.js";
import { createItemFold, type FoldRecord, type ItemFold } from "../format/item-state.js";
import type {
  ClockStep,
  HistoryRecord,
  LinePair,
  LogFacts,
  RecordRead,
  TryResult,
  UpdateTry,
  ZombieWrite,
} from "./log-facts.js";
import { KeyUse } from "./log-keys.js";

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
  private unnumberedSince = 0;
  private readonly lastOfWriter = new Map<string, number>();
  private countsAlone = true;
  private readonly reused: LinePair[] = [];
  private readonly gaps: { after: number; next: number; line: number }[] = [];
  private readonly unnumbered: { line: number; byteOffset: number; expected: number }[] = [];
  private readonly contents = new Map<string, number>();
  private readonly duplicates: LinePair[] = [];
  private readonly leases: string[] = [];
  private readonly zombies: ZombieWrite[] = [];
  private readonly keyUse = new KeyUse();
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
    const { attempt, seq, worker, run, lease, time: at } = fields;
    const key =
      fields.key === undefined
        ? undefined
        : this.keyUse.ownKey(record, item, fields.key, phase, fold, this.intentCount > 0);
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
    if (key !== undefined && key === fields.key) this.keyUse.add(record, item, key, phase);
    fold.add(folded);
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

  private addSequence(record: RecordRead): void {
    if (this.dialect.paths.seq === undefined) return;
    const text = record.fields.seq;
    const number = text === undefined ? Number.NaN : Number(text);
    if (!Number.isSafeInteger(number)) {
      this.unnumberedSince += 1;
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
    this.followWriter(record, number);
    const unnumbered = this.unnumberedSince;
    this.unnumberedSince = 0;
    const before = this.numbers.get(number);
    if (before !== undefined) {
      if (this.reused.length < limits.findingsPerKindAndFileMax)
        this.reused.push({ text: String(number), lines: [before, record.line] });
    } else if (this.numbers.size < limits.logMemoryCount) this.numbers.set(number, record.line);
    if (
      this.lastNumber !== undefined &&
      // Records without a number may be the ones that a gap misses: one fact, told at the first of them.
      number > this.lastNumber + 1 + unnumbered &&
      this.gaps.length < limits.findingsPerKindAndFileMax
    )
      this.gaps.push({ after: this.lastNumber, next: number, line: record.line });
    if (this.lastNumber === undefined || number > this.lastNumber) this.lastNumber = number;
  }

  private followWriter(record: RecordRead, number: number): void {
    if (!this.countsAlone) return;
    const writer = `${record.fields.run ?? ""}\u0000${record.fields.worker ?? ""}`;
    const last = this.lastOfWriter.get(writer);
    const begins = last === undefined && (number === 0 || number === 1);
    this.countsAlone =
      (begins || (last !== undefined && number === last + 1)) &&
      this.lastOfWriter.size < limits.numberedWritersMax;
    this.lastOfWriter.set(writer, number);
  }

  private isPerWriter(): boolean {
    return this.countsAlone && this.lastOfWriter.size > 1;
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
        isPerWriter: this.isPerWriter(),
        reused: this.reused,
        gaps: this.gaps,
        missing: this.unnumbered,
        numbers: new Set(this.numbers.keys()),
      },
      duplicates: this.duplicates,
      zombies: this.zombies,
      unstableKeys: this.keyUse.unstable(),
      sharedKeys: this.keyUse.shared,
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
