/** Sorts the lines of a log into whole records and damage, in file order. */
import { concatBytes } from "../base/bytes.js";
import { limits } from "../base/limits.js";
import type { CapturePlan } from "../format/capture-plan.js";
import type { CapturedValue, JsonAnswer, Position } from "../format/json-answer.js";
import { scanJson } from "../format/json-scan.js";
import { classifyLine, type LineDamage, type LineSpan, splitAtNul } from "../format/log-line.js";
import type { ScannedLine } from "../format/log-scan.js";
import type { DocumentDamage } from "./diagnose-document.js";
import { byteOrderMarkLength } from "./document-signs.js";
import type { Fact, FindingKind, Health, Severity } from "./finding.js";
import { type CutRecord, emptyPlanRoot, isBlank, seamAt } from "./log-line-places.js";
import { LogNotes } from "./log-notes.js";

/** One damage of a log; facts `records`, `fileBytes` and `keepBytes` are set when the log is at its end. */
export type LogDamage = DocumentDamage;

/** One whole record, also one that shares its line with others. */
export interface LineVerdict {
  readonly line: number;
  readonly byteOffset: number;
  /** The record's bytes; undefined for a line too long to hold, or one that waited. */
  readonly content: Uint8Array | undefined;
  /** Sum of the bytes, for a record that waits without them. */
  readonly contentSum: string | undefined;
  readonly captured: readonly CapturedValue[];
}

interface Pending {
  damage: LogDamage;
  /** Filled in at the end: how many records the log has in all. */
  wantsRecords: boolean;
}

export class LogDamageCollector {
  records = 0;
  lines = 0;
  headPiece: Uint8Array | undefined;
  tailPiece: Uint8Array | undefined;
  plan: CapturePlan = { root: emptyPlanRoot(), patterns: [] };
  private readonly pending: Pending[] = [];
  private readonly onRecord: (verdict: LineVerdict) => void;
  private readonly notes = new LogNotes();
  private readonly markers: { offsets: number[]; at: Position }[] = [];
  private badLines = 0;
  /** Cut or bad last line so far; settled when the file ends or a later line shows that it was not the last. */
  private lastBad:
    | { line: ScannedLine; damage: LineDamage; from: number; content: Uint8Array }
    | undefined;
  private bomBytes = 0;
  /** The cut record of a line that goes on with a whole one, until the next line shows whether it resumes. */
  private cutRecord: CutRecord | undefined;
  private nulAtEnd: { at: Position; length: number } | undefined;

  constructor(onRecord: (verdict: LineVerdict) => void) {
    this.onRecord = onRecord;
  }

  get damage(): readonly LogDamage[] {
    return this.pending.map((one) => one.damage);
  }

  add(line: ScannedLine): void {
    this.lines += 1;
    const content = this.withoutMark(line);
    const blank = content.length === 0 || isBlank(content);
    if (line.answer.outcome.kind === "blank" && line.content !== "too-long")
      this.notes.add(line.line, line.byteOffset, line.answer);
    if (line.nulBefore > 0)
      this.nulRun(line, line.byteOffset, line.nulBefore, blank ? "nothing" : "record");
    if (line.content === "too-long") {
      this.settleBad();
      this.longLine(line);
      return;
    }
    if (blank || line.answer.outcome.kind === "blank") return;
    this.settleBad();
    this.judge(
      line,
      content,
      line.byteOffset + line.nulBefore + (line.content.length - content.length),
    );
  }

  /** The bytes of the line, a byte order mark at the start of the file left out. */
  private withoutMark(line: ScannedLine): Uint8Array {
    if (line.content === "too-long") return new Uint8Array(1);
    if (line.line !== 1 || line.nulBefore > 0) return line.content;
    this.bomBytes = byteOrderMarkLength(line.content);
    return line.content.subarray(this.bomBytes);
  }

  private judge(line: ScannedLine, content: Uint8Array, from: number): void {
    const answer =
      this.bomBytes > 0 && line.line === 1 ? this.scan(content, from, line.line) : line.answer;
    if (answer.outcome.kind === "whole" && answer.noteCounts["nul-in-string"] === 0) {
      this.whole(line.line, from, content, answer);
      return;
    }
    if (content.includes(0)) {
      this.withNul(line, content, from);
      return;
    }
    this.damaged(line, content, from);
  }

  private scan(content: Uint8Array, startOffset: number, startLine: number): JsonAnswer {
    return scanJson(content, { capture: this.plan, startOffset, startLine });
  }

  private whole(
    line: number,
    byteOffset: number,
    content: Uint8Array | undefined,
    answer: JsonAnswer,
  ): void {
    this.records += 1;
    this.notes.add(line, byteOffset, answer);
    this.onRecord({ line, byteOffset, content, contentSum: undefined, captured: answer.captured });
  }

  private spans(
    line: ScannedLine,
    content: Uint8Array,
    from: number,
    spans: readonly LineSpan[],
  ): void {
    for (const span of spans) {
      const bytes = content.subarray(span.from, span.to);
      const answer = this.scan(bytes, from + span.from, line.line);
      if (answer.outcome.kind === "whole") this.whole(line.line, from + span.from, bytes, answer);
    }
  }

