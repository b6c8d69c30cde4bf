/** The sentences of log damage. */
import { invariant } from "../base/assert.js";
import type { Finding } from "./finding.js";
import type { LogDamage } from "./log-damage.js";
import { sayWhere } from "./say-document-damage.js";
import { countedFact as counted } from "./show-value.js";

type Said = Pick<Finding, "says" | "next"> & Partial<Pick<Finding, "why" | "likelyCause">>;

const suspected = (says: string) => ({ says, certainty: "suspected" as const });

export function sayLogDamage(name: string, damage: LogDamage): Said {
  const { byteOffset: at, line } = damage.at;
  const { facts } = damage;
  const { records, length } = facts;
  switch (damage.kind) {
    case "torn-tail":
      return {
        says: `${name} ends in a cut line: line ${line} stops ${sayWhere(damage.where)} (from byte ${at}, ${counted(length, "byte")}).`,
        why: `${kept(records)} What the cut line was about may have happened.`,
        likelyCause: suspected("the writer was stopped in the middle of an append"),
        next: [
          `keep the first ${facts.keepBytes} bytes; set the cut line aside before anything is appended`,
          "look outside whether the item of the cut line was served before repeating it",
        ],
      };
    case "glued-records":
      return {
        says: `${name} has ${facts.recordsOnLine} whole records on line ${line}; the second begins at byte ${at}.`,
        why: `Nothing is lost: ${records} records can be read. Counting lines undercounts.`,
        likelyCause: suspected(
          "an append that stopped before its line end, and another that went on",
        ),
        next: ["split the line at that byte, after a copy is set aside"],
      };
    case "truncated-then-record":
      return {
        says: `${name} has a cut record on line ${line} with a whole one behind it, from byte ${at}.`,
        why:
          facts.sameRecordRepeated === true
            ? "The whole record repeats the cut one, so nothing is lost."
            : "The record behind the seam is whole; the end of the cut one is lost.",
        likelyCause: suspected("an append onto a line that an earlier one had left unfinished"),
        next: [
          "split at that byte: keep the whole record, set the stump aside",
          ...(facts.sameRecordRepeated === true
            ? []
            : ["treat what the cut record was about as unknown"]),
        ],
      };
    case "interleaved-records":
      return {
        says: `${name} has one record inside another on line ${line}, from byte ${at}.`,
        likelyCause: suspected("two writers appended at the same time without a lease"),
        next: ["take the two apart, after a copy is set aside", "give the log one writer"],
      };
    case "missing-head":
      return {
        says: `${name} begins in the middle of a record: its first ${counted(length, "byte")} ${length === 1 ? "is" : "are"} the end of one.`,
        likelyCause: suspected("rotation cut the line"),
        next: ["look for its beginning at the end of the part before"],
      };
    case "nul-run":
      return {
        says: `${name} has ${length} NUL bytes from byte ${at} (${damage.where}).`,
        why: `The records around them are whole; ${records} can be read.`,
        likelyCause: suspected(
          at === 0
            ? "rotation by copy and truncate while the writer kept its position"
            : "an append whose length was recorded and whose contents were not",
        ),
        next: [
          "skip the NUL bytes and keep every record around them",
          at === 0
            ? "look for the earlier lines in the rotated copy"
            : "treat what stood there as unknown",
        ],
      };
    case "all-nul":
      return {
        says: `${name} holds nothing but ${length} NUL bytes.`,
        why: "Its length was recorded and its contents were not: which records it had cannot be read from it.",
        likelyCause: suspected("power was lost before the records reached the device"),
        next: [
          "set it aside as evidence, and look for a rotated part or a copy",
          "treat every operation it may have named as unknown",
        ],
      };
    case "nul-scattered":
      return {
        says: `${name} has ${counted(facts.count, "single NUL byte")} inside a string on line ${line}, the first at byte ${at}.`,
        next: ["restore that value from elsewhere; the rest of the record can be read"],
      };
    case "bad-line":
      return {
        says: `${name}: line ${line} is no JSON record (byte ${at}, ${counted(length, "byte")})${more(facts.badLines)}.`,
        why:
          facts.cut === true
            ? "It begins as a record and stops before its end."
            : "The lines around it are judged by themselves.",
        next: ["skip it, keep it as evidence, and look what wrote it"],
      };
    case "conflict-markers":
      return {
        says: `${name} holds an unresolved merge; the first marker is on line ${line}, byte ${at}.`,
        why: "Records of both sides are there.",
        next: ["resolve it by hand: keep the records of both sides in order"],
      };
    case "bom":
      return {
        says: `${name} begins with a UTF-8 byte order mark (3 bytes).`,
        next: ["remove the 3 bytes"],
      };
    case "lone-surrogate":
      return {
        says: `${name} has half a surrogate pair as an escape on line ${line}, byte ${at} (${damage.path}).`,
        why: "Lenient parsers take it; a strict service refuses the text, each time it is sent.",
        next: ["replace that one escape by \\ufffd in a copy, and note which record was touched"],
      };
    case "invalid-utf8":
      return {
        says: `${name} has ${counted(facts.count, "place")} that ${facts.count === 1 ? "is" : "are"} not UTF-8, the first on line ${line}, byte ${at}.`,
        why: "The other records are whole; decode line by line, not the file at once.",
        next: ["find out the writer's encoding"],
      };
    case "nonstandard-number":
      return {
        says: `${name} has ${counted(facts.count, "number")} that JSON does not have, the first on line ${line}, byte ${at}.`,
        next: ["read them as null, and mend the writer"],
      };
    case "trailing-comma":
      return {
        says: `${name} has a comma before a closing bracket on line ${line}, byte ${at}.`,
        next: ["remove the comma"],
      };
    case "comments":
      return {
        says: `${name} holds comments, the first on line ${line}, byte ${at}.`,
        next: ["read it with a parser for that dialect"],
      };
    case "duplicate-key":
      return {
        says: `${name} has the same key twice in one record on line ${line}, byte ${at} (${damage.path}).`,
        why: "Common parsers keep the last value and drop the first without a word.",
        next: ["compare both values"],
      };
    default:
      invariant(false, `no sentence for ${damage.kind}`);
  }
}

function more(badLines: unknown): string {
  return typeof badLines === "number" && badLines > 1 ? `; ${badLines} such lines in all` : "";
}

function kept(records: unknown): string {
  if (records === 0) return "No whole record stands before it.";
  if (records === 1) return "The record before it is whole and can be kept.";
  return `The ${records} records before it are whole and can be kept.`;
}
