import { limits } from "../base/limits.js";
import type { JsonAnswer, JsonNote, JsonNoteKind } from "../format/json-answer.js";
import type { DocumentDamage } from "./diagnose-document.js";
import { nulRunLength } from "./document-nul.js";
import type { FindingKind, Health, Severity } from "./finding.js";

/** Notes that are told once per file, with a count. */
const once: readonly (readonly [JsonNoteKind, FindingKind, Severity, Health])[] = [
  ["invalid-utf8", "invalid-utf8", "warning", "encoding"],
  ["nonstandard-number", "nonstandard-number", "warning", "nonstandard"],
  ["trailing-comma", "trailing-comma", "warning", "nonstandard"],
  ["comment", "comments", "notice", "nonstandard"],
];

/** What the notes of a scan mean for a document whose structure is whole. */
export function noteDamage(scan: JsonAnswer, bytes: Uint8Array): readonly DocumentDamage[] {
  const damage: DocumentDamage[] = [];
  for (const [noteKind, kind, severity, health] of once) {
    const notes = scan.notes.filter((note) => note.kind === noteKind);
    const first = notes[0];
    if (first === undefined) continue;
    const facts = {
      count: scan.noteCounts[noteKind],
      offsets: notes.map((note) => note.at.byteOffset),
      length: first.lengthBytes,
      ...(noteKind === "nonstandard-number" ? { paths: notes.map((note) => note.path) } : {}),
    };
    damage.push(one(first, kind, severity, health, facts));
  }
  damage.push(...nulDamage(scan, bytes));
  for (const note of scan.notes) {
    if (note.kind === "lone-surrogate")
      damage.push(one(note, "lone-surrogate", "warning", "ok", { length: note.lengthBytes }));
    if (note.kind === "duplicate-key") {
      const offsets = [note.firstByteOffset ?? 0, note.at.byteOffset];
      const facts = { byteOffsets: offsets, kept: "last", length: note.lengthBytes };
      damage.push(one(note, "duplicate-key", "warning", "suspect", facts));
    }
  }
  return damage;
}

function one(
  note: JsonNote,
  kind: FindingKind,
  severity: Severity,
  health: Health,
  facts: DocumentDamage["facts"],
): DocumentDamage {
  return { kind, severity, health, certainty: "proved", at: note.at, path: note.path, facts };
}

/** Long runs of NUL are lost blocks, each a finding; single ones are told together. */
function nulDamage(scan: JsonAnswer, bytes: Uint8Array): readonly DocumentDamage[] {
  const damage: DocumentDamage[] = [];
  const singles: JsonNote[] = [];
  let runEnd = -1;
  for (const note of scan.notes) {
    if (note.kind !== "nul-in-string" || note.at.byteOffset < runEnd) continue;
    const length = nulRunLength(bytes, note.at.byteOffset);
    runEnd = note.at.byteOffset + length;
    if (length >= limits.nulRunBytesMin) {
      const facts = { length, fileBytes: bytes.length };
      damage.push({ ...one(note, "nul-run", "error", "mixed", facts), where: "inside string" });
    } else {
      for (let i = 0; i < length; i++)
        singles.push({ ...note, at: { ...note.at, byteOffset: note.at.byteOffset + i } });
    }
  }
  const first = singles[0];
  if (first !== undefined) {
    const offsets = singles.map((note) => note.at.byteOffset);
    const facts = { count: singles.length, offsets, readableOtherwise: true };
    damage.push({
      ...one(first, "nul-scattered", "error", "mixed", facts),
      where: "inside string",
    });
  }
  return damage;
}