  private damaged(line: ScannedLine, content: Uint8Array, from: number): void {
    const damage = classifyLine(content);
    switch (damage.kind) {
      case "glued-records":
        this.spans(line, content, from, damage.whole);
        this.tell("glued-records", "mixed", seamAt(line, from, damage.seam), {
          lineOffset: line.byteOffset,
          recordsOnLine: damage.whole.length,
          lost: 0,
        });
        return;
      case "truncated-then-record": {
        this.spans(line, content, from, damage.whole);
        const { sameRecordRepeated } = damage;
        const facts = {
          lineOffset: line.byteOffset,
          sameRecordRepeated,
          lost: sameRecordRepeated ? 0 : 1,
        };
        const at = seamAt(line, from, damage.seam);
        this.tell("truncated-then-record", "mixed", at, facts);
        const cut = content.slice(damage.cutFrom, damage.seam);
        this.cutRecord = { line: line.line, byteOffset: from + damage.cutFrom, cut, at };
        return;
      }
      case "interleaved-records": {
        const [inner, outer] = damage.whole;
        if (inner === undefined || outer === undefined) return;
        this.spans(line, content, from, [inner]);
        const around = concatBytes([
          content.subarray(outer.from, inner.from),
          content.subarray(inner.to, outer.to),
        ]);
        this.joinedRecord(line.line, from + outer.from, around);
        this.tell("interleaved-records", "mixed", seamAt(line, from, damage.seam), {
          lineOffset: line.byteOffset,
          lost: 0,
        });
        return;
      }
      case "conflict-marker":
        this.marker(line, from);
        return;
      case "cut":
        this.spans(line, content, from, damage.whole);
        this.lastBad = {
          line,
          damage,
          from: from + damage.from,
          content: content.slice(damage.from),
        };
        return;
      default:
        if (this.resumesCutRecord(line, content)) return;
        // On the first line a whole object may be the inner part of a record that began in another file.
        if (damage.kind === "no-json" && line.line > 1)
          this.spans(line, content, from, damage.whole);
        this.lastBad = { line, damage, from, content: content.slice() };
    }
  }

  /**
   * Two writers without a lease: a whole record with its line end, written between the two halves of another one.
   * The line before then looks cut, and this one is its missing end.
   */
  private resumesCutRecord(line: ScannedLine, content: Uint8Array): boolean {
    const before = this.cutRecord;
    if (before === undefined || before.line + 1 !== line.line) return false;
    if (before.cut.length + content.length > limits.seamLineBytesMax) return false;
    if (!this.joinedRecord(before.line, before.byteOffset, concatBytes([before.cut, content])))
      return false;
    const told = this.pending.find((one) => one.damage.at === before.at);
    if (told !== undefined) {
      const { lineOffset = 0 } = told.damage.facts;
      const facts = { lineOffset, lost: 0, resumesOnLine: line.line };
      told.damage = { ...told.damage, kind: "interleaved-records", facts };
    }
    return true;
  }

  /** Reads a record whose two halves stand apart; false when they are none. */
  private joinedRecord(line: number, byteOffset: number, bytes: Uint8Array): boolean {
    const answer = this.scan(bytes, byteOffset, line);
    if (answer.outcome.kind !== "whole") return false;
    this.whole(line, byteOffset, bytes, answer);
    return true;
  }

  /** Runs of NUL in a line: what stands around them is judged by itself. */
  private withNul(line: ScannedLine, content: Uint8Array, from: number): void {
    const { runs, parts } = splitAtNul(content);
    const longest = runs.reduce((most, run) => Math.max(most, run.to - run.from), 0);
    const whole = line.answer.outcome.kind === "whole";
    if (whole && longest < limits.nulRunBytesMin) {
      const offsets = runs.flatMap((run) =>
        Array.from({ length: run.to - run.from }, (_, i) => from + run.from + i),
      );
      const at = seamAt(line, from, runs[0]?.from ?? 0);
      this.records += 1;
      this.tell("nul-scattered", "mixed", at, { count: offsets.length, offsets }, "inside string");
      return;
    }
    const run = runs.find((one) => one.to - one.from === longest) ?? runs[0];
    if (run === undefined) return;
    const at = seamAt(line, from, run.from);
    if (whole) {
      this.tell("nul-run", "mixed", at, { length: longest }, "inside string");
      return;
    }
    const last = parts.at(-1);
    for (const part of parts) this.spans(line, content, from, [part]);
    const behind = last !== undefined && last.from >= run.to;
    if (!behind && !line.ended) this.nulAtEnd = { at, length: longest };
    else
      this.tell(
        "nul-run",
        "mixed",
        at,
        { length: longest },
        behind ? "before a record" : "between records",
      );
  }

