/** Oddities inside whole records: half surrogates one by one, the rest once per kind with a count. */
import { limits } from "../base/limits.js";
import type { JsonAnswer, JsonNote, JsonNoteKind, Position } from "../format/json-answer.js";
import type { Fact, FindingKind, Health, Severity } from "./finding.js";
import type { LogDamage } from "./log-damage.js";

interface Counted {
  readonly at: Position;
  readonly offsets: number[];
  readonly length: number;
  readonly path: string;
  count: number;
}

export class LogNotes {
  private readonly halves: LogDamage[] = [];
  private readonly counted = new Map<JsonNoteKind, Counted>();

  add(line: number, byteOffset: number, answer: JsonAnswer): void {
    for (const note of answer.notes) {
      const at = { ...note.at, line, column: note.at.byteOffset - byteOffset + 1 };
      if (note.kind === "lone-surrogate") this.addHalf(note, at);
      else this.count(note, at);
    }
  }

  private addHalf(note: JsonNote, at: Position): void {
    if (this.halves.length >= limits.findingsPerKindAndFileMax) return;
    const facts = { length: note.lengthBytes };
    this.halves.push(oddity("lone-surrogate", "warning", "ok", at, note.path, facts));
  }

  private count(note: JsonNote, at: Position): void {
    const known = this.counted.get(note.kind);
    if (known === undefined) {
      const { lengthBytes: length, path } = note;
      this.counted.set(note.kind, { at, count: 1, offsets: [at.byteOffset], length, path });
      return;
    }
    known.count += 1;
    if (known.offsets.length < limits.scanNotesMax) known.offsets.push(at.byteOffset);
  }

  damage(): readonly LogDamage[] {
    const told = noteFindings.flatMap(([noteKind, kind, severity, health]) => {
      const note = this.counted.get(noteKind);
      if (note === undefined) return [];
      const { count, offsets, length, path, at } = note;
      return [oddity(kind, severity, health, at, path, { count, offsets, length })];
    });
    return [...this.halves, ...told];
  }
}

function oddity(
  kind: FindingKind,
  severity: Severity,
  health: Health,
  at: Position,
  path: string,
  facts: Readonly<Record<string, Fact>>,
): LogDamage {
  return { kind, severity, certainty: "proved", health, at, path, facts };
}

const noteFindings: readonly (readonly [JsonNoteKind, FindingKind, Severity, Health])[] = [
  ["invalid-utf8", "invalid-utf8", "warning", "encoding"],
  ["nonstandard-number", "nonstandard-number", "warning", "nonstandard"],
  ["trailing-comma", "trailing-comma", "warning", "nonstandard"],
  ["comment", "comments", "notice", "nonstandard"],
  ["duplicate-key", "duplicate-key", "warning", "suspect"],
];