  /** A run at the beginning of a line. At the end of the file it is told when the file has ended. */
  private nulRun(
    line: ScannedLine,
    byteOffset: number,
    length: number,
    behind: "record" | "nothing",
  ): void {
    const at = { byteOffset, line: line.line, column: 1 };
    if (behind === "nothing" && !line.ended) this.nulAtEnd = { at, length };
    else {
      const where =
        byteOffset === 0
          ? "start of file"
          : behind === "record"
            ? "before a record"
            : "between records";
      this.tell("nul-run", "mixed", at, { length }, where);
    }
  }

  private longLine(line: ScannedLine): void {
    const from = line.byteOffset + line.nulBefore;
    const { outcome } = line.answer;
    if (outcome.kind === "whole") {
      this.whole(line.line, from, undefined, line.answer);
      return;
    }
    const at = { byteOffset: from, line: line.line, column: 1 };
    const length = line.end - from;
    const facts = { length, heldLimitBytes: limits.logLineBytesHeldMax };
    if (outcome.kind === "truncated" && !line.ended)
      this.tell("torn-tail", "torn", at, { ...facts, keepBytes: from }, outcome.where);
    else this.tell("bad-line", "malformed", at, facts);
  }

  private marker(line: ScannedLine, byteOffset: number): void {
    const first = this.markers[0];
    if (first === undefined)
      this.markers.push({ offsets: [byteOffset], at: seamAt(line, byteOffset, 0) });
    else if (first.offsets.length < limits.scanNotesMax) first.offsets.push(byteOffset);
  }

  /** A bad line with records behind it is no torn tail. */
  private settleBad(): void {
    const bad = this.lastBad;
    if (bad === undefined) return;
    this.lastBad = undefined;
    const { line } = bad;
    if (line.line === 1) this.headPiece = bad.content;
    if (line.line === 1 && bad.damage.kind === "missing-head") {
      const at = seamAt(line, bad.from, 0);
      this.tell("missing-head", "torn", at, { length: line.end - bad.from });
      return;
    }
    this.badLine(line, bad.damage);
  }

  /** A file that is mostly no JSON is other text: one finding says so, not one for each of its lines. */
  private dropTextLines(): void {
    const { badLines, records } = this;
    if (badLines < limits.textLinesMin || badLines < records * 9) return;
    const first = this.pending.find((one) => one.damage.kind === "bad-line");
    if (first === undefined) return;
    first.damage = { ...first.damage, health: "foreign" };
    const kept = this.pending.filter((one) => one === first || one.damage.kind !== "bad-line");
    this.pending.splice(0, this.pending.length, ...kept);
  }

  private badLine(line: ScannedLine, damage: LineDamage): void {
    this.badLines += 1;
    if (this.badLines > limits.damagedLinesToldMax) return;
    const at = { byteOffset: line.byteOffset, line: line.line, column: 1 };
    const facts = { length: line.end - line.byteOffset, cut: damage.kind === "cut" };
    this.tell("bad-line", "malformed", at, facts);
  }

  finish(fileBytes: number): void {
    this.finishTail();
    this.finishNul(fileBytes);
    if (this.bomBytes > 0)
      this.tell(
        "bom",
        "ok",
        { byteOffset: 0, line: 1, column: 1 },
        { length: 3 },
        undefined,
        "notice",
      );
    const marks = this.markers[0];
    if (marks !== undefined)
      this.tell("conflict-markers", "mixed", marks.at, { markers: marks.offsets });
    for (const damage of this.notes.damage()) this.pending.push({ damage, wantsRecords: false });
    const { records, badLines } = this;
    this.dropTextLines();
    for (const one of this.pending) {
      const more: Record<string, Fact> = { fileBytes };
      if (one.wantsRecords) more.records = records;
      if (one.damage.kind === "bad-line" && badLines > 1) more.badLines = badLines;
      one.damage = { ...one.damage, facts: { ...one.damage.facts, ...more } };
    }
  }

  private finishNul(fileBytes: number): void {
    if (this.nulAtEnd === undefined) return;
    const { at, length } = this.nulAtEnd;
    if (length === fileBytes) this.tell("all-nul", "zeroed", at, { length });
    else this.tell("nul-run", "mixed", at, { length }, "end of file");
  }

  private finishTail(): void {
    const bad = this.lastBad;
    if (bad === undefined) return;
    const { line, damage } = bad;
    if (damage.kind !== "cut") {
      this.settleBad();
      return;
    }
    this.lastBad = undefined;
    this.tailPiece = bad.content;
    const at = { byteOffset: bad.from, line: line.line, column: bad.from - line.byteOffset + 1 };
    const facts = { keepBytes: bad.from, length: line.end - bad.from, ended: line.ended };
    this.tell("torn-tail", "torn", at, facts, damage.where);
  }

  private tell(
    kind: FindingKind,
    health: Health,
    at: Position,
    facts: Readonly<Record<string, Fact>>,
    where?: string,
    severity: Severity = "error",
    path?: string,
  ): void {
    const place = {
      ...(where === undefined ? {} : { where }),
      ...(path === undefined ? {} : { path }),
    };
    const damage: LogDamage = { kind, severity, certainty: "proved", health, at, facts, ...place };
    this.pending.push({ damage, wantsRecords: severity === "error" });
  }
}
